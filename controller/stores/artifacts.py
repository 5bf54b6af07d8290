"""Full outputs on disk: content-addressed, durable before the row that names them, or together with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contracts.base import digest
from contracts.errors import Unavailable
from controller.stores.artifact_files import flush, place, whole, write
from controller.stores.carried import Carried


class FileArtifacts:
    """`root/<first 2>/<id>` with the redacted bytes; the id is 16 hex digits of their sha256. `carried` is what the
    store carries of them; without it each is flushed by itself."""

    def __init__(
        self, root: Path, redact: Callable[[bytes], bytes] | None = None, carried: Carried | None = None
    ) -> None:
        self.root, self._redact, self._carried = root, redact, carried

    def put(self, data: bytes) -> str:
        """Store and return the id. Raises Unavailable when the disk refuses."""
        id, path = self._written(data)[1:]
        with self._refusing():
            flush((path, path.parent))
        return id

    def keep(self, data: bytes) -> str:
        """Store what the next write of the store names, durable with that write; return the id. Raises Unavailable."""
        if self._carried is None:
            return self.put(data)
        kept, id, _ = self._written(data)
        self._carried.waiting[id] = kept
        return id

    def get(self, id: str) -> bytes:
        """The bytes of an id or of a unique beginning of one (4 digits at least). Raises KeyError."""
        if not (4 <= len(id) <= 16 and all(c in "0123456789abcdef" for c in id)):
            raise KeyError(id)
        found = [path for path in (self.root / id[:2]).glob(f"{id}*") if path.is_file()]
        if len(found) != 1:
            raise KeyError(id)
        data = found[0].read_bytes()
        if not digest(data).startswith(found[0].name):
            raise KeyError(id)  # torn by a power loss, or changed
        return data

    def _written(self, data: bytes) -> tuple[bytes, str, Path]:
        """The bytes as they are kept, their id and their file, which is there now but not flushed."""
        if self._redact:
            data = self._redact(data)
        id = digest(data)[:16]
        path = place(self.root, id)
        with self._refusing():
            if whole(path, id):
                with suppress(OSError):
                    path.touch()  # young again: `clean` lets alone what a row may be about to name
            else:
                write(path, data)
        return data, id, path

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(
                f"can't store an artifact: {error.strerror}",
                where=str(self.root),
                hint="free space or rights",
            ) from error
