"""From one prompt to one transition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.scenarios.policy.prompt import File, Found, Item, Seen, parse
from tests.scenarios.upkeep import buffers, chain, supers, typing_names, variables, working_set
from tests.scenarios.upkeep.answers import Answer, Case, Change, Find, Look, Range, Span, around

Json = dict[str, Any]
RULES = (supers, chain, typing_names, variables, buffers)
CONTEXT, WIDE, NEAR = 2, 12, 30  # lines: beside an edit, at most so many, and spans so near are one edit


@dataclass(frozen=True)
class Work:
    """The prompt, the rule that its goal asks for, and the item that is next."""

    seen: Seen
    rule: ModuleType
    item: Item

    @property
    def file(self) -> File:
        return self.seen.file(self.item.path)

    @property
    def views(self) -> bool:
        """Whether ranges can be kept open."""
        return "view" in self.seen.state

    @property
    def notes(self) -> bool:
        """Whether, without views, the agent may note what it looked at, to read it again by itself."""
        return "ranges" in self.seen.state


def decide(prompt: str) -> Json:
    """The transition that follows from the prompt, in the canonical form. The same prompt, the same reply."""
    seen = parse(prompt)
    rule = next((each for each in RULES if each.GOAL in seen.sections.get("INTENT", "")), None)
    if rule is None or seen.left is None:
        return _ask("I know no rule for this goal, or there is no worklist to go by.")
    if seen.correction and not re.search(r"edit\.(?:count|no_match)\b", seen.correction):
        return _ask(f"I don't know what to do about this: {seen.correction[:600]}")
    item = _ready(rule, seen.items)
    if item is None:
        if seen.left:
            return _ask(f"The worklist has {seen.left} lines, and I can read none of them.")
        return _reply({"next_action": "done"}, "finish", {"summary": "The worklist is empty."})
    work = Work(seen, rule, item)
    match _answer(work):
        case Change() as change:
            return _edit(work, change)
        case Look(ranges):
            return _look(work, ranges)
        case Find(patterns, place):
            return _find(work, patterns, place)
        case None:
            return _ask(f"No rule fits {item.path}:{item.line}: {work.file.rows.get(item.line, '')[:200]}")


def _answer(work: Work) -> Answer:
    item = work.item
    if item.line not in work.file.rows:
        return Look((around(item.line),))
    same = tuple(other for other in work.seen.items if other.path == item.path)
    answer: Answer = work.rule.rule(Case(work.file, item.line, same, _found(work)))
    return answer


def _ready(rule: ModuleType, items: tuple[Item, ...]) -> Item | None:
    """The first item that need not wait for others of its file."""
    waits = getattr(rule, "waits", None)
    for item in items:
        if not waits or not waits(item, tuple(other for other in items if other.path == item.path)):
            return item
    return None


# ---- looking -------------------------------------------------------------------------------------------------
def _look(work: Work, ranges: tuple[Range, ...]) -> Json:
    """See the ranges in the next step: read them, and keep them open where there are views."""
    item = work.item
    question = f"{item.path}:{item.line} needs {ranges}"[:200]
    if work.seen.state.get("open_question") == question:
        return _ask(f"I looked at {ranges} of {item.path} and still can't see enough.")
    patch: Json = {"next_action": f"go to {item.path}:{item.line}"[:200], "open_question": question}
    if work.views:
        patch["view"] = working_set.patch(work.seen, item.path, ranges)
        known = working_set.viewed(work.seen, item.path)
        ranges = tuple(part for each in ranges for part in working_set.unseen(known, each)) or ranges
    elif work.notes:
        patch["ranges"] = working_set.noted(work.seen, item.path, ranges)
    files = [{"path": item.path, "from": first, "to": last} for first, last in working_set.pieces(ranges)[:6]]
    return _reply(patch, "read_files", {"files": files})


def _find(work: Work, patterns: tuple[str, ...], place: Range) -> Json:
    """Search the file; what is needed beside the result is read again where it does not stay open."""
    item = work.item
    question = _asked(item, patterns)
    if work.seen.state.get("open_question") == question:
        return _ask(f"I searched {item.path} for {patterns} and can't see what was found.")
    patch: Json = {"next_action": f"go to {item.path}:{item.line}"[:200], "open_question": question}
    actions: list[Json] = [
        {"tool": "search", "args": {"pattern": pattern, "paths": [item.path], "regex": True}}
        for pattern in patterns
    ]
    if work.views:
        patch["view"] = working_set.patch(work.seen, item.path, (place,))
    else:
        file = {"path": item.path, "from": place[0], "to": place[1]}
        actions.append({"tool": "read_files", "args": {"files": [file]}})
    if len(actions) == 1:
        return _reply(patch, "search", actions[0]["args"])
    return _reply(patch, "batch", {"actions": actions})


def _found(work: Work) -> dict[str, Found]:
    """What the last step searched for, if it was for this item."""
    question = str(work.seen.state.get("open_question", ""))
    return work.seen.found if question.startswith(_asked(work.item, ())) else {}


def _asked(item: Item, patterns: tuple[str, ...]) -> str:
    return f"{item.path}:{item.line} where {' '.join(patterns)}"[:200].rstrip()


# ---- changing ------------------------------------------------------------------------------------------------
def _edit(work: Work, change: Change) -> Json:
    """Change the item, and see to it that the next one is in sight in the next step."""
    edits = [_replacement(work, span) for span in _together(work.file, change.spans)]
    edit: Json = {"tool": "edit_files", "args": {"edits": edits}}
    following = _following(work, change)
    patch: Json = {
        "notes": {change.kind.replace(" ", "-")[:24]: f"last at {work.item.path}:{work.item.line}"[:80]}
    }
    patch["next_action"] = f"go to {following.path}:{following.line}"[:200] if following else "finish"
    patch["open_question"] = ""
    if following is None:
        return _reply(patch, edit["tool"], edit["args"])
    if work.views:
        patch["view"] = _opened(work, following)
        return _reply(patch, edit["tool"], edit["args"])
    same = following.path == work.item.path
    ranges: tuple[Range, ...] = (around(change.moved(following.line) if same else following.line),)
    if work.notes:
        known = working_set.remembered(work.seen, work.item.path) if same else ()
        known = tuple((change.moved(first), change.moved(last)) for first, last in known)
        patch["ranges"] = working_set.noted(work.seen, following.path, known)
        ranges = (*ranges, *known)
    files = [
        {"path": following.path, "from": first, "to": last} for first, last in working_set.pieces(ranges)[:6]
    ]
    read = {"tool": "read_files", "args": {"files": files}}
    return _reply(patch, "batch", {"actions": [edit, read]})


def _following(work: Work, change: Change) -> Item | None:
    """The item that comes next once the change is made, where it stands now."""
    gone = {number for span in change.spans for number in range(span.first, span.last + 1)} | {work.item.line}
    rest = tuple(item for item in work.seen.items if item.path != work.item.path or item.line not in gone)
    return _ready(work.rule, rest)


def _opened(work: Work, following: Item) -> Json:
    """The patch of the views for the next item; they follow the edit by themselves."""
    known = working_set.viewed(work.seen, following.path)
    first, last = around(following.line)
    near = (first, min(last, following.line + 2 * (following.line - first)))
    if following.path == work.item.path and known.sees(*near):
        return {}
    return working_set.patch(work.seen, following.path, ((first, last),))


def _together(file: File, spans: tuple[Span, ...]) -> list[Span]:
    """Spans that stand near each other as one, so that no edit needs what another one changes."""
    joined: list[Span] = []
    for span in spans:
        if joined and span.first - joined[-1].last <= NEAR:
            before = joined.pop()
            between = tuple(file.rows[number] for number in range(before.last + 1, span.first))
            span = Span(before.first, span.last, (*before.new, *between, *span.new))
        joined.append(span)
    return joined


def _replacement(work: Work, span: Span) -> Json:
    """The edit with as many lines around it as make it the only one of its kind among all that can be seen."""
    rows = work.file.rows
    text = "\n".join(rows[number] for number in sorted(rows))
    first, last = span.first, span.last
    least = WIDE if "edit.count" in work.seen.correction else CONTEXT
    for beside in range(1, WIDE + 1):
        first = first - 1 if first - 1 in rows else first
        last = last + 1 if last + 1 in rows else last
        old = "\n".join(rows[number] for number in range(first, last + 1))
        if beside >= least and text.count(old) == 1:
            break
    head = [rows[number] for number in range(first, span.first)]
    tail = [rows[number] for number in range(span.last + 1, last + 1)]
    new = "\n".join([*head, *span.new, *tail])
    return {"op": "replace", "path": work.item.path, "old": old, "new": new, "count": 1}


# ---- replying ------------------------------------------------------------------------------------------------
def _ask(question: str) -> Json:
    return _reply({}, "ask", {"question": question[:1500]})


def _reply(patch: Json, tool: str, args: Json) -> Json:
    return {"state_patch": patch, "action": {"tool": tool, "args": args}}
