"""Times of a record are shown, whatever an agent once made up."""

from __future__ import annotations

import time

import pytest

from controller.surfaces.github import _utc
from controller.surfaces.words import clock


def test_a_time() -> None:
    assert clock(time.time())[2] == ":" and clock(0.0).startswith(("1970-01-01", "1969-12-31"))
    assert _utc(0.0) == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("at", [1e17, -1e17, 1e300, float("inf"), float("nan")])
def test_what_is_no_time(at: float) -> None:
    assert clock(at) == f"{at:g} s after 1970" and _utc(at) == ""
