"""A sink for what a program prints, with a bound."""

from __future__ import annotations


class Bounded:
    """A sink that keeps the first `limit` bytes and counts all."""

    def __init__(self, limit: int) -> None:
        self.total, self._kept, self._room = 0, bytearray(), limit

    def write(self, data: bytes) -> int:
        self.total += len(data)
        self._kept += data[: max(self._room - len(self._kept), 0)]
        return len(data)

    @property
    def data(self) -> bytes:
        return bytes(self._kept)
