"""The outputs that a run on a remote takes along: what its record names, as far as the limits go; and how they are read
in a clone that did not make them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from contracts.ports import Artifacts, Gone
from controller.stores import git_layout as at
from controller.stores.git_found import Found
from controller.stores.git_layout import LEFT_OUT, Output

EACH = 1024 * 1024  # bytes of one output; a larger one stays where it was made
ALL = 32 * 1024 * 1024  # bytes of all outputs of a task; beyond it the oldest half goes
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")


@dataclass
class Packed:
    """What goes into the next commit: `files` to write (None: to remove). `cut`: the history before it shall go, too,
    or what was removed would be fetched for ever."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    cut: bool = False


def packed(found: Found, shelf: Artifacts, number: int, step: int, texts: Iterable[bytes]) -> Packed:
    """The outputs that `texts` name, and those that are named in them, where they are not on the remote yet."""
    out, there = Packed(), set(found.outputs)
    left = [id for text in texts for id in _ID.findall(text)]
    fresh: list[Output] = []
    while left:
        id = left.pop().decode()
        if id in there:
            continue
        try:
            data = shelf.get(id)
        except (KeyError, OSError):
            continue  # no output of this clone; or no output at all but another number
        there.add(id)
        path = at.output_path(number, step, id)
        if len(data) > EACH:
            out.files[path + LEFT_OUT] = orjson.dumps({"size": len(data), "host": socket.gethostname()})
        else:
            out.files[path] = data
            fresh.append(Output(id, number, step, len(data), path, False))
            left += _ID.findall(data)
    kept = sorted((*found.outputs.values(), *fresh), key=lambda each: (each.number, each.step))
    total = sum(each.size for each in kept)
    if total > ALL:
        for each in kept:
            if total <= ALL // 2:
                break
            out.files[each.path] = None
            total -= each.size
        out.cut = True
    return out


class Reading(Protocol):
    """What a store on a remote says of an output: its bytes. Raises KeyError."""

    def output(self, task: str, id: str) -> bytes: ...


@dataclass(frozen=True)
class SharedArtifacts:
    """ports.Artifacts: `files` of this clone first, then what `store` has of `task` on the remote."""

    files: Artifacts
    store: Reading
    task: str

    def put(self, data: bytes) -> str:
        return self.files.put(data)

    def keep(self, data: bytes) -> str:
        return self.files.keep(data)

    def get(self, id: str) -> bytes:
        try:
            return self.files.get(id)
        except KeyError:
            return self.store.output(self.task, id)


def output(found: Found, id: str) -> bytes:
    """The bytes of an output by its id, or a unique beginning of one. Raises KeyError, Gone where more is known."""
    named = [each for each in found.outputs.values() if len(id) >= 4 and each.id.startswith(id)]
    if len(named) != 1:
        oldest = min((each.step for each in found.outputs.values()), default=None)
        if oldest is not None and len(id) >= 4 and not named:
            kept = f"the newest {ALL // 1024**2} MiB of outputs, here from step {oldest} on"
            raise Gone(id, f"it is not on the remote, which keeps {kept}")
        raise KeyError(id)
    (data,) = found.contents([named[0].path])
    if data is None:
        raise KeyError(id)
    if named[0].left_out:
        told = orjson.loads(data)
        size = f"{told['size'] / 1024**2:.1f} MiB"
        why = f"it has {size}, more than {EACH // 1024**2} MiB: it was left on {told['host']}, which made it"
        raise Gone(id, why)
    return data
