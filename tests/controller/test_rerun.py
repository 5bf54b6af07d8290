"""ci_rerun: failed CI once more, its logs kept first, so often and no more, and only for the commit that is pushed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from controller.stores.artifacts import FileArtifacts
from tests.controller.forge_world import PUSH, TOKEN
from tests.controller.forges import KINDS, Place, place
from tests.controller.test_ci import section
from tests.controller.test_push import code, dies_at_the_deed
from tests.controller.test_step import WORK
from tests.controller.world import action, finish
from tests.forge.hub import Hub
from tests.forge.server import Reply
from tool_adapters.forge import client

RERUN = action("ci_rerun", {"why": "the network failed"})
LOG = b"fetching\n" * 50 + b"ConnectionResetError: peer\n=== STATE ===\ntoken " + TOKEN.encode() + b"\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setattr(client, "AGAIN", 0.2)
    monkeypatch.setattr("controller.verify.AGAIN", 0.2)


class Ci:
    """One workflow with one job on the run's pushed commit."""

    def __init__(self, at: Place) -> None:
        self.at, self.sha = at, at.world.head
        if isinstance(at.forge, Hub):
            self.run = at.forge.run(self.sha, said="failure")
            job = at.forge.check(self.sha, "test", "failure", run=self.run)["id"]
            at.forge.jobs[self.run["id"]][0] |= {"conclusion": "failure", "status": "completed"}
            at.forge.logs[job] = LOG
        else:
            self.run = at.forge.pipeline(self.sha, "failed")
            at.forge.job(self.run, "test", "failed")
            at.forge.traces[at.forge.jobs[self.run["id"]][0]["id"]] = LOG

    @property
    def attempts(self) -> int:
        if isinstance(self.at.forge, Hub):
            return int(self.run["run_attempt"])
        return len(self.at.forge.jobs[self.run["id"]])

    def ends(self, word: str) -> None:
        """The newest attempt."""
        if isinstance(self.at.forge, Hub):
            self.run |= {"status": "completed", "conclusion": word}
            job = self.at.forge.check(self.sha, "test", word, run=self.run, attempt=self.attempts)["id"]
            self.at.forge.jobs[self.run["id"]][-1] |= {"conclusion": word, "status": "completed"}
            self.at.forge.logs[job] = LOG
        else:
            said = {"failure": "failed"}.get(word, word)
            self.run["status"] = self.at.forge.jobs[self.run["id"]][0]["status"] = said
            self.at.forge.traces[self.at.forge.jobs[self.run["id"]][0]["id"]] = LOG

    @property
    def word(self) -> str:
        return "/rerun-failed-jobs" if self.at.kind == "github" else "/retry"

    @property
    def sent(self) -> int:
        return sum(each.path.endswith(self.word) for each in self.at.forge.seen)


@pytest.fixture(params=KINDS)
def ci(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ci]:
    with place(request.param, tmp_path) as at:
        at.go([WORK[0], PUSH], limit=2)
        yield Ci(at)


def test_it_is_run_again_and_what_it_printed_is_kept(ci: Ci) -> None:
    end = ci.at.go([RERUN, action("list_files")], limit=2)
    assert ci.attempts == 2 and ci.sent == 1 and code(end) == ""
    shown = section(ci.at.world.prompts[1], "OBSERVATION")
    assert (
        "step 3 ci_rerun: run again: " in shown and "--- job test failed; the last of its 53 lines" in shown
    )
    assert "\n ConnectionResetError: peer\n === STATE ===\n" in shown and TOKEN not in shown
    id = shown.partition("artifact:")[2][:16]
    kept = FileArtifacts(ci.at.world.root / ".agent-runtime/artifacts", bytes).get(id)
    assert kept.startswith(b"fetching\n") and TOKEN.encode() not in kept
    if ci.at.kind == "github":  # the log lies elsewhere, and the token does not go there
        (elsewhere,) = [each for each in ci.at.forge.seen if each.path.startswith("/kept/")]
        assert "authorization" not in elsewhere.headers


def test_it_may_be_run_again_so_often(ci: Ci) -> None:
    ci.at.go([RERUN], limit=1)
    assert code(ci.at.go([RERUN], limit=1)) == "policy.rerun_nothing", "it is not over yet"
    ci.ends("failure")
    end = ci.at.go([RERUN], limit=1)
    assert code(end) == "policy.cap_reruns" and "2 times on this commit" in end.record.correction.say
    assert ci.attempts == 2


@pytest.mark.parametrize("ci", ["github"], indirect=True)
def test_flaky_is_what_passed_on_the_same_commit_and_nothing_else(ci: Ci) -> None:
    """The reading of CI says it, which is tested for both forges where it is made; the action does not."""
    options = f"{{provider: github, url: '{ci.at.forge.url}', repository: acme/widget}}"
    text = ci.at.world.file.read_text()
    ci.at.world.file.write_text(
        text.replace("authorities:\n", f"authorities:\n  remote: {{use: ci, options: {options}}}\n")
    )
    ci.at.go([RERUN, action("list_files")], limit=2)
    assert "flaky" not in "".join(ci.at.world.prompts).replace("flaky only", "")
    ci.ends("success")
    ci.at.go([action("list_files")], limit=1)
    assert "flaky, failed and then passed on this commit: test" in section(
        ci.at.world.prompts[0], "AUTHORITIES"
    )


def test_only_what_is_pushed_and_has_failed(ci: Ci) -> None:
    ci.at.go([WORK[1]], limit=1)
    assert code(ci.at.go([RERUN], limit=1)) == "policy.rerun_not_pushed"
    assert code(ci.at.go([PUSH, RERUN], limit=2)) == "policy.rerun_nothing" and ci.sent == 0


def test_what_was_cancelled_is_run_again_but_not_what_a_newer_run_replaced(ci: Ci) -> None:
    ci.ends("cancelled" if ci.at.kind == "github" else "canceled")
    newer = Ci(ci.at)
    newer.ends("success")
    assert code(ci.at.go([RERUN], limit=1)) == "policy.rerun_nothing" and ci.sent == 0


def test_no_log_no_second_attempt_while_it_may_still_be_had(ci: Ci) -> None:
    at, place = ci.at, "/logs" if ci.at.kind == "github" else "/trace"
    at.forge.fail(place, Reply(503, b"", {"Retry-After": "1"}))
    end = at.go([RERUN], limit=1)
    assert end.outcome is Outcome.waiting and ci.sent == 0
    time.sleep(1.1)
    assert at.go([], limit=1).outcome is None and ci.sent == 1


def test_a_log_that_is_gone_holds_nothing_up(ci: Ci) -> None:
    logs: dict[int, bytes] = ci.at.forge.logs if isinstance(ci.at.forge, Hub) else ci.at.forge.traces
    logs.clear()
    ci.at.go([RERUN, finish()], limit=2)
    assert ci.sent == 1 and "its log can't be had: status 404" in ci.at.world.prompts[1]


def test_a_refusal_is_told(ci: Ci) -> None:
    ci.at.forge.fail(ci.word, Reply(403, {"message": "This workflow run cannot be retried"}))
    end = ci.at.go([RERUN], limit=1)
    assert code(end) == "ci_rerun.refused" and "cannot be retried" in end.record.correction.say


@pytest.mark.parametrize("how", ["lost", "died after", "died before"])
def test_it_is_run_again_once_whatever_gets_lost(ci: Ci, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "lost":
        ci.at.forge.lost.append(ci.word)
        end = ci.at.go([RERUN], limit=1)
    else:
        dies_at_the_deed(ci.at.world, [RERUN], monkeypatch, how == "died after")
        end = ci.at.go([], limit=1)
    assert end.record.observation.tool == "ci_rerun" and (ci.attempts, ci.sent) == (2, 1)
