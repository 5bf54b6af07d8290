"""The API of a forge as data: what is asked for where, and how what comes back reads. Pure: those who read and those
who act ask alike, and neither asks the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from contracts.forge_marks import body_digest, keys, run_of
from contracts.forge_reading import CiRun, Request
from contracts.text import line

Json = Mapping[str, Any]
Thread = Literal["request", "issue"]
PAGE = {"per_page": "100"}
_COMMAND = re.compile(r"(?m)^(\s*)/(?=\w)")
_MENTION = re.compile(r"(?<![\w/.`])@(?=\w)")
WAITS = "waits for a decision"  # what the controller alone says
_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


@dataclass(frozen=True)
class Call:
    """One request. `key` names the list in the object that comes back."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    method: Literal["GET", "POST", "PATCH", "PUT"] = "GET"
    body: Mapping[str, Any] | None = None
    key: str = ""


@dataclass(frozen=True)
class Comment:
    """A comment or a review. `edited`: it is not as it was first said. `on`: the commit that a review is of."""

    id: str
    by: str
    body: str
    made: float
    edited: bool
    url: str = ""
    on: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of its marks: it is ours when it has one."""
        return keys(self.body)


@dataclass(frozen=True)
class Job:
    """One job of a run of CI."""

    id: int
    name: str
    failed: bool


class Api(Protocol):
    """One forge. What does not belong to the run's repository, or is no person's word, reads as None. `counted`: how
    often a run was tried is told by its jobs alone."""

    counted: bool

    def headers(self, token: str) -> dict[str, str]: ...
    def requests(self, branch: str) -> Call: ...
    def open_requests(self) -> Call: ...
    def newest_requests(self) -> Call: ...
    def request_at(self, number: int) -> Call: ...
    def request(self, told: Json) -> Request | None: ...
    def text(self, told: Json) -> str: ...
    def make(self, branch: str, base: str, title: str, body: str, draft: bool) -> Call: ...
    def change(self, number: int, title: str | None, body: str | None) -> Call: ...
    def merge(self, number: int, sha: str) -> Call: ...
    def comments(self, thread: Thread, number: int) -> Call: ...
    def comment(self, told: Json) -> Comment | None: ...
    def reviews(self, number: int) -> Call | None: ...
    def review(self, told: Json) -> Comment | None: ...
    def say(self, thread: Thread, number: int, body: str) -> Call: ...
    def runs(self, sha: str) -> Call: ...
    def run(self, told: Json) -> CiRun: ...
    def jobs(self, run: int) -> Call: ...
    def job(self, told: Json) -> Job: ...
    def attempt(self, jobs: Sequence[Json]) -> int: ...
    def rerun(self, run: int) -> Call: ...
    def log(self, job: int) -> Call: ...


def harmless(text: str) -> str:
    """A text of an agent that commands nobody where it is posted: no quick action, no word to a bot, no call of a
    person; and that does not pose as the controller."""
    text = _MENTION.sub("@\u200b", _COMMAND.sub(r"\1\\/", _ENDS.sub("\n", text)))
    return re.sub(WAITS, f"{WAITS}, says an agent", text, flags=re.IGNORECASE)


def moment(told: object) -> float:
    """UTC seconds of a time as forges write it; 0 for what is none."""
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return 0.0


def request_of(
    number: object, state: Literal["open", "merged", "closed"], told: Json, **more: Any
) -> Request:
    """The part that every forge has in the same words."""
    text = str(more.pop("text") or "")
    return Request(
        number=int(str(number)),
        state=state,
        title=line(str(told["title"]), 300),
        body=body_digest(text),
        keys=keys(text),
        run=run_of(text),
        opened=moment(told["created_at"]),
        **more,
    )
