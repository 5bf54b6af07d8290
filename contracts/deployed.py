"""What is deployed, judged by a table. docs/authorities.md prints it; each row has a test.

`passed` needs positive evidence: the run's commit (or one that holds it) is what runs, and it does well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from contracts.base import Frozen
from contracts.ci import CiState

Health = Literal["healthy", "unhealthy", "unknown"]


@dataclass(frozen=True)
class Deployed:
    """What a provider read. Texts are as the outside says them, empty where it does not.

    revision   the commit or tag that runs. stable: the last one known to be good. rollback: what to go back to
    migration  the version of the database
    rolling    the revision that is being rolled out now. failed: one, newer than what runs, whose rollout failed
    note       the provider's own words
    """

    revision: str = ""
    health: Health = "unknown"
    stable: str = ""
    rollback: str = ""
    migration: str = ""
    rolling: str = ""
    failed: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One row: the first whose `when` holds decides. `again`: looking later may tell more; `automatic`: it does when
    the task says so."""

    when: str
    state: CiState
    why: str
    again: bool = False
    automatic: bool = False


ROWS: tuple[Row, ...] = (
    Row("the rollout of what is wanted failed", "failed", "the rollout of this commit failed"),
    Row("what is wanted is deployed, and unhealthy", "failed", "it is deployed, and it is unhealthy"),
    Row("what is wanted is being rolled out", "pending", "this commit is being rolled out", again=True),
    Row(
        "another revision is deployed, and a rollout is under way",
        "pending",
        "a rollout is under way",
        again=True,
    ),
    Row("it does not say what is deployed", "unknown", "it does not say which revision is deployed"),
    Row(
        "it can't be told whether the deployed revision holds the commit",
        "unknown",
        "the deployed revision is not in this clone: fetch it, or use a clone with its whole history",
    ),
    Row("another revision is deployed", "pending", "another revision is deployed", automatic=True),
    Row("its health is not known", "unknown", "it is deployed, and does not say how it does", again=True),
    Row(
        "the database stands at another version",
        "pending",
        "it is deployed, and the database stands at another version",
        automatic=True,
    ),
    Row("anything else", "passed", "it is deployed, and it is healthy"),
)


def judge(found: Deployed, holds: Mapping[str, bool | None], *, expect: str, migration: str | None) -> Row:
    """What that says of the run's commit. `holds` is whether `revision`, `rolling` and `failed` are it or hold it, None
    where that can't be told; with `expect: any` every revision is wanted. Pure."""
    ours = True if expect == "any" else holds["revision"]
    unhealthy = ours is True and found.health == "unhealthy"
    told: Mapping[str, bool] = {
        "the rollout of what is wanted failed": expect != "any" and holds["failed"] is True,
        "what is wanted is deployed, and unhealthy": unhealthy,
        "what is wanted is being rolled out": ours is not True and holds["rolling"] is True,
        "another revision is deployed, and a rollout is under way": ours is not True and bool(found.rolling),
        "it does not say what is deployed": not found.revision,
        "it can't be told whether the deployed revision holds the commit": ours is None,
        "another revision is deployed": ours is False,
        "its health is not known": found.health == "unknown",
        "the database stands at another version": migration is not None and found.migration != migration,
        "anything else": True,
    }
    return next(row for row in ROWS if told[row.when])


class DeploymentReading(Frozen):
    """What runs, and what that says of commit `sha`. `why` is our own word, `note` the provider's. `read`: False where
    nothing could be read. `not_before` (UTC seconds): when it may say something else by itself."""

    kind: Literal["deployment"] = "deployment"
    name: str
    provider: str
    sha: str
    state: CiState
    why: str
    revision: str = ""
    health: Health = "unknown"
    stable: str = ""
    rollback: str = ""
    migration: str = ""
    rolling: str = ""
    failed: str = ""
    note: str = ""
    not_before: float | None = None
    read: bool = True
    took: float = 0.0

    @property
    def said(self) -> str:
        """One line of ours."""
        back = f"; go back to {self.rollback}" if self.state == "failed" and self.rollback else ""
        return f"{self.provider} says {self.state} of {self.sha[:12]}: {self.why}{back}"

    @property
    def text(self) -> str:
        """What is known, a line each. Words from outside are in it."""
        health = "" if self.health == "unknown" and not self.read else self.health
        told = {
            "deployed": self.revision,
            "health": health,
            "being rolled out": self.rolling,
            "rollout failed": self.failed,
            "last known stable": self.stable,
            "rollback target": self.rollback,
            "database": self.migration,
            "": self.note,
        }
        return "\n".join(f"{what}: {value}".removeprefix(": ") for what, value in told.items() if value)

    def passes(self, head: str) -> bool:
        """Whether it is positive evidence for that commit."""
        return self.state == "passed" and self.sha == head
