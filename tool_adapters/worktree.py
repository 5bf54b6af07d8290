"""Making and mending a linked worktree. Every state that it may be found in has its answer or its named error."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from contracts.errors import ConfigError, Temporary
from tool_adapters.git import GitFailed, Repo
from tool_adapters.gitdir import GitDir

CREATION_TIMEOUT = 900.0
STALE_LOCK = 10.0
NAMED = 10


@dataclass(frozen=True)
class Made:
    """The worktree is there. `top` is the top of the user's checkout, `base` the commit of the base."""

    top: Path
    base: str
    created: bool
    notices: tuple[str, ...]


@dataclass
class Worktree:
    """The worktree `path` on `branch` of the repository around `repo`; a new branch starts at `base`. `left` are
    worktrees that the task had before and others may still be using."""

    repo: Path
    path: Path
    base: str
    branch: str
    left: tuple[Path, ...] = ()
    _notices: list[str] = field(default_factory=list)
    _top: Repo | None = None

    def ensure(self, runtime: Path) -> Made:
        """Reuses, repairs or makes it. Starts no process when it is whole. Raises ConfigError."""
        self._notices = []
        place = self._preflight()
        assert place.root is not None
        # Kept: a repository whose configuration was read once is not asked again.
        if self._top is None or self._top.root != place.root:
            self._top = Repo(place.root, CREATION_TIMEOUT)
        top = self._top
        base = self._base_commit(top, place)
        created = False
        if not self._whole(place):
            if (under_way := place.operation()) is not None:
                raise ConfigError(
                    f"the repository is in the middle of a {under_way}",
                    hint=f"finish it, or `git {under_way} --abort`",
                    where=str(place.root),
                )
            _hide(runtime)
            created = self._create(top, place, base)
        own = GitDir.of(self.path)
        if own is None or own.common != place.common.resolve():
            raise ConfigError(f"{self.path} could not be made a worktree of {place.root}")
        if (under_way := own.operation()) is not None:
            raise ConfigError(
                f"the worktree is in the middle of a {under_way}",
                hint=f"finish it there, or `git -C {self.path} {under_way} --abort`",
                where=str(self.path),
            )
        self._drop_stale_locks(own)
        return Made(place.root, base, created, tuple(self._notices))

    def base_now(self) -> str:
        """Where the base is. Raises ConfigError."""
        place = self._preflight()
        assert place.root is not None
        return self._base_commit(Repo(place.root), place)

    def checkout(self) -> Repo:
        """The repository that the worktree is of. Raises ConfigError."""
        place = self._preflight()
        assert place.root is not None
        return Repo(place.root)

    def there(self) -> bool:
        """Whether the worktree is there and whole."""
        return self._whole(self._preflight())

    def refuse_unmakeable(self) -> None:
        """Raises ConfigError when it is not there and could not be made, since somebody has the branch checked out
        elsewhere. Changes nothing."""
        place = self._preflight()
        if not self._whole(place):
            self._refuse_taken_branch(place, let_go=False)

    def refuse_taken(self) -> None:
        """Raises ConfigError when somebody has the branch checked out elsewhere."""
        place = self._preflight()
        self._refuse_taken_branch(place)

    def _preflight(self) -> GitDir:
        place = GitDir.around(self.repo.resolve())
        if place is None:
            raise ConfigError(
                "not a Git repository", hint="run `git init` and commit something", where=str(self.repo)
            )
        if place.root is None:
            raise ConfigError(
                "the repository is bare", hint="clone it, and work in the clone", where=str(self.repo)
            )
        return GitDir(place.root, place.own, place.common.resolve())

    def _base_commit(self, top: Repo, place: GitDir) -> str:
        found = top.rev(self.base)
        if found is None and (found := top.rev(f"refs/remotes/origin/{self.base}")):
            self._notices.append(f"there is no branch {self.base} here: origin/{self.base} is the base")
        if found is not None:
            return found
        if place.ref("HEAD") is None and not (place.common / "packed-refs").exists():
            raise ConfigError(
                "the repository has no commits", hint="commit something first", where=str(top.root)
            )
        if place.shallow():
            raise ConfigError(
                f"the clone is shallow and does not hold the base {self.base!r}",
                hint="fetch it: `git fetch --unshallow`, or `fetch-depth: 0` in a CI checkout",
                where=str(top.root),
            )
        raise ConfigError(
            f"the base {self.base!r} is no branch, tag or commit here",
            hint=f"set workspace.base; the checkout is on {place.branch() or 'no branch'}",
            where=str(top.root),
        )

    def _whole(self, place: GitDir) -> bool:
        own = GitDir.of(self.path)
        if own is None or own.common != place.common or not (own.own / "index").exists():
            return False
        return not any(each.unfinished and each.admin == own.own for each in place.linked())

    def _create(self, top: Repo, place: GitDir, base: str) -> bool:
        linked = list(place.linked())
        self._refuse_taken_branch(place)
        mine = next((each for each in linked if each.root.resolve() == self.path.resolve()), None)
        if mine is not None and mine.unfinished:
            # Its creation was killed: no step has ever worked in it.
            shutil.rmtree(self.path, ignore_errors=True)
            (mine.admin / "locked").unlink(missing_ok=True)
        elif (self.path / ".git").exists() and self._repaired(top, place):
            return False
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise ConfigError(
                f"{self.path} is in the way: it is not this task's worktree",
                hint="move it away, or set workspace.path",
            )
        promised = [each.name for each in top.engine.settings() if each.name.endswith(".promisor")]
        if promised:
            raise ConfigError(
                "the clone is partial: files would have to be fetched while working",
                hint="clone it again without --filter",
                where=str(top.root),
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        exists = place.ref(f"refs/heads/{self.branch}") is not None
        new = () if exists else ("--no-track", "-b", self.branch)
        force = ("--force",) if mine is not None or exists else ()
        try:
            top.engine.run("worktree", "add", *force, *new, str(self.path), self.branch if exists else base)
        except GitFailed as error:
            raise ConfigError(
                f"the worktree could not be made: {error.message}", where=str(self.path)
            ) from error
        self._warn_of_changes(top)
        return True

    def _refuse_taken_branch(self, place: GitDir, *, let_go: bool = True) -> None:
        for root, branch in place.holders():
            if branch != self.branch or root.resolve() == self.path.resolve():
                continue
            if root.resolve() not in self.left:
                raise ConfigError(
                    f"branch {self.branch} is checked out in {root}",
                    hint="switch to another branch there, or set workspace.branch",
                )
            if let_go:
                self._let_go(root, place)

    def _let_go(self, root: Path, place: GitDir) -> None:
        """Takes the branch away from a worktree that was left: whoever wakes in it can't move it any more. Its
        files and index stay as they are."""
        if tip := place.ref(f"refs/heads/{self.branch}"):
            Repo(root).engine.run("update-ref", "--no-deref", "-m", "skill-state: left", "HEAD", tip)
            self._notices.append(
                f"{root} is left to a controller of another host; the work goes on in {self.path}"
            )

    def _repaired(self, top: Repo, place: GitDir) -> bool:
        """The repository or the worktree was moved: both ends are pointed at each other again."""
        try:
            top.engine.run("worktree", "repair", str(self.path))
        except GitFailed:
            return False
        if not self._whole(place):
            return False
        self._notices.append("the worktree had been moved: repaired")
        return True

    def _warn_of_changes(self, top: Repo) -> None:
        dirty = top.status().dirty
        if dirty:
            more = f" and {len(dirty) - NAMED:,} more" if len(dirty) > NAMED else ""
            self._notices.append(
                f"not in the worktree, since they are not committed: {', '.join(dirty[:NAMED])}{more}"
            )

    def _drop_stale_locks(self, own: GitDir) -> None:
        """Locks that a killed git left. We hold the lease; a young one may be a person's git at work."""
        for lock in (
            own.own / "index.lock",
            own.own / "HEAD.lock",
            own.common / f"refs/heads/{self.branch}.lock",
        ):
            try:
                age = time.time() - lock.stat().st_mtime
            except OSError:
                continue
            if age < STALE_LOCK:
                raise Temporary(f"{lock} is held: another git is at work there", hint="try again")
            lock.unlink(missing_ok=True)
            self._notices.append(f"removed a lock that a killed git left: {lock.name}")


def _hide(runtime: Path) -> None:
    """`.agent-runtime` ignores itself, without a word in the repository's own .gitignore."""
    runtime.mkdir(parents=True, exist_ok=True)
    ignore = runtime / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
