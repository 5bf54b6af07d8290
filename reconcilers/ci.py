"""Continuous integration as an authority: one reading whoever is asked, and the check that rests on it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from contracts.authorities import CiOptions
from contracts.ci import CiCheck, Facts, conclusion, flaky, judge, matching
from contracts.errors import ControllerError
from contracts.ports import Ask, Given
from contracts.readings import CiReading
from contracts.text import line
from reconcilers.asked import asked, printed_json, token
from reconcilers.buildbot import Buildbot
from reconcilers.github import Github
from reconcilers.gitlab import Gitlab
from reconcilers.http import Later

SHOWN = 60  # checks kept in a reading
ORDER = ("failed", "blocked", "unknown", "pending", "passed", None)


class Provider(Protocol):
    """One CI system. Blocks; `deadline` is of time.monotonic. Raises Later, Permanent."""

    def facts(self, sha: str, now: float, deadline: float) -> Facts: ...


PROVIDERS: dict[str, Any] = {"github": Github, "gitlab": Gitlab, "buildbot": Buildbot}


class CiReconciler:
    """Reads what CI says of the run's commit. What can't be read is a reading of state `unknown`, never raised."""

    def __init__(self, given: Given) -> None:
        self.name, self.when = given.name, ("step",)
        options = given.authority.settings
        assert isinstance(options, CiOptions), "of an authority with `use: ci`"
        self._given, self._options = given, options
        self._provider: Provider | None = None

    @classmethod
    def given(cls, given: Given) -> CiReconciler:
        """What the task's authority asks for. Raises ConfigError where its token is not there."""
        made = cls(given)
        options = made._options
        if (make := PROVIDERS.get(options.provider)) is not None:
            made._provider = make(options, token(given, options.token_env), given.base)
        return made

    async def read(self, ask: Ask) -> CiReading:
        """The reading of `ask.head`."""
        began, timeout, provider = time.monotonic(), self._given.authority.timeout, self._provider
        try:
            if provider is None:
                said = await printed_json(self._given, ask, self._options.poll)
                facts = printed(said, ask.head, self._options)
            else:
                facts = await asked(partial(provider.facts, ask.head, ask.now), timeout)
        except Later as error:
            return self._unknown(ask, began, "it can't be read now", error.message, error.not_before)
        except (ControllerError, OSError) as error:
            return self._unknown(ask, began, "it can't be read", str(error), None)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            why = f"what it printed has another shape than expected ({type(error).__name__}: {error})"
            return self._unknown(ask, began, "it can't be read", why, None)
        return self._judged(ask, began, facts)

    def _judged(self, ask: Ask, began: float, facts: Facts) -> CiReading:
        options = self._options
        left = [each for each in facts.checks if not any(matching(each.name, out) for out in options.ignore)]
        judged = judge(replace(facts, checks=left, grace=options.grace, give_up=options.give_up))
        clear, parts = self._given.clear, ("name", "key", "url", "why")
        checks = sorted(judged.checks, key=lambda each: (ORDER.index(each.state), each.name, -each.attempt))
        shown = [
            each.model_copy(update={part: clear(getattr(each, part)) for part in parts})
            for each in checks[:SHOWN]
        ]
        return CiReading(
            name=self.name,
            provider=options.provider,
            sha=ask.head,
            state=judged.row.state,
            why=judged.row.why,
            note=facts.note,
            checks=tuple(shown),
            total=len(checks),
            missing=judged.missing[:20],
            flaky=flaky(judged.checks)[:20],
            not_before=ask.now + options.poll if judged.row.again else None,
            took=time.monotonic() - began,
        )

    def _unknown(self, ask: Ask, began: float, why: str, note: str, not_before: float | None) -> CiReading:
        return CiReading(
            name=self.name,
            provider=self._options.provider,
            sha=ask.head,
            state="unknown",
            why=why,
            note=line(self._given.clear(note), 300),
            not_before=not_before,
            read=False,
            took=time.monotonic() - began,
        )


def printed(said: Mapping[str, Any], sha: str, options: CiOptions) -> Facts:
    """The facts in the JSON of a command. A check without `sha`, beside or above it, is not of this commit."""
    required = (*options.required, *map(str, said.get("required") or ()))
    checks = [
        CiCheck(
            name=line(str(each["name"]), 160),
            conclusion=conclusion("command", each.get("conclusion")),
            required="no" if each.get("required") is False else "assumed",
            attempt=int(each.get("attempt") or 1),
            sha=str(each.get("sha") or said.get("sha") or ""),
            url=line(str(each.get("url") or ""), 200),
            why=line(str(each.get("why") or ""), 200),
        )
        for each in said["checks"]
    ]
    return Facts(
        sha,
        checks,
        required=required or None,
        accept=options.accept,
        sight="not pushed" if said.get("pushed") is False else "same",
        conflict="yes" if said.get("conflict") else "none",
        review="missing" if said.get("review") == "missing" and options.reviews else "not needed",
        quiet=float(said["quiet"]) if "quiet" in said else None,
    )
