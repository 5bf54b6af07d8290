"""What is ignored is not tracked: a commit of a cache folder, or of a link in its place, would replace the real one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.house.size_budgets import ROOT


def ignored_and_tracked(root: Path) -> list[str]:
    """The tracked files of the repository at `root` that its ignore files name."""
    words = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_nothing_that_is_ignored_is_tracked() -> None:
    assert ignored_and_tracked(ROOT) == []


def test_a_link_in_the_place_of_an_ignored_folder_is_found(tmp_path: Path) -> None:
    for words in (["init", "-q"], ["add", "-f", "."]):
        (tmp_path / ".gitignore").write_text(".cache\n")
        if not (tmp_path / ".cache").is_symlink():
            (tmp_path / ".cache").symlink_to("/nowhere")
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert ignored_and_tracked(tmp_path) == [".cache"]
