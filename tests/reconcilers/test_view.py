"""Views: each gets the room that it needs, as far as all together have it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from contracts.paths import PathPolicy
from contracts.ports import Ask
from contracts.readings import ViewReading
from reconcilers.view import ViewReconciler

LIMIT = 16 * 1024


def read(root: Path, **ranges: tuple[int, int]) -> ViewReading:
    view = {name: {"path": "a.txt", "from": first, "to": last} for name, (first, last) in ranges.items()}
    return anyio.run(
        ViewReconciler(root, PathPolicy(), LIMIT).read, Ask(base="", head="", step=1, now=0.0, view=view)
    )


def shown(reading: ViewReading) -> dict[str, int]:
    return {name: len(piece.text.splitlines()) for name, piece in reading.pieces.items()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("".join(f"{number:04} {'x' * 35}\n" for number in range(1, 2001)))
    return tmp_path


@pytest.mark.parametrize("large", ["first", "middle", "last"])
def test_a_large_range_beside_small_ones_is_whole_wherever_it_stands(root: Path, large: str) -> None:
    ranges = dict.fromkeys(("first", "middle", "last"), (1, 10)) | {large: (100, 360)}
    reading = read(root, **ranges)
    assert shown(reading) == dict.fromkeys(ranges, 10) | {large: 261}
    assert not [piece.problem for piece in reading.pieces.values() if piece.problem]


def test_large_ranges_are_cut_alike_small_ones_not_and_all_stay_within_the_bound(root: Path) -> None:
    reading = read(root, a=(1000, 1400), b=(5, 9), c=(1100, 1900), d=(1500, 2000))
    lines = shown(reading)
    assert lines["b"] == 5 and lines["a"] == lines["c"] == lines["d"] > 100
    assert reading.pieces["c"].problem == f"only lines 1,100–{1099 + lines['c']:,} fit: narrow the range"
    assert not reading.pieces["b"].problem
    taken = sum(
        len(f" {row}\n".encode()) for piece in reading.pieces.values() for row in piece.text.split("\n")
    )
    assert LIMIT - 2300 < taken <= LIMIT - 4 * 400


def test_a_range_alone_gets_all_the_room(root: Path) -> None:
    (lines,) = shown(read(root, a=(1, 2000))).values()
    assert 330 < lines < 360


def test_a_view_shows_what_the_file_holds(root: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (root / "a.txt").write_bytes(f"red \x1b[0m\r\nlf \x0c\nlone\rcr\r\ntoken = '{token}'\r\n".encode())
    piece = read(root, v=(1, 4)).pieces["v"]
    assert piece.text.split("\n")[:3] == ["1|red ␛[0m", "2|lf ␌", "3|lone␍cr"] and token not in piece.text
    assert piece.notes == (
        "mixed line ends: CRLF, but LF at line 2; control characters are shown as ␛ ␌ ␍: write them so; "
        "secrets are redacted: such a line can't be replaced by what is shown"
    )
    assert "redacted" not in read(root, v=(1, 3)).pieces["v"].notes


def test_control_characters_take_the_room_of_what_is_shown(root: Path) -> None:
    (root / "a.txt").write_text(("\u202e" * 300 + "\n") * 40)
    reading = read(root, a=(1, 40), b=(1, 40))
    taken = sum(
        len(f" {row}\n".encode()) for piece in reading.pieces.values() for row in piece.text.split("\n")
    )
    assert 8000 < taken <= LIMIT and "⟨U+202E⟩" in reading.pieces["b"].text
