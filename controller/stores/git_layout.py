"""How a task stands on a remote: which refs it has, and what is where in the trees of their commits. Pure.

record   a commit per write; its tree holds everything that is to last:
           format                                    the version of this layout
           consumed.json                             which posts of the inbox were taken in
           runs/N/record.json                        the record of run N
           runs/N/audit/HUNDREDS/SEQ.json            a row of the audit chain
           runs/N/artifacts/HUNDREDS/STEP/ID         an output; ID.left where it was left out, and why
work     the tip of the run's branch; run-N: the tip that run N left
was-ID   a record or a branch in whose place a recovery put another one
lease    who works on the task: lease.json; each renewal another commit, whose parent is the record that was
         written with it, or last before it: a record that was put back is told by that
inbox    people's words: posts/ID.json, `last` the highest id that was ever given
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson

from contracts.ports import Lease, Owner

LAYOUT = 2  # 1: leases named no record
NAMESPACE = "refs/skill-state/"
RECORD, WORK, LEASE, INBOX = "record", "work", "lease", "inbox"
FORMAT, CONSUMED, HELD, LAST = "format", "consumed.json", "lease.json", "last"
LEFT_OUT = ".left"
_RECORD = re.compile(r"runs/(\d+)/record\.json")
_PARENT = re.compile(rb"tree [0-9a-f]+\nparent ([0-9a-f]+)\n")
_ROW = re.compile(r"runs/(\d+)/audit/\d+/\d+\.json")
_OUTPUT = re.compile(r"runs/(\d+)/artifacts/(\d+)/(\d+)/([0-9a-f]{16})(\.left)?")


def prefix(task: str) -> str:
    """Of every ref of a task."""
    return f"{NAMESPACE}{task}/"


def task_of(ref: str) -> str | None:
    """The task whose record ref this is."""
    task, slash, name = ref.removeprefix(NAMESPACE).partition("/")
    return task if slash and name == RECORD else None


def was(commit: str) -> str:
    """The short name of the ref that keeps what a recovery put something else in the place of."""
    return f"was-{commit[:12]}"


def record_path(number: int) -> str:
    return f"runs/{number:04d}/record.json"


def row_path(number: int, seq: int) -> str:
    return f"runs/{number:04d}/audit/{seq // 100:04d}/{seq % 100:02d}.json"


def output_path(number: int, step: int, id: str) -> str:
    return f"runs/{number:04d}/artifacts/{step // 100:04d}/{step % 100:02d}/{id}"


def post_path(id: int) -> str:
    return f"posts/{id:08d}.json"


def numbers(files: Mapping[str, int]) -> list[int]:
    """The runs in a tree, newest first."""
    return sorted((int(found[1]) for path in files if (found := _RECORD.fullmatch(path))), reverse=True)


def newest(files: Mapping[str, int]) -> int | None:
    """The newest run that left anything to know it by in a tree: its record, or audit rows of it."""
    found = (_RECORD.fullmatch(path) or _ROW.fullmatch(path) for path in files)
    return max((int(each[1]) for each in found if each), default=None)


def of_run(files: Mapping[str, int], number: int, beyond: int) -> list[str]:
    """The record of a run, and its audit rows after the first `beyond`."""
    folder = record_path(number).removesuffix("record.json")
    rows = (path for path in files if path.startswith(f"{folder}audit/"))
    return [record_path(number), *(path for path in rows if path > row_path(number, beyond))]


def number_of(run: str) -> int | None:
    """The number in a run's id."""
    tail = run.rpartition("#")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else None


def parent_of(commit: bytes | None) -> str | None:
    """The only parent that a commit object names; None where it names none, or is no commit."""
    found = _PARENT.match(commit or b"")
    return found[1].decode() if found else None


def post_of(path: str) -> int | None:
    """The id of the post that stands at `path`."""
    return int(path[6:14]) if re.fullmatch(r"posts/\d{8}\.json", path) else None


@dataclass(frozen=True)
class Output:
    """An output in a tree: which it is, of which run and step, how large; `left_out` when only its size is there."""

    id: str
    number: int
    step: int
    size: int
    path: str
    left_out: bool

    @classmethod
    def at(cls, path: str, size: int) -> Output | None:
        """What stands at `path`; None when it is no output."""
        found = _OUTPUT.fullmatch(path)
        if found is None:
            return None
        step = int(found[2]) * 100 + int(found[3])
        return cls(found[4], int(found[1]), step, size, path, found[5] is not None)


@dataclass(frozen=True)
class Consumed:
    """Which posts were taken in: all up to `upto`, and `also` some beyond."""

    upto: int = 0
    also: tuple[int, ...] = ()

    def __contains__(self, id: int) -> bool:
        return id <= self.upto or id in self.also

    def and_(self, ids: tuple[int, ...]) -> Consumed:
        """With these too."""
        also = {id for id in (*self.also, *ids) if id > self.upto}
        upto = self.upto
        while upto + 1 in also:
            upto += 1
            also.remove(upto)
        return Consumed(upto, tuple(sorted(also)))

    @property
    def last(self) -> int:
        """The highest id that is known to have been given."""
        return max((self.upto, *self.also))

    def document(self) -> bytes:
        return orjson.dumps(asdict(self)) + b"\n"

    @classmethod
    def parsed(cls, data: bytes | None) -> Consumed:
        """Raises ValueError."""
        if data is None:
            return cls()
        try:
            found = orjson.loads(data)
            return cls(int(found["upto"]), tuple(map(int, found["also"])))
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True)
class Held:
    """A lease as it stands on the remote. `place` is the copy that its owner works with, `seconds` how long a renewal
    lasts."""

    id: str
    epoch: int
    owner: Owner
    expires: float
    seconds: float
    place: str

    def lease(self, task: str) -> Lease:
        return Lease(task=task, id=self.id, epoch=self.epoch, owner=self.owner, expires=self.expires)

    def document(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n"

    @classmethod
    def parsed(cls, data: bytes | None) -> Held:
        """Raises ValueError."""
        try:
            found = orjson.loads(data or b"")
            numbers = {"epoch": int(found["epoch"]), "expires": float(found["expires"])}
            return cls(**{**found, **numbers, "owner": Owner(**found["owner"])})
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from error
