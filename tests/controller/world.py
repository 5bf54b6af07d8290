"""A small world for tests of the controller: a real repository, a real task file, a scripted agent."""

from __future__ import annotations

import inspect
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.sections import sections
from controller.assemble import assemble
from controller.loop import run
from controller.opening import Options
from controller.rig import Rig
from controller.taskfile import LoadedTask, read_task

# `scripts/test compact` runs the tests of the engine once more, with the other layout.
LAYOUT = os.environ.get("SKILL_STATE_TEST_LAYOUT", "full")
TASK = """\
version: 1
name: tidy
goal: Replace every `old` by `new` in src.
agent: {use: mine}
agents:
  mine: {kind: command, run: [/bin/false]}
workspace:
  base: main
  scope: ["src/**"]
sandbox: {mode: none}
authorities:
  remaining: {use: command, run: [git, grep, -n, old, --, src], ok_exit: [0, 1], worklist: true}
actions:
  allow: [read_files, list_files, search, edit_files, apply_patch, batch, run, ask, finish]
  commands:
    show: {run: [cat, "{path}"], params: {path: {pattern: "src/[a-z.]+"}}}
    mess: {run: "echo junk > junk.txt; echo more >> src/a.txt"}
checks:
  - {name: no-old, role: goal, run: [git, grep, -q, old, --, src], pass_exit: [1]}
  - {name: sound, role: guard, run: [sh, check.sh], must_notice: src/a.txt}
"""

FILES = {
    "src/a.txt": "one old\ntwo\n",
    "src/b.txt": "an old thing\n",
    # The guard goes red when src/a.txt holds a NUL, as what `Workspace.spoil` writes does.
    "check.sh": 'test "$(LC_ALL=C tr -d -c "\\\\000" < src/a.txt | wc -c)" -eq 0\n',
}


def git(root: Path, *args: str) -> str:
    """Plain git as a user runs it, without this machine's configuration."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(
        ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *args],
        cwd=root, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def repository(root: Path, files: dict[str, str] | None = None, task: str = TASK) -> Path:
    """A repository with one commit on `main`, and task.yaml beside it (not committed). Returns the task file."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for name, text in (files or FILES).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    if LAYOUT != "full" and "\nlayout: " not in task:
        task = task.replace("version: 1\n", f"version: 1\nlayout: {LAYOUT}\n", 1)
    (root / "task.yaml").write_text(task)
    return root / "task.yaml"


def part(prompt: str, name: str) -> str:
    """The text of a section of a prompt, without its heading and the end of its last line; empty where it has none."""
    found = (each.text.partition("\n")[2] for each in sections(prompt) if each.name == name)
    return next(found, "").rstrip("\n")


def edit(path: str, old: str, new: str, **patch: Any) -> dict[str, Any]:
    """A transition that replaces `old` once."""
    return action("edit_files", {"edits": [{"op": "replace", "path": path, "old": old, "new": new}]}, **patch)


def action(tool: str, args: dict[str, Any] | None = None, **patch: Any) -> dict[str, Any]:
    return {"state_patch": patch, "action": {"tool": tool, "args": args or {}}}


def finish(**patch: Any) -> dict[str, Any]:
    return action("finish", {"summary": "done"}, **patch)


Answer = dict[str, Any] | AgentReply | Callable[[Prompt], Any]


class ScriptedAgent:
    """The Agent port with answers from a list; the prompts it saw are kept. Past the end it fails the test."""

    def __init__(self, answers: Iterable[Answer], rig: Rig, usage: Usage | None = None) -> None:
        self.answers: list[Answer] = list(answers)
        self.prompts: list[Prompt] = []
        self.profile: AgentProfile = rig.agent.profile
        self.dialect = rig.agent.dialect
        self.usage = usage or Usage(input=1000, cached=0, output=100, usd_micro=1000)
        self.closed = False

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        self.prompts.append(prompt)
        assert self.answers, f"launch {len(self.prompts)} was not expected:\n{prompt.volatile}"
        answer = self.answers.pop(0)
        if callable(answer):
            made = answer(prompt)
            answer = await made if inspect.isawaitable(made) else made
        if isinstance(answer, AgentReply):
            return answer
        return AgentReply(cls=ReplyClass.OK, value=answer, text=str(answer), usage=self.usage, took=0.1)

    async def close(self) -> None:
        self.closed = True


class World:
    """A task in its repository, driven call by call as a user would."""

    def __init__(self, root: Path, *, task: str = TASK, files: dict[str, str] | None = None) -> None:
        self.root = root
        self.file = repository(root, files, task)
        self.agent: ScriptedAgent | None = None

    @property
    def loaded(self) -> LoadedTask:
        return read_task(self.file)

    @property
    def worktree(self) -> Path:
        return self.root / ".agent-runtime/work/tidy"

    def rig(self, answers: Iterable[Answer] = (), usage: Usage | None = None) -> Rig:
        rig = assemble(self.loaded)
        self.agent = rig.agent = ScriptedAgent(answers, rig, usage)
        return rig

    async def run(self, answers: Iterable[Answer] = (), *, usage: Usage | None = None, **options: Any) -> Any:
        """`controller run` with a scripted agent; returns the End."""
        return await run(self.rig(answers, usage), Options(**{"patience": 0.0} | options))

    @property
    def prompts(self) -> list[str]:
        assert self.agent is not None
        return [prompt.text for prompt in self.agent.prompts]

    def git(self, *args: str) -> str:
        return git(self.root, *args)

    def branch_log(self) -> list[str]:
        return self.git("log", "--format=%s", "main..skill-state/tidy").splitlines()

    def branch_file(self, path: str) -> str:
        return self.git("show", f"skill-state/tidy:{path}")
