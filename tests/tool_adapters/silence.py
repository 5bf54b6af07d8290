"""A server that takes connections and never says a word; or that does so after it has answered some."""

from __future__ import annotations

import socket
import threading
from typing import Self


class Silence:
    """`with Silence() as server:` listens on loopback until the block ends; `taken` counts the connections."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def taken(self) -> int:
        return len(self._held)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for each in self._held:
            each.close()

    def _take(self) -> None:
        while True:
            try:
                self._held.append(self._socket.accept()[0])
            except OSError:
                return
