"""What a Git directory says by its files alone: where it is, refs, operations under way. Starts no process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True)
class Linked:
    """A linked worktree as the repository knows it: its administrative folder, its folder, its branch (None
    when detached), and whether its creation was never finished."""

    admin: Path
    root: Path
    branch: str | None
    unfinished: bool


@dataclass(frozen=True)
class GitDir:
    """`root` is the top of the worktree (None: bare), `own` its Git directory, `common` the repository's."""

    root: Path | None
    own: Path
    common: Path

    @classmethod
    def of(cls, root: Path) -> GitDir | None:
        """The Git directory of a worktree whose top is `root`, or of a bare repository there."""
        dot = root / ".git"
        if dot.is_dir():
            return cls(root, dot, dot) if (dot / "HEAD").exists() else None
        if dot.is_file():
            named = _pointer(dot, "gitdir: ")
            own = (root / named) if named else None
            if own is None or not (own / "HEAD").exists():
                return None
            common = _pointer(own / "commondir")
            return cls(root, own, (own / common).resolve() if common else own)
        if (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir():
            return cls(None, root, root)
        return None

    @classmethod
    def around(cls, start: Path) -> GitDir | None:
        """The Git directory that `start` lies in."""
        for folder in (start, *start.parents):
            if found := cls.of(folder):
                return found
        return None

    def ref(self, name: str, depth: int = 5) -> str | None:
        """The id in ref `name` (`refs/…` or HEAD), unpeeled; None when the files do not say."""
        for place in (self.own, self.common):
            text = _text(place / name)
            if text.startswith("ref: ") and depth:
                return self.ref(text[5:].strip(), depth - 1)
            if OID.fullmatch(text.strip()):
                return text.strip()
        for line in _text(self.common / "packed-refs").splitlines():
            if line.endswith(f" {name}") and line[0] not in "#^":
                return line.split(" ", 1)[0]
        return None

    def branch(self) -> str | None:
        """The branch that HEAD names, or None when it is detached."""
        return _branch(self.own)

    def operation(self) -> str | None:
        """What is under way here: rebase, am, merge, cherry-pick, revert, bisect."""
        return next((name for file, name in _OPERATIONS if (self.own / file).exists()), None)

    def shallow(self) -> bool:
        """Whether history was cut off (a depth-limited clone)."""
        return (self.common / "shallow").exists()

    def linked(self) -> Iterator[Linked]:
        """Every linked worktree, those whose folder is gone included."""
        folder = self.common / "worktrees"
        for admin in sorted(folder.iterdir()) if folder.is_dir() else ():
            named = _pointer(admin / "gitdir")
            root = Path(named).parent if named else admin / "gone"
            lock = _text(admin / "locked")
            yield Linked(admin, root, _branch(admin), lock.startswith("initializing"))

    def holders(self) -> Iterator[tuple[Path, str]]:
        """Every folder that has a branch checked out, and which; a worktree that was never finished is none."""
        common = self.common.resolve()
        main = GitDir.of(common.parent) if common.name == ".git" else self
        if main is not None and main.root is not None and (branch := main.branch()):
            yield main.root, branch
        for each in GitDir(self.root, self.own, common).linked():
            if each.branch and each.root.exists() and not each.unfinished:
                yield each.root, each.branch

    def config_files(self) -> tuple[Path, ...]:
        """The configuration that is read whatever it includes."""
        return (self.common / "config", self.own / "config.worktree")

    def code_digest(self) -> str:
        """Hex sha256 over configuration, attributes and hooks: what could make some git run code."""
        total = hashlib.sha256()
        hooks = self.common / "hooks"
        listed = sorted(hooks.iterdir()) if hooks.is_dir() else []
        attributes = self.common / "info" / "attributes"
        for path in (
            *self.config_files(),
            attributes,
            *(each for each in listed if each.suffix != ".sample"),
        ):
            if path.is_file():
                total.update(path.name.encode("utf-8", "surrogateescape") + b"\0")
                total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()


def _branch(own: Path) -> str | None:
    text = _text(own / "HEAD")
    return text[16:].strip() if text.startswith("ref: refs/heads/") else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


def _pointer(path: Path, prefix: str = "") -> str | None:
    text = _text(path).rstrip("\n")
    return text[len(prefix) :] if text.startswith(prefix) and len(text) > len(prefix) else None
