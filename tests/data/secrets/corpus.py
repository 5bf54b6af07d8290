"""A corpus is text with planted fake secrets, and what a redactor makes of it. Everything is random from a seed:
no file of this repository holds anything that looks like a credential."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

OPEN, MIDDLE, CLOSE = "\ue000", "\ue001", "\ue002"


def plant(kind: str, secret: str) -> str:
    """`secret` marked in a text as one that must go."""
    return f"{OPEN}{kind}{MIDDLE}{secret}{CLOSE}"


@dataclass(frozen=True)
class Corpus:
    """`data` and the secrets in it: (begin, end, kind), byte offsets, in order."""

    data: bytes
    secrets: tuple[tuple[int, int, str], ...]

    @classmethod
    def of(cls, marked: str) -> Corpus:
        parts: list[bytes] = []
        secrets: list[tuple[int, int, str]] = []
        at = 0
        first, *rest = marked.split(OPEN)
        parts.append(first.encode())
        at += len(parts[-1])
        for piece in rest:
            kind, piece = piece.split(MIDDLE, 1)
            secret, plain = piece.split(CLOSE, 1)
            raw, after = secret.encode(), plain.encode()
            secrets.append((at, at + len(raw), kind))
            parts += [raw, after]
            at += len(raw) + len(after)
        return cls(b"".join(parts), tuple(secrets))


class Span(Protocol):
    """What a redactor would replace."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass
class Score:
    """`found` of `planted` secrets, every byte of each; `false` spans that hold no byte of a secret; `over` bytes
    taken that belong to none."""

    planted: int = 0
    found: int = 0
    false: int = 0
    over: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, bytes]] = field(default_factory=list)
    wrong: list[bytes] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.found / self.planted


def score(corpus: Corpus, spans: list[Span]) -> Score:
    """What `spans` of the corpus' data are worth."""
    gone = bytearray(len(corpus.data))
    for span in spans:
        gone[span.start : span.end] = b"\1" * (span.end - span.start)
    secret = bytearray(len(corpus.data))
    result = Score(planted=len(corpus.secrets))
    for begin, end, kind in corpus.secrets:
        secret[begin:end] = b"\1" * (end - begin)
        if all(gone[begin:end]):
            result.found += 1
        else:
            result.missed[kind] += 1
            result.examples.append((kind, corpus.data[max(0, begin - 60) : end + 20]))
    for span in spans:
        if not any(secret[span.start : span.end]):
            result.false += 1
            result.wrong.append(corpus.data[max(0, span.start - 60) : span.end + 20])
    result.over = sum(1 for taken, meant in zip(gone, secret, strict=True) if taken and not meant)
    return result
