"""The agent of the scheduled scenario: what it answers follows from the prompt alone. `python scheduled.py LOG`
notes its start in LOG and prints one transition."""

import json
import os
import re
import sys
from typing import Any

Json = dict[str, Any]
QUESTION = "All greetings but the last are polite. May I do the last?"


def decide(prompt: str) -> Json:
    """The next file of the worklist; before the last one a person is asked; done when none is left."""
    left = re.findall(r"^\s*(src/\w+\.txt):1:hello$", prompt, re.MULTILINE)
    if not left:
        return _step("finish", {"summary": "every greeting is polite"})
    if len(left) == 1 and "yes, the last one, too" not in prompt:
        return _step("ask", {"question": QUESTION})
    write = {"op": "write", "path": left[0], "content": "hello, please\n"}
    return _step("edit_files", {"edits": [write]})


def _step(tool: str, args: Json) -> Json:
    return {"state_patch": {}, "action": {"tool": tool, "args": args}}


if __name__ == "__main__":
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{os.environ['HOME']}\n".encode())
    print(json.dumps(decide(sys.stdin.read())))
