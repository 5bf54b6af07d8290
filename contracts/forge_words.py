"""What waits for a person as it is put before them on a forge, and their words there. Pure.

A word is a line of its own, `approve a5 0123456789ab`, in a comment or a review of somebody who may decide: it names
the entry and its hash, so that it is about what was looked at. What is quoted, fenced as code, edited, or written by
the controller itself is no word; nor is a yes with anything behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from contracts.base import digest
from contracts.controls import exact
from contracts.forge_api import WAITS, Comment, Thread, harmless
from contracts.forge_marks import SHORT, marked, ours
from contracts.merge import Path
from contracts.queue import DID_NOT, HAPPENED, Answer, Decision, Entry
from contracts.text import cut, size
from contracts.veil import veiled

SHOWN = 12  # hex digits of a hash that a word must name at least
MOST = 48_000  # bytes of an entry as it is shown; GitHub takes comments of 65,536 characters
STAND_INS = 500  # bytes more that the stand-ins of secret values may take
TOO_LARGE = (
    "It is too large to be shown whole here, so a yes can't be said here: `controller approvals show {id}` shows it, "
    "`controller approve {id}` says yes to it."
)
ANSWER = 4000  # characters
QUESTIONS = ("ask", "unknown")
_WORD = re.compile(
    r" {0,3}/?(approve|reject|answer)[ \t]+([a-z]\d{1,7})[ \t]+([0-9a-f]{12,64})(?:[ \t:,;-]+(.*)|[.!])?",
    re.I,
)
_QUOTE, _HTML = re.compile(r" {0,3}>"), re.compile(r" {0,3}<[A-Za-z!/?]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PUT = re.compile(rf"\*\*[a-z]\d+ of run \S+ {WAITS}\*\*")
_TICKS = re.compile(r"`+")

Word = Answer | Decision


@dataclass(frozen=True)
class Place:
    """A thread: an issue, or a pull request."""

    thread: Thread
    number: int

    def __str__(self) -> str:
        return f"{self.thread} {self.number}"


@dataclass(frozen=True)
class Heard:
    """What a thread says: the entries that are not put there yet (or were edited since), and people's words."""

    place: Place
    missing: tuple[Entry, ...] = ()
    words: tuple[Word, ...] = ()


def people(entry: Entry, provider: str) -> tuple[str, ...]:
    """The names on that forge of those who may decide."""
    return tuple(each.partition(":")[2] for each in entry.who if each.lower().startswith(f"{provider}:"))


def whole(entry: Entry) -> bool:
    """Whether a comment has room for all that is decided on. Where it has not nobody can say yes in one."""
    told = orjson.dumps(entry.transition, option=orjson.OPT_INDENT_2).decode()
    facts = "".join(f"{name}: {value}\n" for name, value in entry.basis.items()) + (entry.target or "")
    return (
        size(exact(told)) <= MOST // 2 - STAND_INS
        and size(exact(entry.diff)) <= MOST // 4
        and size(facts) <= MOST // 8
    )


def posted(entry: Entry, run: str, provider: str, secrets: Iterable[Path]) -> str:
    """The entry as a comment: all that its hash is of."""
    short = entry.hash[:SHOWN]
    if entry.kind in QUESTIONS:
        form = f"{HAPPENED}, or {DID_NOT}" if entry.kind == "unknown" else "your answer"
        ways = [f"answer {entry.id} {short} {form}"]
    else:
        ways = [f"approve {entry.id} {short}"] if whole(entry) else []
        ways += [f"reject {entry.id} {short} because …"]
    shown = entry.transition | {"state_patch": veiled(entry.transition.get("state_patch", {}), secrets)}
    told = orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()
    facts = [f"{name}: {value}" for name, value in entry.basis.items()]
    facts += [f"target: {entry.target}"] if entry.target else []
    rows = [
        f"**{entry.id} of run {run} {WAITS}** ({entry.kind}, step {entry.step})",
        "",
        *(f"> {row}" for row in harmless(entry.why).split("\n")),
        "",
        _fenced(cut(told, MOST // 2)),
        *(["It would change:", "", _fenced(cut(entry.diff, MOST // 4))] if entry.diff else []),
        *(["It rests on:", "", _fenced(cut("\n".join(facts), MOST // 8))] if facts else []),
        f"Hash: `{entry.hash}`. To decide, one of {', '.join(people(entry, provider))} writes a comment with one line:",
        "",
        _fenced("\n".join(ways)),
        *([] if entry.kind in QUESTIONS or whole(entry) else [TOO_LARGE.format(id=entry.id)]),
        "A comment that was edited does not count.",
    ]
    return marked("\n".join(rows), run, entry.hash)


def _fenced(text: str) -> str:
    """As a block of code that nothing in it can end."""
    text = exact(text)
    ticks = "`" * max(3, 1 + max((len(each) for each in _TICKS.findall(text)), default=0))
    return f"{ticks}\n{text}\n{ticks}\n"


def heard(
    place: Place, comments: Sequence[Comment], entries: Iterable[Entry], provider: str, now: float
) -> Heard:
    """What the comments of a thread (reviews included) say of the entries, at `now` (UTC seconds)."""
    missing: list[Entry] = []
    since: dict[str, float] = {}
    known = {entry.id: entry for entry in entries}
    for entry in known.values():
        own = [each for each in comments if entry.hash[:SHORT] in each.keys and not each.edited]
        since[entry.id] = max((each.made for each in own), default=float("inf"))
        if not own and entry.status == "open":
            missing.append(entry)
    words: list[Word] = []
    for comment in sorted(comments, key=lambda each: each.made):
        if not comment.edited and not ours(comment.body):
            words += _words(place, comment, known, since, provider, now)
    return Heard(place, tuple(missing), tuple(words))


def _words(
    place: Place,
    comment: Comment,
    known: Mapping[str, Entry],
    since: Mapping[str, float],
    provider: str,
    now: float,
) -> list[Word]:
    """The words in one comment; none on an entry of which it says two."""
    by, via = f"{provider}:{comment.by}".lower(), f"{place} {stamp(comment)}"
    found: dict[str, list[Word]] = {}
    for verb, id, hash, rest in _lines(comment.body):
        entry = known.get(id)
        if entry is not None and verb == "approve" and not whole(entry):
            continue  # nobody has seen all of it here
        if entry is None or not entry.hash.startswith(hash) or comment.made < since[id]:
            continue
        who = next((each for each in entry.who if each.lower() == by), None)
        if who is None:  # on a forge everybody can write: only those who are named decide
            continue
        if verb == "answer" and entry.kind in QUESTIONS:
            if text := rest.strip()[:ANSWER]:
                found.setdefault(id, []).append(Answer(entry=id, text=text, by=who, at=now, via=via))
        elif verb != "answer" and entry.kind not in QUESTIONS:
            why = rest.split("\n", 1)[0].strip()[:1000]
            word = Decision(
                entry=id, hash=entry.hash, yes=verb == "approve", why=why, by=who, at=now, via=via
            )
            if not entry.refuses(who, entry.hash, now, word.yes):
                found.setdefault(id, []).append(word)
    return [words[0] for words in found.values() if len(words) == 1]


def stamp(comment: Comment) -> str:
    """What a comment is known by, as it is now."""
    return f"{comment.id} {digest(comment.body)[:16]}"


def governs(body: str) -> bool:
    """Whether a comment is about decisions: an entry that was put there, or a word on one."""
    return (ours(body) and _PUT.match(body) is not None) or bool(_lines(body))


def _lines(body: str) -> list[tuple[str, str, str, str]]:
    """(verb, entry, hash, what follows up to the end) of each word in a text. A quotation goes on to the next empty
    line, whatever stands before its rows; where HTML begins, nobody can tell what is shown: there the words end."""
    rows, fence, quoted = body.replace("\r\n", "\n").split("\n"), "", False
    found: list[tuple[str, str, str, str]] = []
    for number, row in enumerate(rows):
        mark = each[1] if (each := _FENCE.match(row)) else ""
        quoted = bool(row.strip()) and (quoted or _QUOTE.match(row) is not None)
        if not fence and _HTML.match(row):
            break
        if fence or mark:
            fence = "" if fence and mark.startswith(fence) and row.strip() == mark else fence or mark
        elif quoted:
            continue
        elif (word := _WORD.fullmatch(row.rstrip())) and not (word[1].lower() == "approve" and word[4]):
            rest = "\n".join([word[4] or "", *rows[number + 1 :]])
            found.append((word[1].lower(), word[2].lower(), word[3].lower(), rest))
    return found
