"""A copy of the run's worktree, lent to an agent for one launch, and what it changed in there.

The copy is a repository of its own: it borrows the run's objects and shares nothing that can be written, no index, no
ref, no configuration, no hook. What the agent does to Git in it is read as data and never asked of a git that stands in
it: the difference is worked out from outside, by an index that the agent never sees.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from contracts.paths import PathPolicy, generated, matches
from contracts.ports import Artifacts
from contracts.redact import Redactor
from contracts.repository import Status
from contracts.secret_scan import brought_in, say
from contracts.submitted import MAX_CONTENT, MAX_DIFF, MAX_FILES, Changed, Submitted
from contracts.text import clean
from tool_adapters.git import EXCLUDES, Engine, GitFailed, ReadOnlyRepo, Repo
from tool_adapters.gitdir import OID, GitDir
from tool_adapters.kept_tree import kept_tree

LEFT_OUT = ("path.generated", "path.report")  # programs write such files as they run: no part of the work
MAX_OWN = 20
_PACK = 64 * 1024 * 1024
_READ = 1024 * 1024


class _Copy(Repo):
    """A working folder with the Git directory that we keep for it elsewhere."""

    def __init__(self, place: GitDir) -> None:
        assert place.root is not None
        ReadOnlyRepo.__init__(self, _Apart(place.root, place))


class _Apart(Engine):
    def __init__(self, root: Path, place: GitDir) -> None:
        super().__init__(root)
        self._place = place

    def place(self) -> GitDir:
        return self._place


@dataclass(frozen=True)
class Lending:
    """Lends copies of one worktree, one at a time. All blocks: call it in a worker thread.

    work    the run's worktree. room: a folder of the controller's, for the copy and what is kept of it.
    name    where refs with what was changed stand, below refs/skill-state/. author: `NAME <MAIL>` of their commits.
    """

    work: Repo
    room: Path
    name: str
    author: str
    policy: PathPolicy
    redactor: Redactor
    artifacts: Artifacts

    @property
    def copy(self) -> Path:
        """The folder that is lent."""
        return self.room / "copy"

    @property
    def objects(self) -> Path:
        """The objects that the copy borrows."""
        return self.work.engine.place().common.resolve() / "objects"

    def lend(self) -> None:
        """The copy, made from the worktree's HEAD. What a copy still holds whose launch was cut short is kept first."""
        self._rescue()
        self._clear()
        head = self.work.rev("HEAD")
        assert head is not None, "the worktree is open"
        own = self._own
        own.mkdir(parents=True)
        self.copy.mkdir()
        (own / "HEAD").write_text(f"{head}\n")
        (own / "commondir").write_text(f"{self.objects.parent}\n")
        with suppress(FileNotFoundError):
            shutil.copyfile(self.work.engine.place().own / EXCLUDES, own / EXCLUDES)
        self._repo.engine.run("read-tree", "--reset", "-u", head)
        self._make_repository(head)
        for path in self._ignored():
            if not path.endswith("/"):
                target = self.copy / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.work.root / path, target, follow_symlinks=False)

    def folders(self) -> Iterator[Path]:
        """Folders of the worktree that Git ignores, as the set-up makes them: to be shown in the copy, not copied."""
        yield from (self.work.root / path for path in self._ignored() if path.endswith("/"))

    def take(self, step: int, left: tuple[str, ...]) -> Submitted:
        """What differs from what was lent, kept under a ref where something does; the copy is gone after it. `left`:
        processes that had to be ended."""
        found = self._taken(f"{self.name}/submitted/{step}", left)
        self._clear()
        return found

    # ---- the copy --------------------------------------------------------------------------------------------------

    @property
    def _own(self) -> Path:
        return self.room / "git"

    @property
    def _repo(self) -> _Copy:
        return _Copy(GitDir(self.copy, self._own, self.objects.parent))

    def _make_repository(self, head: str) -> None:
        """A repository for the agent to look at, its HEAD detached at `head`."""
        git, common = self.copy / ".git", self.objects.parent
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
            (git / folder).mkdir(parents=True)
        sha256 = "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        version = sha256 if len(head) > 40 else "\trepositoryformatversion = 0\n"
        (git / "config").write_text(f"[core]\n\tbare = false\n\tlogallrefupdates = true\n{version}")
        (git / "objects/info/alternates").write_text(f"{self.objects}\n")
        (git / "HEAD").write_text(f"{head}\n")
        ignored = b"".join(map(_read, (common / "info/exclude", self._own / EXCLUDES)))
        (git / "info/exclude").write_bytes(ignored)
        shutil.copy2(self._own / "index", git / "index")
        with suppress(FileNotFoundError):
            shutil.copyfile(common / "shallow", git / "shallow")

    def _ignored(self) -> Iterator[str]:
        """What the set-up left in the worktree: folders end with a slash. Neither caches nor files with secrets."""
        listed = self.work.engine.run(
            "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
        )
        for each in listed.split(b"\0"):
            path = os.fsdecode(each)
            if path and not generated(path) and not self.policy.secret(path):
                yield path

    def _clear(self) -> None:
        if self.room.exists():
            shutil.rmtree(self.room, onerror=_again)

    def _rescue(self) -> None:
        if (self._own / "index").exists() and self.copy.is_dir():
            self._taken(f"{self.name}/interrupted/copy", ())

    # ---- what became of it -----------------------------------------------------------------------------------------

    def _taken(self, ref: str, left: tuple[str, ...]) -> Submitted:
        repo, base = self._repo, _read(self._own / "HEAD").decode().strip()
        _make_readable(self.copy)
        own, tips = _own_history(self.copy, base)
        said = Submitted(base=base, own=own, left=tuple(map(clean, left))[:MAX_OWN])
        status = repo.status()
        dirty = [path for path in status.dirty if (self.policy.write(path) or ("",))[0] not in LEFT_OUT]
        if not dirty and not own:
            return said
        size = sum(map(_size, (self.copy / path for path in dirty)))
        if size > MAX_CONTENT or len(dirty) > 10 * MAX_FILES:
            return said.model_copy(update={"count": len(dirty), "bytes": size})
        also = [tip for tip in tips if self._fetched(repo, tip, base)]
        try:
            kept = kept_tree(repo, Status(base, None, tuple(dirty)), base, ref, self.author, also)
        except GitFailed as error:
            odd = f"something that Git can't hold ({clean(error.message)[:120]})"
            return said.model_copy(update={"own": (*own, odd)[-MAX_OWN:], "count": len(dirty)})
        files = _changes(repo, base, kept)
        diff, total = repo.diff(base, kept, limit=MAX_DIFF)
        found = {
            "tree": repo.engine.run("rev-parse", f"{kept}^{{tree}}").decode().strip(),
            "kept": kept,
            "diff": self.artifacts.put(diff) if diff else "",
            "bytes": total,
            "count": len(files),
            "files": files[:MAX_FILES],
            "secrets": tuple(self._secrets(repo, base, kept, files[:MAX_FILES]))[:MAX_OWN],
        }
        return said.model_copy(update=found)

    def _fetched(self, repo: _Copy, tip: str, base: str) -> bool:
        """Whether the commit `tip` of the copy could be taken over, with what it rests on: as objects, checked one by
        one; no git runs in the copy."""
        borrowed = self.copy / ".git/objects"
        if borrowed.is_symlink() or not borrowed.is_dir():
            return False
        shutil.rmtree(borrowed / "info", ignore_errors=True)  # may lead to the objects of others by now
        try:
            pack = repo.engine.run(
                *("pack-objects", "--revs", "--stdout", "-q"),
                stdin=f"{tip}\n^{base}\n".encode(),
                env={"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(borrowed)},
            )
            if len(pack) > _PACK:
                return False
            repo.engine.run("index-pack", "--stdin", "--fix-thin", "--strict", stdin=pack)
            return repo.rev(tip) == tip
        except GitFailed:
            return False

    def _secrets(self, repo: _Copy, base: str, ref: str, files: tuple[Changed, ...]) -> Iterator[str]:
        for each in files:
            if each.op == "delete" or matches(each.path, self.policy.secrets):
                continue
            data = repo.show(ref, each.path)
            old: Callable[[], bytes | None] = partial(repo.show, base, each.path)
            if data and (found := brought_in(data, old, self.redactor, path=each.path)):
                yield say(found)


def _changes(repo: Repo, old: str, new: str) -> tuple[Changed, ...]:
    raw = repo.engine.run("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")
    binary = {each.path for each in repo.diffstat(old, new) if each.added is None}
    found = []
    for head, name in zip(raw[::2], raw[1::2], strict=False):
        was, mode, *_ = head.removeprefix(b":").decode().split(" ")
        path = os.fsdecode(name)
        shown = name.decode("utf-8", "backslashreplace")  # what is not UTF-8 no path policy lets through
        found.append(Changed(path=shown, was=was, mode=mode, binary=path in binary))
    return tuple(found)


def _own_history(copy: Path, base: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the agent made with Git of its own, in words, and the commits that its refs name. Files are read, no git is
    started: this repository may say anything."""
    git = copy / ".git"
    if git.is_symlink() or not git.is_dir():
        return ("another .git in place of the one of the folder",), ()
    named: dict[str, str] = {}
    head = _read(git / "HEAD").decode("utf-8", "replace").strip()
    if head != base:
        named["HEAD"] = head
    for path in _below(git / "refs"):
        named[str(path.relative_to(git))] = _read(path).decode("utf-8", "replace").strip()
    for line in _read(git / "packed-refs").decode("utf-8", "replace").splitlines():
        oid, _, name = line.partition(" ")
        if name and line[0] not in "#^":
            named.setdefault(name, oid)
    nested = [
        os.path.relpath(folder, copy)
        for folder, folders, files in os.walk(copy)
        for name in (*folders, *files)
        if name.lower() == ".git" and Path(folder) != copy
    ]
    words = [f"{name} at {oid[:12]}" if OID.fullmatch(oid) else name for name, oid in named.items()]
    words += [f"a repository of its own in {each}" for each in nested]
    tips = dict.fromkeys(oid for oid in named.values() if OID.fullmatch(oid) and oid != base)
    return tuple(clean(each)[:200] for each in words[:MAX_OWN]), tuple(tips)[:MAX_OWN]


def _make_readable(copy: Path) -> None:
    """What was made unreadable for us is so no more; Git knows nothing of that."""
    for place, folders, files in os.walk(copy):
        for names, need in ((folders, stat.S_IRWXU), (files, stat.S_IRUSR)):
            for path in (Path(place, name) for name in names):
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode) and mode & need != need:
                    path.chmod(stat.S_IMODE(mode) | need)


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder, links not followed."""
    for place, _, files in os.walk(folder):
        yield from (Path(place) / name for name in sorted(files))


def _read(path: Path) -> bytes:
    """The start of a regular file; empty for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        return file.read(_READ) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _again(function: Callable[[str], object], path: str, _: object) -> None:
    """A folder that was made unreadable or read-only: once more, after that is taken back."""
    for each in (Path(path).parent, Path(path)):
        if each.is_dir() and not each.is_symlink():
            each.chmod(0o700)
    function(path)
