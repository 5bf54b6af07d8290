"""What waits for a person, and what people say: the queue of a run and its inbox."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from contracts.base import Frozen, JsonObject, digest
from contracts.merge import Path
from contracts.veil import veiled

HAPPENED, DID_NOT = "happened", "did-not-happen"
FILE = "file "  # before a path in a basis
OUTSIDE = "outside "  # before the name of a mark in a basis
MAX_QUEUE = 8  # entries that are parked at once
MAX_REFUSED = 64  # refusals that are kept, oldest out
MAX_NOTES, MAX_NOTE = 8, 500  # notes of a person that are shown at once; characters of each

SAID = ("status", "answer", "decider", "decided", "via")  # of an entry, what people said of it

EntryKind = Literal["ask", "approval", "change", "conflict", "plan", "finish", "unknown"]


class Entry(Frozen):
    """Something parked for a person. `status` is open until a person decides.

    kind        ask: a question. approval: an action beyond a boundary. change: of the intent, a locked field or the
                schema. conflict: two sources of one fact, or a source and the intent, disagree. plan: an allowed step
                that was only planned. finish: every check is green, and what none of them proves is for a person to
                see. unknown: a deed of which nothing can tell whether it happened.
    hash        of all that is put before a person, see `seal`: another action, patch or basis is another hash.
    basis       what it acts on, as it was: see `controller.confirm`. target: where it takes effect, for people.
    diff        what would change, as people read it. expires: UTC seconds; nobody may say yes after that.
    proposes    of a change: what it would make of what, as `contracts.changes.Proposed.key`.
    who         the people who may decide; empty: everyone who can reach the run.
    via         where on a forge it was decided, and what stood there: see `contracts.forge_words`.
    """

    id: str
    kind: EntryKind
    step: int
    transition: JsonObject
    hash: str = ""
    why: str
    basis: dict[str, str] = {}
    target: str = ""
    diff: str = ""
    proposes: str = ""
    opened: float
    expires: float | None = None
    who: tuple[str, ...] = ()
    status: Literal["open", "approved", "rejected"] = "open"
    answer: str | None = None
    decider: str = ""
    decided: float | None = None
    via: str = ""

    @property
    def subject(self) -> object:
        """What it is about: the action, of a conflict all that would be changed."""
        return self.transition if self.kind == "conflict" else self.transition.get("action")

    def seal(self, secrets: Iterable[Path]) -> str:
        """The hash of the entry as it was parked: of all but what people said of it since, secret values as they are
        shown."""
        told = self.model_dump(mode="json", exclude={"hash", *SAID})
        shown = veiled(self.transition.get("state_patch", {}), secrets)
        return digest(told | {"transition": self.transition | {"state_patch": shown}})

    def asked(self, at: float, secrets: Iterable[Path]) -> Entry:
        """The entry as it is put before people at `at`, for as long as it was to be."""
        expires = None if self.expires is None else at + self.expires - self.opened
        return self.model_copy(update={"opened": at, "expires": expires}).sealed(secrets)

    def sealed(self, secrets: Iterable[Path]) -> Entry:
        """The entry with its hash."""
        return self.model_copy(update={"hash": self.seal(secrets)})

    @property
    def commits(self) -> set[str]:
        """The commits at which the files of its basis were looked at."""
        return {sha for name, sha in self.basis.items() if name.startswith(FILE)}

    def refuses(self, by: str, hash: str, at: float, yes: bool = True) -> str:
        """Why `by` can't say yes (or no) to it now, having seen `hash`; empty when they can."""
        if self.status == "rejected" or (self.status == "approved" and yes):
            return f"{self.id} is {self.status} already"
        if hash != self.hash:
            return f"{self.id} is not what was looked at: {self.hash[:12]} now, {hash[:12]} then"
        if self.who and by not in self.who:
            return f"{by} may not decide on {self.id}: {', '.join(self.who)} may"
        if self.expires is not None and at > self.expires:
            return f"{self.id} is out of date: it could be decided until {self.expires:.0f}"
        return ""


class Refusal(Frozen):
    """A person's no to a proposed change: what it `proposes` may not be proposed again until they take it back, or what
    the user wants is another. `who` may: empty, everyone."""

    entry: str
    proposes: str
    by: str = ""
    why: str = ""
    who: tuple[str, ...] = ()


class Answer(Frozen):
    """A person's answer to an `ask`, or their word on an `unknown`."""

    kind: Literal["answer"] = "answer"
    entry: str
    text: str
    by: str
    at: float
    via: str = ""


class Decision(Frozen):
    """A person's yes or no to an entry, having seen the action with `hash`."""

    kind: Literal["decision"] = "decision"
    entry: str
    hash: str
    yes: bool
    why: str = ""
    by: str
    at: float
    via: str = ""


class StopRequest(Frozen):
    """A person asked the run to end after the step at hand."""

    kind: Literal["stop"] = "stop"
    by: str
    at: float
    why: str = ""


class Tell(Frozen):
    """A person's note for the agent: shown in every prompt until its id stands in the state (the agent has taken it
    in) or it is withdrawn. It never changes the intent."""

    kind: Literal["tell"] = "tell"
    text: Annotated[str, Field(min_length=1, max_length=MAX_NOTE)]
    by: str
    at: float


class Withdraw(Frozen):
    """A person takes a note, or a no to a proposed change, back."""

    kind: Literal["withdraw"] = "withdraw"
    id: str
    by: str
    at: float


PostBody = Annotated[Answer | Decision | StopRequest | Tell | Withdraw, Field(discriminator="kind")]


class UserNote(Frozen):
    """A note that is shown. `id` is `user-note-N`."""

    id: str
    text: str
    by: str
    at: float


class Post(Frozen):
    """One word of a person in the inbox. `id` is given by the store."""

    id: int
    body: PostBody


def decided(queue: tuple[Entry, ...], inbox: tuple[Post, ...]) -> tuple[Entry, ...]:
    """The queue with people's words taken in, in the order in which they were said. The first word on an entry counts,
    but a no still takes a yes back as long as nothing was done. Words that nobody may say (another hash, too late, not
    one of those who may) change nothing."""
    entries = {entry.id: entry for entry in queue}
    for post in inbox:
        match post.body:
            case Answer(entry=id, text=text, by=by, at=at, via=via) if (
                entry := entries.get(id)
            ) and _answers(entry, text, by):
                said = {"status": "approved", "answer": text, "decider": by, "decided": at, "via": via}
                entries[id] = entry.model_copy(update=said)
            case Decision(entry=id, hash=hash, yes=yes, why=why, by=by, at=at, via=via):
                entry = entries.get(id)
                if entry is None or entry.kind in ("ask", "unknown") or entry.refuses(by, hash, at, yes):
                    continue
                said = {
                    "status": "approved" if yes else "rejected",
                    "answer": why,
                    "decider": by,
                    "decided": at,
                    "via": via,
                }
                entries[id] = entry.model_copy(update=said)
            case _:
                continue
    return tuple(entries.values())


def _answers(entry: Entry, text: str, by: str) -> bool:
    return (
        entry.status == "open"
        and (not entry.who or by in entry.who)
        and (entry.kind == "ask" or (entry.kind == "unknown" and text in (HAPPENED, DID_NOT)))
    )


def refusals(
    known: tuple[Refusal, ...], rejected: Iterable[Entry], inbox: tuple[Post, ...]
) -> tuple[Refusal, ...]:
    """What may not be proposed again, people's words taken in."""
    kept = {each.entry: each for each in known}
    for entry in rejected:
        if entry.proposes:
            why = (entry.answer or "")[:300]
            kept[entry.id] = Refusal(
                entry=entry.id, proposes=entry.proposes, by=entry.decider, why=why, who=entry.who
            )
    for post in inbox:
        no = kept.get(post.body.id) if isinstance(post.body, Withdraw) else None
        if no is not None and (not no.who or post.body.by in no.who):
            del kept[no.entry]
    return tuple(kept.values())[-MAX_REFUSED:]


def noted(notes: tuple[UserNote, ...], inbox: tuple[Post, ...]) -> tuple[UserNote, ...]:
    """The notes that are shown, people's words taken in; the oldest give way to the newest."""
    kept = list(notes)
    for post in inbox:
        if isinstance(post.body, Tell):
            body = post.body
            kept.append(UserNote(id=f"user-note-{post.id}", text=body.text, by=body.by, at=body.at))
        elif isinstance(post.body, Withdraw):
            gone = post.body.id
            kept = [note for note in kept if note.id != gone]
    return tuple(kept[-MAX_NOTES:])
