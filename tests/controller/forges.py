"""Both forges under one roof, so that each test of a deed holds on both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.controller.forge_world import ForgeWorld
from tests.controller.test_step import go
from tests.forge.hub import Hub
from tests.forge.lab import Lab

KINDS = ("github", "gitlab")


class Place:
    """A world with its forge, and words that are the same for both."""

    def __init__(self, kind: str, world: ForgeWorld, forge: Hub | Lab) -> None:
        self.kind, self.world, self.forge = kind, world, forge

    def go(self, answers: Any = (), **options: Any) -> Any:
        return go(self.world, answers, **options)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.forge.pulls if isinstance(self.forge, Hub) else self.forge.requests

    def text(self, number: int = 1) -> str:
        return str(self.requests[number - 1]["body" if self.kind == "github" else "description"])

    def rewrite(self, text: str, number: int = 1) -> None:
        """A person edits the description."""
        self.requests[number - 1]["body" if self.kind == "github" else "description"] = text

    def close(self, number: int = 1) -> None:
        self.requests[number - 1]["state"] = "closed"

    def comments(self, number: int, on: str = "request") -> list[str]:
        if isinstance(self.forge, Hub):
            return [each["body"] for each in self.forge.comments.get(number, [])]
        at = f"{'issues' if on == 'issue' else 'merge_requests'}/{number}"
        return [each["body"] for each in self.forge.notes.get(at, [])]

    def issue(self, title: str) -> int:
        made = self.forge.issue(title)
        return int(made["number" if self.kind == "github" else "iid"])

    def path(self, word: str) -> str:
        """The METHOD PATH of a deed, as faults are named by."""
        github = {
            "open": "POST /repos/acme/widget/pulls", "update": "PATCH /repos/", "merge": "/merge", "say": "/comments",
        }  # fmt: skip
        project = "/projects/group%2Fsub%2Fwidget"
        gitlab = {
            "open": f"POST {project}/merge_requests", "update": "PUT /projects/", "merge": "/merge_requests/1/merge",
            "say": "/notes",
        }  # fmt: skip
        return (github if self.kind == "github" else gitlab)[word]

    def sent(self, word: str) -> int:
        """How often a deed was asked for."""
        return sum(
            self.path(word) in f"{each.method} {each.path}" and each.method != "GET"
            for each in self.forge.seen
        )


@contextmanager
def place(kind: str, folder: Path, **more: Any) -> Iterator[Place]:
    """`folder` / repo and its forge."""
    remote = folder / "repo.git"
    made: Hub | Lab = Hub(remote, "bot") if kind == "github" else Lab(remote)
    with made:
        named = {"provider": kind, "repository": "acme/widget" if kind == "github" else "group/sub/widget"}
        yield Place(kind, ForgeWorld(folder / "repo", made.url, **named, **more), made)
