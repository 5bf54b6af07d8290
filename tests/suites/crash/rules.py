"""The agent of the crash tests: what it answers follows from the prompt alone, so a step that was lost is answered
the same when it is asked again. `python rules.py LOG` is a fresh process a step: it notes its start in LOG, reads
the prompt on stdin and prints the transition. Without LOG it edits by itself."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
RISKS = '{"type": "string", "maxLength": 20}'


def decide(prompt: str) -> Json:
    """The transition that follows from Σ and the correction."""
    state = prompt.partition("=== STATE ===")[2].partition("\n===")[0]
    notes = re.search(r"^\s*notes: (.*)$", state, re.MULTILINE)
    done: Json = json.loads(notes[1]) if notes else {}
    if (
        "request_change" in prompt.partition("=== ACTIONS ===")[2].partition("\n=== ")[0]
    ):  # a world that grows
        if "grown" not in done:
            asked = {"at": "/schema/risks", "value": RISKS, "why": "there are some"}
            return _step({"grown": "asked"}, "request_change", asked)
        if "risks: " not in state:
            return {"state_patch": {"risks": "few"}, "action": {"tool": "run", "args": {"command": "count"}}}
    if "- submit: " in prompt:  # an agent that edits by itself, in the folder that it is started in
        for name in "ab":
            if name not in done:
                path = Path(f"src/{name}.txt")
                path.write_text(path.read_text().replace("old", "new"))
                return _step({name: "done"}, "submit", {"summary": name})
            if "ship" not in done:
                return _step({"ship": "sent"}, "run", {"command": "ship"})
        return _step({}, "finish", {"summary": "done"})
    if "a" not in done:
        if "=== CORRECTION ===" not in prompt and ": failed (" not in prompt:  # nothing went wrong yet
            return _step({}, "run", {"command": "broken"})
        return _step({"a": "done"}, "edit_files", {"edits": [_replace("src/a.txt")]})
    if "ship" not in done:
        return _step({"ship": "sent"}, "run", {"command": "ship"})
    if "b" not in done:
        inner = [
            {"tool": "edit_files", "args": {"edits": [_replace("src/b.txt")]}},
            {"tool": "run", "args": {"command": "count"}},
            {"tool": "read_files", "args": {"files": [{"path": "src/b.txt"}]}},
        ]
        return _step({"b": "done"}, "batch", {"actions": inner})
    return _step({}, "finish", {"summary": "done"})


def _step(notes: Json, tool: str, args: Json) -> Json:
    return {"state_patch": {"notes": notes} if notes else {}, "action": {"tool": tool, "args": args}}


def _replace(path: str) -> Json:
    return {"op": "replace", "path": path, "old": "old", "new": "new"}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
        os.write(log, b"start\n")
    print(json.dumps(decide(sys.stdin.read())))
    sys.stderr.write('usage: {"input": 1000, "cached": 0, "output": 100, "usd": 0.001}\n')
