"""Files of one worktree, safely: nothing outside it, nothing of Git's, no secrets, only regular files.

Paths are walked folder by folder with O_NOFOLLOW, so that a symlink put there meanwhile can't lead away.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import Unavailable, of_disk
from contracts.paths import PathPolicy, normalise
from contracts.ports import Artifacts, Gone

MAX_FILE = 32 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Refused(Exception):
    """A path that can't be used so: `code` is stable, `say` tells the model what to do instead, `excerpt`
    shows what was found."""

    def __init__(self, code: str, say: str, excerpt: str = "") -> None:
        super().__init__(say)
        self.code, self.say, self.excerpt = code, say, excerpt


class Missing(Refused):
    """There is no such file."""


@dataclass(frozen=True)
class Found:
    """A regular file's bytes and permission bits."""

    data: bytes
    mode: int


def is_binary(data: bytes) -> bool:
    """Whether a text tool should leave the data alone; the rule that Git uses."""
    return b"\0" in data[:8000]


def artifact(artifacts: Artifacts, path: str) -> bytes:
    """What `artifact:ID` names. Raises Refused."""
    id = path.removeprefix("artifact:")
    if not re.fullmatch(r"[0-9a-f]{4,64}", id):
        raise Refused("artifact.unknown", f"{path[:80]!r} is no artifact: artifact: and its hex digits")
    try:
        return artifacts.get(id)
    except Gone as gone:
        raise Refused("artifact.unknown", f"{path} can't be read here: {gone.why}") from None
    except KeyError:
        say = f"there is no {path}: it may be too old; run the command anew"
        raise Refused("artifact.unknown", say) from None


class Files:
    """`read` and `put` raise Refused; paths are relative to `root`, POSIX."""

    def __init__(self, root: Path, policy: PathPolicy) -> None:
        self.root = Path(os.path.realpath(root))
        self.policy = policy

    # ---- reading -------------------------------------------------------------------------------------------

    def read(self, path: str) -> Found:
        """The file at `path`; symlinks are followed as long as they stay inside the worktree."""
        clean = self._readable(path)
        real = os.path.realpath(self.root / clean)
        inside = os.path.relpath(real, self.root)
        if inside != clean:
            if real != str(self.root) and not real.startswith(f"{self.root}{os.sep}"):
                raise Refused("path.symlink", f"{path!r} leads out of the worktree through a symlink")
            self._readable(inside)
            if not os.path.lexists(real):
                raise Missing("path.missing", f"{path!r} is a symlink to {inside!r}, which does not exist")
        return self._read(inside, path)

    def _readable(self, path: str) -> str:
        clean = normalise(path)
        if clean is None:
            raise Refused(
                "path.outside",
                f"{path[:120]!r} is not a path inside the worktree: use relative paths with '/'",
            )
        if ".git" in clean.lower().split("/"):
            raise Refused("path.protected", f"{path!r} belongs to Git: it is not shown")
        if self.policy.secret(clean):
            raise Refused("path.secret", f"{path!r} looks like a file with secrets: it is not shown")
        return clean

    def _read(self, path: str, shown: str) -> Found:
        with self._parent(path) as (folder, name):
            try:
                fd = os.open(name, os.O_RDONLY | _PLAIN, dir_fd=folder)
            except OSError as error:
                raise _refusal(error, shown) from None
            try:
                info = os.fstat(fd)
                if not stat.S_ISREG(info.st_mode):
                    what = (
                        "a folder: list_files shows it" if stat.S_ISDIR(info.st_mode) else "no regular file"
                    )
                    raise Refused("path.not_a_file", f"{shown!r} is {what}")
                if info.st_size > MAX_FILE:
                    raise Refused("file.too_large", f"{shown!r} has {info.st_size:,} bytes: more than 32 MiB")
                with open(fd, "rb", closefd=False) as file:
                    return Found(file.read(MAX_FILE + 1), stat.S_IMODE(info.st_mode))
            finally:
                os.close(fd)

    @contextmanager
    def _parent(self, path: str, made: list[str] | None = None) -> Iterator[tuple[int, str]]:
        """The open folder that holds `path`, and the name in it. With `made`, missing folders are created and
        noted there."""
        *parents, name = path.split("/")
        fd = os.open(self.root, _FOLDER)
        try:
            for depth, part in enumerate(parents, start=1):
                here = "/".join(parents[:depth])
                try:
                    inner = os.open(part, _FOLDER, dir_fd=fd)
                except FileNotFoundError as error:
                    if made is None:
                        raise _refusal(error, path) from None
                    os.mkdir(part, dir_fd=fd)
                    made.append(here)
                    inner = os.open(part, _FOLDER, dir_fd=fd)
                except OSError as error:
                    if _is_link(self.root / here):
                        raise self._through(here, path) from None
                    raise _refusal(error, path) from None
                os.close(fd)
                fd = inner
            yield fd, name
        finally:
            os.close(fd)

    def _through(self, link: str, path: str) -> Refused:
        real = os.path.relpath(os.path.realpath(self.root / link), self.root)
        rest = path[len(link) :]
        if real.startswith(".."):
            return Refused("path.symlink", f"{path!r} leads out of the worktree through the symlink {link!r}")
        return Refused("path.symlink", f"{link!r} is a symlink: name the file itself, {real + rest!r}")

    # ---- writing -------------------------------------------------------------------------------------------

    def writable(self, path: str) -> str:
        """`path` normalised, when the policy lets it be changed."""
        refused = self.policy.write(path)
        if refused:
            raise Refused(*refused)
        clean = normalise(path)
        assert clean is not None
        return clean

    def before(self, path: str) -> Found | None:
        """What a change of `path` starts from; None when nothing is there. Symlinks are not followed."""
        clean = self.writable(path)
        if _is_link(self.root / clean):
            raise self._through(clean, clean)
        try:
            return self._read(clean, path)
        except Missing:
            return None

    def put(
        self,
        changes: Mapping[str, bytes | None],
        before: Mapping[str, Found | None],
        executable: Collection[str] = (),
    ) -> None:
        """Makes every change (None deletes) or none. `before` holds the files as they are now."""
        done: list[str] = []
        made: list[str] = []
        # Deletions first: a file may become a folder, and a folder whose last file goes a file.
        order = sorted(changes, key=lambda path: (changes[path] is not None, path))
        try:
            for path in order:
                done.append(path)
                data, was = changes[path], before.get(path)
                if data is None:
                    self._delete(path)
                else:
                    fresh = 0o777 if path in executable else 0o666
                    self._write(path, data, was.mode if was else None, fresh, made)
        except (OSError, Refused) as error:
            self._restore(done, before, made)
            if isinstance(error, Refused):
                raise
            raise _refusal(error, done[-1]) from None

    def _restore(self, done: list[str], before: Mapping[str, Found | None], made: list[str]) -> None:
        for path in reversed(done):
            was = before.get(path)
            try:
                if was is None:
                    self._delete(path)
                else:
                    self._write(path, was.data, was.mode, was.mode, [])
            except (OSError, Refused):
                continue  # the controller's undo puts back what is left
        for folder in reversed(made):
            try:
                (self.root / folder).rmdir()
            except OSError:
                continue

    def _write(self, path: str, data: bytes, mode: int | None, fresh: int, made: list[str]) -> None:
        with self._parent(path, made) as (folder, name):
            temporary = f".{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, fresh, dir_fd=folder)
            try:
                with os.fdopen(fd, "wb") as file:
                    if mode is not None:
                        os.fchmod(fd, mode)
                    file.write(data)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise

    def _delete(self, path: str) -> None:
        with self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        parents = path.split("/")[:-1]
        while parents:  # Git knows no empty folders
            try:
                self.root.joinpath(*parents).rmdir()
            except OSError:
                return
            parents.pop()


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:  # a name that is too long
        return False


def _refusal(error: OSError, path: str) -> Refused | Unavailable:
    """What a path's error means for the model; a full disk is none of its business."""
    if (disk := of_disk(error)) is not None:
        return disk
    if error.errno == errno.ENOENT:
        return Missing("path.missing", f"{path!r} does not exist")
    if error.errno == errno.ENOTDIR:
        return Missing("path.missing", f"{path!r} does not exist: a part of the path is a file")
    if error.errno == errno.ELOOP:
        return Refused("path.symlink", f"{path!r} is a symlink: name the file itself")
    if error.errno in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
        return Refused("path.not_a_file", f"{path!r} is a folder")
    if error.errno == errno.ENXIO:
        return Refused("path.not_a_file", f"{path!r} is no regular file")
    return Refused("path.io", f"{path!r} can't be used: {error.strerror}")
