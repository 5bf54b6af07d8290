"""`controller run` killed for good between a deed on the forge and its record, by the forge itself as it does the deed:
the next call finds it, and exactly one of it results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controller.forge_world import PUSH, TOKEN, ForgeWorld, opened
from tests.controller.test_step import WORK
from tests.controller.world import action, finish
from tests.forge.hub import Hub
from tests.forge.server import Reply
from tests.surfaces.shell import AGENT, ROOT


class Killed:
    """A run by the command line whose process can be killed while the forge is at work."""

    def __init__(self, folder: Path, hub: Hub) -> None:
        self.hub, self.world = hub, ForgeWorld(folder / "repo", hub.url)
        script = folder / "agent.py"
        script.write_text(AGENT)
        self.replies = folder / "agent.py.json"
        text = self.world.file.read_text().replace("run: [/bin/false]", f"run: [{sys.executable}, {script}]")
        self.world.file.write_text(text)
        self.pid = folder / "pid"

    def run(self, answers: list[Any]) -> int:
        """The exit code of one call; -9 when it was killed."""
        self.replies.write_text(json.dumps(answers))
        env = {"PATH": os.environ["PATH"], "HOME": str(self.pid.parent), "FORGE_TOKEN": TOKEN, "CI": "true"}
        process = subprocess.Popen(
            [sys.executable, "-m", "controller", "run"],
            cwd=self.world.root, env=env | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pid.write_text(str(process.pid))
        _, said = process.communicate()
        assert process.returncode in (0, 3, 4, 5, 6, -9), said
        return process.returncode

    def kill(self) -> None:
        os.kill(int(self.pid.read_text()), signal.SIGKILL)


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Killed]:
    with Hub(tmp_path / "repo.git", "bot") as hub:
        yield Killed(tmp_path, hub)


def kills(killed: Killed, word: str) -> None:
    """The next deed of this kind is done, and then whoever asked for it is killed."""
    act: Callable[..., Reply] = killed.hub.act

    def done(method: str, path: str, body: Any) -> Reply:
        reply = act(method, path, body)
        if word in f"{method} {path}":
            killed.hub.act = act  # type: ignore[method-assign]
            killed.kill()
        return reply

    killed.hub.act = done  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("deed", "word"),
    [
        (opened(), "POST /repos/acme/widget/pulls"),
        (action("pr_comment", {"body": "Once."}), "/comments"),
        (action("pr_update", {"body": "New."}), "PATCH"),
        (action("pr_merge"), "/merge"),
    ],
)
def test_killed_as_the_forge_did_it(killed: Killed, deed: dict[str, Any], word: str) -> None:
    first = [] if deed["action"]["tool"] == "pr_open" else [opened()]
    answers = [WORK[0], WORK[1], PUSH, *first, deed, finish()]
    kills(killed, word)
    assert killed.run(answers) == -9
    assert killed.run(answers) == 0
    hub = killed.hub
    assert len(hub.pulls) == 1 and len(hub.comments.get(1, [])) == (word == "/comments")
    asked = [each for each in hub.seen if each.method != "GET" and word in f"{each.method} {each.path}"]
    assert len(asked) == 1, "nothing was asked for twice"


def test_killed_as_the_remote_took_the_push(killed: Killed) -> None:
    hook = killed.world.remote / "hooks/post-receive"
    hook.write_text(f'#!/bin/sh\nrm "$0"\nkill -9 "$(cat {killed.pid})"\n')
    hook.chmod(0o755)
    answers = [WORK[0], PUSH, WORK[1], PUSH, finish()]
    assert killed.run(answers) == -9 and killed.world.tip() == killed.world.head
    assert killed.run(answers) == 0 and killed.world.tip() == killed.world.head
    assert len(killed.world.branch_log()) == 2
