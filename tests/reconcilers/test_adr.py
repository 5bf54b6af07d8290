"""Decision records, read from real repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.authorities import Authority
from contracts.documents import DocumentsReading
from contracts.errors import Permanent
from contracts.ports import Ask, Given
from reconcilers.adr import AdrReconciler
from tests.controller.world import git, repository
from tool_adapters.git import Repo
from tool_adapters.process import ProcessRunner

FILES = {
    "docs/adr/0001-files.md": "# 1. Files\n\n## Status\n\nSuperseded by 2\n",
    "docs/adr/0002-sqlite.md": "# 2. SQLite\n\n## Status\n\nAccepted\n\n## Decision\n\nOne file. <!-- hidden -->\n",
    "docs/adr/0003-sharding.md": "# 3. Sharding\n\nStatus: proposed\n",
    "docs/adr/README.md": "# Decisions\n",
    "docs/adr/adr-template.md": "# NUMBER. TITLE\n",
    "docs/adr/old/0000-began.md": "# 0. We began\n",
    "docs/adr/picture.svg": "<svg/>",
    "docs/adrift.md": "# 9. Elsewhere\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository(tmp_path / "repo", FILES)
    return tmp_path / "repo"


def reader(root: Path, cwd: str = "", base: str = "main", **options: Any) -> AdrReconciler:
    authority = Authority.model_validate({"use": "adr", "options": {"path": "docs/adr", **options}})
    given = Given(
        "decisions", authority, base, {}, ProcessRunner(root), root / cwd, {}, git=Repo(root).reader()
    )  # fmt: skip
    return AdrReconciler.given(given)


def read(root: Path, one: AdrReconciler | None = None, **options: Any) -> DocumentsReading:
    head = git(root, "rev-parse", "HEAD").strip()
    return anyio.run((one or reader(root, **options)).read, Ask(base=head, head=head, step=1, now=0.0))


def told(reading: DocumentsReading) -> list[tuple[str, str, str]]:
    return [(Path(each.id).name, each.title, each.status) for each in reading.items]


def test_those_in_force_at_the_base(root: Path) -> None:
    seen = read(root)
    assert told(seen) == [
        ("0002-sqlite.md", "SQLite", "accepted"), ("0003-sharding.md", "Sharding", "proposed"),
        ("0000-began.md", "We began", "no status"),
    ]  # fmt: skip
    head = git(root, "rev-parse", "HEAD")[:12]
    assert seen.place == f"docs/adr at main {head}, 1 more not in force" and not seen.ours
    one = seen.items[0]
    assert one.id == "docs/adr/0002-sqlite.md" and "hidden" not in one.text and len(one.notes) == 1
    assert [name for name, *_ in told(read(root, status=["Accepted", "superseded"]))] == [
        "0001-files.md", "0002-sqlite.md",
    ]  # fmt: skip


def test_the_base_moves_and_the_worktree_is_another_place(root: Path) -> None:
    one = reader(root)
    before = read(root, one)
    git(root, "checkout", "-q", "-b", "topic")
    place = root / "docs/adr/0002-sqlite.md"
    place.write_text(place.read_text().replace("One file", "Many files"))
    (root / "docs/adr/0004-new.md").write_text("# 4. New\n")
    assert read(root, one).items == before.items, "neither branch nor worktree count"
    here = read(root, at="worktree")
    assert here.ours and here.total == 4 and "Many files" in here.items[0].text
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")
    assert read(root, one).items == before.items
    git(root, "branch", "-f", "main", "topic")
    after = read(root, one)
    assert after.total == 4 and after.items[0].digest != before.items[0].digest
    assert after.items[1:3] == (here.items[1], here.items[2])


def test_a_base_that_is_gone_is_the_commit_of_the_run(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    git(root, "branch", "-D", "main")
    assert read(root).total == 3, "a shallow checkout of a pipeline has no branch"


def test_the_folder_is_that_of_the_task_file(root: Path) -> None:
    assert told(read(root, cwd="docs", path="adr")) == told(read(root))
    assert read(root, path="nothing/here").items == ()


def test_what_lies_elsewhere_is_not_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Key\n")
    (root / "docs/adr/0005-link.md").symlink_to(tmp_path / "secret.md")
    assert all("Key" not in each.text + each.title for each in read(root, at="worktree").items)


def test_too_many_are_refused(root: Path) -> None:
    for number in range(501):
        (root / f"docs/adr/1{number:03}.md").write_text(f"# {number}\n")
    with pytest.raises(Permanent, match="at most 500"):
        read(root, at="worktree")
