"""A repository with a task, and the command line as a user calls it: a process of its own, in a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).parents[2]

# Replies by the number of the step that the prompt names; the last one is repeated. {"sleep": S} waits first.
AGENT = """
import json, re, sys, time
replies = json.load(open(__file__ + ".json"))
prompt = sys.stdin.read()
at = int(re.findall(r"^step (\\d+) of", prompt, re.M)[-1])
reply = replies[min(at, len(replies)) - 1]
if isinstance(reply, dict) and "sleep" in reply:
    time.sleep(reply.pop("sleep"))
print(reply if isinstance(reply, str) else json.dumps(reply))
"""

TASK = """
version: 1
name: greet
goal: The greeting is polite.
agent: {use: script}
agents:
  script: {kind: command, run: [python3, AGENT]}
workspace: {base: main, scope: ["src/**"]}
sandbox: {mode: none}
checks:
  - {name: polite, role: goal, run: [grep, -q, please, src/greeting.txt], pins: []}
  - {name: there, role: guard, run: head -n 1 src/greeting.txt | grep -qa ^hello, pins: [],
     must_notice: src/greeting.txt}
budgets: {steps: 9}
"""


def act(tool: str, patch: dict[str, Any] | None = None, **args: Any) -> dict[str, Any]:
    """One transition."""
    return {"state_patch": patch or {}, "action": {"tool": tool, "args": args}}


def edit(text: str, patch: dict[str, Any] | None = None) -> dict[str, Any]:
    return act("edit_files", patch, edits=[{"op": "write", "path": "src/greeting.txt", "content": text}])


FINISH = act("finish", summary="it is polite now")
READ = act("read_files", files=[{"path": "src/greeting.txt"}])
POLITE = [READ, edit("hello, please\n", {"notes": {"greeting": "made polite"}}), FINISH]


@dataclass
class Said:
    """What a call printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.out.splitlines()]

    @property
    def one(self) -> dict[str, Any]:
        (only,) = self.lines
        return only


@dataclass
class Shell:
    """`repo` is the user's checkout; `home` an empty HOME."""

    repo: Path
    home: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        python = str(Path(sys.executable).parent)
        path = os.pathsep.join([python, "/usr/local/bin", "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)} | self.extra

    def __call__(self, *words: str, cwd: Path | None = None) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "controller", *words],
            cwd=cwd or self.repo,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The same in the background."""
        return subprocess.Popen(
            [sys.executable, "-m", "controller", *words],
            cwd=self.repo,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def git(self, *words: str) -> str:
        asked = subprocess.run(
            ["git", "-c", "user.name=you", "-c", "user.email=you@localhost", *words],
            cwd=self.repo,
            env={"PATH": self.env["PATH"], "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=True,
        )
        return asked.stdout

    def task(self, *replies: Any, **changes: str) -> None:
        """Write task.yaml and the agent with its replies; `changes` are replacements of lines by their key."""
        agent = self.home / "agent.py"
        agent.write_text(AGENT)
        Path(f"{agent}.json").write_text(json.dumps(list(replies)))
        lines = TASK.strip().replace("AGENT", str(agent)).splitlines()
        kept = [changes.pop(line.partition(":")[0], line) for line in lines]
        (self.repo / "task.yaml").write_text("\n".join([*kept, *changes.values()]) + "\n")


def new_shell(folder: Path) -> Shell:
    """A repository with one commit and one file, and a home beside it."""
    shell = Shell(folder / "repo", folder / "home")
    (shell.repo / "src").mkdir(parents=True)
    shell.home.mkdir()
    (shell.repo / "src/greeting.txt").write_text("hello\n")
    shell.git("init", "-q")
    shell.git("symbolic-ref", "HEAD", "refs/heads/main")
    shell.git("add", "-A")
    shell.git("commit", "-qm", "as found")
    return shell
