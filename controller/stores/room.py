"""Whether the file system of the runtime folder has room for what a step writes."""

from __future__ import annotations

import os
from pathlib import Path

from contracts.errors import NoRoom

LEAST_BYTES, LEAST_INODES = 64 * 1024 * 1024, 1_000


def need_room(folder: Path) -> None:
    """Raises NoRoom when less than 64 MiB or 1,000 inodes are free where `folder` is, or will be. One system
    call; a file system that does not count its inodes is asked for bytes only."""
    place = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        found = os.statvfs(place)
    except OSError:
        return  # what can't be asked is not refused: the first write will say it
    free = found.f_bavail * found.f_frsize
    if free < LEAST_BYTES:
        what = f"only {free / 1024**2:.1f} MiB are free here, a step needs {LEAST_BYTES // 1024**2}"
    elif found.f_files and found.f_favail < LEAST_INODES:
        what = f"only {found.f_favail:,} inodes are free here, a step needs {LEAST_INODES:,}"
    else:
        return
    raise NoRoom(
        what, where=str(folder), hint="free space; `controller clean` removes what finished tasks left"
    )
