"""GitHub read as an authority, against a stub whose every answer is what GitHub's description says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.authorities import Authority
from contracts.ports import Ask, Given
from contracts.readings import CiReading
from reconcilers.ci import CiReconciler
from tests.forge.github import GithubStub
from tests.forge.openapi import mismatch, shaped
from tool_adapters.process import ProcessRunner

SHA, OTHER = "a" * 40, "b" * 40
NOW = 1772366460.0  # a minute after WHEN
LATE = NOW + 3600


@pytest.fixture
def hub() -> Iterator[GithubStub]:
    with GithubStub() as stub:
        stub.push("topic", SHA)
        yield stub


def reader(hub: Any, tmp: Path = Path("/"), **options: Any) -> CiReconciler:
    said = {"provider": "github", "url": hub.url, "repository": "acme/widget", **options}
    authority = Authority.model_validate({"use": "ci", "options": said, "timeout": 20})
    given = Given("ci", authority, "main", {"TOKEN": "s3cret-token"}, ProcessRunner(tmp), tmp, {})
    return CiReconciler.given(given)


def read(hub: Any, sha: str = SHA, now: float = NOW, **options: Any) -> CiReading:
    return anyio.run(reader(hub, **options).read, Ask(base=OTHER, head=sha, step=1, now=now))


def said(reading: CiReading) -> tuple[str, str]:
    return reading.state, reading.why


# ---- what a pass is ---------------------------------------------------------------------------------------
def test_a_success_on_this_commit_passes_and_one_on_another_does_not(hub: GithubStub) -> None:
    hub.check(SHA, "test", run=hub.run(SHA, said="success"))
    assert read(hub).state == "passed"
    hub.push("topic", OTHER)
    seen = read(hub, OTHER)
    assert (seen.state, seen.not_before) == ("unknown", NOW + 60) and "no check has appeared" in seen.why
    assert read(hub).state == "unknown", "and the first is superseded"


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("failure", "failed"), ("timed_out", "failed"), ("cancelled", "unknown"), ("action_required", "blocked"),
        ("neutral", "passed"), ("skipped", "passed"), ("queued", "pending"), ("in_progress", "pending"),
    ],
)  # fmt: skip
def test_a_conclusion_beside_a_success(hub: GithubStub, word: str, state: str) -> None:
    run = hub.run(SHA, said="success")
    hub.check(SHA, "test", run=run)
    hub.check(SHA, "other", word, run=run)
    assert read(hub).state == state


def test_no_check_is_no_pass_and_says_why_in_the_end(hub: GithubStub) -> None:
    assert said(read(hub))[0] == "unknown"
    state, why = said(read(hub, now=LATE))
    assert state == "blocked" and "default token" in why
    # Committed long ago and pushed just now: the time of the push counts.
    hub.pushes.append({"after": SHA, "before": OTHER, "timestamp": "2026-03-01T12:59:00Z"})
    assert said(read(hub, now=LATE))[0] == "unknown"


def test_a_commit_that_is_not_pushed(hub: GithubStub) -> None:
    seen = read(hub, OTHER)
    assert (seen.state, seen.not_before) == ("pending", None) and "not pushed" in seen.why


def test_a_pull_request_that_only_holds_the_commit_is_not_its_own(hub: GithubStub) -> None:
    hub.check(SHA, "test")
    hub.push("stacked", SHA)
    hub.open("stacked")["mergeable"] = False
    assert "conflicts" in read(hub).why
    hub.push("stacked", OTHER)
    assert read(hub).state == "passed", "topic stands here"


def test_a_commit_that_no_branch_stands_at(hub: GithubStub) -> None:
    hub.check(SHA, "test")
    hub.push("topic", OTHER)
    assert "superseded" in read(hub).why


# ---- what counts ------------------------------------------------------------------------------------------
def test_a_job_that_is_run_again_keeps_both_attempts(hub: GithubStub) -> None:
    run = hub.run(SHA, said="success", attempt=2)
    hub.check(SHA, "test", "failure", run=run, attempt=1)
    hub.check(SHA, "lint", run=run, attempt=1)
    hub.check(SHA, "test", "success", run=run, attempt=2)
    seen = read(hub)
    assert seen.state == "passed" and seen.flaky == ("test",)
    assert sorted((check.name, check.attempt, check.counts) for check in seen.checks) == [
        ("lint", 1, "counts"), ("test", 1, "replaced"), ("test", 2, "counts"),
    ]  # fmt: skip
    assert "flaky" in seen.text


def test_two_jobs_of_one_name_in_one_attempt_both_count(hub: GithubStub) -> None:
    run = hub.run(SHA, said="failure")
    hub.check(SHA, "test", "failure", run=run)
    hub.check(SHA, "test", "success", run=run)
    assert read(hub).state == "failed"


def test_a_cancelled_run_that_a_newer_one_replaced(hub: GithubStub) -> None:
    hub.check(SHA, "test", "cancelled", run=hub.run(SHA, said="cancelled"))
    assert read(hub).state == "unknown"
    newer = hub.run(SHA, "queued")
    assert read(hub).state == "pending", "the newer run has no check yet"
    hub.check(SHA, "test", run=newer)
    assert read(hub).state == "passed"


def test_another_event_replaces_nothing(hub: GithubStub) -> None:
    hub.check(SHA, "test", "failure", run=hub.run(SHA, said="failure", event="push"))
    hub.check(SHA, "test", run=hub.run(SHA, said="success", event="pull_request"))
    assert read(hub).state == "failed"


@pytest.mark.parametrize(("word", "state"), [("startup_failure", "failed"), ("action_required", "blocked")])
def test_a_workflow_run_without_checks(hub: GithubStub, word: str, state: str) -> None:
    hub.check(SHA, "test", run=hub.run(SHA, said="success"))
    hub.run(SHA, said=word, workflow=8, name="Deploy")
    seen = read(hub)
    assert seen.state == state and seen.checks[0].name == "Deploy"


def test_statuses_count_beside_check_runs(hub: GithubStub) -> None:
    hub.check(SHA, "test")
    hub.status(SHA, "ci/other", "pending")
    assert read(hub).state == "pending"
    hub.status(SHA, "ci/other", "error", description="it broke")
    seen = read(hub)
    assert seen.state == "failed" and "ci/other: failure: it broke" in seen.text
    hub.status(SHA, "ci/other", "success")
    assert read(hub).state == "passed"


def test_a_check_of_another_app_that_was_made_anew(hub: GithubStub) -> None:
    hub.check(SHA, "scan", "failure", app="scanner", suite=5)
    hub.check(SHA, "scan", app="scanner", suite=5)
    assert read(hub).state == "passed"


# ---- what is required -------------------------------------------------------------------------------------
def test_required_by_the_branch_rules(hub: GithubStub) -> None:
    hub.require("test")
    run = hub.run(SHA, said="failure")
    hub.check(SHA, "docs", "failure", run=run)
    seen = read(hub)
    assert seen.state == "pending" and seen.missing == ("test",)
    hub.check(SHA, "test", run=run)
    seen = read(hub)
    assert seen.state == "passed" and "docs: failure, not required" in seen.text
    hub.protected = ["old-style [1]"]
    seen = read(hub, now=LATE)
    assert seen.state == "blocked"
    hub.status(SHA, "old-style [1]", "success")
    assert read(hub).state == "passed"


def test_a_required_check_of_one_app_is_not_given_by_another(hub: GithubStub) -> None:
    hub.require("test", app=15368)
    hub.status(SHA, "test", "success")
    hub.check(SHA, "test", app="other", app_id=2)
    seen = read(hub)
    assert seen.state == "pending" and seen.missing == ("test",)
    assert "not of the app that is required" in seen.text
    hub.check(SHA, "test", app_id=15368)
    assert read(hub).state == "passed"
    hub.require("scan", app=99)
    hub.status(SHA, "scan", "success", avatar_url="https://avatars.example.org/in/99?v=4")
    assert read(hub).state == "passed"


def test_required_by_the_task(hub: GithubStub) -> None:
    hub.check(SHA, "test (3.11)", "skipped")
    hub.check(SHA, "lint")
    assert read(hub, required=["test (*)", "lint"]).state == "unknown"
    assert read(hub, required=["test (*)", "lint"], accept=["skipped"]).state == "passed"
    assert read(hub, required=["test (3.12)"]).missing == ("test (3.12)",)


def test_the_job_that_the_controller_runs_in_is_ignored_by_name(hub: GithubStub) -> None:
    own = hub.check(SHA, "nightly (controller)", "in_progress")
    assert read(hub).state == "pending"
    assert "no check has appeared" in read(hub, ignore=["nightly (*)"]).why
    hub.check(SHA, "test")
    assert read(hub, ignore=["nightly (*)"]).state == "passed"
    own |= {"status": "completed", "conclusion": "failure"}
    assert read(hub).state == "failed"


# ---- the pull request -------------------------------------------------------------------------------------
def test_conflict_review_closed_and_superseded(hub: GithubStub) -> None:
    hub.check(SHA, "test")
    hub.require(reviews=1)
    pull = hub.open("topic")
    assert said(read(hub)) == ("blocked", "a review is missing")
    assert read(hub, reviews=False).state == "passed"
    hub.review(1, "stranger", "APPROVED", "NONE")
    assert read(hub).state == "blocked"
    hub.review(1, "ana", "APPROVED")
    assert read(hub).state == "passed"
    hub.review(1, "ben", "CHANGES_REQUESTED")
    hub.review(1, "ben", "COMMENTED")
    assert read(hub).state == "blocked"
    hub.review(1, "ben", "DISMISSED")
    assert read(hub).state == "passed"
    pull["mergeable"] = None
    assert read(hub).state == "pending"
    pull["mergeable"] = False
    assert "conflicts" in read(hub).why
    pull["mergeable"] = True
    hub.push("topic", OTHER)
    seen = read(hub)
    assert "superseded" in seen.why and seen.note == f"pull request 1 at {OTHER[:12]}"
    hub.push("topic", SHA)
    pull["state"] = "closed"
    assert "closed" in read(hub).why
    pull["merged"] = True
    assert read(hub).state == "passed"


# ---- pages, conditional requests, what is sent ------------------------------------------------------------
def test_all_pages_are_read(hub: GithubStub) -> None:
    hub.page = 10
    for number in range(34):
        hub.check(SHA, f"test {number}", app=f"app{number}")
    hub.check(SHA, "last", "failure", app="other")
    seen = read(hub)
    assert seen.state == "failed" and seen.total == 35 and seen.checks[0].name == "last"


def test_a_second_reading_is_conditional(hub: GithubStub) -> None:
    hub.check(SHA, "test", "in_progress")
    both, ask = reader(hub), Ask(base=OTHER, head=SHA, step=1, now=NOW)
    first = anyio.run(both.read, ask)
    count = len(hub.seen)
    assert anyio.run(both.read, ask).model_copy(update={"took": 0}) == first.model_copy(update={"took": 0})
    assert {seen.status for seen in hub.seen[count:]} == {304}
    hub.checks[0] |= {"status": "completed", "conclusion": "success"}
    assert anyio.run(both.read, ask).state == "passed"


def test_the_token_is_sent_and_never_shown(hub: GithubStub) -> None:
    hub.check(SHA, "test", "failure")
    seen = read(hub, token_env="TOKEN")
    assert {each.headers["authorization"] for each in hub.seen} == {"Bearer s3cret-token"}
    assert "s3cret" not in seen.model_dump_json()
    assert len(hub.seen) <= 10


def test_the_stub_can_be_wrong() -> None:
    path = "/repos/{owner}/{repo}/commits/{ref}/check-runs"
    check = shaped("check-run")
    assert mismatch(path, 200, {"total_count": 1, "check_runs": [check]}) is None
    assert mismatch(path, 200, {"total_count": 1, "check_runs": [check | {"conclusion": "fine"}]})
    assert mismatch(path, 200, {"total_count": 1, "check_runs": [{"id": 1}]})
