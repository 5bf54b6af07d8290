"""The refs of a remote repository, and the commits that they stand at: what a store can be kept on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Draft:
    """A commit to be made: the files of `base` (a commit; None: none) with `files` written over them, or removed
    where they are None. `parent` is its only parent, None for a first commit; a number is the place (from 0) of a
    draft that is made with it, before it."""

    message: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    base: str | None = None
    parent: str | int | None = None


@dataclass(frozen=True)
class Move:
    """A ref of the remote, by its full name, that shall go from commit `old` to `new`; empty: it is not there."""

    ref: str
    old: str
    new: str


class Refs(Protocol):
    """The refs of one remote, and a copy here of what they hold. The copy is a cache: it is made again when it is gone.
    All block; call them in a worker thread. Every verb that asks the remote raises Unavailable when there is no
    answer, or none that can be used; a failure that may pass is tried again before that.

    place     names this copy: the same for every process that shares it.
    address   the remote's, without credentials.
    fetch     (ref -> commit) of every ref below `prefix`, their commits brought here.
    push      all moves or none, each only if its ref is at `old`. Raises Lost when one is not. A push whose answer
              was lost is looked up, so returning says that the refs are at `new`. `brief`: it moves next to nothing,
              so an answer is not waited for long.
    make      commits, in the copy alone; returns their ids.
    listed    (path -> size in bytes) of the files of a commit.
    read      the bytes of files, each `COMMIT:PATH`, or of a commit itself; None for one that is not there.
    have      whether a commit is here; where it is not it is asked for by its id, which may outlive its ref.
    contains  whether `commit` is `tip` or an ancestor of it.
    trailers  the values of a trailer in the commits old..new, newest first; empty for a commit without it.
    seen      the commit that `saw` noted for a ref last, in whichever process; None when the copy knows nothing.
    noted     the refs that `saw` noted something for.
    first     what the copy was told first under a name: `value` where it was told nothing, or is to take it `anew`.
    """

    @property
    def place(self) -> str: ...
    @property
    def address(self) -> str: ...
    def fetch(self, prefix: str) -> Mapping[str, str]: ...
    def push(self, moves: Sequence[Move], *, brief: bool = False) -> None: ...
    def make(self, drafts: Sequence[Draft]) -> list[str]: ...
    def listed(self, commit: str) -> Mapping[str, int]: ...
    def read(self, names: Sequence[str]) -> list[bytes | None]: ...
    def have(self, commit: str) -> bool: ...
    def contains(self, commit: str, tip: str) -> bool: ...
    def trailers(self, old: str, new: str, key: str) -> list[str]: ...
    def seen(self, ref: str) -> str | None: ...
    def saw(self, ref: str, commit: str) -> None: ...
    def noted(self) -> list[str]: ...
    def first(self, name: str, value: str, *, anew: bool = False) -> str: ...
