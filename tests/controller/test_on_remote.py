"""A run that is kept on a remote: begun in one clone, carried on in another, with nothing but the remote between."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from tests.controller.clones import Remote, record, rows, wrong
from tests.controller.test_step import WORK, go
from tests.controller.world import finish


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


def test_a_run_goes_on_in_a_fresh_clone_for_every_step(remote: Remote) -> None:
    answers = [WORK[0], WORK[1], finish()]
    for number, answer in enumerate(answers):
        world = remote.clone(f"runner-{number}")
        end = go(world, [answer], limit=1)
        assert len(world.prompts) == 1
        assert remote.refs()["work"] == end.record.head
    assert end.outcome is Outcome.completed and end.record.number == 1
    assert remote.log() == ["step 2: edit_files src/b.txt", "step 1: edit_files src/a.txt"]
    later = remote.clone("later")
    assert record(later) == end.record.model_copy(update={"inbox": ()}) and wrong(later, end.record.run) == []
    assert [row.kind for row in rows(later, end.record.run)] == ["opened", "step", "step", "step"]
    assert go(later, []).outcome is Outcome.completed
