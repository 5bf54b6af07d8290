"""What is deployed, as an authority: revision, health, last stable version, rollback target, database migration."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio.to_thread

from contracts.deployed import Deployed, DeploymentReading, Health, judge
from contracts.errors import ControllerError, Permanent
from contracts.fence import fenced
from contracts.live import DeploymentOptions
from contracts.ports import Ask, Given
from contracts.repository import GitReader
from contracts.telemetry import at_pointer
from contracts.text import line
from reconcilers.asked import asked, printed_json, token
from reconcilers.github_deployments import GithubDeployments
from reconcilers.http import Client, Later, origin

_WORD = re.compile(r"[A-Za-z0-9._/@+:-]{1,80}")
_SHA = re.compile(r"[0-9a-f]{7,64}")


class Provider(Protocol):
    """One that knows what runs. Blocks; `deadline` is of time.monotonic. Raises Later, Permanent."""

    def deployed(self, deadline: float) -> Deployed: ...


class DeploymentReconciler:
    """Reads what runs. What can't be read is a reading of state `unknown`, never raised."""

    def __init__(
        self, given: Given, options: DeploymentOptions, provider: Provider | None, git: GitReader
    ) -> None:
        self.name, self.when = given.name, ("step",)
        self._given, self._options, self._provider, self._git = given, options, provider, git
        self._health = Client(origin(options.health_url), {}) if options.health_url else None

    @classmethod
    def given(cls, given: Given) -> DeploymentReconciler:
        """What the task's authority asks for. Raises ConfigError where its token is not there."""
        options, git = given.authority.settings, given.git
        assert isinstance(options, DeploymentOptions) and git is not None, "`use: deployment`, in a worktree"
        secret = token(given, options.token_env)
        provider: Provider | None = None
        if options.provider == "http":
            provider = VersionEndpoint(options, secret)
        elif options.provider == "github":
            provider = GithubDeployments(options, secret)
        return cls(given, options, provider, git)

    async def read(self, ask: Ask) -> DeploymentReading:
        """The reading, and what it says of `ask.head`."""
        began, options = time.monotonic(), self._options
        try:
            found = _clean(await self._found(ask), self._given.clear)
            holds = await anyio.to_thread.run_sync(self._all_hold, found, ask.head)
        except Later as error:
            return self._unknown(ask, began, "it can't be read now", error.message, error.not_before)
        except (ControllerError, OSError) as error:
            return self._unknown(ask, began, "it can't be read", str(error), None)
        row = judge(found, holds, expect=options.expect, migration=options.expect_migration)
        again = row.again or (row.automatic and options.automatic)
        return DeploymentReading(
            name=self.name,
            provider=options.provider,
            sha=ask.head,
            state=row.state,
            why=row.why,
            not_before=ask.now + options.poll if again else None,
            took=time.monotonic() - began,
            **{name: getattr(found, name) for name in Deployed.__dataclass_fields__},
        )

    def _unknown(
        self, ask: Ask, began: float, why: str, note: str, not_before: float | None
    ) -> DeploymentReading:
        return DeploymentReading(
            name=self.name,
            provider=self._options.provider,
            sha=ask.head,
            state="unknown",
            why=why,
            note=line(fenced(self._given.clear(note))[0], 300),
            not_before=not_before,
            read=False,
            took=time.monotonic() - began,
        )

    async def _found(self, ask: Ask) -> Deployed:
        """What the provider says, with the health of its own address. Raises Later, Permanent."""
        timeout = self._given.authority.timeout
        if self._provider is None:
            found = _said(await printed_json(self._given, ask, self._options.poll), self._options)
        else:
            found = await asked(self._provider.deployed, timeout)
        if self._health is None:
            return found
        health = await self._answering(self._health, timeout)
        ill = health == "unhealthy" and found.stable == found.revision  # then it is not the last good one
        return replace(found, health=health, stable=found.rollback if ill else found.stable)

    async def _answering(self, http: Client, timeout: float) -> Health:
        """How what answers at `health_url` does; unknown where nothing does."""
        path = urlsplit(self._options.health_url or "").path
        try:
            status = await asked(lambda deadline: http.status(path, deadline=deadline), timeout)
        except (ControllerError, OSError):
            return "unknown"
        return "healthy" if status in range(200, 300) else "unhealthy"

    def _all_hold(self, found: Deployed, head: str) -> dict[str, bool | None]:
        named = {"revision": found.revision, "rolling": found.rolling, "failed": found.failed}
        return {name: self._holds(each, head) for name, each in named.items()}

    def _holds(self, revision: str, head: str) -> bool | None:
        """Whether a commit or tag of the outside is `head`, or holds it; None where this clone can't tell."""
        if not revision:
            return False
        if _SHA.fullmatch(revision):
            if head.startswith(revision):
                return True
            commit = self._git.rev(revision)
        else:  # never a branch, or a name like HEAD, which means something of our own here
            commit = self._git.rev(f"refs/tags/{revision}")
        if commit is None:
            return None
        if commit == head or self._git.merge_base(head, commit) == head:
            return True
        return None if self._git.shallow() else False


class VersionEndpoint:
    """An address of the application that tells its version. Where neither `health` nor `health_url` is given, that it
    answers at all is what is known of its health."""

    def __init__(self, options: DeploymentOptions, token: str) -> None:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._options = options
        self._http = Client(options.place, headers, secret=bool(token))

    def deployed(self, deadline: float) -> Deployed:
        """What it tells. Raises Later, Permanent."""
        options, body = self._options, self._http.read("", deadline=deadline)
        named = ("revision", "stable", "rollback", "migration")
        pointers = {name: pointer for name in named if (pointer := getattr(options, name)) is not None}
        found: dict[str, Any] = {name: _text(_at(body, pointer)) for name, pointer in pointers.items()}
        told = options.health
        health: Health = "healthy" if told is None else _health(_at(body, told), options.healthy)
        return Deployed(**found, health=health)


def _said(printed: Any, options: DeploymentOptions) -> Deployed:
    """What a command printed. Raises Permanent."""
    if not isinstance(printed, dict):
        raise Permanent("what it printed is no JSON object")
    names = ("revision", "stable", "rollback", "migration", "rolling", "failed", "note")
    found: dict[str, Any] = {name: _text(printed.get(name)) for name in names}
    return Deployed(**found, health=_health(printed.get("health"), options.healthy))


def _at(body: Any, pointer: str) -> Any:
    try:
        return at_pointer(body, pointer)
    except LookupError:
        return None


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()


def _health(said: Any, healthy: tuple[str, ...]) -> Health:
    word = _text(said).lower()
    return "unknown" if not word else "healthy" if word in {each.lower() for each in healthy} else "unhealthy"


def _clean(found: Deployed, clear: Callable[[str], str]) -> Deployed:
    """Without what is no name of a revision or version."""

    def word(said: str) -> str:
        return said if _WORD.fullmatch(said) and clear(said) == said else ""

    return Deployed(
        revision=word(found.revision),
        health=found.health,
        stable=word(found.stable),
        rollback=word(found.rollback),
        migration=word(found.migration),
        rolling=word(found.rolling),
        failed=word(found.failed),
        note=line(fenced(clear(found.note))[0], 200),
    )
