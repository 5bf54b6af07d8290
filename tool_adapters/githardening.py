"""What every git call is given so that a repository can't make git run a program: environment, options, and the
overriding of drivers that its own configuration names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
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

Signature = tuple[tuple[str, int, int, int], ...]


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
