"""The longest end there is: an action with an effect that takes no notice of anything, with the real graces."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.suites.crash.interrupted import interrupted
from tests.suites.crash.stage import Template, Victims

pytestmark = pytest.mark.crash


def test_at_most_thirty_seconds_from_the_signal_to_the_exit(tmp_path: Path) -> None:
    world, victims = Template(tmp_path / "template").prepare().world(tmp_path / "whole"), Victims()
    assert victims.run(world.call("run")) == 0
    victims.close()
    with interrupted(tmp_path / "deaf", "deaf effect", signal.SIGTERM) as ended:
        assert (ended.code, ended.alive) == (143, [])
        assert ended.took <= 30
        assert ended.completes(world.whole()) == (0, [])
