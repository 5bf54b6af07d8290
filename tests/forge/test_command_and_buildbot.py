"""CI by a command's JSON, and by Buildbot's REST API."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.authorities import Authority
from contracts.ports import Ask, Given
from contracts.readings import CiReading
from reconcilers.ci import CiReconciler
from tests.forge.server import Forge, Reply
from tool_adapters.process import ProcessRunner, child_environment

SHA, OTHER = "a" * 40, "b" * 40
NOW = 1772366460.0


def read(tmp: Path, sha: str = SHA, run: Any = None, clear: Any = str, **options: Any) -> CiReading:
    authority = Authority.model_validate({"use": "ci", "options": options, "timeout": 10, "run": run})
    runner = ProcessRunner(tmp / "spool")
    given = Given("ci", authority, "main", {}, runner, tmp, child_environment(), clear)
    return anyio.run(CiReconciler.given(given).read, Ask(base=OTHER, head=sha, step=1, now=NOW))


# ---- command -----------------------------------------------------------------------------------------------------
def said(tmp: Path, value: Any, **options: Any) -> CiReading:
    text = value if isinstance(value, str) else json.dumps(value)
    return read(tmp, run=f"printf %s {shlex.quote(text)}", provider="command", **options)


def checks(*words: str, **more: Any) -> dict[str, Any]:
    found = [{"name": f"c{number}", "conclusion": word} for number, word in enumerate(words)]
    return {"sha": SHA, "checks": found, **more}


def test_a_command_says_what_ran_on_which_commit(tmp_path: Path) -> None:
    assert said(tmp_path, checks("success")).state == "passed"
    assert said(tmp_path, checks("success", sha=OTHER)).state == "unknown"
    assert said(tmp_path, {"checks": [{"name": "c", "conclusion": "success"}]}).state == "unknown"
    assert said(tmp_path, checks("success", "failure")).state == "failed"
    assert said(tmp_path, checks("success", "skipped"), required=["c*"]).state == "unknown"
    assert said(tmp_path, checks("success", required=["c0", "more"])).missing == ("more",)
    assert said(tmp_path, checks("success", "nice")).state == "unknown"
    assert said(tmp_path, checks("success", conflict=True)).state == "blocked"
    assert said(tmp_path, checks("success", review="missing")).state == "blocked"
    assert said(tmp_path, checks(pushed=False)).state == "pending"
    assert said(tmp_path, checks(quiet=10)).state == "unknown"
    assert said(tmp_path, checks(quiet=1000)).state == "blocked"
    again = [{"name": "c", "conclusion": "failure"}, {"name": "c", "conclusion": "success", "attempt": 2}]
    assert said(tmp_path, {"sha": SHA, "checks": again}).flaky == ("c",)


def test_the_command_is_told_the_commit(tmp_path: Path) -> None:
    run = """printf '{"sha":"%s","checks":[{"name":"x","conclusion":"success"}]}' "$SKILL_STATE_SHA" """
    assert read(tmp_path, run=run, provider="command").state == "passed"


@pytest.mark.parametrize(
    "text",
    ["", "passed", "[]", "{}", "null", '{"checks": 1}', '{"checks": [1]}', '{"checks": [{"name": "x"}]}'],
)
def test_what_a_command_may_print_by_mistake(tmp_path: Path, text: str) -> None:
    assert said(tmp_path, text).state == "unknown"


def test_a_command_that_fails_or_is_missing(tmp_path: Path) -> None:
    seen = read(tmp_path, run="echo gone >&2; exit 3", provider="command")
    assert (seen.state, seen.not_before) == ("unknown", NOW + 60) and "exit 3: gone" in seen.note
    seen = read(tmp_path, run=["no-such-tool"], provider="command")
    assert (seen.state, seen.not_before) == ("unknown", None) and "no-such-tool" in seen.note


def test_what_comes_from_outside_is_cleared_of_secrets(tmp_path: Path) -> None:
    value = {
        "sha": SHA,
        "checks": [{"name": "c", "conclusion": "failure", "why": "token hunter2-long", "url": "hunter2"}],
    }
    run = f"printf %s {shlex.quote(json.dumps(value))}"
    seen = read(tmp_path, run=run, provider="command", clear=lambda text: text.replace("hunter2", "…"))
    assert "hunter2" not in seen.model_dump_json() and "token …-long" in seen.text


# ---- Buildbot ----------------------------------------------------------------------------------------------------
class Master(Forge):
    """Builders 1 (test) and 2 (docs); builds as Buildbot's REST API shows them."""

    def __init__(self) -> None:
        super().__init__()
        self.builds: list[dict[str, Any]] = []
        self.waiting: list[tuple[int, str]] = []
        self.heard: list[float] = []

    def build(self, builder: int, sha: str, results: int | None, **properties: Any) -> None:
        self.builds.insert(
            0,
            {
                "buildid": len(self.builds) + 1, "builderid": builder, "number": len(self.builds) + 1,
                "complete": results is not None, "results": results, "state_string": "said so",
                "started_at": NOW - 30, "complete_at": None if results is None else NOW - 10,
                "properties": {"revision": [sha, "Build"], **properties},
            },
        )  # fmt: skip

    def take(
        self, path: str, query: dict[str, list[str]], headers: dict[str, str], method: str, body: bytes
    ) -> Reply:
        reply = super().take(path, query, headers)
        if "application/json" in headers.get("accept", ""):
            return reply
        return replace(reply, headers={**reply.headers, "Content-Type": "text/plain; charset=utf-8"})

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        meta = {"meta": {"total": 1}}
        if path == "/ci/api/v2/builders":
            return Reply(
                200,
                {"builders": [{"builderid": 1, "name": "test"}, {"builderid": 2, "name": "docs"}], **meta},
            )
        if path == "/ci/api/v2/builds":
            assert query == {
                "property": ["revision", "got_revision"],
                "order": ["-buildid"],
                "limit": ["200"],
            }
            return Reply(200, {"builds": self.builds, **meta})
        if path == "/ci/api/v2/changes":
            found = [{"revision": query["revision"][0], "when_timestamp": when} for when in self.heard]
            return Reply(200, {"changes": found, **meta})
        if path == "/ci/api/v2/buildrequests":
            found = [{"buildsetid": n, "builderid": each[0]} for n, each in enumerate(self.waiting)]
            return Reply(200, {"buildrequests": found, **meta})
        if path.startswith("/ci/api/v2/buildsets/"):
            sha = self.waiting[int(path.rpartition("/")[2])][1]
            return Reply(200, {"buildsets": [{"sourcestamps": [{"revision": sha}]}], **meta})
        return Reply(404, {"error": "invalid path"})


@pytest.fixture
def master() -> Iterator[Master]:
    with Master() as stub:
        yield stub


@pytest.mark.parametrize(
    ("results", "state"),
    [(0, "passed"), (1, "passed"), (2, "failed"), (3, "unknown"), (4, "failed"), (5, "pending"), (6, "unknown"),
     (None, "pending"), (9, "unknown")],
)  # fmt: skip
def test_each_result_of_a_build(master: Master, tmp_path: Path, results: int | None, state: str) -> None:
    master.build(1, SHA, results)
    assert read(tmp_path, provider="buildbot", url=f"{master.url}/ci/").state == state


def test_builds_of_a_commit(master: Master, tmp_path: Path) -> None:
    def state(**options: Any) -> str:
        return read(tmp_path, provider="buildbot", url=f"{master.url}/ci", **options).state

    master.build(1, OTHER, 0)
    assert state() == "unknown"
    master.heard = [NOW - 60]
    assert state() == "unknown"
    master.heard = [NOW - 600]
    assert state() == "blocked", "it heard of the commit and built nothing"
    master.build(1, SHA, 2)
    master.build(2, SHA, 0)
    assert state() == "failed" and state(required=["docs"]) == "passed"
    master.waiting = [(1, OTHER), (1, SHA)]
    assert state() == "pending", "it is built anew"
    master.waiting = []
    master.build(1, OTHER, 0, got_revision=[SHA, "Git"])
    assert state() == "passed"
    master.build(1, SHA, 2, got_revision=[OTHER, "Git"])
    assert state() == "passed", "it was asked for this commit and built another"
    seen = read(tmp_path, provider="buildbot", url=f"{master.url}/other")
    assert seen.state == "unknown" and "404" in seen.note
