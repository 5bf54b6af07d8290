"""Decision records in Markdown as an authority: those in force, read at the base branch or in the worktree."""

from __future__ import annotations

import time
from pathlib import Path, PurePosixPath

import anyio.to_thread

from contracts.adr import OVER, described
from contracts.authorities import AdrOptions
from contracts.documents import DocumentsReading
from contracts.errors import Permanent
from contracts.ports import Ask, Given
from contracts.repository import GitReader
from reconcilers.written import Written, documents

LARGEST = 1024 * 1024  # bytes of one record
MOST = 500  # records that are read
NONE = ("readme.md", "index.md")  # names of what lies beside the records
Found = tuple[list[Written], int]


class AdrReconciler:
    """Reads one folder. Raises Permanent when it can't; an empty one, or none, is a reading without records."""

    def __init__(self, given: Given, options: AdrOptions, git: GitReader) -> None:
        self.name, self.when = given.name, ("step",)
        self._given, self._options, self._git = given, options, git
        self._read: tuple[str, Found] | None = None  # a commit, and what is in it

    @classmethod
    def given(cls, given: Given) -> AdrReconciler:
        """What the task's authority asks for."""
        options, git = given.authority.settings, given.git
        assert isinstance(options, AdrOptions) and git is not None, "of an authority with `use: adr`"
        return cls(given, options, git)

    async def read(self, ask: Ask) -> DocumentsReading:
        """The reading, now."""
        return await anyio.to_thread.run_sync(self._reading, ask)

    def _reading(self, ask: Ask) -> DocumentsReading:
        began, options, authority = time.monotonic(), self._options, self._given.authority
        folder = self._folder()
        if options.at == "worktree":
            (found, left), at = self._in_worktree(folder), "the worktree"
        else:
            commit = self._git.rev(self._given.base) or ask.base
            if self._read is None or self._read[0] != commit:
                self._read = (commit, self._in_commit(commit, folder))
            (found, left), at = self._read[1], f"{self._given.base} {commit[:12]}"
        gone = f", {left} more not in force" if left else ""
        return DocumentsReading(
            name=self.name,
            what="decision record",
            place=f"{folder} at {at}{gone}",
            items=documents(found, authority.max_bytes, self._given.keep, self._given.clear),
            total=len(found),
            ours=options.at == "worktree",
            took=time.monotonic() - began,
        )

    def _folder(self) -> str:
        """The folder as git names it, from the top of the repository."""
        root, cwd = self._git.root.resolve(), self._given.cwd.resolve()
        inside = cwd.relative_to(root).as_posix() if cwd.is_relative_to(root) else ""
        return PurePosixPath(inside, self._options.path).as_posix().removeprefix("./")

    def _in_commit(self, commit: str, folder: str) -> Found:
        records = _records(self._git.tree(commit, folder))
        return self._chosen([(path, self._git.show(commit, path) or b"") for path in records])

    def _in_worktree(self, folder: str) -> Found:
        root = self._git.root.resolve()
        inside = [path for path in self._git.files() if path.startswith(f"{folder}/")]
        return self._chosen([(path, _bytes(root, path)) for path in _records(inside)])

    def _chosen(self, records: list[tuple[str, bytes]]) -> Found:
        """Those in force, and how many are not."""
        wanted = {each.lower() for each in self._options.status}
        found: list[Written] = []
        for path, data in records:
            text = data[:LARGEST].decode("utf-8", "replace")
            title, status = described(text, PurePosixPath(path).stem)
            if status in wanted if wanted else status not in OVER:
                found.append(Written(id=path, status=status, title=title, body=text))
        return found, len(records) - len(found)


def _records(paths: list[str] | tuple[str, ...]) -> list[str]:
    """The paths of records among these, in order."""
    named = [
        path
        for path in sorted(paths)
        if (name := PurePosixPath(path).name.lower()).endswith(".md")
        and name not in NONE
        and "template" not in name
    ]
    if len(named) > MOST:
        raise Permanent(f"there are {len(named):,} records, at most {MOST} are read: name a smaller folder")
    return named


def _bytes(root: Path, path: str) -> bytes:
    """A file of the worktree; nothing of one that lies elsewhere."""
    place = root / path
    if not place.resolve().is_relative_to(root) or not place.is_file():
        return b""
    with place.open("rb") as file:
        return file.read(LARGEST)
