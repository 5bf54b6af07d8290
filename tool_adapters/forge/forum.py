"""What every deed on a remote and a forge is given, and what they share: how one request's outcome is told."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.actions import MAYBE, ActionResult, Probed
from contracts.deeds import Forge
from contracts.errors import ConfigError
from contracts.forge_api import Api
from contracts.forges import api_of
from contracts.task import Task
from tool_adapters.forge.client import Client, Sent
from tool_adapters.git import Engine
from tool_adapters.gitremote import Access, Remote

USERS = {"github": "x-access-token", "gitlab": "oauth2"}


@dataclass(frozen=True)
class Forum:
    """The forge of a task: its API and a client for it (None: a remote alone), the Git remote, the run's branch and
    the one that it is for, the author of the run's commits."""

    forge: Forge
    branch: str
    base: str
    author: str
    engine: Engine
    api: Api | None
    client: Client | None
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, task: Task, engine: Engine, environ: Mapping[str, str]) -> Forum | None:
        """The task's forge; None where it has none. Raises ConfigError where the token is not there, or would go out in
        the clear."""
        forge = task.forge
        if forge is None:
            return None
        token, api = _token(forge, environ), api_of(forge)
        client = Client(forge.place, api.headers(token), secret=bool(token)) if api is not None else None
        base, author = forge.base or task.workspace.base, task.workspace.author
        return cls(forge, task.branch, base, author, engine, api, client, token)

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def remote(self, seconds: float = 300.0) -> Remote:
        """The Git remote as the repository has it now. Raises ConfigError where it has none of that name."""
        user = USERS.get(self.forge.provider, "git")
        access = Access(self.forge.git_host, self.token, user) if self.token else None
        return Remote(self.engine, self.forge.remote, access, seconds)


def _token(forge: Forge, environ: Mapping[str, str]) -> str:
    name = forge.token_env
    if name is None:
        return ""
    if not (found := environ.get(name, "").strip()):
        raise ConfigError(f"forge: the variable {name} is not set", hint="it holds the token of the forge")
    if not found.isascii() or not found.isprintable():
        raise ConfigError(f"forge: what {name} holds is no token")
    return found


def undone(code: str, sent: Sent, advice: str = "") -> ActionResult:
    """The result of a request that came to no `done`."""
    match sent.kind:
        case "refused":
            say = f"the forge refuses it, and would again: {sent.why}"
            return ActionResult(ok=False, code=f"{code}.refused", say=f"{say}. {advice}".rstrip(". ") + ".")
        case "later":
            return ActionResult(ok=False, code=f"{code}.later", say=sent.why, not_before=sent.not_before)
        case _:
            return ActionResult(ok=False, code=MAYBE, say=sent.why, not_before=sent.not_before)


def untold(sent: Sent) -> Probed:
    """A probe that could not look. What will be refused again is for a person to look at."""
    due = None if sent.kind == "refused" else sent.not_before or time.time()
    return Probed(kind="unknown", why=sent.why, not_before=due)
