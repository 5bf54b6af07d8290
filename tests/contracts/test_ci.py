"""Every row of the tables of CI, and the law over all of them: `passed` only with positive evidence."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from contracts.ci import (
    CHECK,
    COUNTS,
    WHOLE,
    WHY,
    WORDS,
    CiCheck,
    CiState,
    Conclusion,
    Conflict,
    Facts,
    Request,
    Required,
    Review,
    Sight,
    conclusion,
    flaky,
    judge,
)

ROOT = Path(__file__).resolve().parents[2]
SHA, OTHER = "a" * 40, "b" * 40
REQUIRED: dict[Required, tuple[str, ...] | None] = {"yes": ("it",), "assumed": None, "no": ("green",)}


def check(said: str, name: str = "it", **more: Any) -> CiCheck:
    return CiCheck.model_validate({"name": name, "conclusion": said, "sha": SHA, **more})


GREEN = check("success", "green")


def judged(*checks: CiCheck, **more: Any) -> CiState:
    return judge(Facts(SHA, checks, **more)).row.state


# ---- what one check says: beside one that passes, so that only it decides ---------------------------------
EXPECTED: dict[Conclusion, tuple[CiState, CiState, CiState]] = {  # required, assumed, not required
    "success": ("passed", "passed", "passed"),
    "failure": ("failed", "failed", "passed"),
    "timed_out": ("failed", "failed", "passed"),
    "startup_failure": ("failed", "failed", "passed"),
    "cancelled": ("unknown", "unknown", "passed"),
    "action_required": ("blocked", "blocked", "passed"),
    "neutral": ("unknown", "passed", "passed"),
    "skipped": ("unknown", "passed", "passed"),
    "stale": ("unknown", "unknown", "passed"),
    "queued": ("pending", "pending", "passed"),
    "running": ("pending", "pending", "passed"),
    "unrecognised": ("unknown", "unknown", "passed"),
}


@pytest.mark.parametrize("said", get_args(Conclusion))
@pytest.mark.parametrize("required", get_args(Required))
def test_a_conclusion_beside_a_pass(said: Conclusion, required: Required) -> None:
    needed = REQUIRED[required] and (*REQUIRED[required], "green")
    expected = EXPECTED[said][get_args(Required).index(required)]
    assert judged(check(said), GREEN, required=needed) == expected


@pytest.mark.parametrize("said", get_args(Conclusion))
@pytest.mark.parametrize("required", get_args(Required))
def test_alone_only_a_success_that_counts_passes(said: Conclusion, required: Required) -> None:
    needed = ("it",) if required == "yes" else None
    alone = check(said, required="no" if required == "no" else "assumed")
    state = judged(alone, required=needed)
    assert (state == "passed") == (said == "success" and required != "no")


@pytest.mark.parametrize("said", ["neutral", "skipped"])
def test_what_is_accepted_hinders_nothing_and_proves_nothing(said: str) -> None:
    needed = ("it", "green")
    assert judged(check(said), GREEN, required=needed, accept=(said,)) == "passed"
    assert judged(check(said), required=("it",), accept=(said,)) == "unknown"
    assert judged(check("cancelled"), GREEN, required=needed, accept=("neutral", "skipped")) == "unknown"


@pytest.mark.parametrize("said", get_args(Conclusion))
@pytest.mark.parametrize("required", get_args(Required))
def test_what_ran_on_another_commit_counts_for_nothing(said: Conclusion, required: Required) -> None:
    other = check(said, sha=OTHER)
    needed = ("green",) if required != "assumed" else None
    assert judged(other, GREEN, required=needed) == "passed"
    assert judged(other, required=REQUIRED[required]) in ("unknown", "pending")
    assert judged(other, required=REQUIRED[required], quiet=1e4) == "blocked"


@pytest.mark.parametrize("said", get_args(Conclusion))
@pytest.mark.parametrize("newer", get_args(Conclusion))
def test_the_newest_attempt_of_the_same_check_decides(said: Conclusion, newer: Conclusion) -> None:
    seen = (check(said), check(newer, attempt=2))
    assert judged(*seen) == judged(check(newer, attempt=2)) == judged(*reversed(seen))
    assert judged(check(said, replaced=True), GREEN) == "passed"
    # An attempt on another commit replaces nothing.
    assert judged(check(said), check(newer, attempt=2, sha=OTHER)) == judged(check(said))


def test_two_of_one_name_and_attempt_both_count() -> None:
    assert (
        judged(check("success"), check("failure")) == "failed" == judged(check("failure"), check("success"))
    )


@pytest.mark.parametrize(
    "keys", [("ci.yml/test", "nightly.yml/test"), ("app 1/test", "status/test"), ("", "x")]
)
def test_checks_of_one_name_from_two_places_are_two(keys: tuple[str, str]) -> None:
    """A workflow that was tried again replaces nothing of another one whose job has the same name."""
    one, other = keys
    red, again = check("failure", key=one), check("success", key=other, attempt=2)
    for order in ((red, again), (again, red)):
        found = judge(Facts(SHA, order))
        assert (found.row.state, [each.counts for each in found.checks]) == ("failed", ["counts", "counts"])
    old = check("success", key=other)
    assert judged(red, old, check("success", key=one, attempt=2)) == "passed"
    assert judged(check("success", key=one), check("failure", key=other, attempt=2)) == "failed"
    # Red here and green there is no evidence that either is flaky.
    first = check("failure", key=one)
    seen = judge(Facts(SHA, (first, check("failure", key=one, attempt=2), again)))
    assert flaky(seen.checks) == ()


def test_flaky_only_on_the_same_commit() -> None:
    def told(*checks: CiCheck) -> tuple[str, ...]:
        return flaky(judge(Facts(SHA, checks)).checks)

    assert told(check("failure"), check("success", attempt=2)) == ("it",)
    assert told(check("failure", sha=OTHER), check("success", attempt=2)) == ()
    assert told(check("cancelled"), check("success", attempt=2)) == ()
    assert told(check("success"), check("failure", attempt=2)) == ()


# ---- what all of it says ----------------------------------------------------------------------------------
PLAIN = Facts(SHA, (GREEN,))
RUNNING = check("running", "slow")
CASES: dict[str, Facts] = {
    "the commit is not on the remote": replace(PLAIN, sight="not pushed"),
    "a check that counts has failed": replace(
        PLAIN, checks=(GREEN, check("failure"), RUNNING), conflict="yes"
    ),
    "a check that counts needs a person": replace(PLAIN, checks=(GREEN, check("action_required"), RUNNING)),
    "the pull request was closed unmerged": replace(PLAIN, request="closed"),
    "the pull request conflicts with its base": replace(PLAIN, request="open", conflict="yes", checks=()),
    "the branch stands at another commit": replace(PLAIN, sight="moved on"),
    "not everything could be read": replace(PLAIN, whole=False),
    "a check that counts says nothing usable": replace(PLAIN, checks=(GREEN, check("stale"), RUNNING)),
    "a check that counts runs, and nothing moved for too long": replace(
        PLAIN, checks=(GREEN, RUNNING), quiet=1e5
    ),
    "a check that counts is queued or running": replace(PLAIN, checks=(GREEN, RUNNING), review="missing"),
    "a required check is missing, within the grace": replace(PLAIN, required=("green", "more"), quiet=10.0),
    "a required check is missing, after the grace": replace(PLAIN, required=("green", "more"), quiet=301.0),
    "no check at all, within the grace": replace(PLAIN, checks=(), quiet=10.0),
    "no check at all, after the grace": replace(PLAIN, checks=(), quiet=301.0),
    "the conflict is not computed yet": replace(PLAIN, request="open", conflict="not computed"),
    "a needed review is missing": replace(PLAIN, request="open", review="missing"),
    "a check that counts passed": replace(PLAIN, request="merged", review="given", quiet=1e6),
    "anything else": replace(PLAIN, checks=(check("skipped"),)),
}


# Of each row its state, and whether looking later may tell more (`*`).
STATES = {
    "the commit is not on the remote": "pending",
    "a check that counts has failed": "failed",
    "a check that counts needs a person": "blocked",
    "the pull request was closed unmerged": "blocked",
    "the pull request conflicts with its base": "blocked",
    "the branch stands at another commit": "unknown",
    "not everything could be read": "unknown",
    "a check that counts says nothing usable": "unknown",
    "a check that counts runs, and nothing moved for too long": "blocked",
    "a check that counts is queued or running": "pending*",
    "a required check is missing, within the grace": "pending*",
    "a required check is missing, after the grace": "blocked",
    "no check at all, within the grace": "unknown*",
    "no check at all, after the grace": "blocked",
    "the conflict is not computed yet": "pending*",
    "a needed review is missing": "blocked",
    "a check that counts passed": "passed",
    "anything else": "unknown",
}


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.when)
def test_each_row_of_the_whole(row: Any) -> None:
    assert judge(CASES[row.when]).row is row
    assert row.state + "*" * row.again == STATES[row.when] and row.why


def test_missing_ones_are_named_and_globs_match() -> None:
    facts = Facts(SHA, (check("success", "test (3.11)"), check("success", "test (3.12)")))
    assert judge(replace(facts, required=("test (*)",))).row.state == "passed"
    assert judge(replace(facts, required=("test (*)", "lint"))).missing == ("lint",)
    assert judge(replace(facts, required=("test [*]",))).missing == ("test [*]",)
    assert judged(check("failure", "docs"), check("success", "test"), required=("test",)) == "passed"


def test_passed_only_with_positive_evidence() -> None:
    """The whole product: a pass has a success on this commit that counts, and nothing that counts against it."""
    number = passed = 0
    for said, required, attempt, sha, sight, request, conflict, review, quiet in product(
        get_args(Conclusion), get_args(Required), (1, 2), (SHA, OTHER), get_args(Sight), get_args(Request),
        get_args(Conflict), get_args(Review), (None, 10.0, 1e6),
    ):  # fmt: skip
        one = check(said, attempt=attempt, sha=sha)
        two = check("success")
        facts = Facts(
            SHA, (one, two), required=REQUIRED[required], sight=sight, request=request, conflict=conflict,
            review=review, quiet=quiet,
        )  # fmt: skip
        number += 1
        if judge(facts).row.state != "passed":
            continue
        passed += 1
        assert sight == "same" and conflict == "none" and review != "missing" and request != "closed", facts
        assert required != "no", facts  # the required one is not there
        if sha == SHA:
            assert said == "success" or (
                required == "assumed" and attempt == 1 and said in ("neutral", "skipped")
            )
    assert number > 15_000 and passed > 100


# ---- the tables are whole ---------------------------------------------------------------------------------
def test_the_tables_know_every_word_of_theirs() -> None:
    assert set(CHECK) == set(WHY) == set(get_args(Conclusion)) == set(EXPECTED)
    assert all(set(row) == set(get_args(Required)) for row in CHECK.values())
    same_commit = {(True, True): "counts", (True, False): "replaced"}
    assert same_commit | dict.fromkeys([(False, True), (False, False)], "other commit") == COUNTS
    assert list(CASES) == [row.when for row in WHOLE], (
        "the first that holds decides: their order is part of it"
    )
    assert WHOLE[-1].state == "unknown"
    assert [row.when for row in WHOLE if row.state == "passed"] == ["a check that counts passed"]
    assert all(row["no"] is None for row in CHECK.values())


# What each word means by its vendor's documentation, written down without a look at the table. GitHub: "Check runs" and
# "Commit statuses" of the REST API (`stale`: incomplete for more than 14 days; a suite that asks for a decision:
# `action_required`). GitLab: the statuses of the pipelines and jobs APIs. Buildbot: `buildbot.process.results`.
MEANT: dict[str, dict[Conclusion, str]] = {
    "github check run": {
        "success": "success",
        "failure": "failure",
        "timed_out": "timed_out",
        "startup_failure": "startup_failure",
        "cancelled": "cancelled",
        "action_required": "action_required",
        "neutral": "neutral",
        "skipped": "skipped",
        "stale": "stale",
        "queued": "queued requested waiting pending",
        "running": "in_progress",
    },
    "github status": {"success": "success", "failure": "failure error", "running": "pending"},
    "gitlab": {
        "success": "success",
        "failure": "failed",
        "cancelled": "canceled canceling",
        "skipped": "skipped",
        "action_required": "manual",
        "queued": "created waiting_for_resource waiting_for_callback preparing pending scheduled",
        "running": "running",
    },
    "buildbot": {
        "success": "0 1",
        "failure": "2",
        "skipped": "3",
        "startup_failure": "4",
        "queued": "5 queued",
        "cancelled": "6",
        "running": "running",
    },
    "command": {
        "success": "success",
        "failure": "failure",
        "timed_out": "timed_out",
        "startup_failure": "startup_failure",
        "cancelled": "cancelled",
        "action_required": "action_required",
        "neutral": "neutral",
        "skipped": "skipped",
        "stale": "stale",
        "queued": "queued",
        "running": "running",
    },
}
READ = [
    (source, word, meant)
    for source in MEANT
    for meant in MEANT[source]
    for word in MEANT[source][meant].split()
]


@pytest.mark.parametrize(("source", "word", "meant"), READ)
def test_each_word_of_a_provider_means_what_its_vendor_says(
    source: str, word: str, meant: Conclusion
) -> None:
    assert conclusion(source, word) == meant


def test_no_word_of_a_provider_is_known_that_is_not_written_down_here() -> None:
    assert {(source, word) for source in WORDS for word in WORDS[source]} == {
        (each[0], each[1]) for each in READ
    }


@pytest.mark.parametrize("source", WORDS)
@pytest.mark.parametrize("word", ["SUCCESS", "ok", "passed", "", None, True, 7, "true"])
def test_a_word_that_no_table_knows_is_no_pass(source: str, word: object) -> None:
    assert conclusion(source, word) == "unrecognised"


def test_the_document_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/truth-table"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
