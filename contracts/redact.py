"""Secrets out of bytes: exact known values, and what looks like a credential. Pure, streaming."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from contracts.secret_shapes import LONGEST, REACH, Span, spans

LABEL = "[redacted:"
HIDDEN = "holds something redacted, which can't be matched or written: take only text around it"
SHORTEST = 6
LONG_LINE = 20  # of a known value of several lines, the lines from this length on are secrets by themselves


class Redactor:
    """Replaces secrets by `[redacted:NAME]`. `values` maps names to secrets that the controller knows; those
    shorter than 6 characters are ignored (they would hit by chance). Their JSON, URL, base64 and hex forms are
    found too. What was redacted once is not changed by a second time."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        known = {
            form: name
            for name, value in (values or {}).items()
            if len(value) >= SHORTEST
            for form in _forms(value)
        }
        self._known = sorted(known.items(), key=lambda item: -len(item[0]))
        self.overlap = max([LONGEST, *(2 * len(form) for form in known)])

    def redact(self, data: bytes, *, keep_lines: bool = False) -> bytes:
        """`data` without secrets. `keep_lines`: a secret of several lines leaves its line breaks, so that line
        numbers stay right."""
        return b"".join(self._pieces(data, len(data), keep_lines=keep_lines)[0])

    def redact_text(self, text: str, *, keep_lines: bool = False) -> str:
        """`text` without secrets; lone surrogates survive."""
        data = self.redact(text.encode("utf-8", "surrogatepass"), keep_lines=keep_lines)
        return data.decode("utf-8", "surrogatepass")

    def stream(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The redacted stream. A secret that lies across the border of two chunks is found: as much as the
        longest secret is held back, and as much is remembered as may decide what follows; that bounds the
        memory."""
        held, before = b"", b""
        for chunk in chunks:
            held += chunk
            if len(held) < 2 * self.overlap:
                continue
            pieces, used = self._pieces(before + held, len(before) + len(held) - self.overlap, len(before))
            yield from pieces
            both = before + held
            before, held = both[max(0, used - REACH) : used], both[used:]
        yield from self._pieces(before + held, len(before) + len(held), len(before))[0]

    def spans(self, data: bytes) -> list[Span]:
        """Where the secrets are, by their beginning; of those that begin together the longest first. They may
        overlap."""
        found = spans(data)
        for form, name in self._known:
            at = data.find(form)
            while at >= 0:
                found.append(Span(at, at + len(form), name))
                at = data.find(form, at + len(form))
        return sorted(found, key=lambda span: (span.start, -span.end))

    def _pieces(
        self, data: bytes, until: int, begin: int = 0, *, keep_lines: bool = False
    ) -> tuple[list[bytes], int]:
        """`data[begin:]` redacted as far as `until`, or to the end of a secret that begins before it; and how
        much of `data` that is."""
        pieces: list[bytes] = []
        at = begin
        for start, end, name in self.spans(data):
            if start >= max(until, at):
                break
            if end <= at or start < begin:
                continue
            if start >= at:
                pieces += [data[at:start], f"{LABEL}{name}]".encode("utf-8", "replace")]
                at = start
            # else two secrets overlap: the second one's rest goes too
            pieces += [b"\n" * data.count(b"\n", at, end)] * keep_lines
            at = end
        if at < until:
            pieces.append(data[at:until])
            at = until
        return pieces, at


def _forms(value: str) -> set[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    written = json.dumps(value)[1:-1]
    forms = {
        raw,
        written.encode(),
        json.dumps(written)[1:-1].encode(),
        json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
        quote(raw, safe="").encode(),
        quote_plus(raw).encode(),
        raw.hex().encode(),
        raw.hex().upper().encode(),
        *(line for line in raw.splitlines() if len(line) >= LONG_LINE),
    }
    for shift in range(3):
        # Inside a longer text (user:secret) the value's base64 depends on where it falls; only the characters
        # that the value alone decides can be known.
        encoded = base64.b64encode(b"\0" * shift + raw)
        last = (shift + len(raw)) * 8 // 6
        inner = encoded[(shift * 8 + 5) // 6 : last]
        if len(inner) >= SHORTEST + 2:
            forms |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return forms
