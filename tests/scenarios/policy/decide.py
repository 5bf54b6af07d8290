"""From one prompt to one transition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.scenarios.policy import python2, six_names
from tests.scenarios.policy.prompt import File, Found, Item, Seen, parse
from tests.scenarios.policy.steps import Answer, Change, Find, GoTo, Look

Json = dict[str, Any]
BEFORE, AFTER = 8, 45  # lines read around the next item
ORPHAN = r"\bsix\b"
WHY = {
    "future import": "Python 3 does by itself what the import asks for",
    "object base": "every class of Python 3 has it",
    "version test": "decided for every Python that is left",
    "six import": "nothing of the file needs it any more",
    "six name": "Python 3 has the name itself",
    "six call": "Python 3 has syntax for it",
    "six metaclass": "Python 3 has syntax for it",
    "six requirement": "nothing imports it any more",
    "six, the number": "a number, not the package: written as a figure",
}


@dataclass(frozen=True)
class Place:
    """Where to work: a line of a file."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def decide(prompt: str) -> Json:
    """The transition that follows from the prompt, in the canonical form. The same prompt, the same reply."""
    seen = parse(prompt)
    if seen.left is None:
        return _ask(seen, "There is no worklist to go by: what is to be done?")
    trouble = _trouble(seen)
    if trouble:
        return _ask(seen, trouble)
    place = _place(seen)
    if place is None:
        return _finish(seen)
    answer = _rule(seen, place)
    match answer:
        case Change():
            return _edit(seen, place, answer)
        case Look(first, last):
            return _look(seen, place, first, last)
        case Find(texts):
            return _find(seen, place, texts)
        case GoTo(line):
            return _look(seen, Place(place.path, line), line - BEFORE, line + AFTER)
        case None:
            return _ask(seen, f"No rule fits {place}: {seen.file(place.path).rows.get(place.line, '')[:200]}")


# ---- where to work -----------------------------------------------------------------------------------------
def _place(seen: Seen) -> Place | None:
    """What nothing needs any more; else what the state says comes next, if that is in sight and still to be
    done; else the first item that is ready."""
    for place in (_orphan(seen), _planned(seen)):
        if place:
            return place
    item = _ready(seen.items)
    return Place(item.path, item.line) if item else None


def _planned(seen: Seen) -> Place | None:
    said = re.match(r"go to (\S+):(\d+)$", str(seen.state.get("next_action", "")))
    if not said:
        return None
    place = Place(said[1], int(said[2]))
    line = seen.file(place.path).rows.get(place.line)
    if line is None:
        return None
    listed = any((item.path, item.line) == (place.path, place.line) for item in seen.items)
    return place if listed or python2.tests(line, _oldest(seen)) else None


def _orphan(seen: Seen) -> Place | None:
    """An import of six in a file where nothing else says six."""
    result = seen.found.get(ORPHAN)
    if result is None or result.count != 1 or not result.hits:
        return None
    hit = result.hits[0]
    return Place(hit.path, hit.line) if re.match(r"import\s+six\s*$", hit.text) else None


def _ready(items: tuple[Item, ...]) -> Item | None:
    """The first item that can be done now: imports of six wait until no other item of their file is left."""
    for item in items:
        others = [other for other in items if other.path == item.path]
        waits = six_names.IMPORT.match(item.text) and "six.moves" not in item.text
        if not waits or all(six_names.IMPORT.match(other.text) for other in others):
            return item
    return None


def _rule(seen: Seen, place: Place) -> Answer:
    file = seen.file(place.path)
    if place.line not in file.rows:
        return Look(place.line - BEFORE, place.line + AFTER)
    found = _found(seen, place)
    return python2.line_rule(file, place.line, _oldest(seen)) or six_names.line_rule(file, place.line, found)


def _found(seen: Seen, place: Place) -> dict[str, Found]:
    """The searches of the observation, which were made in the file that the state says comes next."""
    if _orphan(seen) == place:
        return {"six.": Found(0)}
    said = str(seen.state.get("next_action", ""))
    return dict(seen.found) if said.startswith(f"go to {place.path}:") else {}


def _oldest(seen: Seen) -> tuple[int, int]:
    said = re.search(r"Python (\d)\.(\d+)", seen.sections.get("INTENT", ""))
    return (int(said[1]), int(said[2])) if said else (3, 0)


def _trouble(seen: Seen) -> str:
    """What a correction says that no rule can mend."""
    known = ("edit.count", "edit.no_match")
    if not seen.correction or any(f"{code}." in seen.correction for code in known):
        return ""
    return f"I don't know what to do about this: {seen.correction[:600]}"


# ---- what to do --------------------------------------------------------------------------------------------
def _edit(seen: Seen, place: Place, change: Change) -> Json:
    file = seen.file(place.path)
    following = _after(seen, place, change)
    edits = [_replacement(seen, place.path, file, change)]
    for old, new, times in change.everywhere:
        told = re.search(r"occurs ([\d,]+) times in the ", seen.correction)
        expect = int(told[1].replace(",", "")) if told and len(change.everywhere) == 1 else times
        edits.append({"op": "replace_all", "glob": place.path, "old": old, "new": new, "expect": expect})
    actions = [{"tool": "edit_files", "args": {"edits": edits}}, *_tries(seen, place.path)]
    gone = "\n".join(file.rows[number] for number in range(change.first, change.last + 1))
    if following:
        around = _span(following.line - BEFORE, following.line + AFTER)
        actions.append({"tool": "read_files", "args": {"files": [{"path": following.path, **around}]}})
        actions += [_search(text, following.path) for text in six_names.searches(following.text)]
    if "six." in gone and not _waits_for_six(seen, place):
        actions.append(_search(ORPHAN, place.path, regex=True))
    patch = _noted(seen, place, change.kind) | {
        "next_action": f"go to {following.path}:{following.line}" if following else "finish"
    }
    return _transition(seen, patch, "batch", {"actions": actions})


def _replacement(seen: Seen, path: str, file: File, change: Change) -> Json:
    """The edit, with the lines around it that make it the only one of its kind."""
    around = 12 if "edit.count" in seen.correction else 2
    first, last = change.first, change.last
    while first - 1 in file.rows and change.first - first < around:
        first -= 1
    while last + 1 in file.rows and last - change.last < around:
        last += 1
    head = [file.rows[number] for number in range(first, change.first)]
    tail = [file.rows[number] for number in range(change.last + 1, last + 1)]
    old = "\n".join(file.rows[number] for number in range(first, last + 1))
    return {
        "op": "replace",
        "path": path,
        "old": old,
        "new": "\n".join([*head, *change.new, *tail]),
        "count": 1,
    }


def _after(seen: Seen, place: Place, change: Change) -> Item | None:
    """The item that comes next, where it will stand once the change is made."""
    gone = range(change.first, change.last + 1)
    rest = tuple(item for item in seen.items if not (item.path == place.path and item.line in gone))
    item = _ready(rest)
    if item is None:
        return None
    moved = change.shift if item.path == place.path and item.line > change.last else 0
    return Item(item.path, item.line + moved, item.text)


def _waits_for_six(seen: Seen, place: Place) -> bool:
    """Whether the worklist itself names the import of six in this file."""
    return any(i.path == place.path and six_names.IMPORT.match(i.text) for i in seen.items)


def _tries(seen: Seen, path: str) -> list[Json]:
    """The first command that takes the path of the edited file."""
    for row in re.finditer(
        r'"command":"([\w-]+)","params":\{"path":"/(.*?)/"\}', seen.sections.get("ACTIONS", "")
    ):
        if re.search(row[2].replace("\\\\", "\\"), path):
            return [{"tool": "run", "args": {"command": row[1], "params": {"path": path}}}]
    return []


def _look(seen: Seen, place: Place, first: int, last: int) -> Json:
    """Read, unless just that was read before and did not help."""
    question = f"what stands at {place} and on to {last}"
    if question in dict(seen.state.get("open_questions", {})).values():
        return _ask(seen, f"I read {place} and still can't see it.")
    patch = {"next_action": f"go to {place}", "open_questions": {"where": question}}
    read = {"files": [{"path": place.path, **_span(first, last)}]}
    if _orphan(seen) != place:
        return _transition(seen, patch, "read_files", read)
    # What the search showed is forgotten in the next step, so it is made again beside the reading.
    both = [{"tool": "read_files", "args": read}, _search(ORPHAN, place.path, regex=True)]
    return _transition(seen, patch, "batch", {"actions": both})


def _find(seen: Seen, place: Place, texts: tuple[str, ...]) -> Json:
    """Search, with the place itself read again beside it."""
    question = f"where {', '.join(texts)} stand in {place.path}"[:88]
    if question in dict(seen.state.get("open_questions", {})).values():
        return _ask(seen, f"I searched {place.path} for {', '.join(texts)} and still can't see the result.")
    patch = {"next_action": f"go to {place}", "open_questions": {"uses": question}}
    file = {"path": place.path, **_span(place.line - BEFORE, place.line + AFTER)}
    reads = [
        {"tool": "read_files", "args": {"files": [file]}},
        *[_search(text, place.path) for text in texts],
    ]
    return _transition(seen, patch, "batch", {"actions": reads})


def _finish(seen: Seen) -> Json:
    if seen.left:
        return _ask(seen, f"The worklist has {seen.left} lines, and I can read none of them.")
    return _transition(seen, {"next_action": "done"}, "finish", {"summary": "The worklist is empty."})


def _ask(seen: Seen, question: str) -> Json:
    return _transition(seen, {}, "ask", {"question": question[:1500]})


def _span(first: int, last: int) -> Json:
    return {"from": max(1, first), "to": max(1, last)}


def _search(text: str, path: str, regex: bool = False) -> Json:
    return {
        "tool": "search",
        "args": {"pattern": text, "paths": [path], **({"regex": True} if regex else {})},
    }


# ---- what to note ------------------------------------------------------------------------------------------
def _noted(seen: Seen, place: Place, kind: str) -> Json:
    """What a later step may want to know of this one: which items were worked on, and why so."""
    patch: Json = {"current_change": {"note": f"{kind} at {place}"[:200], "files": [place.path]}}
    ledger = dict(seen.state.get("decision_ledger", {}))
    key = re.sub(r"[^a-z]+", "-", kind)
    if key not in ledger:
        patch["decision_ledger"] = {key: WHY[kind]}
    items = seen.state.get("items")
    stem = re.sub(r"[^A-Za-z0-9]+", ".", place.path.rsplit(".", 1)[0]).strip(".")
    if isinstance(items, dict):
        patch["items"] = {f"{len(items) + 1:03}.{stem[-20:]}": f"{kind}, line {place.line}"}
    else:
        patch["notes"] = {stem[-24:].strip("."): f"{kind} at line {place.line}"}
    questions = dict(seen.state.get("open_questions", {}))
    if questions:
        patch["open_questions"] = dict.fromkeys(questions)
        tried = dict(seen.state.get("tested_hypotheses", {}))
        if isinstance(items, dict):  # a contract of the scenarios' own, where a hypothesis is a text
            patch["tested_hypotheses"] = {
                f"h{len(tried) % 6}": f"was open at {place}: {next(iter(questions))}"[:90]
            }
    return patch


def _transition(seen: Seen, patch: Json, tool: str, args: Json) -> Json:
    """With of the patch only what the state has a field for."""
    known = {name: value for name, value in patch.items() if name in seen.state}
    return {"state_patch": known, "action": {"tool": tool, "args": args}}
