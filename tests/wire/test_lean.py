"""What the real agents send in a few steps: little of their own, and the same from step to step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from controller.conformance.weights import overhead, weigh
from tests.agents.binaries import ROOT
from tests.gateway import Recorded
from tests.wire.prefix import SLACK, excess, stable
from tests.wire.runs import tidy
from tests.wire.ways import WAYS


def changed(request: Recorded, old: bytes, new: bytes) -> Recorded:
    """The same request with other bytes."""
    assert old in request.body
    return Recorded(
        request.number, 0.0, request.api, request.method, request.path, {}, request.body.replace(old, new, 1)
    )


@pytest.mark.parametrize("name", WAYS)
def test_what_a_step_sends(name: str, tmp_path: Path) -> None:
    way = WAYS[name]
    sent = tidy(way, tmp_path, 3)
    added = [overhead(weigh(request)) for request in sent]
    assert max(added) <= way.most, weigh(sent[0])
    assert stable(sent) == 1
    assert max(excess(sent)) <= 1 + SLACK, excess(sent)
    # The measure can fail: a time where every step must be the same.
    timed = [changed(each, b"=== SKILL ===", b"=== SKILL ===12:00:%02d" % each.number) for each in sent]
    assert stable(timed) == len(sent) and min(excess(timed)) > 1.5
    assert told(name) == pytest.approx(max(added), rel=0.1), "docs/agents.md says otherwise"


@pytest.mark.binaries
def test_a_process_started_ahead_sends_the_same(tmp_path: Path) -> None:
    way = replace(WAYS["claude, key"], more={"prespawn": True})
    sent = tidy(way, tmp_path, 3)
    assert stable(sent) == 1 and max(excess(sent)) <= 1 + SLACK
    assert max(overhead(weigh(request)) for request in sent) <= way.most


def told(name: str) -> int:
    """The overhead that docs/agents.md tells of a way."""
    found = re.search(
        rf"^\| {name} \| \*\*([\d,]+)\*\* \|", (ROOT / "docs/agents.md").read_text(), re.MULTILINE
    )
    assert found is not None, f"docs/agents.md has no row for {name}"
    return int(found[1].replace(",", ""))
