"""What a sandboxed command gets to see of this machine: a list of places, each with its reason. Reads only."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from contracts.base import digest
from contracts.errors import ConfigError
from tool_adapters.gitdir import GitDir
from tool_adapters.githardening import signature

Mode = Literal["ro", "rw", "empty", "link"]

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# No keys, no host names to talk to, nothing of the users but their names. `ssl/private` would be readable to root.
ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "nsswitch.conf", "hosts", "host.conf"),
    *("gai.conf", "protocols", "services", "mime.types", "shells", "localtime", "timezone", "locale.alias"),
    *("locale.conf", "alternatives", "os-release", "debian_version", "terminfo", "inputrc", "magic", "fonts"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "pki/java", "java", "perl"),
    *("python3", "php", "R", "ImageMagick-6", "ImageMagick-7"),
)
ETC_PATTERNS = ("python3.*", "java-*", "lsb-release", "*-release")
NETWORK = ("resolv.conf",)
# Never shown by naming a folder above them: a whole home or root would hide nothing.
_WHOLE = (
    "/",
    "/home",
    "/root",
    "/Users",
    "/etc",
    "/run",
    "/var",
    "/var/run",
    "/proc",
    "/dev",
    "/tmp",
    "/sys",
)


@dataclass(frozen=True, order=True)
class Mount:
    """`path` is seen inside: read-only, writable, empty (writable, gone afterwards) or as a link; `source` is
    what lies there (for a link: its text), the path itself when empty."""

    path: Path
    mode: Mode
    why: str
    source: str = ""

    @property
    def origin(self) -> str:
        return self.source or str(self.path)


@cache
def system() -> tuple[Mount, ...]:
    """The programs and libraries of the system."""
    found = []
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            found.append(Mount(path, "link", "system", str(path.readlink())))
        elif path.is_dir():
            found.append(Mount(path, "ro", "system"))
    return tuple(found)


@cache
def settings(network: bool, root: Path = Path("/etc")) -> tuple[Mount, ...]:
    """What programs look up in /etc, place by place."""
    found = [root / name for name in (*ETC, *(NETWORK if network else ()))]
    for pattern in ETC_PATTERNS:
        found += sorted(root.glob(pattern))
    # Links (resolv.conf into /run) are followed here: what they point to is not there inside.
    return tuple(
        Mount(path, "ro", "system settings", str(path.resolve()))
        for path in dict.fromkeys(found)
        if os.access(path, os.R_OK)
    )


def settings_folder(
    network: bool, scratch: Path, more: tuple[tuple[str, str], ...], read: Iterable[Mount]
) -> tuple[Mount, ...]:
    """The same as one folder of copies, made in `scratch`, and mounts for what are folders themselves: every mount
    costs each command a quarter of a millisecond. `more`: files of ours (name, text); `read`: what the user wants
    to be seen, here only what lies in /etc."""
    root = Path("/etc")
    places = [*settings(network), *(mount for mount in read if mount.path.is_relative_to(root))]
    files = [mount for mount in places if Path(mount.origin).is_file()]
    folders = [mount for mount in places if Path(mount.origin).is_dir()]
    stamps = [(each.origin, signature([Path(each.origin)])) for each in files]
    made = scratch / f"etc-{digest([stamps, [each.origin for each in folders], more])[:16]}"
    if not made.is_dir():
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="etc.", dir=scratch))
        new.chmod(0o755)
        for each in files:
            target = new / each.path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each.origin, target)
        for each in folders:
            (new / each.path.relative_to(root)).mkdir(parents=True, exist_ok=True)
        for name, text in more:
            (new / name).write_text(text)
        with suppress(OSError):  # another process was faster
            new.rename(made)
        shutil.rmtree(new, ignore_errors=True)
    return (Mount(root, "ro", "system settings, chosen ones", str(made)), *folders)


def asked(read: Iterable[str], base: Path, home: Path, worktree: Path) -> tuple[Mount, ...]:
    """The mounts of `sandbox.read`. Raises ConfigError for what is missing, or would show everything."""
    found = []
    for each in read:
        path = Path(os.path.abspath(base / Path(each).expanduser()))  # noqa: PTH100 (keeps links)
        if not path.exists():
            raise ConfigError(f"sandbox.read: there is no {path}")
        for named in {path, path.resolve()}:
            whole = str(named) in _WHOLE or home.is_relative_to(named) or worktree.is_relative_to(named)
            if whole:
                raise ConfigError(
                    f"sandbox.read: {named} would show more than toolchains", hint="name the folders in it"
                )
            found.append(Mount(named, "ro", "sandbox.read"))
    return tuple(found)


def hidden(worktree: Path) -> Iterator[Mount]:
    """The user's checkout, where it lies in a folder that is shown: containers keep theirs in /usr/src."""
    git = GitDir.of(worktree)
    if git is not None and git.common.name == ".git":
        checkout = git.common.parent
        if checkout != worktree and any(checkout.is_relative_to(each) for each in SYSTEM):
            yield Mount(checkout, "empty", "the checkout, hidden")


def repository(worktree: Path, scratch: Path) -> Iterator[Mount]:
    """Git of a linked worktree, all of it read-only: its pointer file, the repository's common directory (own
    administrative folder included) and the object stores that it borrows from. The configuration is replaced by
    one without credentials; it is written into `scratch`."""
    git = GitDir.of(worktree)
    if git is None:
        return
    # Held even where it is no mount point of its own: a name that is mounted can be neither replaced nor removed.
    yield Mount(worktree / ".git", "ro", "Git of the worktree")
    for path in dict.fromkeys((git.common, git.common.resolve(), git.own, git.own.resolve())):
        yield Mount(path, "ro", "Git directory of the repository")
    for path in borrowed(git.common / "objects"):
        yield Mount(path, "ro", "objects that the repository borrows")
    for common in dict.fromkeys((git.common, git.common.resolve())):
        config = common / "config"
        if config.is_file():
            harmless = scratch / "git"
            yield Mount(config, "ro", "its configuration, credentials left out", _kept(harmless, config))
        monitor = common / "fsmonitor--daemon.ipc"
        if monitor.exists():
            yield Mount(monitor, "ro", "a socket, hidden", os.devnull)
    own = git.own / "config.worktree"
    if own.is_file():
        yield Mount(own, "ro", "its configuration, credentials left out", _kept(scratch / "git", own))


def borrowed(objects: Path, depth: int = 5) -> Iterator[Path]:
    """The object stores that `objects` borrows from, and those from which they borrow."""
    try:
        lines = (objects / "info" / "alternates").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        if line and not line.startswith("#") and depth:
            other = (objects / line).resolve()
            if other.is_dir() and other.name == "objects":
                yield other
                yield from borrowed(other, depth - 1)


_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(?:[#;].*)?')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(=.*)?")
_KEPT: Mapping[str, frozenset[str] | None] = {
    "extensions": None,
    "core": frozenset(
        {
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "symlinks"),
            *("precomposeunicode", "autocrlf", "eol", "safecrlf", "longpaths"),
            *("sparsecheckout", "sparsecheckoutcone"),
        }
    ),
    "remote": frozenset({"url", "fetch"}),
    "branch": frozenset({"remote", "merge"}),
}


def plain_config(text: str) -> str:
    """The part of a Git configuration that makes the repository readable: no credentials, no includes, nothing
    that names a program."""
    lines, kept = [], None
    for line in text.splitlines():
        if match := _SECTION.fullmatch(line):
            section = match[1].lower()
            known = section in _KEPT
            kept = section if known else None
            if known:
                lines.append(line)
        elif kept and not line.rstrip().endswith("\\") and (match := _SETTING.fullmatch(line)):
            names = _KEPT[kept]
            if names is None or match[1].lower() in names:
                lines.append(re.sub(r"://[^/\s@]*@", "://", line) if kept == "remote" else line)
    return "\n".join(lines) + "\n"


def _kept(folder: Path, config: Path) -> str:
    text = plain_config(config.read_text("utf-8", "surrogateescape"))
    return written(folder, text)


def written(folder: Path, text: str) -> str:
    """The path of a file in `folder` that holds `text`; named by its content, so never changed."""
    file = folder / f"config-{digest(text)[:16]}"
    if not file.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(text, "utf-8", "surrogateescape")
        new.replace(file)
    return str(file)


def ordered(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Each place once, folders before what lies in them; of two for one place the later wins. What a read-only
    folder shows anyway is left out."""
    last: dict[Path, Mount] = {}
    for mount in mounts:
        last[mount.path] = mount
    kept: dict[Path, Mount] = {}
    for mount in sorted(last.values(), key=lambda mount: (len(mount.path.parts), mount.path)):
        around = next((kept[each] for each in mount.path.parents if each in kept), None)
        shown = around is not None and (around.mode, around.source, mount.mode, mount.source) == (
            "ro",
            "",
            "ro",
            "",
        )
        if not shown:
            kept[mount.path] = mount
    return tuple(kept.values())
