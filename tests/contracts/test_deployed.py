"""The table of what is deployed: every row is reached, and passes only on positive evidence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.deployed import ROWS, Deployed, judge
from tests.house.size_budgets import ROOT

RUNS = Deployed(revision="abc", health="healthy", stable="abc", rollback="abb", migration="7")
OURS = {"revision": True, "rolling": False, "failed": False}
OTHER = OURS | {"revision": False}


def row(
    found: Deployed, holds: dict[str, bool | None], expect: str = "head", migration: str | None = None
) -> Any:
    return judge(found, holds, expect=expect, migration=migration)


CASES: dict[str, Any] = {
    "the rollout of what is wanted failed": row(
        Deployed(revision="abb", failed="abc"), OTHER | {"failed": True}
    ),
    "what is wanted is deployed, and unhealthy": row(Deployed(revision="abc", health="unhealthy"), OURS),
    "what is wanted is being rolled out": row(
        Deployed(revision="abb", rolling="abc"), OTHER | {"rolling": True}
    ),
    "another revision is deployed, and a rollout is under way": row(
        Deployed(revision="abb", rolling="x"), OTHER
    ),
    "it does not say what is deployed": row(Deployed(health="healthy"), OTHER),
    "it can't be told whether the deployed revision holds the commit": row(RUNS, OURS | {"revision": None}),
    "another revision is deployed": row(RUNS, OTHER),
    "its health is not known": row(Deployed(revision="abc"), OURS),
    "the database stands at another version": row(RUNS, OURS, migration="8"),
    "anything else": row(RUNS, OURS, migration="7"),
}


@pytest.mark.parametrize("when", [each.when for each in ROWS])
def test_every_row_is_reached(when: str) -> None:
    assert CASES[when].when == when


def test_the_published_table_is_this_one() -> None:
    text = (ROOT / "docs/authorities.md").read_text("utf-8")
    shown = re.findall(r"^\| (.+?) \| `(\w+)` \| (.+?) \|$", text, re.MULTILINE)
    again = {(True, False): "yes", (False, True): "with `automatic: true`", (False, False): "no"}
    assert [(each.when, each.state, again[each.again, each.automatic]) for each in ROWS] == shown


def test_any_revision_may_be_wanted() -> None:
    assert row(RUNS, OTHER, "any").state == "passed"
    assert row(RUNS, OURS | {"revision": None}, "any").state == "passed"
    assert row(Deployed(revision="abb", health="unhealthy"), OTHER, "any").state == "failed"
    assert (
        row(Deployed(revision="abb", health="healthy", failed="x"), OTHER | {"failed": True}, "any").state
        == "passed"
    )
    assert row(Deployed(health="healthy"), OTHER, "any").state == "unknown"


@given(
    found=st.builds(
        Deployed, revision=st.sampled_from(["", "abc"]), health=st.sampled_from(["healthy", "unhealthy", "unknown"]),
        rolling=st.sampled_from(["", "x"]), failed=st.sampled_from(["", "x"]), migration=st.sampled_from(["", "7"]),
    ),
    holds=st.fixed_dictionaries({name: st.sampled_from([True, False, None]) for name in OURS}),
    expect=st.sampled_from(["head", "any"]),
    migration=st.sampled_from([None, "7"]),
)  # fmt: skip
def test_nothing_passes_without_evidence(
    found: Deployed, holds: dict[str, bool | None], expect: str, migration: str | None
) -> None:
    if row(found, holds, expect, migration).state == "passed":
        assert found.revision and found.health == "healthy" and migration in (None, found.migration)
        assert expect == "any" or holds["revision"] is True
