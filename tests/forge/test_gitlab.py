from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import reconcilers.http
from contracts.authorities import Authority
from contracts.ports import Ask, Given
from contracts.readings import CiReading
from reconcilers.ci import CiReconciler
from tests.forge.gitlab import GitlabStub
from tests.forge.server import Reply
from tool_adapters.process import ProcessRunner

SHA, OTHER = "a" * 40, "b" * 40
NOW = 1772366460.0  # a minute after WHEN


@pytest.fixture
def lab() -> Iterator[GitlabStub]:
    with GitlabStub() as stub:
        stub.commits += [SHA, OTHER]
        yield stub


def read(lab: GitlabStub, sha: str = SHA, now: float = NOW, **options: Any) -> CiReading:
    said = {"provider": "gitlab", "url": lab.url, "repository": "group/sub/widget", **options}
    authority = Authority.model_validate({"use": "ci", "options": said, "timeout": 20})
    given = Given("ci", authority, "main", {"T": "s3cret"}, ProcessRunner(Path("/")), Path("/"), {})
    return anyio.run(CiReconciler.given(given).read, Ask(base=OTHER, head=sha, step=1, now=now))


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("success", "passed"), ("failed", "failed"), ("canceled", "unknown"), ("canceling", "unknown"),
        ("skipped", "unknown"), ("manual", "blocked"), ("created", "pending"), ("pending", "pending"),
        ("waiting_for_resource", "pending"), ("preparing", "pending"), ("scheduled", "pending"),
        ("running", "pending"), ("never_heard_of", "unknown"),
    ],
)  # fmt: skip
def test_each_status_of_a_pipeline(lab: GitlabStub, status: str, state: str) -> None:
    lab.pipeline(SHA, status)
    assert read(lab).state == state


def test_jobs_that_may_fail_do_not_count_and_retries_replace(lab: GitlabStub) -> None:
    pipeline = lab.pipeline(SHA, "success")
    lab.job(pipeline, "docs", "failed", allow=True, why="script_failure")
    lab.job(pipeline, "deploy", "manual", allow=True)
    lab.job(pipeline, "test", "failed")
    lab.job(pipeline, "test", "success")
    seen = read(lab, token_env="T")
    assert seen.state == "passed" and seen.flaky == ("test",)
    assert "docs: failure, not required: script_failure" in seen.text
    assert {each.headers["private-token"] for each in lab.seen} == {"s3cret"}
    assert read(lab, required=["test", "docs"]).state == "failed", "the task says that it may not fail"
    lab.job(pipeline, "gate", "manual")
    assert read(lab).state == "blocked"
    assert read(lab, required=["test"]).state == "passed"
    assert read(lab, required=["test", "more"]).missing == ("more",)


def test_a_newer_pipeline_replaces_one_of_the_same_source(lab: GitlabStub) -> None:
    old = lab.pipeline(SHA, "canceled")
    lab.job(old, "test", "canceled")
    assert read(lab).state == "unknown"
    new = lab.pipeline(SHA, "success")
    lab.job(new, "test", "success")
    assert read(lab).state == "passed"
    lab.pipeline(SHA, "failed", source="schedule")
    assert read(lab).state == "failed"


def test_nothing_yet_not_pushed_and_no_access(lab: GitlabStub) -> None:
    lab.pipeline(OTHER, "success")
    assert read(lab).state == "unknown"
    assert read(lab, now=NOW + 3600).state == "blocked"
    seen = read(lab, "c" * 40)
    assert (seen.state, seen.not_before) == ("pending", None)
    seen = read(lab, repository="group/other")
    assert seen.state == "unknown" and "404" in seen.note


def test_the_merge_request(lab: GitlabStub) -> None:
    lab.pipeline(SHA, "success")
    request = lab.request(SHA)
    assert read(lab).state == "passed"
    for told, state in [
        ("not_approved", "blocked"), ("requested_changes", "blocked"), ("checking", "pending"),
        ("unchecked", "pending"), ("conflict", "blocked"), ("draft_status", "passed"),
    ]:  # fmt: skip
        request["detailed_merge_status"] = told
        assert read(lab).state == state, told
    lab.approvals[1] = {"approvals_required": 1, "approvals_left": 1}
    assert read(lab).why == "a review is missing"
    assert read(lab, reviews=False).state == "passed"
    lab.approvals[1] = {"approvals_required": 1, "approvals_left": 0}
    assert read(lab).state == "passed"
    request["has_conflicts"] = True
    assert "conflicts" in read(lab).why
    request |= {"has_conflicts": False, "sha": OTHER}
    assert "superseded" in read(lab).why
    request |= {"sha": SHA, "state": "closed"}
    assert "closed" in read(lab).why
    request["state"] = "merged"
    assert read(lab).state == "passed"


def test_all_pages_and_faults(lab: GitlabStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))
    lab.page = 5
    pipeline = lab.pipeline(SHA, "running")
    for number in range(18):
        lab.job(pipeline, f"test {number}", "success")
    assert read(lab).total == 19
    limited = {"RateLimit-Remaining": "0", "RateLimit-Reset": str(int(time.time()) + 500)}
    for place in ("/commits/", "/pipelines", "/jobs", "/merge_requests"):
        lab.fail(place, Reply(429, b"Retry later", {**limited, "Content-Type": "text/plain"}))
        seen = read(lab)
        assert seen.state == "unknown" and seen.not_before and seen.not_before > time.time() + 400
        lab.fail(place, Reply(500, b""), Reply(cut=0))
        assert read(lab).state == "pending", "two of three tries"
