"""The worktree and its branch, as they are now."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from contracts.base import digest
from contracts.errors import Permanent
from contracts.ports import Ask
from contracts.readings import GitReading
from contracts.redact import Redactor
from contracts.repository import GitReader, Position, Status
from contracts.secret_scan import brought_in, say

_CHUNK = 1 << 20
_VERSION_BYTES = 1 << 20
_LARGEST = 32 << 20  # bytes of a file that a step may commit


class GitReconciler:
    """Reads a worktree: one git process, one more after each commit.

    version_file  (path, pattern): the first group, or the match, is the package version.
    """

    def __init__(
        self,
        git: GitReader,
        *,
        name: str = "git",
        when: tuple[str, ...] = ("step",),
        version_file: tuple[str, str] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.name, self.when = name, when
        self._git, self._version_file = git, version_file
        self._digests: dict[tuple[str, int, int, int, int], str] = {}
        self._redactor = redactor or Redactor()
        self._scanned: dict[tuple[str, str, str], str] = {}

    async def read(self, ask: Ask) -> GitReading:
        """The reading; Temporary or Permanent when git can't say."""
        return await anyio.to_thread.run_sync(self._read, ask)

    def _read(self, ask: Ask) -> GitReading:
        began = time.monotonic()
        status = self._git.status()
        head = status.head or ""
        position = self._git.position(ask.base, head) if head else Position()
        dirty, links, modes = {}, dict(position.links), {}
        for path in status.dirty:
            dirty[_shown(path)], modes[_shown(path)] = self._content(path, links)
        return GitReading(
            repository=self._git.root.name,
            remote=self._git.remote(),
            branch=status.branch or "(detached)",
            base=ask.base,
            head=head,
            ahead=position.ahead,
            behind=position.behind,
            staged=tuple(map(_shown, status.staged)),
            unstaged=tuple(map(_shown, status.unstaged)),
            untracked=tuple(map(_shown, status.untracked)),
            dirty=dirty,
            tree=digest([head, dirty, modes]),
            diff=f"{ask.base}..{head}",
            tags=position.tags,
            version=self._version(),
            links={_shown(path): _shown(target) for path, target in sorted(links.items())[:1000]},
            secrets=self._secrets(head, status.dirty, dirty),
            changed=self._changed(ask.since, head),
            unfit={_shown(path): why for path in status.dirty if (why := self._unfit(path))},
            config=self._git.config_digest(),
            problem=self._problem(status, position),
            took=time.monotonic() - began,
        )

    def _content(self, path: str, links: dict[str, str]) -> tuple[str | None, bool]:
        """The sha256 of a file's bytes or of a link's target, None when it is gone; and whether it may be
        executed. Remembered by what a change can't leave as it is (size, times, inode)."""
        place = self._git.root / path
        links.pop(path, None)
        try:
            found = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None, False
        if stat.S_ISLNK(found.st_mode):
            target = str(place.readlink())
            links[path] = target
            return digest(target.encode("utf-8", "surrogateescape")), False
        if not stat.S_ISREG(found.st_mode):
            # A nested repository, or something that is no file: never opened, never committed.
            return digest(f"not a file: {stat.S_IFMT(found.st_mode)}"), False
        key = (path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        known = self._digests.get(key)
        # A file written within the clock's last tick may change again without a new time.
        fresh = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < 2_000_000_000
        if known is None or fresh:
            known = _sha256(place)
            if len(self._digests) > 20_000:
                self._digests.clear()
            self._digests[key] = known
        return known, bool(found.st_mode & stat.S_IXUSR)

    def _changed(self, commits: Sequence[str], head: str) -> dict[str, tuple[str, ...]]:
        """What differs between each of `commits` and HEAD; one that is gone is left out."""
        found = {}
        for since in commits:
            try:
                stats = self._git.diffstat(since, head) if since != head else ()
            except Permanent:
                continue
            found[since] = tuple(_shown(stat.path) for stat in stats)
        return found

    def _unfit(self, path: str) -> str:
        """Why it would harm whoever gets the commit: a link that leads elsewhere on their machine than on ours, or
        a file that stays in the history for ever. Empty for anything else."""
        place = self._git.root / path
        try:
            found = place.lstat()
        except OSError:
            return ""
        if stat.S_ISLNK(found.st_mode):
            target = place.readlink()
            inside = Path(os.path.normpath(place.parent / target)).is_relative_to(self._git.root)
            if target.is_absolute() or not inside:
                return f"a link to {_shown(str(target))}, outside of the worktree"
        elif stat.S_ISREG(found.st_mode) and found.st_size > _LARGEST:
            return (
                f"{found.st_size / (1 << 20):,.0f} MiB, files of at most {_LARGEST >> 20} MiB are committed"
            )
        return ""

    def _secrets(self, head: str, paths: Sequence[str], dirty: Mapping[str, str | None]) -> dict[str, str]:
        """What the dirty files hold that HEAD's do not. Each content is looked at once; git is asked only for
        a file in which there is something."""
        found: dict[str, str] = {}
        for path in paths:
            place, sha = self._git.root / path, dirty[_shown(path)]
            if sha is None or place.is_symlink() or not place.is_file():
                continue
            key = (head, path, sha)
            if key not in self._scanned:
                new = brought_in(
                    _start(place), partial(self._git.show, head, path), self._redactor, path=_shown(path)
                )
                self._scanned[key] = say(new) if new else ""
            if self._scanned[key]:
                found[_shown(path)] = self._scanned[key]
        return found

    def _version(self) -> str | None:
        if self._version_file is None:
            return None
        path, pattern = self._version_file
        try:
            text = (self._git.root / path).read_bytes()[:_VERSION_BYTES].decode("utf-8", "replace")
        except OSError:
            return None
        match = re.search(pattern, text, re.M)
        return (match[1] if match.re.groups else match[0]) if match else None

    def _problem(self, status: Status, position: Position) -> str | None:
        """What makes the worktree unfit for a commit or this reading unsound, or None."""
        found = []
        if (under_way := self._git.operation()) is not None:
            found.append(f"in the middle of a {under_way}")
        if status.branch is None:
            found.append("HEAD is detached")
        if status.unmerged:
            found.append(f"unmerged: {', '.join(map(_shown, status.unmerged[:5]))}")
        if position.overlooked:
            named = ", ".join(map(_shown, position.overlooked[:5]))
            found.append(f"the index overlooks changes of {named} (assume-unchanged or skip-worktree)")
        nested = [path for path in status.untracked if path.endswith("/")]
        if nested:
            found.append(f"nested repositories can't be committed: {', '.join(map(_shown, nested[:5]))}")
        return "; ".join(found) or None


def _shown(path: str) -> str:
    """A path that JSON can hold: bytes that are not UTF-8 as `\\xff`, which no path policy lets through."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _start(path: Path) -> bytes:
    """A file's first 4 MiB."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        return file.read(4 << 20)


def _sha256(path: Path) -> str:
    total = hashlib.sha256()
    # Neither a link put there meanwhile nor a pipe: opened as what it was seen to be, or not at all.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()
