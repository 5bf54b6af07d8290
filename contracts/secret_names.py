"""Values that a name gives away: `password = …`, `"api_key": "…"`, `--token …`, `<secret>…</secret>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contracts.secret_values import is_basic, plausible

_TAIL = rb"(?:[_-]?(?:value|prod|production|staging|stage|dev|live|base|base64|b64|primary|secondary|current|new|old|\d{1,2}))?"
_NAMES: tuple[tuple[str, bytes, bytes], ...] = (
    # kind, anchor (lower case), what may follow it in the name
    ("password", b"passw", rb"passw(?:or)?d"),
    ("password", b"passphrase", rb"passphrase"),
    ("password", b"passcode", rb"passcode"),
    ("password", b"pass", rb"pass"),
    ("password", b"pwd", rb"pwd"),
    ("secret", b"secret", rb"secret(?:[_-]?(?:access)?[_-]?key)?"),
    ("token", b"token", rb"token"),
    ("key", b"key", rb"key"),
    ("secret", b"credential", rb"credentials?"),
    ("secret", b"authorization", rb"authorization"),
    ("secret", b"signature", rb"signature"),
    ("auth", b"auth", rb"auth"),
)
_KEYS = tuple(
    b"api secret access private encryption encrypt account auth signing master shared service app client session license "
    b"storage deploy admin hmac jwt webhook accesskey crypto cipher ssh root write read host function subscription "
    b"application integration partner consumer".split()
)
# An optional quote, a bracket, a type; the sign; an optional quote. Groups: sign, quote, value in quotes, value.
_GIVEN = (
    rb"(?:\\{0,3}[\"'`])?\]?(?:[ \t]{0,20}\??:[ \t]{0,4}[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]{0,4}(?==)(?!==))?"
    rb"(?:[ \t]{0,20}(=>|:=|[?+]?=(?!=)|::?(?!:)|%3[Dd])[ \t]{0,20}|(>)|(\"[ \t]{1,4}value=)|([ \t]{1,4}))"
    rb"(?:[bru]?(\\{0,3}[\"'`])((?:(?!\5)[^\r\n]){1,4096}?)\5|([^\s\"'`,;<>(){}\[\]&|\\]{1,4096}+))"
)
_PATTERNS = tuple(
    (kind, anchor, re.compile(name + _TAIL + _GIVEN, re.IGNORECASE)) for kind, anchor, name in _NAMES
)
