"""A model with hands: what it calls of its CLI's own tools in each step, one call a request, and then its reply."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.conformance.loopback import Answer, Call
from controller.conformance.loopback.recorded import Recorded
from tests.agents import claude_binary, codex_binary
from tests.agents.binaries import node_binary, pi_script

AGENTS = ("claude", "codex", "pi")
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-dummy", "OPENAI_API_KEY": "dummy-key"}


Work = Sequence[str | tuple[str, str, str]]


@dataclass(frozen=True)
class Hands:
    """A policy of the gateway for agent `kind`. A step is shell texts, and (path, old, new) to be edited with the tool
    that the agent has for that, then the tool of its reply; or what makes this of the prompt."""

    kind: str
    steps: Sequence[Work | Callable[[str], Work]]
    worktree: Path

    def __call__(self, prompt: str, _: Any, request: Recorded) -> Answer:
        assert request.number < 400, "the agent asks on and on"
        step = int(re.findall(r"^step (\d+) of", prompt, re.M)[-1])
        said = request.parsed.get("messages") or request.parsed.get("input") or ()
        calls = ("function_call", "custom_tool_call")
        done = sum(each.get("role") == "assistant" or each.get("type") in calls for each in said)
        plan = self.steps[step - 1]
        *work, tool = plan(prompt) if callable(plan) else plan
        return self._call(work[done]) if done < len(work) else self.reply(str(tool), step)

    def reply(self, tool: str, step: int) -> dict[str, Any]:
        """The transition, in the agent's dialect."""
        patch: Any = [] if self.kind == "codex" else {}
        told = {"reasoning": "…"} if self.kind == "pi" else {}
        return {**told, "state_patch": patch, "action": {"tool": tool, "args": {"summary": f"step {step}"}}}

    def _call(self, work: str | tuple[str, str, str]) -> Call:
        if self.kind == "codex":
            if isinstance(work, str):
                return Call("exec_command", {"cmd": work})
            path, old, new = work
            hunk = f"@@\n-{old}\n+{new}\n"
            return Call("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n{hunk}*** End Patch\n")
        shell, edit = ("bash", "edit") if self.kind == "pi" else ("Bash", "Edit")
        if isinstance(work, str):
            return Call(shell, {"command": work} | ({} if self.kind == "pi" else {"description": "work"}))
        path, old, new = work
        if self.kind == "pi":
            return Call(edit, {"path": path, "edits": [{"oldText": old, "newText": new}]})
        return Call(edit, {"file_path": str(self.worktree / path), "old_string": old, "new_string": new})


def agent(kind: str, url: str, key: str = "OPENAI_API_KEY") -> str:
    """The task's entry of an agent that edits by itself, against a gateway at `url`."""
    entry: dict[str, Any] = {
        "kind": kind,
        "explore": "delegate",
        "price": {"input": 1, "cached": 1, "output": 1},
    }
    match kind:
        case "claude":
            entry |= {"base_url": url, "options": {"cli": str(claude_binary())}}
        case "codex":
            entry |= {"base_url": f"{url}/v1", "options": {"cli": str(codex_binary())}}
        case "pi":
            options = {"api": "openai-completions", "cli": str(pi_script()), "node": str(node_binary())}
            entry |= {
                "base_url": f"{url}/v1",
                "model": "m",
                "options": options,
                "api_key_env": key,
            }
    return json.dumps(entry)


def environ(home: Path) -> dict[str, str]:
    """A caller's environment: a home of its own, dummy keys."""
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), **KEYS}
