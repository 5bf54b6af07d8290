"""Whether a value is a secret or only stands where one could: a name, a type, a call, a template, a placeholder."""

from __future__ import annotations

import base64
import binascii
import re
from string import ascii_lowercase, ascii_uppercase, digits

_FILLER = re.compile(
    rb"passw(?:or)?d|passphrase|secret|token|example|sample|dummy|placeholder|change[-_ ]?me|your|fake|mock|foo|baz"
    rb"|test|xxx|\*\*\*|\.\.\.|1234|abcd|redact|todo|none|null|undefined|default",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    rb"\A\$|\A\*+[a-z_]*\Z|[$#]\{|\$\(|\{\{|\}\}|%\(|%s|<%|\{[A-Za-z_][\w.]{0,60}\}|\A[<{\[].*[>}\]]\Z"
    rb"|\A(?:%[A-Za-z_]+%|@[A-Za-z_]+@)\Z"
    rb"|\[redacted:"
)
_DIGEST = re.compile(rb"\A(?:sha(?:1|224|256|384|512)|md5|h1|blake2b?|SHA256)[:=-]")
_URLISH = re.compile(rb"\A[A-Za-z][A-Za-z0-9+.-]{1,20}://")
_FILE = re.compile(rb"\A(?:\.{0,2}|~|[A-Za-z]:)[/\\](?:[\w.@ -]+[/\\])*[\w.@ -]*\Z")
_NAME = re.compile(rb"\A[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+\Z")
_VAULT = re.compile(
    rb"\A[sbr]\.(?=[A-Za-z]{0,30}[0-9])(?=[a-z0-9]{0,30}[A-Z])[A-Za-z0-9]{24,}\Z"
)  # a token, before hvs.
_SNAKE = re.compile(rb"\A_*(?:[a-z][a-z0-9]*(?:_+[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_+[A-Z0-9]+)+)_*\Z")
_CAMEL = re.compile(rb"\A[a-z]+\d{0,3}(?:[A-Z][a-z]+\d{0,3})+\Z|\A(?:[A-Z][a-z]+){2,}\d{0,3}\Z")
_KEBAB = re.compile(rb"\A[a-z]+(?:-[a-z0-9]+)+\Z")
_PHRASE = re.compile(rb"\A[a-z]{3,}(?:-[a-z]{3,}){3,}\Z")
_TYPE = re.compile(
    rb"\A(?:u?int|float|vec|vector|utf|base|sha|md|rsa|aes|ecdsa|hmac|[iuf])-?\d{1,4}[a-z]{0,12}\d{0,3}\Z",
    re.IGNORECASE,
)
_VERSION = re.compile(rb"\Av?\d+(?:[._-]\d+)*(?:[._-]?[a-z]{1,5}\d{0,3})?\Z")
_NUMBER = re.compile(rb"\A[-+]?[\d._,:]+(?:e[-+]?\d+|[smhdkMGB]|ms)?\Z")


_0_9, _A_Z, _a_z = (letters.encode() for letters in (digits, ascii_uppercase, ascii_lowercase))
_LEAST = {"password": 6, "url": 6, "secret": 8}


def looks_random(value: bytes) -> bool:
    """Whether nobody would choose `value` as a name: letters and digits in a mixture, or letters of both cases
    that make no words."""
    if len(set(value[:64])) < 5:
        return False
    digits, upper, lower = (len(value) - len(value.translate(None, each)) for each in (_0_9, _A_Z, _a_z))
    if digits and upper + lower:
        return True
    return len(value) >= 12 and min(upper, lower) * 4 >= upper + lower and not _CAMEL.match(value)


def plausible(kind: str, value: bytes, *, quoted: bool = True, after: bytes = b"") -> bool:
    """Whether `value` is a secret of `kind` (password, secret, token, key, url, bearer). `quoted`: it stood in
    quotes, so it is no expression; `after`: the byte that follows it."""
    if len(value) < _LEAST.get(kind, 10):
        return False
    if (
        b"EXAMPLE" in value
        or _TEMPLATE.search(value)
        or _DIGEST.match(value)
        or _URLISH.match(value)
        or _is_path(value)
    ):
        return False
    if len(value) < 24 and _FILLER.search(value):
        return False
    if kind == "password" and _PHRASE.match(value) and len(value) >= 18:
        return True
    if _NUMBER.match(value) or _VERSION.match(value):
        return kind == "url" and len(value) > 5 and value.isdigit()
    if b" " in value or _SNAKE.match(value) or _TYPE.match(value) or _named(kind, value, quoted, after):
        return False
    if kind in ("password", "url"):
        return looks_random(value) or _marked(value)
    return looks_random(value)


def _is_path(value: bytes) -> bool:
    """A path, and no base64 that has a slash."""
    if not _FILE.match(value):
        return False
    return not any(
        len(part) >= 16 and looks_random(part) and not part.islower() and not part.isupper()
        for part in value.split(b"/")
    )


def _named(kind: str, value: bytes, quoted: bool, after: bytes) -> bool:
    """It is an identifier, a call, or the name of a resource."""
    if kind not in ("password", "url") and len(value) < 40 and _KEBAB.match(value):
        return True
    if _CAMEL.match(value) and not (quoted and kind in ("password", "url")):
        return True
    return not quoted and (after in (b"(", b"[") or bool(_NAME.match(value) and not _VAULT.match(value)))


def _marked(value: bytes) -> bool:
    """Letters and a mark that no name has."""
    return len(value.translate(None, b"!#%^&*+=?@$~")) < len(value) and value.upper() != value.lower()


def is_basic(text: bytes) -> bool:
    """Whether `text` is the base64 of `user:password`."""
    text = text.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    try:
        decoded = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and len(decoded) >= 6 and all(32 <= byte < 127 or byte >= 0xC3 for byte in decoded)
