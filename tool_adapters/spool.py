"""The spool: what children read and write lies in files of their owner's alone, gone when the child is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from contracts.ports import Artifacts, Captured
from contracts.redact import Redactor

ARTIFACT_CAP = 16 * 1024 * 1024
_SUFFIXES = (".in", ".out", ".err")


@dataclass(frozen=True)
class Files:
    """The streams of one child. `stdin` is None where it is given nothing."""

    stdin: BinaryIO | None
    out: BinaryIO
    err: BinaryIO
    out_path: Path


class Spool:
    """A folder (0700) of such files (0600). `artifacts` is where full outputs are kept, `redactor` what takes secrets
    out of everything that is returned or kept."""

    def __init__(self, folder: Path, artifacts: Artifacts | None, redactor: Redactor) -> None:
        self.folder, self.artifacts, self.redactor = folder, artifacts, redactor
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._drop_leftovers()

    @contextmanager
    def files(self, stdin: bytes = b"") -> Iterator[Files]:
        """The files of a child; raises OSError where they can't be made."""
        self._drop_leftovers()  # again: the controller that we took over from may have died since
        prefix = f"{os.getpid()}-"
        paths: list[Path] = []
        try:
            streams: list[BinaryIO] = []
            for suffix in _SUFFIXES:
                handle, name = tempfile.mkstemp(suffix, prefix, self.folder)
                paths.append(Path(name))
                streams.append(os.fdopen(handle, "r+b", buffering=0))
            left = memoryview(stdin)
            while left:  # a disk that fills up takes a part without a word
                left = left[streams[0].write(left) :]
            streams[0].seek(0)
            with streams[0], streams[1], streams[2]:
                yield Files(streams[0] if stdin else None, streams[1], streams[2], paths[1])
        finally:
            for path in paths:
                path.unlink(missing_ok=True)

    def captured(self, stream: BinaryIO, cap: int, keep: bool, redact: bool) -> Captured:
        """What a stream holds, within `cap` bytes; kept whole as an artifact, too, where it is to be."""
        total = os.fstat(stream.fileno()).st_size
        artifact = None
        if keep and total and self.artifacts is not None:
            artifact = self.artifacts.put(self._window(stream, total, ARTIFACT_CAP, True))
        return Captured(data=self._window(stream, total, cap, redact), total=total, artifact=artifact)

    def _window(self, stream: BinaryIO, total: int, cap: int, redact: bool) -> bytes:
        clean = self.redactor.redact if redact else bytes
        if total <= cap:
            return clean(read(stream, 0, total))
        note = b"\n... cut, %d bytes in all ...\n" % total
        room = max(cap - len(note), 0)
        front, back = room * 3 // 10, room - room * 3 // 10
        # More than is kept goes through the filter, so that a secret cut in two is still known.
        more = self.redactor.overlap
        head = clean(read(stream, 0, front + more))[:front]
        tail = clean(read(stream, max(total - back - more, 0), back + more))
        return head + note + tail[len(tail) - min(back, len(tail)) :]

    def _drop_leftovers(self) -> None:
        """Raw output of a controller that was killed: removed, once its process is gone."""
        for path in self.folder.iterdir():
            pid = path.name.split("-", 1)[0]
            if pid.isdigit() and path.suffix in _SUFFIXES:
                try:
                    os.kill(int(pid), 0)
                except ProcessLookupError:
                    path.unlink(missing_ok=True)
                except OSError:
                    continue


def read(stream: BinaryIO, at: int, count: int) -> bytes:
    """At most `count` bytes from `at`; the stream's own position stays."""
    pieces = []
    while count > 0 and (piece := os.pread(stream.fileno(), min(count, 1 << 20), at)):
        pieces.append(piece)
        at, count = at + len(piece), count - len(piece)
    return b"".join(pieces)


def last_line(stream: BinaryIO, size: int) -> str:
    """The last line of the first `size` bytes."""
    lines = read(stream, max(size - 400, 0), 400).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
