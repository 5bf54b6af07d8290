"""What tasks left behind: found, judged, removed. Nothing uncommitted and nothing that is on no other branch goes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contracts.errors import ControllerError
from tool_adapters.durable import UNFINISHED
from tool_adapters.git import Repo
from tool_adapters.gitdir import GitDir, Linked

DAY = 86_400.0
KEPT_DAYS = 14  # an undone tree, and a nested repository that was moved aside
YOUNG = 3_600.0  # seconds: what is younger may belong to a run that is being opened
NAMESPACE = "refs/skill-state/"
RUN = "Skill-State-Run"
LOGINS = ("auth.json", "login.json")
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])|(?<=artifact:)[0-9a-f]{4,15}(?![0-9a-f])")


@dataclass(frozen=True)
class TaskLeft:
    """What the store says of a task. `state` is the newest run's outcome or `not finished`; `done` when it is
    finished or no task file has its name any more."""

    name: str
    run: str
    branch: str
    base: str
    head: str
    state: str
    done: bool
    configured: bool


@dataclass(frozen=True)
class Left:
    """One thing that was left: `kind` and `what` name it, `size` in bytes, `age` in seconds, `holds` what is in
    it. `remove` is the judgement and `why` its reason. `paths` and `oid` (of a ref) are what is removed."""

    kind: str
    what: str
    remove: bool
    why: str
    size: int = 0
    age: float | None = None
    holds: str = ""
    paths: tuple[Path, ...] = ()
    oid: str = ""


@dataclass(frozen=True)
class Survey:
    """Looks at the runtime folder `runtime` of `repo` (any folder in the repository). `tasks` as the store has
    them. `roots`: the texts of the runs whose outputs are kept; None when there is no store to ask."""

    runtime: Path
    repo: Path
    tasks: Sequence[TaskLeft]
    roots: Sequence[bytes] | None
    keep_runs: int
    now: float

    def __call__(self) -> list[Left]:
        """Everything that was found. Changes nothing; blocks. Raises ControllerError where Git can't be read."""
        found: list[Left] = []
        place = GitDir.around(self.repo.resolve())
        if place is not None and place.root is not None:
            git = Repo(place.root)
            common = GitDir(place.root, place.own, place.common.resolve())
            for linked in common.linked():
                found += self._worktree(git, linked)
            found += self._strays(common)
            found += self._refs(git)
        found += self._agents()
        found += self._artifacts()
        found += self._leftovers()
        return found

    # ---- worktrees ----------------------------------------------------------------------------------------
    def _worktree(self, git: Repo, linked: Linked) -> Iterator[Left]:
        inside = linked.root.is_relative_to(self.runtime / "work")
        task = next((each for each in self.tasks if each.branch == linked.branch), None)
        if (
            task is None and inside and linked.branch is None
        ):  # left to a controller of another host, long ago
            name = linked.root.name.partition("@")[0]
            task = next((each for each in self.tasks if each.name == name and self._held(git, linked)), None)
        if task is None:
            if inside:
                yield self._folder(linked.root, f"it is on no run's branch, but on {linked.branch or 'none'}")
            return
        gone = not linked.root.exists()
        why = self._needed(git, linked, task, gone)
        marker = self.runtime / "setup" / f"{linked.root.name}.json"
        yield Left(
            kind="worktree",
            what=str(linked.root),
            remove=why is None,
            why=why or (f"the folder is gone; {_said(task)}" if gone else self._safe(git, task)),
            size=0 if gone else used(linked.root),
            paths=(linked.root, *([marker] if marker.exists() else ())),
        )

    @staticmethod
    def _held(git: Repo, linked: Linked) -> bool:
        """Whether a branch holds what its HEAD, on no branch itself, stands at."""
        tip = GitDir(linked.root, linked.admin, linked.admin).ref("HEAD") or "HEAD"
        listed = git.engine.run(
            "for-each-ref", "--count=1", f"--contains={tip}", "refs/heads", "refs/remotes"
        )
        return bool(listed.strip())

    def _needed(self, git: Repo, linked: Linked, task: TaskLeft, gone: bool) -> str | None:
        """Why a worktree must stay; None when nothing is lost with it."""
        if not task.done:
            return _said(task)
        if (linked.admin / "locked").exists():
            return "it is locked (`git worktree unlock`)"
        if gone:
            return None
        there = Repo(linked.root)
        try:
            if (under_way := there.operation()) is not None:
                return f"a {under_way} is under way in it"
            dirty = there.status().dirty
        except ControllerError as error:
            return f"it can't be looked at: {error}"
        if dirty:
            more = f" and {len(dirty) - 3} more" if len(dirty) > 3 else ""
            return f"changes that are not committed: {', '.join(dirty[:3])}{more}"
        if not self._safe(git, task):
            return f"{task.branch} is on no other branch or remote: `controller land`, or push it"
        return None

    @staticmethod
    def _safe(git: Repo, task: TaskLeft) -> str:
        """Where else the work of a task's branch is; empty when it is nowhere else."""
        tip = git.rev(f"refs/heads/{task.branch}")
        if tip is None:
            return f"{_said(task)}; the branch is gone"
        listed = git.engine.run(
            "for-each-ref",
            "--format=%(refname)",
            f"--contains={tip}",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
        )
        others = [name for name in listed.decode().split() if name != f"refs/heads/{task.branch}"]
        if others:
            return f"{_said(task)}; {others[0].split('/', 2)[2]} holds its work"
        if tip != task.head:
            return ""  # somebody went on after the run
        form = f"--format=tformat:%(trailers:key={RUN},valueonly)"
        args = ("--branches", "--remotes", "--not", tip, *([task.base] if git.rev(task.base) else []))
        landed = git.engine.run("log", form, *args).decode("utf-8", "replace").split("\n")
        return f"{_said(task)}; landed" if task.run in (line.strip() for line in landed) else ""

    def _strays(self, place: GitDir) -> Iterator[Left]:
        """Folders where worktrees stand that are none of this repository."""
        known = {linked.root.resolve() for linked in place.linked()}
        folder = self.runtime / "work"
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.resolve() in known:
                continue
            empty = path.is_dir() and not path.is_symlink() and not any(path.iterdir())
            if empty:
                yield Left("folder", str(path), True, "it is empty", paths=(path,))
            else:
                yield self._folder(
                    path, "it is no worktree of this repository: look at it and delete it yourself"
                )

    @staticmethod
    def _folder(path: Path, why: str) -> Left:
        return Left("worktree", str(path), False, why, size=used(path))

    # ---- refs ---------------------------------------------------------------------------------------------
    def _refs(self, git: Repo) -> Iterator[Left]:
        names = {task.name for task in self.tasks}
        form = "--format=%(refname) %(objectname) %(committerdate:unix)"
        for line in git.engine.run("for-each-ref", form, NAMESPACE).decode("utf-8", "replace").splitlines():
            ref, oid, at = line.rsplit(" ", 2)
            owner, _, rest = ref.removeprefix(NAMESPACE).partition("/")
            if owner.partition("@")[0] not in names:
                continue
            age = self.now - float(at or self.now)
            found = Left("ref", ref, False, "", age=age, holds=_held(git, oid), oid=oid)
            if rest.startswith("run-"):
                others = git.engine.run(
                    "for-each-ref", "--count=1", f"--contains={oid}", "refs/heads", "refs/remotes"
                )
                safe = bool(others.strip())
                why = "the branch of an earlier run, " + (
                    "also on a branch" if safe else "on no other branch"
                )
                yield replace(found, remove=safe and age > KEPT_DAYS * DAY, why=why)
            elif age > KEPT_DAYS * DAY:
                yield replace(found, remove=True, why=f"undone {age / DAY:.0f} days ago")
            else:
                yield replace(found, why=f"kept for {KEPT_DAYS} days")

    # ---- files --------------------------------------------------------------------------------------------
    def _agents(self) -> Iterator[Left]:
        busy = next((task for task in self.tasks if not task.done), None)
        for folder in _children(self.runtime / "agents"):
            logins = sorted(path for name in LOGINS for path in folder.rglob(name))
            for path in logins:
                why = "a login that is still to be written back: the next run does it"
                yield Left("login", str(path), False, why, size=used(path))
            paths = tuple(_but(folder / "home", logins))
            if paths:
                why = _said(busy) if busy else "made again when it is needed"
                size = sum(map(used, paths))
                yield Left("agent cache", str(folder / "home"), busy is None, why, size=size, paths=paths)

    def _artifacts(self) -> Iterator[Left]:
        folder = self.runtime / "artifacts"
        there = {path.name: path for shelf in _children(folder) for path in _children(shelf)}
        whole = {name: path for name, path in there.items() if not name.startswith(".")}
        if self.roots is None:
            if whole:
                yield Left(
                    "artifacts", str(folder), False, "there is no store that could say which are needed"
                )
            return
        named = reachable(whole, self.roots)
        old = {name: path for name, path in there.items() if name not in named and self._age(path) > YOUNG}
        rest = [path for name, path in there.items() if name not in old]
        for remove, paths in ((True, list(old.values())), (False, rest)):
            if paths:
                runs = f"the newest {self.keep_runs} runs of a task"
                why = f"named by none of {runs}" if remove else f"named by {runs}, or new"
                what, size = f"{len(paths):,} in {folder}", sum(map(used, paths))
                yield Left("artifacts", what, remove, why, size=size, paths=tuple(paths))

    def _leftovers(self) -> Iterator[Left]:
        for path in _children(self.runtime / "spool"):
            pid = path.name.split("-", 1)[0]
            lives = pid.isdigit() and _lives(int(pid))
            why = f"process {pid} is at work" if lives else "its process is gone"
            yield Left("spool", str(path), not lives, why, size=used(path), paths=(path,))
        for path in _children(self.runtime / "errors"):
            yield Left(
                "traceback", str(path), True, "of an error that was told", size=used(path), paths=(path,)
            )
        for path in _children(self.runtime / "undone"):
            age = min(self._age(path), self.now - path.lstat().st_ctime)  # since it was moved here
            remove = age > KEPT_DAYS * DAY
            why = f"moved aside {age / DAY:.0f} days ago" if remove else f"kept for {KEPT_DAYS} days"
            holds = "a repository that a step left in the worktree"
            yield Left("undone folder", str(path), remove, why, used(path), age, holds, (path,))
        schemas = _children(self.runtime / "schema")
        places = [self.runtime, self.runtime / "audit", self.runtime / "left", *schemas]
        for path in (path for place in places for path in _children(place)):
            if path.name.startswith("state.db.damaged-"):
                why = "what `state recover` moved aside: delete it yourself when it is of no use"
                yield Left("damaged store", str(path), False, why, used(path), self._age(path))
            elif _unfinished(path) and self._age(path) > YOUNG:
                yield Left("half-written file", str(path), True, "never finished", used(path), paths=(path,))

    def _age(self, path: Path) -> float:
        return self.now - path.lstat().st_mtime


def _said(task: TaskLeft) -> str:
    return f"run {task.run} is {task.state}" if task.configured else f"no task file has the name {task.name}"


def _held(git: Repo, oid: str) -> str:
    """What a kept tree changed against the commit that it was taken from."""
    try:
        files = git.diffstat(f"{oid}^", oid)
    except ControllerError:
        return ""
    added, removed = sum(each.added or 0 for each in files), sum(each.removed or 0 for each in files)
    names = ", ".join(each.path for each in files[:3]) + (
        f" and {len(files) - 3} more" if len(files) > 3 else ""
    )
    return f"+{added} -{removed} in {names}" if files else "nothing"


def reachable(artifacts: dict[str, Path], roots: Iterable[bytes]) -> set[str]:
    """The names that the roots name, or that stand in what is named: every word that could be one counts."""
    left, named = [_ID.findall(root) for root in roots], set()
    by_start: dict[str, list[str]] = {}
    for name in artifacts:
        by_start.setdefault(name[:4], []).append(name)
    while left:
        for word in left.pop():
            short = word.decode()
            for name in by_start.get(short[:4], ()):
                if name.startswith(short) and name not in named:
                    named.add(name)
                    left.append(_ID.findall(artifacts[name].read_bytes()))
    return named


def remove(left: Left, repo: Path) -> str:
    """Removes it. Empty, or why it could not be removed: it is still there then."""
    try:
        if left.kind == "worktree":
            root, *rest = left.paths
            place = GitDir.around(repo.resolve())
            assert place is not None and place.root is not None
            # Its own repository object: what its set-up made counts as ignored there. No --force: Git looks again.
            there = Repo(root) if root.exists() else Repo(place.root)
            there.engine.run("worktree", "remove", str(root))
            for path in rest:
                path.unlink(missing_ok=True)
        elif left.kind == "ref":
            place = GitDir.around(repo.resolve())
            assert place is not None
            Repo(place.root or place.own).update_ref(left.what, None, left.oid, "older than it is kept")
        else:
            for path in left.paths:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(
                    missing_ok=True
                )
    except (ControllerError, OSError) as error:
        return f"it could not be removed: {error}"
    return ""


def used(path: Path) -> int:
    """Bytes on the disk, of a folder with everything in it; symlinks are not followed."""
    try:
        total = path.lstat().st_blocks * 512
        if path.is_dir() and not path.is_symlink():
            for folder, _, files in os.walk(path):
                for name in (".", *files):
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118
    except OSError:
        return 0
    return total


def _unfinished(path: Path) -> bool:
    return path.name.startswith((".state.db.", UNFINISHED)) or path.suffix == ".new"


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _but(folder: Path, kept: Sequence[Path]) -> Iterator[Path]:
    """What is in `folder`, as few paths as possible, without `kept`."""
    for path in _children(folder):
        if not any(each.is_relative_to(path) for each in kept):
            yield path
        elif path not in kept:
            yield from _but(path, kept)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
