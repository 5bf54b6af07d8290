"""A rule-based agent that knows nothing but the prompt. argv: the file where it leaves a line for each launch."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

Move = dict[str, object]


def act(tool: str, **args: object) -> Move:
    return {"state_patch": {}, "action": {"tool": tool, "args": args}}


def section(prompt: str, name: str) -> str:
    return prompt.partition(f"=== {name} ===\n")[2].partition("\n=== ")[0]


def authorities(prompt: str) -> dict[str, list[str]]:
    """Name -> what it says, its head first."""
    found: dict[str, list[str]] = {}
    for row in section(prompt, "AUTHORITIES").splitlines():
        if row.startswith(" ") and found:
            found[next(reversed(found))].append(row[1:])
        elif ": " in row:
            name, _, said = row.partition(": ")
            found[name] = [said]
    return found


def edit(path: str, old: str, new: str) -> Move:
    return act("edit_files", edits=[{"op": "replace", "path": path, "old": old, "new": new}])


def move(prompt: str) -> Move:
    """The next transition."""
    told = authorities(prompt)
    forge, ci = told["forge"], told["remote"]
    if "commits of others" in forge[0]:
        return act("git_pull")
    for row in told["remaining"][1:]:
        path, _, text = row.split(":", 2)
        word = re.findall(r"`(\w+)`", section(prompt, "INTENT"))[0]
        return edit(path, text, text.replace(word, "new"))
    if " failed of " in ci[0]:
        return failed("\n".join(ci), section(prompt, "OBSERVATION"))
    if "is not on the remote" in forge[0] or "what came after is not" in forge[0]:
        return act("git_push")
    if " passed of " not in ci[0]:
        return act("wait", authority="remote")
    if not any(row.startswith("pull request ") for row in forge):
        return act("pr_open", title="Tidy up", body="What was asked for is done, and CI is green.")
    return act("finish", summary="tidied up, and proposed")


def failed(said: str, seen: str) -> Move:
    """What CI complains of is mended, where it says where; else it is tried again."""
    complaint = re.search(r'no line "(\w+)" in ([\w/.]+)', said)
    if complaint is None:
        return act("ci_rerun", why="nothing in it is ours")
    word, path = complaint.groups()
    shown = re.search(rf"--- {re.escape(path)} [^\n]*\n((?: *\d+\|[^\n]*\n?)+)", seen)
    if shown is None:
        return act("read_files", files=[{"path": path}])
    last = shown[1].rstrip("\n").splitlines()[-1].partition("|")[2]
    return edit(path, f"{last}\n", f"{last}\n{word}\n")


def main() -> None:
    prompt = sys.stdin.read()
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(re.findall(r"(?m)^step (\d+) of", prompt)[-1] + "\n")
    print(json.dumps(move(prompt)))


if __name__ == "__main__":
    main()
