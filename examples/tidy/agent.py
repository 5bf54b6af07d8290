"""A rule-based agent: one prompt on stdin, one transition on stdout, no memory and no sight of the repository.

It knows how a prompt is laid out and how to apply a rule of the form "`A` becomes `B`", in which … stands for
anything whose brackets match. Which files there are, what stands in them and what the rules are, it reads from the
prompt. A language model has the same place: see `agents:` in task.yaml.
"""

from __future__ import annotations

import json
import re
import sys


def decide(prompt: str) -> dict:
    parts = sections(prompt)
    left = worklist(parts.get("AUTHORITIES", ""))
    seen = parts.get("OBSERVATION", "")
    if re.search(r"^step .*\bexit [1-9]", seen):
        return transition({}, "ask", question="The tests are red after the last change. What shall I do?")
    if not left:
        return transition(
            {"next_action": ""}, "finish", summary="The worklist is empty and the tests are green."
        )
    path, *later = left
    text = whole_file(seen, path)
    if text is None:
        return transition({"next_action": "rewrite " + path}, "read_files", files=[{"path": path}])
    new, count = rewritten(text, rules(parts.get("INTENT", "")))
    if new == text:
        return transition(
            {}, "ask", question=f"I see nothing in {path} that a rule applies to. What is meant?"
        )
    actions = [{"tool": "edit_files", "args": {"edits": [{"op": "write", "path": path, "content": new}]}}]
    command = re.search(r'args (\{"command":"[^"]*"\}) runs:', parts.get("ACTIONS", ""))
    if command:
        actions.append({"tool": "run", "args": json.loads(command[1])})
    if later:
        actions.append({"tool": "read_files", "args": {"files": [{"path": later[0]}]}})
    patch = {
        "current_change": {"note": f"{path}: {count} places"},
        "notes": {"files": str(files_so_far(parts.get("STATE", "")) + 1)},
        "next_action": "rewrite " + later[0] if later else "finish",
    }
    return transition(patch, "batch", actions=actions)


def transition(patch: dict, tool: str, **args: object) -> dict:
    return {"state_patch": patch, "action": {"tool": tool, "args": args}}


# ---- reading the prompt -----------------------------------------------------------------------------------
def sections(prompt: str) -> dict:
    """The text of each section by its name; the layout `compact` writes `[state]` for `=== STATE ===`."""
    heading = r"^\[([a-z]+)\]\n" if prompt.startswith("[") else r"^=== ([A-Z]+) ===\n"
    names_and_texts = re.split(heading, prompt, flags=re.MULTILINE)[1:]
    return {
        name.upper(): text for name, text in zip(names_and_texts[::2], names_and_texts[1::2], strict=True)
    }


def worklist(authorities: str) -> list:
    """Paths of the first authority that says how many items are left; its lines are `path:count`."""
    found = re.search(r"^\S+: [\d,]+ left.*\n((?: .*\n?)*)", authorities, re.MULTILINE)
    return (
        [line.strip().rpartition(":")[0] for line in found[1].splitlines() if line.strip()] if found else []
    )


def whole_file(observation: str, path: str) -> str | None:
    """The text of a file that the observation shows from its first to its last line, else None."""
    title = rf"^--- {re.escape(path)} lines 1–(\d+) of (\d+)\n((?: +\d+\|.*\n?)+)"
    found = re.search(title, observation, re.MULTILINE)
    if found is None or found[1] != found[2]:
        return None
    lines = [line.partition("|")[2] for line in found[3].splitlines()]
    return "\n".join(lines) + "\n"


def files_so_far(state: str) -> int:
    found = re.search(r"^notes: (\{.*\})$", state, re.MULTILINE)
    return int(json.loads(found[1]).get("files", "0")) if found else 0


def rules(intent: str) -> list:
    """(before, after) of every "`A` becomes `B`"."""
    return re.findall(r"`([^`]*…[^`]*)` becomes `([^`]*…[^`]*)`", intent)


# ---- applying the rules -------------------------------------------------------------------------------------
def rewritten(text: str, pairs: list) -> tuple:
    """(the text with every rule applied until none applies, how often one did). A name that was imported for
    what is now gone is dropped from its import."""
    count, names = 0, set()
    for before, after in pairs:
        head, tail = before.split("…", 1)
        names.update(re.findall(r"\w+", head))
        while (span := first_match(text, head, tail)) is not None:
            start, end = span
            inner = text[start + len(head) : end - len(tail)]
            text = text[:start] + after.replace("…", inner) + text[end:]
            count += 1
    return drop_imports(text, names), count


def first_match(text: str, head: str, tail: str) -> tuple | None:
    """Where `head`, anything with matching brackets, `tail` stands first: (start, end)."""
    for found in re.finditer(r"(?<![\w.])" + re.escape(head), text):
        depth = 0
        for at in range(found.end(), len(text)):
            if depth == 0 and text.startswith(tail, at):
                return found.start(), at + len(tail)
            depth += (text[at] in "([{") - (text[at] in ")]}")
            if depth < 0:
                break
    return None


def drop_imports(text: str, names: set) -> str:
    lines = []
    for line in text.splitlines(keepends=True):
        found = re.fullmatch(r"(from \S+ import )(\w+(?:, \w+)*)\n", line)
        if found:
            kept = [name for name in found[2].split(", ") if name not in names or used(text, line, name)]
            line = found[1] + ", ".join(kept) + "\n" if kept else ""
        lines.append(line)
    # An import line that is gone may leave two empty lines where one belongs.
    return re.sub(r"(from __future__ import \w+\n)\n\n+(?=from|import)", r"\1\n", "".join(lines))


def used(text: str, line: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text.replace(line, "", 1)) is not None


if __name__ == "__main__":
    print(json.dumps(decide(sys.stdin.read()), ensure_ascii=False))
