"""What several scenarios are compared with."""

from __future__ import annotations

import pytest

from tests.scenarios.scenario import Scenario


@pytest.fixture(scope="session")
def ten_by_program(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Ten steps of task two by a program."""
    scenario = Scenario("drop-python2", tmp_path_factory.mktemp("program"))
    call = scenario.controller("run", "--json", "--steps", "10")
    assert (call.code, call.outcome) == (0, None), call.err
    return scenario
