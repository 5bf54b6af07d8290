"""Files that a child was to write: those that it did write, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from contracts.junit import MAX_REPORT, MAX_REPORTS, TOO_LARGE, TOO_MANY
from contracts.redact import Redactor

_LOOKED_AT = 5000  # files that the globs may name

_Stamp = tuple[int, int, int, int]


class Reports:
    """`globs` of files below `cwd`, stamped when this is made, before the child starts. `read` gives those that
    are new or were written since: an old report is never taken for one of this run. Symlinks are not followed,
    neither files nor folders. Blocks."""

    def __init__(self, cwd: Path, globs: Sequence[str], redactor: Redactor) -> None:
        self._cwd, self._globs, self._redactor = cwd, tuple(globs), redactor
        self._before = dict(self._stamps())

    def read(self) -> dict[str, bytes]:
        """path (relative to `cwd`) -> content, redacted; 200 files and 16 MiB in all, of the first one beyond that it
        is too large or one too many. What can't be read is left out."""
        found: dict[str, bytes] = {}
        room = MAX_REPORT
        for path, stamp in sorted(self._stamps()):
            if self._before.get(path) == stamp:
                continue
            if len(found) == MAX_REPORTS:
                found[path] = TOO_MANY
                break
            data = TOO_LARGE if stamp[-1] > room else _content(self._cwd / path, room)
            if data is None:
                continue
            if data == TOO_LARGE:
                found[path] = data
                break
            room -= len(data)
            found[path] = self._redactor.redact(data)
        return found

    def _stamps(self) -> Iterator[tuple[str, _Stamp]]:
        if not self._globs:
            return
        top = Path(os.path.realpath(self._cwd))
        for glob in self._globs:
            try:
                for place in islice(self._cwd.glob(glob), _LOOKED_AT):
                    info = place.lstat()
                    inside = Path(os.path.realpath(place)) == top / place.relative_to(self._cwd)
                    if stat.S_ISREG(info.st_mode) and inside:
                        stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size)
                        yield place.relative_to(self._cwd).as_posix(), stamp
            except (OSError, ValueError):  # a folder that went meanwhile, a glob that Python does not take
                continue


def _content(path: Path, room: int) -> bytes | None:
    """The file, or None when it is larger than `room` or can't be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(room + 1)
    except OSError:
        return None
    return data if len(data) <= room else None
