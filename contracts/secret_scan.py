"""Secrets in what a step would write: an edit before it is staged, a diff before it is committed. Pure; a value is
never returned, only its kind and place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from contracts.base import JsonObject, canonical
from contracts.grammar import inner_actions
from contracts.paths import matches
from contracts.redact import Redactor

GUESSED = frozenset({"password", "secret", "token", "key"})
ADVICE = (
    "never write a credential into a file: read it from the environment; in a test take a value that says what it "
    "is, such as example-password"
)
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_LABEL = re.compile(rb"\[redacted:[^\]\n]{1,80}\]")


class Finding(NamedTuple):
    """A secret: its kind, the line (1-based) it begins on, and the file, where one is known."""

    kind: str
    line: int
    path: str = ""

    @property
    def sure(self) -> bool:
        """Told by its own form or known by value; else by the name that stands before it."""
        return self.kind not in GUESSED

    def __str__(self) -> str:
        return f"{self.kind} in {self.path or 'the text'} line {self.line}"


def findings(text: str | bytes, redactor: Redactor | None = None, *, path: str = "") -> list[Finding]:
    """The secrets in `text`, first to last."""
    return [finding for finding, _ in _found(text, redactor or Redactor(), path)]


def added(diff: str, redactor: Redactor | None = None) -> list[Finding]:
    """The secrets that a unified diff brings in: those in its added lines that stand in none of its other lines,
    so that what was only moved is not called new. Lines are those of the new file."""
    redactor = redactor or Redactor()
    files, old = _sides(diff)
    return [
        Finding(finding.kind, lines[finding.line - 1], path)
        for path, lines, text in files
        for finding, value in _found(text, redactor, path)
        if value not in old
    ]


def brought_in(
    new: bytes, old: Callable[[], bytes | None], redactor: Redactor | None = None, *, path: str = ""
) -> list[Finding]:
    """The secrets in a file that its older content does not hold; `old` (None: there was no file) is asked for
    only when there is one."""
    found = list(_found(new, redactor or Redactor(), path))
    before = (old() or b"") if found else b""
    return [finding for finding, value in found if value not in before]


def edits_adding(tool: str, args: JsonObject, redactor: Redactor | None = None) -> list[Finding]:
    """The secrets that the edits of an action (a batch's included) bring in, judged from its arguments alone.
    A replacement may keep what its `old` holds. Lines are those of the new text."""
    redactor = redactor or Redactor()
    out: list[Finding] = []
    for name, inner in inner_actions(tool, args):
        if name == "apply_patch":
            out += added(str(inner.get("patch", "")), redactor)
        elif name == "edit_files":
            for edit in inner.get("edits", ()):
                old = _bytes(str(edit.get("old", "")))
                text = str(edit.get("new", edit.get("content", "")))
                path = str(edit.get("path", edit.get("glob", "")))
                out += [finding for finding, value in _found(text, redactor, path) if value not in old]
    return out


def edits_refused(tool: str, args: JsonObject, redactor: Redactor, allowed: Iterable[str] = ()) -> str | None:
    """Why the edits of an action may not be made: the secrets that they bring into files beside the `allowed`
    globs; None when there are none."""
    globs = tuple(allowed)
    found = [each for each in edits_adding(tool, args, redactor) if not matches(each.path, globs)]
    return say(found) if found else None


def state_refused(state: Any, redactor: Redactor) -> str | None:
    """Why a state may not be kept: it holds what is surely a secret. What only its name makes one may stand in a
    note."""
    found = [each for each in findings(canonical(state), redactor) if each.sure]
    return (
        f"the state would hold a secret ({found[0].kind}): note where it is, never what it is"
        if found
        else None
    )


def args_refused(args: Any, redactor: Redactor) -> str | None:
    """Why arguments that name no file may not be used: they would stand in the audit, and before people."""
    found = [each for each in findings(canonical(args), redactor) if each.sure]
    return f"the arguments hold a secret ({found[0].kind}): leave it out" if found else None


def redact_json(value: Any, redactor: Redactor | None = None) -> Any:
    """A JSON value with the secrets taken out of every text and key in it."""
    redactor = redactor or Redactor()
    match value:
        case str():
            return redactor.redact_text(value)
        case dict():
            # A key may name what its text is: both are looked at together.
            return {
                redactor.redact_text(key): _beside(key, inner, redactor)
                if isinstance(inner, str)
                else redact_json(inner, redactor)
                for key, inner in value.items()
            }
        case list() | tuple():
            return [redact_json(inner, redactor) for inner in value]
        case _:
            return value


def labels(data: bytes) -> int:
    """How many marks of the redactor stand in `data`."""
    return len(_LABEL.findall(data))


def say(found: Iterable[Finding]) -> str:
    """One sentence for the model, with what to do instead."""
    shown = list(found)
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{', '.join(map(str, shown[:3]))}{more} looks like a secret: {ADVICE}"


def _beside(key: str, text: str, redactor: Redactor) -> str:
    alone = redactor.redact_text(text)
    if alone != text or "\n" in text or '"' in text or "\\" in text:
        return alone
    head = f'"{key}": "'
    both = redactor.redact_text(f'{head}{text}"')
    return both.removeprefix(head).removesuffix('"') if both.startswith(head) else alone


def _found(text: str | bytes, redactor: Redactor, path: str) -> Iterator[tuple[Finding, bytes]]:
    data = _bytes(text)
    at, line, end = 0, 1, 0
    for span in redactor.spans(data):
        if span.start < end:
            continue  # a part of the one before
        line += data.count(b"\n", at, span.start)
        at, end = span.start, span.end
        yield Finding(span.name, line, path), data[span.start : span.end]


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _sides(diff: str) -> tuple[list[tuple[str, list[int], str]], bytes]:
    """Per file its path, the line numbers of its added lines and their text; and all other lines of the diff."""
    files: list[tuple[str, list[int], list[str]]] = [("", [], [])]
    old: list[str] = []
    number = 0  # of the next line of the new file; 0 between the hunks of one file and the next file
    lines = diff.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("diff --git ") or (line.startswith("--- ") and following.startswith("+++ ")):
            number = 0
        elif line.startswith("+++ ") and number == 0:
            files.append((line[4:].split("\t")[0].removeprefix("b/"), [], []))
        elif line.startswith("@@"):
            hunk = _HUNK.match(line)
            number = int(hunk[1]) if hunk else max(number, 1)
        elif number and line.startswith("+"):
            files[-1][1].append(number)
            files[-1][2].append(line[1:])
            number += 1
        elif number:
            old.append(line[1:])
            number += not line.startswith("-")
    return [(path, numbers, "\n".join(texts)) for path, numbers, texts in files], _bytes("\n".join(old))
