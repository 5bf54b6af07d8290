"""The same test over many ways of the real CLIs: which of them the default suite runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some(ways: Iterable[Any], always: Collection[Any]) -> list[Any]:
    """The ways as parameters: those that are not among `always` are left to `scripts/test binaries`."""
    known = list(ways)
    assert set(always) <= set(known)
    return [
        pytest.param(
            *(way if isinstance(way, tuple) else (way,)), marks=() if way in always else pytest.mark.binaries
        )
        for way in known
    ]
