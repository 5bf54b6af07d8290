"""What stands in a file instead of the text that was looked for."""

from __future__ import annotations

import difflib
import re

from contracts.controls import unlike, visible
from contracts.redact import HIDDEN, LABEL
from contracts.text import cut
from tool_adapters.actions.files import Refused

_WORD = re.compile(r"\w+")
_SHOWN = 240
MOST = 1800  # bytes of a correction's excerpt
_SCANNED = 4 * 1024 * 1024


def numbered(number: int, line: str) -> str:
    """`12|text` as read_files shows it."""
    shown = visible(line.removesuffix("\r"))
    return f"{number}|{shown[:_SHOWN]}" + ("…" if len(shown) > _SHOWN else "")


def no_match(path: str, data: bytes, old: str) -> Refused:
    """Why `old` is not in the file, whose `data` may be shown."""
    text = data.decode("utf-8", "backslashreplace")
    first = max(old.strip("\n").split("\n"), key=lambda line: len(line.strip()), default="")
    excerpt = why_no_match(text, old) if "\n" in old.strip("\n") else ""
    rows = nearest_lines(text, first)
    near = "\n".join(rows)
    if rows and not excerpt:
        # One line was sought: the nearest one may look the same.
        excerpt = _why_not(text.split("\n")[int(rows[0].partition("|")[0]) - 1], old.strip("\n"))
    excerpt = "\n".join(
        part for part in (excerpt, f"nearest lines of {path}:\n{near}" if near else "") if part
    )
    return Refused(
        "edit.no_match",
        f"`old` does not occur in {path!r}: copy it from the file as it is now, blanks included",
        cut(excerpt, MOST),
    )


def nearest_lines(text: str, wanted: str, count: int = 3) -> tuple[str, ...]:
    """The `count` lines of `text` that are most like `wanted`, numbered, best first."""
    goal = wanted.strip()[:_SHOWN]
    words = set(_WORD.findall(goal))
    rows = [(i, line) for i, line in enumerate(text[:_SCANNED].split("\n"), start=1) if line.strip()]
    if words:
        # Comparing characters is slow: only lines that share words come that far.
        scored = [(len(words & set(_WORD.findall(line[:1000]))), i, line) for i, line in rows]
        scored = sorted((each for each in scored if each[0]), key=lambda each: -each[0])[:60]
        rows = [(i, line) for _, i, line in scored] or rows[:500]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(goal)
    ranked: list[tuple[float, int, str]] = []
    for i, line in rows[:500]:
        matcher.set_seq1(line.strip()[:_SHOWN])
        ranked.append((-matcher.ratio(), i, line))
    return tuple(numbered(i, line) for _, i, line in sorted(ranked)[:count])


def why_no_match(text: str, old: str) -> str:
    """For a text of several lines: where its lines stand, and the first that differs. Empty for one line, or
    when no line of it is there."""
    wanted = old.strip("\n").split("\n")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    bare = [line.strip() for line in lines]
    want = [line.strip() for line in wanted]
    votes: dict[int, int] = {}
    places: dict[str, list[int]] = {}
    for offset, line in enumerate(want):
        if line:
            places.setdefault(line, []).append(offset)
    for at, line in enumerate(bare):
        for offset in places.get(line, ())[:5]:
            votes[at - offset] = votes.get(at - offset, 0) + 1
    if not votes:
        return ""
    at = max(votes, key=lambda place: (votes[place], -place))
    for offset, line in enumerate(wanted):
        here = at + offset
        found = lines[here] if 0 <= here < len(lines) else None
        if found is None:
            return f"lines {at + 1}–{at + len(wanted)} come nearest, but the file ends at line {len(lines)}"
        if found != line:
            what = "only in its blanks" if found.strip() == line.strip() else "there"
            why = f"(that line {HIDDEN})" if LABEL in found else unlike(line, found)
            return (
                f"lines {at + 1}–{at + len(wanted)} come nearest; line {offset + 1} of `old` differs {what}:\n"
                f"- {visible(line[:_SHOWN])}\n+ {numbered(here + 1, found)}" + (f"\n{why}" if why else "")
            )
    return ""


def _why_not(found: str, sought: str) -> str:
    """Why a text of one line is not in the line that is most like it, when that can't be seen."""
    found = found.removesuffix("\r")
    if LABEL in found:
        return f"(the nearest line {HIDDEN})"
    if found.strip() and " ".join(found.split()) == " ".join(sought.split()):
        return unlike(sought, found)
    return ""


def nearest_names(names: list[str], path: str, count: int = 3) -> tuple[str, ...]:
    """The `count` paths most like `path`: the same name elsewhere first, then similar ones."""
    base = path.rsplit("/", 1)[-1]
    same = [name for name in names if name.rsplit("/", 1)[-1].lower() == base.lower()]
    folder = path.rsplit("/", 1)[0] if "/" in path else ""
    near = [name for name in names if name.rpartition("/")[0] == folder]
    words = set(_WORD.findall(path.lower().replace("_", " ")))
    alike = sorted(names, key=lambda name: -len(words & set(_WORD.findall(name.lower().replace("_", " ")))))
    pool = list(dict.fromkeys([*near[:500], *alike[:300]]))
    close = difflib.get_close_matches(path, pool, n=count, cutoff=0.5)
    return tuple(dict.fromkeys([*same[:count], *close]))[:count]
