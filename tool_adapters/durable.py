"""A file that holds the old bytes or the new ones at any moment, whenever the process or the machine dies."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

UNFINISHED = ".new-"  # how the name of one begins that was never put in its place


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """`path`, whose folder is there, holds `data` when this returns, and still after a power failure. Its permission
    bits are `mode`; None: what they were, 0600 for a new file. Raises OSError; then all is as it was."""
    if mode is None and path.exists():
        mode = path.stat().st_mode & 0o777
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            fresh.chmod(mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    held = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
