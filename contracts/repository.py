"""The fixed verbs over one Git repository or worktree, and what they give back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Status:
    """`git status`: paths relative to the root, POSIX. `head` is None before the first commit, `branch` None
    when detached. A nested repository stands in `untracked` with a trailing slash."""

    head: str | None
    branch: str | None
    staged: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()

    @property
    def dirty(self) -> tuple[str, ...]:
        """Everything that differs from HEAD, sorted."""
        return tuple(sorted({*self.staged, *self.unstaged, *self.untracked, *self.unmerged}))


@dataclass(frozen=True)
class Position:
    """Where `head` stands: commits ahead of and behind `base`, tags on it, tracked symlinks (path -> target),
    and paths whose changes the index was told to overlook (assume-unchanged, skip-worktree)."""

    ahead: int = 0
    behind: int = 0
    tags: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    overlooked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hit:
    """One line that a search found."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class FileStat:
    """Lines added and removed in one file; None for a binary one."""

    path: str
    added: int | None
    removed: int | None


@runtime_checkable
class GitReader(Protocol):
    """What may be read. Nothing here changes the worktree, the index, a ref or the object store. Errors:
    Temporary (a lock, a time limit), Permanent (git said no), ConfigError (git missing, not a repository).
    All block; call them in a worker thread.

    rev         the commit that a branch, tag or id names, or None.
    position    see Position; remembered, so that only a moved head costs anything.
    changed     tracked paths that differ between commit `base` and the worktree, limited to `globs`.
    files       tracked and untracked files that Git does not ignore.
    ignored     which of `paths` Git ignores.
    grep        lines that match, and whether there were more than `limit`; `pattern` may begin with a dash.
    diff        unified diff of two commits (or of `old` and the worktree), cut to `limit` bytes, and its size.
    tree        the paths of all files below `folder` in that commit.
    show        the file's bytes in that commit, or None.
    find        the newest commit in base..head whose trailer `key` is `value`, or None.
    operation   `rebase`, `merge`, … when one is under way.
    remote      the address of the remote, without credentials.
    config_digest  digest of what could make git run code: configuration, attributes, hooks.
    """

    @property
    def root(self) -> Path: ...
    def status(self) -> Status: ...
    def rev(self, name: str) -> str | None: ...
    def position(self, base: str, head: str) -> Position: ...
    def changed(self, base: str, globs: Sequence[str] = ()) -> tuple[str, ...]: ...
    def files(self) -> tuple[str, ...]: ...
    def ignored(self, paths: Sequence[str]) -> Collection[str]: ...
    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        word: bool = False,
        ignore_case: bool = False,
        globs: Sequence[str] = (),
        limit: int = 1000,
    ) -> tuple[tuple[Hit, ...], bool]: ...
    def diff(
        self, old: str, new: str | None = None, *, globs: Sequence[str] = (), limit: int = 65536
    ) -> tuple[bytes, int]: ...
    def diffstat(self, old: str, new: str) -> tuple[FileStat, ...]: ...
    def tree(self, commit: str, folder: str) -> tuple[str, ...]: ...
    def show(self, commit: str, path: str) -> bytes | None: ...
    def find(self, base: str, head: str, key: str, value: str) -> str | None: ...
    def merge_base(self, one: str, other: str) -> str | None: ...
    def operation(self) -> str | None: ...
    def shallow(self) -> bool: ...
    def remote(self) -> str | None: ...
    def config_digest(self) -> str: ...


class Git(GitReader, Protocol):
    """The reading verbs, and those that write: only `tool_adapters` has this one."""

    def commit(self, paths: Sequence[str], message: str, *, branch: str, parent: str, author: str) -> str: ...
    def update_ref(self, ref: str, new: str | None, old: str | None, why: str) -> None: ...
