"""What the gate and the verifier say. Unions told apart by `kind`; match them exhaustively."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.base import Frozen, JsonObject
from contracts.outcomes import Outcome
from contracts.queue import Entry
from contracts.readings import CheckReading, Printed, Readings
from contracts.record import Halt, LaunchFacts, Observation, Reserve, Staged

Layer = Literal["reply", "envelope", "schema", "patch", "intent", "invariants", "policy"]


class Allow(Frozen):
    """May be executed."""

    kind: Literal["allow"] = "allow"
    staged: Staged


class Reject(Frozen):
    """Breaks a rule: `code` is stable (`patch.unknown_field`), `say` tells the model what to do instead."""

    kind: Literal["reject"] = "reject"
    layer: Layer
    code: str
    say: str
    excerpt: str = ""


class Confirm(Frozen):
    """Needs a person: parked in the queue. `wait`: the run does, else it goes on with other work."""

    kind: Literal["confirm"] = "confirm"
    entry: Entry
    wait: bool = True


class Defer(Frozen):
    """Nothing wrong, but not now: ask again at `not_before` (UTC epoch seconds)."""

    kind: Literal["defer"] = "defer"
    not_before: float
    cause: str
    say: str


class Stop(Frozen):
    """The run can't go on; `entry` is what it waits for in the queue."""

    kind: Literal["stop"] = "stop"
    outcome: Outcome
    cause: str
    say: str
    entry: str = ""


Verdict = Annotated[Allow | Reject | Confirm | Defer | Stop, Field(discriminator="kind")]


class Proven(Frozen):
    """The readings after the deed show what was promised."""

    kind: Literal["proven"] = "proven"


class Refuted(Frozen):
    """They do not, or the deed was not done: `code` and `say` go into the correction."""

    kind: Literal["refuted"] = "refuted"
    code: str
    say: str
    excerpt: str = ""


class Pending(Frozen):
    """Not yet: the transition stays staged until `not_before`."""

    kind: Literal["pending"] = "pending"
    not_before: float
    say: str


class Unknown(Frozen):
    """Can't be told: a person must look."""

    kind: Literal["unknown"] = "unknown"
    say: str


class Asks(Frozen):
    """All that readings can show is shown; what none of them can is for a person: parked as `entry`."""

    kind: Literal["asks"] = "asks"
    entry: Entry


Evidence = Annotated[Proven | Refuted | Pending | Unknown | Asks, Field(discriminator="kind")]


# ---- what `commit` takes: one durable write each ----------------------------------------------------------


class Reserved(Frozen):
    """Before the spend. `halt` is set instead of `reserve` when a budget is used up."""

    kind: Literal["reserved"] = "reserved"
    reserve: Reserve | None = None
    halt: Halt | None = None
    prompt: str = ""


class Gated(Frozen):
    """The verdict on a reply, with what the launch cost (None: no launch, an approved entry). `counts` are the
    worklists as the prompt showed them, `seen` and `fresh` the readings that were judged by."""

    kind: Literal["gated"] = "gated"
    verdict: Verdict
    launch: LaunchFacts | None = None
    transition: JsonObject | None = None
    reply_text: str = ""
    entry: str | None = None
    class_: str = "ok"
    seen: Readings | None = None
    fresh: Readings | None = None
    counts: dict[str, int] = {}
    took: dict[str, float] = {}
    at: float = 0.0


class Verified(Frozen):
    """The evidence on the staged action. `keep` are the paths that become the step's commit, `strays` those
    that are put back, `moved` names what counts as progress if the run has not seen it before, `printed` what later
    runs of its commands and checks are compared with."""

    kind: Literal["verified"] = "verified"
    evidence: Evidence
    observation: Observation | None = None
    keep: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    dirty: bool = False
    committed: str | None = None
    finished: bool = False
    checks: tuple[CheckReading, ...] = ()
    moved: tuple[str, ...] = ()
    printed: dict[str, Printed] = {}
    after: Readings | None = None
    tool_result: str = ""
    summary: str = ""
    took: dict[str, float] = {}
    at: float = 0.0


class Decided(Frozen):
    """Something outside the step: a halt set or lifted, an opened run, a person's word."""

    kind: Literal["decided"] = "decided"
    halt: Halt | None = None
    what: str = ""
    by: str = ""
    at: float = 0.0
    digests: dict[str, str] = {}
    extra: JsonObject = {}


Change = Reserved | Gated | Verified | Decided
