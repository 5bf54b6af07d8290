"""Where a head stands to its base and which folders it has, remembered: counting 10,000 commits anew at every step
would be most of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from contracts.repository import Position
from tool_adapters import gitformat
from tool_adapters.gitdir import GitDir
from tool_adapters.githardening import signature

CACHE = "skill-state-position.json"
MAX_LINKS = 1000


class Known(NamedTuple):
    """What was found for a base and a head while the tags looked as `marks` says. Link targets are left out:
    they are read from the worktree each time. `folders` hold tracked files, or did."""

    base: str
    head: str
    marks: str
    found: Position
    folders: frozenset[str]


class Positions:
    """`run` is the engine's run, `place` its place. Remembers in memory and in a linked worktree's own Git
    directory, so that the next process need not count either."""

    def __init__(self, run: Callable[..., bytes], place: Callable[[], GitDir]) -> None:
        self._run, self._place = run, place
        self._last: Known | None = None

    def at(self, base: str, head: str) -> Position:
        """The position of commit `head` against commit `base`."""
        place = self._place()
        tags = place.common / "refs" / "tags"
        folders = [tags, *(each for each in tags.rglob("*") if each.is_dir())]
        marks = str(signature((place.common / "packed-refs", *folders)))
        last = self._last or _recall(place)
        if last is None or last[:3] != (base, head, marks):
            last = Known(base, head, marks, *self._advance(last, base, head))
            _remember(place, last)
        self._last, found = last, last.found
        root = place.root or place.own
        links = {path: str((root / path).readlink()) for path in found.links if (root / path).is_symlink()}
        return Position(found.ahead, found.behind, found.tags, links, found.overlooked)

    def planted(self) -> tuple[str, ...]:
        """Repositories in the folders of a linked worktree, which git itself overlooks: a check that runs git there
        would see them and not the work. None are known before a position was asked for."""
        place = self._place()
        last = self._last or _recall(place)
        if last is None or place.root is None or place.own == place.common:
            return ()
        inside = (f"{folder}/.git" for folder in last.folders)
        return tuple(sorted(f"{path}/" for path in inside if os.path.lexists(place.root / path)))

    def _advance(self, last: Known | None, base: str, head: str) -> tuple[Position, frozenset[str]]:
        raw = self._run(
            *("log", "-1", "--raw", "--no-abbrev", "--no-renames", "-z", "--decorate=full"),
            *("--decorate-refs=refs/tags/", gitformat.LOG_FORMAT, head),
        )
        commit = gitformat.logged(raw)
        if last and (last.base, last.head) == (base, head):
            was = last.found
            return Position(was.ahead, was.behind, commit.tags, was.links, was.overlooked), last.folders
        if last and last.base == base and commit.parents == (last.head,) and last.found.behind == 0:
            # One commit further on a head that contained the base: nothing needs to be counted again.
            was = last.found
            links = {path: "" for path in was.links if path not in commit.changes}
            links |= {path: "" for path, mode in commit.changes.items() if mode == "120000"}
            position = Position(was.ahead + 1, 0, commit.tags, links, was.overlooked)
            return position, last.folders | _folders(commit.changes)
        behind, ahead = self._run("rev-list", "--left-right", "--count", f"{base}...{head}").split()
        entries = [each for each in self._run("ls-files", "-v", "-s", "-z").split(b"\0") if each]
        paths = [gitformat.text(each.split(b"\t", 1)[1]) for each in entries]
        linked = [path for path, each in zip(paths, entries, strict=True) if each[2:8] == b"120000"]
        over = [path for path, each in zip(paths, entries, strict=True) if each[:1] not in b"HM"]
        links = dict.fromkeys(linked[:MAX_LINKS], "")
        position = Position(int(ahead), int(behind), commit.tags, links, tuple(over[:20]))
        return position, _folders(paths)


def _folders(paths: Iterable[str]) -> frozenset[str]:
    """Every folder on the way to a path, the root left out."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)


def _recall(place: GitDir) -> Known | None:
    try:
        base, head, marks, found, folders = json.loads((place.own / CACHE).read_text())
        links = {str(path): "" for path in found["links"]}
        numbers = int(found["ahead"]), int(found["behind"])
        position = Position(*numbers, tuple(found["tags"]), links, tuple(found["overlooked"]))
        return Known(base, head, marks, position, frozenset(map(str, folders)))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(place: GitDir, known: Known) -> None:
    if place.own == place.common:
        return  # the user's own Git directory: nothing of ours goes there
    found = known.found
    kept = {"ahead": found.ahead, "behind": found.behind, "tags": found.tags, "links": list(found.links)}
    new = place.own / f"{CACHE}.{os.getpid()}"
    told = [*known[:3], {**kept, "overlooked": found.overlooked}, sorted(known.folders)]
    new.write_text(json.dumps(told))
    new.replace(place.own / CACHE)
