"""Full outputs on disk: content-addressed, durable before the row that names them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from contracts.base import digest
from contracts.errors import Unavailable


class FileArtifacts:
    """`root/<first 2>/<id>` with the redacted bytes; the id is 16 hex digits of their sha256."""

    def __init__(self, root: Path, redact: Callable[[bytes], bytes] | None = None) -> None:
        self.root, self._redact = root, redact

    def put(self, data: bytes) -> str:
        """Store and return the id. Raises Unavailable when the disk refuses."""
        if self._redact:
            data = self._redact(data)
        id = digest(data)[:16]
        path = self._path(id)
        if path.exists():
            with suppress(OSError):
                path.touch()  # young again: `clean` lets alone what a row may be about to name
            return id
        fresh = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            fresh = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            if fresh is not None:
                fresh.unlink(missing_ok=True)
            raise Unavailable(
                f"can't store an artifact: {error.strerror}",
                where=str(self.root),
                hint="free space or rights",
            ) from error
        return id

    def get(self, id: str) -> bytes:
        """The bytes of an id or of a unique beginning of one (4 digits at least). Raises KeyError."""
        if not (4 <= len(id) <= 16 and all(c in "0123456789abcdef" for c in id)):
            raise KeyError(id)
        found = [path for path in (self.root / id[:2]).glob(f"{id}*") if path.is_file()]
        if len(found) != 1:
            raise KeyError(id)
        return found[0].read_bytes()

    def _path(self, id: str) -> Path:
        return self.root / id[:2] / id
