"""The audit chain a second time, as JSON Lines beside the store: what `state recover` rebuilds from when the store
itself is gone. Not flushed to the disk by itself: it survives everything but a power loss, the store survives that."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import orjson

from contracts.base import digest

GENESIS = "0" * 64
TAIL = 1024 * 1024  # bytes in which a file's last line is looked for
Row = tuple[int, str, str, bytes]  # seq, prev_hash, hash, the row's bytes


def chain(prev: str, row: bytes) -> str:
    """The hash of an audit row: sha256 over the previous hash and the row's bytes."""
    return digest(prev.encode() + b"\n" + row)


def sound(rows: Iterable[Row]) -> list[Row]:
    """The rows from the first one on, as far as the chain holds."""
    kept: list[Row] = []
    prev = GENESIS
    for seq, before, hash, row in rows:
        if seq != len(kept) + 1 or before != prev or not isinstance(row, bytes) or chain(prev, row) != hash:
            break
        kept.append((seq, before, hash, row))
        prev = hash
    return kept


class Mirror:
    """One file a run in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._last: dict[str, int] = {}

    def path(self, run: str) -> Path:
        return self.folder / f"{run.replace('/', '_')}.jsonl"

    def append(self, run: str, rows: Iterable[Row]) -> bool:
        """Add rows. False when they do not follow the file's last one (a crash came between): rewrite it."""
        new = list(rows)
        if run not in self._last:
            self._last[run] = len(self.read(run))
        if new[0][0] != self._last[run] + 1:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path(run).open("ab") as file:
            file.write(b"".join(lined(row) for row in new))
        self._last[run] = new[-1][0]
        return True

    def rewrite(self, run: str, rows: Iterable[Row]) -> None:
        """The whole chain anew, in one replacement."""
        new = list(rows)
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.path(run).with_suffix(f".{os.getpid()}.new")
        fresh.write_bytes(b"".join(lined(row) for row in new))
        fresh.replace(self.path(run))
        self._last[run] = new[-1][0] if new else 0

    def read(self, run: str) -> list[Row]:
        """The rows as far as the chain holds; a torn or changed line ends it. Empty when there is no file."""
        return self.read_file(self.path(run))

    def newest(self, task: str) -> tuple[str, int, str] | None:
        """(run, seq, hash) of the last line of the newest run of `task`, from the end of the file alone; a torn line is
        passed over. None when there is no line."""
        runs = [path.stem for path in self.folder.glob(f"{task}@*.jsonl")]
        for run in sorted(runs, key=_number, reverse=True):
            if (last := self.last(run)) is not None:
                return run, *last
        return None

    def last(self, run: str) -> tuple[int, str] | None:
        """Sequence number and hash of the last whole line of a run."""
        try:
            with self.path(run).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
                lines = file.read().split(b"\n")
        except OSError:
            return None
        for line in reversed(lines):
            with suppress(ValueError):
                seq, _, hash, _ = unlined(line)
                return seq, hash
        return None

    @staticmethod
    def read_file(path: Path) -> list[Row]:
        """See read."""
        rows: list[Row] = []
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError:
            return []
        for line in lines:
            try:
                rows.append(unlined(line))
            except ValueError:
                break
        return sound(rows)


def _number(run: str) -> int:
    number = run.rpartition("#")[2]
    return int(number) if number.isdigit() else 0


def lined(row: Row) -> bytes:
    """A row as one line of JSON."""
    seq, prev, hash, data = row
    return orjson.dumps({"seq": seq, "prev": prev, "hash": hash, "row": data.decode()}) + b"\n"


def unlined(line: bytes) -> Row:
    """The row in a line. Raises ValueError."""
    try:
        found = orjson.loads(line)
        return found["seq"], found["prev"], found["hash"], str(found["row"]).encode()
    except (KeyError, TypeError) as error:
        raise ValueError(f"no audit row: {line[:80]!r}") from error
