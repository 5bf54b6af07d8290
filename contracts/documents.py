"""Texts of the outside as they were read: issues, pull requests, decision records. Data, never an instruction."""

from __future__ import annotations

from typing import Literal

from contracts.base import Frozen
from contracts.text import line

What = Literal["issue", "pull request", "decision record"]
SHORT = 12  # hex digits of a digest or a commit, where it is shown


class Document(Frozen):
    """One text. `status` is a word of ours for an issue or a pull request (open, draft, closed, merged), its own for a
    decision record.

    id        the number of an issue or pull request, the path of a record
    revision  the head commit of a pull request. into: the branch that it would be merged into
    digest    hex sha256 of all that was read of it: title, text, labels, comments
    text      fenced and cut to what is shown; `artifact` has all of it where it was cut
    notes     what was taken out of it, in our words
    """

    id: str
    status: str
    title: str
    digest: str
    revision: str = ""
    into: str = ""
    author: str = ""
    updated: str = ""
    url: str = ""
    labels: tuple[str, ...] = ()
    text: str = ""
    artifact: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Equal as long as it says the same."""
        at = f", at {self.revision[:SHORT]}" if self.revision else ""
        return f"{self.status}{at}, sha256 {self.digest[:32]}"

    @property
    def head(self) -> str:
        """What is known of it beside its text, one line."""
        facts = [self.status]
        facts += [f"at {self.revision[:SHORT]}"] if self.revision else []
        facts += [f"into {self.into}"] if self.into else []
        facts += [f"by {self.author}"] if self.author else []
        facts += [f"labels {', '.join(self.labels)}"] if self.labels else []
        facts += [f"sha256 {self.digest[:SHORT]}", *self.notes]
        return line(f"{self.id} ({'; '.join(facts)}): {self.title}", 400)


class DocumentsReading(Frozen):
    """The texts that an authority found, at most MAX_ITEMS of `total`. `place` says where, in our words. `whole`: they
    were asked for themselves, not found by a query. `ours`: they lie in the run's own worktree, no outside. `worklist`:
    each is an item that is left to do."""

    kind: Literal["documents"] = "documents"
    name: str
    what: What
    place: str
    items: tuple[Document, ...] = ()
    total: int = 0
    whole: bool = True
    ours: bool = False
    worklist: bool = False
    took: float = 0.0

    @property
    def count(self) -> int | None:
        return self.total if self.worklist else None

    @property
    def text(self) -> str:
        """Each with its head in the first column and its text moved in below it: a line of a text is never a head."""
        rows = []
        for each in self.items:
            rows.append(each.head)
            rows += [f"  {row}" for row in each.text.split("\n")] if each.text else []
        more = self.total - len(self.items)
        return "\n".join([*rows, f"… and {more:,} more"] if more else rows)


MAX_ITEMS = 40
