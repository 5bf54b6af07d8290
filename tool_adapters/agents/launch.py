"""One launch of an agent's process: its folders, its environment, and what its end says."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from contracts.agents import Price
from contracts.errors import ConfigError
from contracts.ports import Ran, Settle
from contracts.redact import Redactor
from contracts.reply import AgentReply, Usage
from contracts.text import clean, cut
from tool_adapters.agents.classify import Failure
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import child_environment

# A reply carries at most 64 KiB of edits, some CLIs print it twice; more is a broken agent.
REPLY_CAP = 4 * 1024 * 1024
TEXT_CAP = 64 * 1024
# How long a process may live on after its final event.
GRACE = 2.0

# An agent talks to its vendor; behind a proxy it can't without these. Commands and checks do not get them.
_NETWORK = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
)


class Folders:
    """The folders of one launch, made when asked for. `work` is empty."""

    def __init__(self, settings: AgentSettings) -> None:
        self.home, self.tmp = settings.home.absolute(), settings.home.absolute() / "tmp"
        # A process that waits ahead stands in it for a whole step; another task of this folder may use the agent, too.
        own = f"-{os.getpid()}" if settings.starts_ahead else ""
        self.work = settings.cwd.absolute() / f"launch{own}"

    def make(self) -> None:
        """Makes them; what an earlier launch left in `work` is removed: an agent keeps no memory there."""
        self.make_home()
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True, exist_ok=True)

    def make_home(self) -> None:
        """Makes those that outlast a launch."""
        for folder in (self.home, self.tmp):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> Path:
        """A file in the home, owner only; the old one is replaced whole."""
        path = self.home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        fresh.replace(path)
        return path


def agent_environment(
    environ: Mapping[str, str], folders: Folders, more: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of an agent: the allow-list of every child, own HOME and TMPDIR, the way to the
    network, and `more`. No other credential and no marker of an enclosing agent session passes."""
    network = {
        name: environ[name]
        for each in _NETWORK
        for name in (each, each.lower())
        if environ.get(name, "").strip()
    }
    own = {
        "LANG": environ.get("LANG") or "C.UTF-8",
        "HOME": str(folders.home),
        "TMPDIR": str(folders.tmp),
        "GIT_CEILING_DIRECTORIES": str(folders.work.parent),  # the empty folder may lie below a repository
        "TZ": "UTC",  # agents say the clock times of limits in their own zone
    }
    return child_environment({**network, **own, **more}, base=environ)


async def start(
    settings: AgentSettings,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str,
    idle: float | None = None,
    final: Callable[[Path], bool] | None = None,
    cap: int = REPLY_CAP,
) -> Ran:
    """Runs the agent to its end; `cap` bounds what is kept of its output, in bytes. `final` says of a file with the
    output so far whether the final event is in it: after a short grace the process is then ended, and its reply
    used."""
    return await settings.runner.run(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin.encode("utf-8", "replace"),
        timeout=settings.config.timeout,
        idle=idle,
        cap=cap,
        settle=settled(final),
        redact=False,
    )


def settled(final: Callable[[Path], bool] | None) -> Settle | None:
    """When an agent whose final event `final` finds has answered although it lives on."""
    return Settle(final, GRACE) if final else None


def last_line(path: Path, limit: int = 2 * REPLY_CAP) -> bytes:
    """The last whole line of a growing file (b"" while it is still being written, or too large)."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if not 0 < size <= limit:
            return b""
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            return b""
        step = 64 * 1024
        while True:
            file.seek(max(size - step, 0))
            tail = file.read().rstrip(b"\n")
            if b"\n" in tail or step >= size:
                return tail.rsplit(b"\n", 1)[-1]
            step *= 8


def failed(
    failure: Failure,
    ran: Ran | None = None,
    *,
    usage: Usage | None = None,
    text: str = "",
    hint: str = "",
    secrets: Mapping[str, str] | None = None,
    requests: int | None = None,
) -> AgentReply:
    """The reply of a launch that gave none. `secrets` are taken out of everything that is said; a program that was
    never started made no request."""
    redact = Redactor(secrets or {}).redact_text
    return AgentReply(
        cls=failure.cls,
        text=cut(redact(clean(text)), TEXT_CAP),
        message=cut(redact(failure.message), 900) + (f" ({hint})" if hint else ""),
        usage=usage or Usage(),
        not_before=failure.not_before,
        requests=requests if ran and not (ran.missing or ran.refused) else 0,
        survivors=ran.survivors if ran else (),
        took=ran.took if ran else 0.0,
    )


def effort(settings: AgentSettings) -> str | None:
    """`options: {effort: …}`: how much the model thinks, as its CLI takes it. Raises ConfigError."""
    value = settings.config.options.get("effort")
    if value is not None and not (isinstance(value, str) and re.fullmatch(r"[a-z]{2,12}", value)):
        raise ConfigError(f"agent {settings.name}: `effort` is one word", hint="such as low, medium or high")
    return value


def check_options(settings: AgentSettings, known: Sequence[str]) -> None:
    """Raises ConfigError for a setting in `options:` that this adapter does not have."""
    unknown = sorted(set(settings.config.options) - set(known))
    if unknown:
        have = ", ".join(known) or "none"
        raise ConfigError(f"agent {settings.name}: unknown option {unknown[0]!r}", hint=f"options: {have}")


def cost(price: Price | None, input: int, cached: int, output: int) -> int | None:
    """Micro-USD of these tokens (`input` includes `cached`); None without a price. USD per million tokens is
    micro-USD per token."""
    if price is None:
        return None
    return round(max(input - cached, 0) * price.input + cached * price.cached + output * price.output)
