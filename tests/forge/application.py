"""A stub of an application that runs somewhere: what it tells of itself, how it does, and what is measured of it."""

from __future__ import annotations

from typing import Any

from tests.forge.server import Forge, Reply


class Application(Forge):
    """`/version`, `/healthz` and `/metrics`; each may be set at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.version: Any = {}
        self.health = 200
        self.metrics: Any = {}

    def runs(self, revision: str, **more: Any) -> None:
        self.version = {"revision": revision, **more}

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        if path == "/version":
            return Reply(200, self.version)
        if path == "/healthz":
            return Reply(self.health, b"well" if self.health == 200 else b"", {"Content-Type": "text/plain"})
        if path == "/metrics":
            return Reply(200, self.metrics)
        return Reply(404, {"message": "there is nothing here"})
