"""What can be recalled of a run: the kinds, a hit, and all that a question found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("state", "action", "output", "decision")
MAX_RECALLED = 10  # hits of one question
MAX_QUERY = 200  # characters


@dataclass(frozen=True)
class Hit:
    """One thing that was found. `step` is the one that it is of, `place` where it stood (a field of the state, a
    tool, the title of an output), `text` a piece of it around the match.

    artifact  the kept output that it stands in, lines `first` to `last` (1-based) of `total`; empty for what is
              whole in `text` or stands in the audit only. gone: that output is no longer kept.
    more      further matches in the same place. also: other steps that hold the very same piece.
    """

    kind: str
    step: int
    place: str
    text: str
    artifact: str = ""
    first: int = 0
    last: int = 0
    total: int = 0
    gone: bool = False
    more: int = 0
    also: tuple[int, ...] = ()


@dataclass(frozen=True)
class Recalled:
    """The hits, best first. `words` are those that were looked for; `all_words` is False when nothing held all of
    them and the hits hold some. `found` counts the matching places, shown or not; `held` what there is to search,
    by kind; `limits` says in sentences what could not be searched."""

    hits: tuple[Hit, ...] = ()
    words: tuple[str, ...] = ()
    all_words: bool = True
    found: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
