"""What every git call is given so that a repository can't make git run a program: environment, options, and the
overriding of drivers that its own configuration names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import ConfigError
from tool_adapters.gitformat import Setting

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_COUNT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
OPTIONS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.quotePath=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.external=",
    "diff.renames=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.orderFile=/dev/null",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
    "protocol.allow=never",
    "safe.directory=*",
)
_DRIVER = re.compile(r"(filter|diff|merge)\.(.+)\.(clean|smudge|process|required|command|textconv|driver)")
_OVERRIDES = {
    "filter": ("clean=", "smudge=", "process=", "required=false"),
    "diff": ("command=false", "textconv=cat"),
    "merge": ("driver=false",),
}

# What a call to a remote needs of its user: how to get there and who they are, from their own configuration and
# environment. Nothing of it comes from the repository.
_NOT_OUTWARD = ("core.sshCommand=", "core.gitProxy=", "credential.helper=", "protocol.allow=")
_USERS_CONFIGURATION = ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_USERS = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|PROXY_COMMAND|(PROXY_)?SSL_\w+|HTTP_\w+|CURL_\w+"
    r"|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))"
)
PROTOCOLS = "file:git:http:https:ssh"

Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class Hardening:
    """What a git process is started with: `environment` over the caller's, of whose GIT_… variables only `passed`
    reach it; `options` before the verb. `alone`: in a session of its own, so that nothing can ask at a terminal."""

    environment: Mapping[str, str]
    options: tuple[str, ...]
    passed: frozenset[str] = frozenset()
    alone: bool = False


WITHIN = Hardening(ENVIRONMENT, OPTIONS)


def outward(environ: Mapping[str, str]) -> Hardening:
    """For a repository of our own that talks to a remote: the user's own configuration counts, and no prompt hangs."""
    passed = frozenset(name for name in environ if _USERS.fullmatch(name))
    asks = {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "never", "GIT_ALLOW_PROTOCOL": PROTOCOLS}
    left = (*_USERS_CONFIGURATION, *passed)
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in left} | asks
    options = tuple(each for each in OPTIONS if not each.startswith(_NOT_OUTWARD))
    return Hardening(environment, (*options, "push.gpgSign=false", "push.pushOption="), passed, alone=True)


def overrides(settings: Iterable[Setting]) -> tuple[str, ...]:
    """Options that switch off every filter, diff and merge driver of `settings`. Raises ConfigError for one
    whose name no option can carry."""
    drivers = {match.groups()[:2] for each in settings if (match := _DRIVER.fullmatch(each.name))}
    for kind, name in drivers:
        if "=" in name:
            raise ConfigError(
                f"the repository's configuration names a {kind} driver {name!r} that can't be switched off",
                hint="remove it from .git/config",
            )
    return tuple(
        f"{kind}.{name}.{override}" for kind, name in sorted(drivers) for override in _OVERRIDES[kind]
    )


def sources(settings: Iterable[Setting], root: Path) -> set[Path]:
    """The files that `settings` came from or would include."""
    found = set()
    for each in settings:
        origin = root / each.origin
        found.add(origin)
        if each.name.startswith(("include.", "includeif.")):
            found.add(origin.parent / Path(each.value).expanduser())
    return found


def signature(files: Iterable[Path]) -> Signature:
    """Changes whenever one of `files` is written, made or removed."""
    found = []
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            found.append((str(file), 0, 0, 0))
        else:
            found.append((str(file), stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(found)
