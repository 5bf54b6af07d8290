"""entries: what there is to find in the audit of a run and in the outputs that it names. Of a state only what was
replaced or removed since: the rest is shown in every prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from contracts.base import JsonObject
from contracts.grammar import inner_actions
from contracts.record import AuditRow
from contracts.schema_refs import pointer
from contracts.sections import heading
from contracts.state import ANY_KEY, FieldRule
from contracts.text import clean, cut, line
from controller.history import became, committed

# Characters that are searched: of one output (its first 30 % and last 70 %), of one line, of all of a run.
OUTPUT, LINE, RUN = 256 * 1024, 8 * 1024, 64 * 1024 * 1024
LEAF_BYTES = 4 * 1024  # of one argument of an action
SELF = "recall"  # what was only found again is not found a third time
SECRET = "secret"

Path = tuple[str, ...]
_OBSERVED = re.compile(r"step (\d+) (\S+): ")
_NAMED = re.compile(r"[:,]? *artifact:[0-9a-f]+")
_NOTE = re.compile(r"(user-note-\d+): (.*)")


@dataclass(frozen=True)
class Entry:
    """Something to be found; fields as in contracts.recall.Hit. `first` is the line of `artifact`, which has
    `total`, on which `lines` begin."""

    kind: str
    step: int
    place: str
    lines: tuple[str, ...]
    artifact: str = ""
    first: int = 1
    total: int = 0


@dataclass
class Past:
    """Audit rows in, entries out, in order; what it must know of the rows before is kept here. `get` gives an
    artifact or raises KeyError, `fields` are the rules of the state's schema.

    lost     steps with an output that is no longer kept. partly: outputs of which only a part is searched.
    """

    get: Callable[[str], bytes]
    fields: Mapping[Path, FieldRule]
    lost: set[int] = field(default_factory=set)
    partly: int = 0
    _state: JsonObject = field(default_factory=dict)
    _since: dict[Path, tuple[str, int]] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _room: int = RUN

    def take(self, row: AuditRow) -> Iterator[Entry]:
        """What this row adds."""
        yield from self._action(row)
        yield from _decision(row)
        yield from self._prompt(row)
        for id, title in _dict(row.extra.get("outputs")).items():
            yield from self._output(str(id), row.step, _NAMED.sub("", str(title)))
        yield from self._left(row)

    # ---- the state ------------------------------------------------------------------------------------
    def _left(self, row: AuditRow) -> Iterator[Entry]:
        """What this row took out of the state."""
        if row.kind not in ("opened", "migration") and not committed(row):
            return
        self._state, gone = became(self._state, row), _dict(row.extra.get("evicted"))
        now = {path: text for path, text in leaves(self._state) if not self._hidden(path)}
        elsewhere = (
            set(now.values()) if row.kind == "migration" else set()
        )  # moved to a field of another name
        for path, (text, step) in self._since.items():
            if now.get(path) != text and text not in elsewhere:
                how = "replaced" if path in now else "evicted" if _within(path, gone) else "removed"
                place = f"/{'/'.join(path)}, {how} at step {row.step}"
                yield Entry("state", step, place, tuple(clean(text).split("\n")))
        self._since = {
            path: old if (old := self._since.get(path)) and old[0] == text else (text, row.step)
            for path, text in now.items()
        }

    def _hidden(self, path: Path) -> bool:
        """A secret, or a view: ranges of lines that mean nothing once they are closed."""
        secret = any(
            rule.sensitivity == SECRET
            and len(known) <= len(path)
            and all(key in (ANY_KEY, name) for key, name in zip(known, path, strict=False))
            for known, rule in self.fields.items()
        )
        return secret or path[:1] == ("view",)

    # ---- what was done --------------------------------------------------------------------------------
    def _action(self, row: AuditRow) -> Iterator[Entry]:
        if row.kind == "reply" and committed(row):
            return  # the row of its evidence says what came of it
        action = _dict(row.action)
        tool, args = str(action.get("tool", "")), _dict(action.get("args"))
        told = [(name, inner) for name, inner in inner_actions(tool, args) if name != SELF]
        if not tool or not told:
            return
        lines = [
            each
            for name, inner in told
            for each in (
                name,
                *(f"{'/'.join(path)}: {cut(clean(text), LEAF_BYTES)}" for path, text in leaves(inner)),
            )
        ]
        result = row.tool_result if row.kind == "step" else row.validator_result
        commit = f", commit {row.commit[:12]}" if row.commit else ""
        place = line(f"{tool}: {result or row.outcome or 'no result'}{commit}", 200)
        yield Entry("action", row.step, place, tuple("\n".join(lines).split("\n")))

    # ---- what was seen --------------------------------------------------------------------------------
    def _prompt(self, row: AuditRow) -> Iterator[Entry]:
        """The prompt behind a row holds what the step before it saw, and what people had said by then."""
        id = row.digests.get("prompt")
        if id is None or id in self._read:
            return
        lines = self._lines(id, row.step)
        for at in _section(lines, "notes from the user"):
            if (note := _NOTE.match(lines[at])) and note[1] not in self._read:
                self._read.add(note[1])
                yield Entry("decision", row.step, f"{note[1]}, a note of the user", (note[2],))
        section = _section(lines, "observation")
        head = _OBSERVED.match(lines[section.start]) if section else None
        if head is None or head[0] in self._read:
            return
        self._read.add(head[0])  # after a rejection the same observation is shown again
        titled = [at for at in section if lines[at].startswith("--- ")]
        before = range(section.start, titled[0] if titled else section.stop)
        begins = [section.start, *titled] if any(lines[at].startswith(" ") for at in before) else titled
        for at, end in zip(begins, [*begins[1:], section.stop], strict=True):
            yield from self._block(int(head[1]), head[2], lines, at, end, id)

    def _block(self, step: int, tool: str, lines: list[str], at: int, end: int, id: str) -> Iterator[Entry]:
        title = lines[at].removeprefix("--- ")
        if title.startswith((f"{SELF} ", "artifact:")):
            return
        kind = "decision" if title.startswith("answer to: ") else "output"
        begin = min(at + 1, end - 1)  # what has only a title is found by it
        text = tuple(each.removeprefix(" ") for each in lines[begin:end])
        self._room -= sum(map(len, text))
        yield Entry(kind, step, f"{tool}: {_NAMED.sub('', title)}", text, id, begin + 1, len(lines))

    def _output(self, id: str, step: int, title: str) -> Iterator[Entry]:
        if id in self._read:
            return
        whole = self._lines(id, step)
        lines = [each[:LINE] for each in whole]
        sizes = [len(each) + 1 for each in lines]
        most = max(0, min(OUTPUT, self._room))
        spans = [range(len(lines))]
        self.partly += sum(sizes) > most or lines != whole
        if sum(sizes) > most:
            head = _fits(sizes, most * 3 // 10)
            tail = _fits(sizes[: head - 1 if head else None : -1], most - sum(sizes[:head]))
            spans = [range(head), range(len(lines) - tail, len(lines))]
        for span in spans:
            self._room -= sum(sizes[span.start : span.stop])
            text = tuple(lines[span.start : span.stop])
            if any(text):
                yield Entry("output", step, title, text, id, span.start + 1, len(lines))

    def _lines(self, id: str, step: int) -> list[str]:
        """The lines of an artifact, numbered as `read_files` numbers them; none when it is no longer kept."""
        self._read.add(id)
        try:
            lines = self.get(id).decode("utf-8", "replace").split("\n")
        except (KeyError, OSError):
            self.lost.add(step)
            return []
        return [
            each if each.isprintable() else clean(each) for each in (lines[:-1] if lines[-1] == "" else lines)
        ]


def _decision(row: AuditRow) -> Iterator[Entry]:
    """Why something was refused, why the run stood still, what a person did."""
    say = str(row.extra.get("say") or "")
    if say:
        why = (
            row.extra.get("code")
            or row.tool_result
            or row.validator_result
            or row.extra.get("cause")
            or row.kind
        )
        place = line(f"{row.outcome or 'refused'}: {why}", 200)
        yield Entry("decision", row.step, place, tuple(clean(say).split("\n")))
    if row.human_events:
        yield Entry("decision", row.step, "what people did", tuple(clean(each) for each in row.human_events))


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every value in a JSON object as text, by its path. A list of a state is one value, those of arguments are
    walked where they hold objects."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for number, each in enumerate(value, start=1):
            yield from leaves(each, (*path, str(number)))
    elif isinstance(value, str):
        if value.strip():
            yield path, value
    elif isinstance(value, list):
        if value:
            yield (
                path,
                ", ".join(each if isinstance(each, str) else orjson.dumps(each).decode() for each in value),
            )
    elif value is not None:
        yield path, orjson.dumps(value).decode()


def _section(lines: list[str], name: str) -> range:
    """The places of the lines of a section of a prompt. What is not ours is moved in there, so that a heading in
    the first column is one; of two the last, since a skill may hold anything."""
    begin = next((at for at in range(len(lines) - 1, -1, -1) if heading(lines[at]) == name), None)
    if begin is None:
        return range(0)
    end = next((at for at in range(begin + 1, len(lines)) if heading(lines[at])), len(lines))
    while end > begin + 1 and not lines[end - 1]:
        end -= 1
    return range(begin + 1, end)


def _within(path: Path, gone: JsonObject) -> bool:
    """Whether `path` is, or is in, one of the places that the controller let go of."""
    return any(pointer(path[:end]) in gone for end in range(1, len(path) + 1))


def _fits(sizes: Iterable[int], room: int) -> int:
    """How many of `sizes`, from the first on, fit into `room`."""
    count = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        count += 1
    return count


def _dict(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
