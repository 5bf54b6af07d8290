"""The run's own worktree: made, repaired, set up, committed step by step, undone with nothing lost."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from contracts.controls import shown_diff
from contracts.errors import ConfigError, Lost, Moved
from contracts.ports import Opened, Runner
from contracts.ranges import Hunk, hunks
from contracts.record import RunRecord
from contracts.redact import Redactor
from contracts.task import Task
from contracts.text import cut
from contracts.workspace import Setup
from tool_adapters.git import Repo
from tool_adapters.gitdir import GitDir
from tool_adapters.kept_tree import free_ref, full_ref, kept_tree
from tool_adapters.worktree import Worktree
from tool_adapters.worktree_home import Home
from tool_adapters.worktree_setup import WorktreeSetup

T = TypeVar("T")
KEY, RUN = "Skill-State-Key", "Skill-State-Run"
_DIFF_READ = 1024 * 1024
_SPOILED = b"\0 }])> made invalid by skill-state, to see whether a check notices \xff <([{ \"' \n"


class WorktreeWorkspace:
    """ports.Workspace over a linked Git worktree. The user's checkout, its index and every ref but the run's
    own stay untouched.

    repo     the user's repository (any folder in it). home: where the worktree is. runtime: `.agent-runtime`.
    base     branch, tag or commit to start from. branch: the run's own. author: `NAME <MAIL>` of commits.
    setup    run in `folder` of the worktree; copy: ignored files taken over from the checkout's `folder`.
    """

    def __init__(
        self,
        repo: Path,
        *,
        base: str,
        branch: str,
        home: Home,
        runtime: Path,
        author: str,
        runner: Runner,
        env: Mapping[str, str],
        setup: Setup | None = None,
        copy: Sequence[str] = (),
        redactor: Redactor | None = None,
    ) -> None:
        self._redactor = redactor or Redactor()
        self.branch, self.path, self.author = branch, home.path, author
        self.work = Repo(self.path)
        self._home, self._runtime = home, runtime
        self._worktree = Worktree(repo, path=self.path, base=base, branch=branch, left=home.left)
        self._setup = WorktreeSetup(setup or Setup(), tuple(copy), runtime, runner, env, self.work)
        self._base: str | None = None
        self._top: Path | None = None
        self._tip: str | None = None  # where the branch was when we opened it, or where we moved it
        self._looked = False

    @classmethod
    def of(
        cls,
        task: Task,
        repo: Path,
        home: Home,
        runtime: Path,
        runner: Runner,
        env: Mapping[str, str],
        redactor: Redactor | None = None,
    ) -> WorktreeWorkspace:
        """The workspace of a task."""
        asked = task.workspace
        return cls(
            repo,
            base=asked.base,
            branch=task.branch,
            home=home,
            runtime=runtime,
            author=asked.author,
            runner=runner,
            env=env,
            setup=asked.setup,
            copy=asked.copy_in,
            redactor=redactor,
        )

    def refuse_unmakeable(self) -> None:
        """Raises ConfigError when the worktree could not be made. Changes nothing."""
        self._worktree.refuse_unmakeable()

    @property
    def setup_marker(self) -> Path:
        """Where the last set-up is remembered, its failure included."""
        return self._setup.marker

    async def open(self) -> Opened:
        """See ports.Workspace. A worktree that is there costs two git processes the first time and none after
        that: `dirty` is looked at once, later the readings tell. Raises ConfigError (what is wrong with the
        repository, or a set-up that failed), Temporary (a lock), Moved."""
        self._ours()
        made = await _thread(lambda: self._worktree.ensure(self._runtime))
        self._base, self._top = made.base, made.top
        notices = list(made.notices)
        if self.work.engine.place().branch() != self.branch:
            await _thread(self._attach)
            notices.append(f"the worktree was not on {self.branch} any more: put back")
        folder = self._folder(made.top)
        did = await self._setup.bring_up(folder, made.top / folder, fresh=made.created)
        notices += did.notices
        if not self._looked or did.ran or notices:
            dirty, self._looked = bool((await _thread(self.work.status)).dirty), True
        else:
            dirty = False
        head = await _thread(lambda: self.work.rev(self.branch))
        if head is None and (head := await _thread(self._put_back)):
            notices.append(f"branch {self.branch} was gone: put back at {head[:12]}")
        if head is None:
            raise ConfigError(
                f"branch {self.branch} has no commit",
                hint=f"`git branch {self.branch} COMMIT`, or remove the worktree and `controller run --new`",
                where=str(self.path),
            )
        self._tip = head
        return Opened(
            root=self.path,
            branch=self.branch,
            base=made.base,
            head=head,
            dirty=dirty,
            created=made.created,
            setup=did.ran,
            notices=tuple(notices),
        )

    async def arrive(self, tip: str, key: str | None, keep_as: str) -> str | None:
        """The branch as it stands elsewhere: it is brought to commit `tip`, which must be here. Commits beyond it stay
        where one of them is the step of `key`, or none was made by a step. What is lost otherwise, of a call that died
        and was gone over elsewhere since, is kept under a ref, which is returned. The worktree need not be there.
        Raises ConfigError."""

        def move() -> str | None:
            top, ref = self._worktree.checkout(), f"refs/heads/{self.branch}"
            mine = top.rev(ref)
            if mine == tip or (mine is not None and self._goes_on(top, tip, mine, key)):
                return None
            lost = mine is not None and top.merge_base(mine, tip) != mine
            if not self._worktree.there():
                self._worktree.refuse_taken()
                top.update_ref(ref, tip, mine or "", "as it is on the remote")
                if not lost:
                    return None
                kept = free_ref(keep_as, top.engine.place())
                top.update_ref(kept, mine, "", "left behind")
                return kept
            self._ours()
            return self._undo(tip, keep_as if lost or self.work.status().dirty else None, mine)

        return await _thread(move)

    @staticmethod
    def _goes_on(top: Repo, tip: str, mine: str, key: str | None) -> bool:
        """Whether what this clone has beyond `tip` is still to be taken up."""
        if top.merge_base(tip, mine) != tip:
            return False
        form = f"--format=tformat:%(trailers:key={KEY},valueonly,separator=%x20)"
        keys = set(top.engine.run("log", form, f"{tip}..{mine}").decode().split())
        return not keys or key in keys

    def _ours(self) -> None:
        """Raises Moved when this worktree was left to us because another host's controller took over."""
        if (now := self._home.path) != self.path:
            raise Moved(
                f"the task goes on in {now}: {self.path} is left to a controller of another host",
                hint="run again",
            )

    def _folder(self, top: Path) -> Path:
        """The task's folder, relative to the top of the repository."""
        home = self._runtime.parent
        return home.relative_to(top) if home.is_relative_to(top) else Path()

    def _put_back(self) -> str | None:
        """The branch, deleted by somebody, where the worktree's own log last saw it; None when that is lost."""
        try:
            lines = (
                (self.work.engine.place().own / "logs" / "HEAD").read_text("utf-8", "replace").splitlines()
            )
        except OSError:
            return None
        tip = lines[-1].split(" ", 2)[1] if lines else ""
        if not re.fullmatch(r"[0-9a-f]{40,64}", tip) or self.work.rev(tip) is None:
            return None
        self.work.update_ref(f"refs/heads/{self.branch}", tip, "", "the branch was gone")
        return tip

    def _attach(self) -> None:
        """HEAD back on the run's branch; files and index stay, and show as changes."""
        self._ours()
        self.work.engine.run("symbolic-ref", "HEAD", f"refs/heads/{self.branch}")

    async def keep(
        self, paths: Sequence[str], message: str, trailers: Mapping[str, str], expected: str
    ) -> str:
        """See ports.Workspace. Raises Lost when the branch is not at `expected`, or no longer ours to move."""
        if not paths:
            return expected
        if self.work.engine.place().branch() != self.branch:
            raise Lost(f"the worktree is not on {self.branch} any more")
        lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items()]
        text = "\n".join([message.strip() or "step", "", *lines, ""])
        self._tip = await _thread(lambda: self.work.commit(paths, text, parent=expected, author=self.author))
        return self._tip

    async def find(self, key: str) -> str | None:
        """See ports.Workspace."""

        def look() -> str | None:
            head = self.work.rev(self.branch)
            if head is None or self._base is None:
                return None
            return self.work.find(self._base, head, KEY, key)

        return await _thread(look)

    async def diff(self, old: str, new: str, limit: int) -> str:
        """See ports.Workspace."""
        raw, total = await _thread(lambda: self.work.diff(old, new, limit=max(limit, _DIFF_READ)))
        note = f"\n… the diff goes on for {total - len(raw):,} bytes" if total > len(raw) else ""
        return cut(shown_diff(self._redactor.redact(raw)), limit - len(note.encode())) + note

    async def contains(self, commit: str, tip: str) -> bool:
        """See ports.Workspace."""

        def look() -> bool:
            return self.work.rev(commit) is not None and self.work.merge_base(commit, tip) == commit

        return commit == tip or await _thread(look)

    async def hunks(self, old: str, new: str, paths: Sequence[str]) -> Mapping[str, Sequence[Hunk]]:
        """See ports.Workspace."""
        args = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", old, new)
        return await _thread(lambda: hunks(self.work.engine.run(*args, globs=paths)))

    async def undo(self, head: str, keep_as: str | None = None, seen: str | None = None) -> str | None:
        """See ports.Workspace. `keep_as` is a full ref or a name below refs/skill-state/; a taken name gets a
        number. Nested repositories are moved to `.agent-runtime/undone`, never deleted."""
        return await _thread(lambda: self._undo(head, keep_as, seen or self._tip))

    def _undo(self, head: str, keep_as: str | None, seen: str | None) -> str | None:
        place, status = self.work.engine.place(), self.work.status()
        under_way = place.operation()
        if not status.dirty and (status.head, status.branch, under_way) == (head, self.branch, None):
            return None
        if (tip := self.work.rev(self.branch)) != seen and tip != head:
            raise Lost(f"{self.branch} was moved by somebody else, to {(tip or 'nowhere')[:12]}")
        kept = kept_tree(self.work, status, head, keep_as, self.author) if keep_as else None
        self._to(head, tip)
        if status.branch != self.branch:
            self._attach()
        for leftover in ("rebase-merge", "rebase-apply"):
            shutil.rmtree(place.own / leftover, ignore_errors=True)
        for leftover in ("BISECT_LOG", "BISECT_START", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD"):
            (place.own / leftover).unlink(missing_ok=True)
        if status.untracked or any(path.endswith(".gitignore") for path in status.dirty):
            # Read again: what is ignored by the rules of `head` is no business of ours, whatever an edited
            # .gitignore made of it meanwhile.
            for path in self.work.status().untracked:
                self._remove(path)
        return kept

    def _to(self, head: str, tip: str | None) -> None:
        """Branch, index and files to `head`. The branch first, and only from `tip`: a controller that has slept
        through its lease must not move what another one has built since."""
        self._ours()
        if tip != head:
            self.work.update_ref(f"refs/heads/{self.branch}", head, tip, "put back")
        self._tip = head
        self.work.engine.run("read-tree", "--reset", "-u", head)

    def _remove(self, path: str) -> None:
        target = self.path / path
        if path.endswith("/"):
            aside, number = self._runtime / "undone" / path.strip("/").replace("/", "-"), 1
            while (place := aside.with_name(f"{aside.name}-{number}")).exists():
                number += 1
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(target, place)
        else:
            target.unlink(missing_ok=True)
        for folder in target.parents:
            if folder == self.path:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    async def base(self) -> str:
        """See ports.Workspace."""
        return await _thread(self._worktree.base_now)

    async def visit(self, commit: str) -> None:
        """See ports.Workspace."""

        def go() -> None:
            self._ours()
            self.work.engine.run("update-ref", "--no-deref", "-m", "skill-state: visit", "HEAD", commit)
            self.work.engine.run("read-tree", "--reset", "-u", commit)

        assert self._top is not None, "open() comes first"
        await _thread(go)
        folder = self._folder(self._top)
        await self._setup.bring_up(folder, self._top / folder, fresh=False)

    async def landed(self, record: RunRecord) -> bool:
        """See ports.Workspace."""
        assert self._base is not None, "open() comes first"
        base = self._base
        if await self.contains(record.head, base):
            return True
        return await _thread(lambda: self.work.find(record.base, base, RUN, record.run)) is not None

    async def spoil(self, path: str) -> None:
        """Makes a tracked file (relative to the task's folder) invalid in every language; `undo` mends it.
        Raises ConfigError when it is not there."""

        def write() -> None:
            top = GitDir.around(self._worktree.repo)
            folder = self._folder(top.root) if top and top.root else Path()
            target = self.path / folder / path
            inside = target.resolve().is_relative_to(self.path.resolve())
            tracked = inside and self.work.show("HEAD", (folder / path).as_posix()) is not None
            if not tracked or target.is_symlink() or not target.is_file():
                raise ConfigError(f"must_notice: {path} is not a tracked file of the repository")
            target.write_bytes(_SPOILED + target.read_bytes())

        await _thread(write)

    async def start_over(self, keep_as: str) -> str | None:
        """For a new run on a branch that an older run left: its tip is kept under `keep_as`, then branch and
        worktree stand at the base, set up for it. Returns the kept ref, or None when the branch was there already. The
        worktree must be open."""

        def reset() -> str | None:
            assert self._base is not None, "open() comes first"
            tip = self.work.rev(self.branch)
            if tip is None or tip == self._base:
                return None
            ref = full_ref(keep_as)
            self.work.update_ref(ref, tip, None, "branch of an earlier run")
            self._to(self._base, tip)
            return ref

        if (kept := await _thread(reset)) is not None:
            assert self._top is not None, "open() comes first"
            folder = self._folder(self._top)
            await self._setup.bring_up(folder, self._top / folder, fresh=False)
        return kept


async def _thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
