"""Values that a name gives away: `password = …`, `"api_key": "…"`, `--token …`, `<secret>…</secret>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contracts.secret_values import is_basic, looks_random, plausible

_TAIL = (
    rb"(?:[_-]?(?:value|prod|production|staging|stage|dev|live|base|base64|b64|primary|secondary|current|new|old"
    rb"|\d{1,2}))?"
)
_NAMES: tuple[tuple[str, bytes, bytes], ...] = (
    # kind, anchor (lower case), the name's end
    ("password", b"passw", rb"passw(?:or)?d"),
    ("password", b"passphrase", rb"passphrase"),
    ("password", b"pass", rb"pass"),
    ("password", b"pwd", rb"pwd"),
    ("secret", b"secret", rb"secret(?:[_-]?(?:access)?[_-]?key)?"),
    ("token", b"token", rb"token"),
    ("key", b"key", rb"key"),
    ("secret", b"credential", rb"credentials?"),
    ("auth", b"auth", rb"auth"),
)
_KEYS = tuple(
    b"api secret access private encryption encrypt account auth signing master shared service app client session "
    b"license storage deploy admin hmac jwt webhook crypto cipher ssh root write read host function subscription "
    b"application integration partner consumer".split()
)
_OTHER_KEYS = tuple(
    b"cache primary foreign public pub sort partition group row hash dedup idempotency lookup index object unique map "
    b"routing shard".split()
)
# After the name: an optional quote, bracket, type; the sign; the value in quotes, in escaped quotes, or bare.
_GIVEN = (
    rb"(?:\\{0,3}[\"'`])?\]?(?:[ \t]{0,20}\??:[ \t]{0,4}[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]{0,4}(?==)(?!==))?"
    rb"(?:[ \t]{0,20}(=>|:=|[?+]?=(?!=)|:(?!:)|%3[Dd])[ \t]{0,20}|(>)|(\"[ \t]{1,4}value=)|([ \t]{1,4}))"
    rb"(?:[bru]{0,2}"
    rb"(?:\"([^\"\\\r\n]{0,2048}+(?>(?:\\.[^\"\\\r\n]{0,512}+){0,8}))\""
    rb"|'([^'\\\r\n]{0,2048}+(?>(?:\\.[^'\\\r\n]{0,512}+){0,8}))'"
    rb"|`([^`\r\n]{1,512}+)`|\\{1,3}[\"']([^\"'\\\r\n]{1,2048}+)\\{1,3}[\"'])"
    rb"|\\{0,3}[\"'`]?([^\s\"'`,;<>(){}\[\]&|\\]{1,2048}+))"
)
_BARE = 9
_PATTERNS = tuple(
    (kind, anchor, re.compile(name + _TAIL + _GIVEN, re.IGNORECASE | re.DOTALL))
    for kind, anchor, name in _NAMES
)
_PART = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_BURIED = 64
_WORD_ENDS = re.compile(rb"[\s\"'`,;<>(){}\[\]&|\\]|\?[A-Za-z0-9_.-]{0,48}\Z")
_REST = re.compile(rb"[^\s\"'`]{0,1024}+")


def named(data: bytes) -> Iterator[tuple[int, int, str]]:
    """(begin, end, kind) of every value that its name makes a secret."""
    lower = data.lower()
    for kind, anchor, pattern in _PATTERNS:
        at = lower.find(anchor)
        while at >= 0:
            found = None if buried(data, at) else pattern.match(data, at)
            end = at + len(anchor)
            if found and (span := _judged(kind, data, at, found)):
                yield *span, "secret" if kind == "auth" else kind
                end = max(end, span[1])
            at = lower.find(anchor, end)


def buried(data: bytes, at: int) -> bool:
    """Whether what is at `at` is no name but the inside of one long word, such as base64. Told by what is just
    before it, so that a part of the data gives the same answer as the whole; keeps the time linear."""
    return at >= _BURIED and not _WORD_ENDS.search(data, at - _BURIED, at)


def _judged(kind: str, data: bytes, at: int, found: re.Match[bytes]) -> tuple[int, int] | None:
    group = found.lastindex or _BARE
    begin, end = found.span(group)
    value, quoted = found[group], group != _BARE
    if not quoted and len(value) > 256 and b"?" in value:
        return None
    front = data[max(0, at - 64) : at]
    prefix = front[len(front.rstrip(_PART)) :]  # of the name
    before = front[: len(front) - len(prefix)][-1:]
    if found[2] and (before != b"<" or data[end : end + 1] != b"<"):
        return None
    if found[4] and not (prefix.startswith(b"--") or (prefix == b"-" and data[at : at + 1].isupper())):
        return None
    if front.removesuffix(prefix).endswith(b"::"):  # a type's name: "AWS::IAM::AccessKey"
        return None
    if not _is_name(kind, found[0], prefix, before, value):
        return None
    if kind == "auth":
        npm = prefix == b"_" and len(value) >= 16 and looks_random(value)  # `_auth` of an .npmrc
        return (begin, end) if npm or is_basic(value) else None
    loud = (prefix + data[at : at + 3]).isupper() and data[begin - 1 : begin] == b"="
    if not quoted and loud and before in (b"", b"\n", b"\r", b" ", b"\t", b"'", b'"'):
        # In an environment the value goes on to the end of the word.
        end = begin + len((_REST.match(data, begin) or found)[0])
        value = data[begin:end]
    good = plausible(kind, value, quoted=quoted, after=data[end : end + 1])
    return (begin, end) if good else None


def _is_name(kind: str, found: bytes, prefix: bytes, before: bytes, value: bytes) -> bool:
    """Whether what stands before the anchor makes it the name of a secret."""
    short = kind == "password" and found[:4].lower() == b"pass" and not found[4:5].isalpha()
    if short and prefix[-1:].isalpha():
        return found[:1] == b"P" and prefix[-1:].islower()  # dbPass, but no compass
    if short and not prefix:
        return found[:4] == b"pass" or before in (b'"', b"'")  # no `PASS: a_test`
    if kind != "key":
        return True
    lower = prefix.lower().rstrip(b"_-.")
    if lower.endswith(_KEYS):
        return True
    loud = prefix.isupper() and prefix.endswith(b"_") and not lower.endswith(_OTHER_KEYS)
    return loud and len(value) >= 20 and looks_random(value)
