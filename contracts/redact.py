"""Secrets out of bytes: exact known values, and the shapes of well-known credentials. Pure, streaming."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

SHORTEST = 6
OVERLAP = 16 * 1024

# Each alternative begins with its literal first letter and looks behind after it, so that the engine can skip
# by first letter. A shape needs enough structure that hashes, UUIDs, SRI digests and CSS names never match.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("aws_key", r"A(?<![A-Za-z0-9]A)(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github_token", r"g(?<![A-Za-z0-9]g)(?:h[pousr]_[A-Za-z0-9]{36,255}|ithub_pat_[A-Za-z0-9_]{22,255})"),
    ("gitlab_token", r"g(?<![A-Za-z0-9]g)lpat-[A-Za-z0-9_-]{20,64}"),
    (
        "api_key",
        r"s(?<![A-Za-z0-9_-]s)k-(?=[A-Za-z0-9_-]{0,99}[0-9])(?=[A-Za-z0-9_-]{0,99}[A-Z])[A-Za-z0-9_-]{20,255}",
    ),
    ("slack_token", r"x(?<![A-Za-z0-9]x)ox[abeprs]-(?=[A-Za-z0-9-]{0,99}[0-9])[A-Za-z0-9-]{10,255}"),
    ("npm_token", r"n(?<![A-Za-z0-9]n)pm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi_token", r"p(?<![A-Za-z0-9]p)ypi-AgE[A-Za-z0-9_-]{40,255}"),
    (
        "jwt",
        r"e(?<![A-Za-z0-9_-]e)yJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000}",
    ),
    (
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^\x00]{0,16000}?-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]{0,16000})",
    ),
)
_NAMES = tuple(name for name, _ in _SHAPES)
_SHAPE = re.compile("|".join(f"({pattern})" for _, pattern in _SHAPES).encode("ascii"))


class Redactor:
    """Replaces secrets by `[redacted:NAME]`. `values` maps names to secrets that the controller knows; those
    shorter than 6 characters are ignored (they would hit by chance). Base64, JSON and URL forms are found
    too."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        known = {
            form: f"[redacted:{name}]".encode("utf-8", "replace")
            for name, value in (values or {}).items()
            if len(value) >= SHORTEST
            for form in _forms(value)
        }
        self._known = sorted(known.items(), key=lambda item: -len(item[0]))
        self.overlap = max([OVERLAP, *(2 * len(form) for form in known)])

    def redact(self, data: bytes) -> bytes:
        """`data` without secrets."""
        return b"".join(self._pieces(data, len(data))[0])

    def redact_text(self, text: str) -> str:
        """`text` without secrets; lone surrogates survive."""
        return self.redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def stream(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The redacted stream. A secret that lies across the border of two chunks is found: as much as the
        longest secret is held back, which bounds the memory."""
        held, before = b"", b""
        for chunk in chunks:
            held += chunk
            if len(held) < 2 * self.overlap:
                continue
            pieces, used = self._pieces(before + held, len(before) + len(held) - self.overlap, len(before))
            yield from pieces
            before, held = (before + held)[used - 1 : used], (before + held)[used:]
        yield from self._pieces(before + held, len(before) + len(held), len(before))[0]

    def _pieces(self, data: bytes, until: int, begin: int = 0) -> tuple[list[bytes], int]:
        """`data[begin:]` redacted as far as `until`, or to the end of a secret that begins before it; and how
        much of `data` that is."""
        pieces, at = [], begin
        for start, end, label in self._spans(data, begin):
            if start >= until:
                break
            if start < at:
                # Two secrets overlap: the second one's rest goes too.
                at = max(at, end)
                continue
            pieces += [data[at:start], label]
            at = end
        if at < until:
            pieces.append(data[at:until])
            at = until
        return pieces, at

    def _spans(self, data: bytes, begin: int) -> list[tuple[int, int, bytes]]:
        found = [
            (match.start(), match.end(), f"[redacted:{_NAMES[(match.lastindex or 1) - 1]}]".encode())
            for match in _SHAPE.finditer(data, begin)
        ]
        for form, label in self._known:
            at = data.find(form, begin)
            while at >= 0:
                found.append((at, at + len(form), label))
                at = data.find(form, at + len(form))
        return sorted(found, key=lambda span: (span[0], -span[1]))


def _forms(value: str) -> set[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    forms = {raw, json.dumps(value)[1:-1].encode(), quote(value, safe="", errors="replace").encode()}
    for shift in range(3):
        # Inside a longer text (user:secret) the value's base64 depends on where it falls; only the characters
        # that the value alone decides can be known.
        encoded = base64.b64encode(b"\0" * shift + raw)
        last = (shift + len(raw)) * 8 // 6
        inner = encoded[(shift * 8 + 5) // 6 : last]
        if len(inner) >= SHORTEST + 2:
            forms |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return forms
