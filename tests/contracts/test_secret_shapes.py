"""No anchor is passed over, wherever it stands and however many of its marks stand around it."""

from __future__ import annotations

import pytest

from contracts.secret_shapes import DENSE, TOKENS, anchored

SPARSE = b"some prose without any such thing, and then more of it; " * 20
AROUND = {
    "alone": b"",
    "in prose": SPARSE,
    "among marks": b"_-" * DENSE,
    "one in many": (b"_" + b"x" * DENSE) * 9,
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_every_anchor_is_seen(around: bytes) -> None:
    for shape in TOKENS:
        for data in (shape.anchor + around, around + shape.anchor, around + b"x_y" + shape.anchor + around):
            assert shape in anchored(data), (shape.name, shape.anchor)


def test_few_are_looked_for_in_prose() -> None:
    assert len(list(anchored(SPARSE))) < len(TOKENS) / 2
