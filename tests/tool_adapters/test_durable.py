"""A file is replaced whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tool_adapters.durable import replace


@pytest.mark.parametrize(("mode", "then"), [(None, 0o640), (0o600, 0o600)])
def test_the_bits_of_a_file_stay_unless_others_are_asked_for(
    tmp_path: Path, mode: int | None, then: int
) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o640)
    replace(path, b"new", mode)
    assert (path.read_bytes(), path.stat().st_mode & 0o777, [*tmp_path.iterdir()]) == (b"new", then, [path])


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    replace(tmp_path / "f", b"new")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_what_can_not_be_replaced_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(OSError):
        replace(tmp_path / "f", b"new")
    assert [*tmp_path.iterdir()] == [tmp_path / "f"]
