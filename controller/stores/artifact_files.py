"""The files of artifacts: written whole, and flushed to the disk when it is asked for."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from contracts.base import digest

_number = count()


def place(root: Path, id: str) -> Path:
    """Where the artifact of an id stands."""
    return root / id[:2] / id


def whole(path: Path, id: str) -> bool:
    """Whether the file is there and holds what its name says: one that was not flushed may be torn by a power loss."""
    try:
        return digest(path.read_bytes()).startswith(id)
    except OSError:
        return False


def write(path: Path, data: bytes) -> None:
    """Put a file there whole, or not at all. Raises OSError."""
    fresh = path.with_name(f".new-{os.getpid()}-{next(_number)}")
    try:
        handle = _made(fresh)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _made(fresh)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def flush(paths: Iterable[Path]) -> None:
    """What these files and folders hold is on the disk when this returns. Raises OSError."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def flush_many(root: Path, paths: Iterable[Path]) -> None:
    """The same for many files below `root` and their folders; on Linux in one call, which does not take longer for a
    hundred of them than for one. Raises OSError."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None) if sys.platform == "linux" else None
    if syncfs is None:
        files = set(paths)
        return flush((*files, *{file.parent for file in files}))
    handle = os.open(root, os.O_RDONLY)
    try:
        if syncfs(handle):
            raise OSError(ctypes.get_errno(), f"{root}: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(handle)
    return None


def _made(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
