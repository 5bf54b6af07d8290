"""What people wrote, as it was read, and the Documents that are shown of it: hashed whole, then fenced and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contracts.base import digest
from contracts.documents import MAX_ITEMS, Document
from contracts.fence import fenced
from contracts.forge import Thread
from contracts.forge_words import governs
from contracts.text import cut, line, share, size

WHOLE = 512 * 1024  # characters of one text that are looked at; the digest is of all of it


@dataclass(frozen=True)
class Comment:
    id: str
    author: str
    when: str
    body: str


@dataclass(frozen=True)
class Written:
    """One text, nothing taken out; see `contracts.documents.Document`."""

    id: str
    status: str
    title: str
    body: str
    revision: str = ""
    into: str = ""
    author: str = ""
    updated: str = ""
    url: str = ""
    labels: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()

    @property
    def digest(self) -> str:
        said = [[each.id, each.author, each.body] for each in self.comments]
        return digest([self.title, self.body, sorted(self.labels), said])


def shown_comments(made: Sequence[Comment], asked: Thread) -> tuple[Comment, ...]:
    """The newest of those that are asked for; decisions are no part of what is decided on."""
    by = (each for each in made if not asked.comments_by or each.author in asked.comments_by)
    return tuple(each for each in by if not governs(each.body))[-asked.comments :]


def documents(
    found: Sequence[Written], room: int, keep: Callable[[bytes], str] | None, clear: Callable[[str], str]
) -> tuple[Document, ...]:
    """The first MAX_ITEMS, their texts together at most `room` bytes. What is cut is kept whole (`keep`) and names
    the artifact; `clear` takes secrets out."""
    whole = [_whole(each, clear) for each in found[:MAX_ITEMS]]
    rooms = share([size(text) for text, _ in whole], room)
    made = []
    for each, (text, notes), part in zip(found, whole, rooms, strict=False):
        kept = keep(text.encode("utf-8")) if keep is not None and size(text) > part else None
        made.append(
            Document(
                id=_short(each.id, 200),
                status=_short(each.status, 40),
                title=_short(clear(each.title), 200),
                digest=each.digest,
                revision=_short(each.revision, 64),
                into=_short(each.into, 80),
                author=_short(each.author, 60),
                updated=_short(each.updated, 40),
                url=_short(clear(each.url), 200),
                labels=tuple(_short(clear(label), 40) for label in each.labels[:8]),
                text=cut(text, part, artifact=kept, first=1) if part else "",
                artifact=kept,
                notes=notes,
            )
        )
    return tuple(made)


def _whole(each: Written, clear: Callable[[str], str]) -> tuple[str, tuple[str, ...]]:
    """Text and comments as they are shown, and what was taken out of them."""
    text, notes = fenced(each.body[:WHOLE])
    parts = [clear(text).strip()]
    for comment in each.comments:
        body, more = fenced(comment.body[:WHOLE])
        notes = (*notes, *(f"of a comment: {note}" for note in more))
        said = "\n".join(f"  {row}" for row in clear(body).strip().split("\n"))
        parts.append(f"comment by {_short(comment.author, 60)}, {_short(comment.when, 40)}:\n{said}")
    return "\n".join(part for part in parts if part), notes[:4]


def _short(text: str, limit: int) -> str:
    return line(fenced(text)[0], limit)
