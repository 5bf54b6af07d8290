"""A remote whose refs keep a store: a bare copy of what they hold, which lasts, and the pushes that move them.

Git runs in the copy, not in the user's repository: nothing that stands in the repository's own configuration can name
a program here. What is taken over from there is data: the remote's address, `http.*` and `url.*.insteadOf`. Who we
are to the remote is said by the user's own configuration and environment, as for any git of theirs (`gitremote`, which
pushes for an action of the model, knows nothing but a token that it is given); no prompt waits.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from contracts.base import digest
from contracts.errors import ConfigError, ControllerError, Lost, Unavailable
from contracts.refs import Draft, Move
from tool_adapters import durable, gitanswer, gitformat
from tool_adapters.git import Engine, GitFailed, Repo
from tool_adapters.gitdir import GitDir
from tool_adapters.githardening import outward

NAME = "store"  # how git knows the remote, in the copy
NAMESPACE, REMOTE, SEEN, HAD = "refs/skill-state/", "refs/remote/", "refs/seen/", "refs/had/"
AUTHOR = "skill-state <noreply@localhost>"
STALE = 10.0  # seconds after which a lock in the copy is nobody's
PAUSES = (0.0, 1.0, 3.0)  # seconds before each try
QUIETLY = (
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--quiet",
)
LOOSE = 20  # files in one of the 256 folders of loose objects: time to pack
_TAKEN_OVER = re.compile(r"http\..*|url\..*\.(push)?insteadof")
_BROKEN = re.compile(
    r"bad object|is corrupt|object file .* is empty|unable to read|missing (blob|tree|commit|object)|loose object"
    r"|not a git repository|invalid sha1 pointer|did not send all necessary objects|broken ref|bad ref"
)


class GitRemote:
    """contracts.refs.Refs. `checkout` is the top of the user's repository, `copy` the folder of the copy (made when it
    is not there), `remote` a name that the repository knows, an address or a path."""

    def __init__(self, checkout: Path, copy: Path, remote: str) -> None:
        self.copy, self._remote = copy, remote
        self._top = Repo(checkout)
        hardening = outward(os.environ)
        self._engine = Engine(copy, gitanswer.TRANSFER, hardening)
        self._brief = Engine(copy, gitanswer.ANSWER, hardening)
        self._heard = -gitanswer.FRESH  # when the remote answered last (monotonic)
        self._guard = threading.RLock()
        self._packed = False

    # ---- where it is --------------------------------------------------------------------------------------
    @property
    def place(self) -> str:
        return (self._ready() / "place").read_text()

    @property
    def address(self) -> str:
        return re.sub(r"(?<=://)[^/@]*@", "", self._url)

    @cached_property
    def _url(self) -> str:
        """Raises ConfigError for a remote that the repository does not know."""
        settings = {each.name: each.value for each in self._top.engine.settings()}
        at = f"remote.{self._remote}."
        url = settings.get(f"{at}pushurl") or settings.get(f"{at}url")
        if url is None and not re.search(r"[/:]", self._remote):
            known = sorted(each[7:-4] for each in settings if re.fullmatch(r"remote\..*\.url", each))
            raise ConfigError(
                f"there is no remote {self._remote!r} in {self._top.root}",
                hint=f"known: {', '.join(known)}" if known else "`git remote add`, or write its address",
            )
        url = url or self._remote
        local = "://" not in url and not re.match(r"[^/]*:", url)
        return str((self._top.root / Path(url).expanduser()).resolve()) if local else url

    @cached_property
    def _environment(self) -> Mapping[str, str]:
        """The configuration of a call, by the environment: what stands in argv everybody on the machine can read."""
        pairs = [(f"remote.{NAME}.url", self._url), *gitanswer.over_http().items()]
        pairs += [
            (each.name, each.value)
            for each in self._top.engine.settings()
            if _TAKEN_OVER.fullmatch(each.name)
        ]
        for n in range(int(os.environ.get("GIT_CONFIG_COUNT") or 0)):
            pairs.append((os.environ[f"GIT_CONFIG_KEY_{n}"], os.environ[f"GIT_CONFIG_VALUE_{n}"]))
        found = {"GIT_CONFIG_COUNT": str(len(pairs)), **self._ssh()}
        for n, (key, value) in enumerate(pairs):
            found |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": value}
        return found

    def _ssh(self) -> Mapping[str, str]:
        """How SSH is started where the user does not say it themselves."""
        if not re.match(r"ssh://|[^/]*:(?!//)", self._url):
            return {}
        own = any(os.environ.get(name) for name in ("GIT_SSH", "GIT_SSH_COMMAND"))
        own = own or bool(self._engine.run("config", "--get", "core.sshCommand", ok=(0, 1)))
        return {} if own else {"GIT_SSH_COMMAND": gitanswer.SSH}

    def _ready(self) -> Path:
        """The copy, made when it is not there. It borrows the objects of the user's repository, and knows as it does
        where a shallow history ends. Raises Unavailable when it can't be written."""
        place = GitDir.around(self._top.root)
        if place is None:
            raise ConfigError("not a Git repository", where=str(self._top.root))
        common = place.common.resolve()
        sha = self._top.engine.setting("extensions.objectformat")
        config = f"[core]\n\trepositoryformatversion = {int(sha is not None)}\n\tbare = true\n"
        config += f"[extensions]\n\tobjectFormat = {sha}\n" if sha else ""
        shallow = common / "shallow"
        try:
            for folder in ("objects/info", "refs"):
                (self.copy / folder).mkdir(parents=True, exist_ok=True)
            _write(self.copy / "objects/info/alternates", f"{common / 'objects'}\n")
            _write(self.copy / "config", config)
            _write(self.copy / "shallow", shallow.read_text() if shallow.exists() else None)
            _write(self.copy / "remote", self._remote)
            if not (self.copy / "place").exists():
                _write(self.copy / "place", uuid.uuid4().hex)
            _write(self.copy / "HEAD", "ref: refs/heads/none\n")
        except OSError as error:
            raise Unavailable(
                f"the copy of the remote's refs can't be written: {error.strerror}", where=str(self.copy)
            ) from error
        return self.copy

    # ---- the remote ---------------------------------------------------------------------------------------
    def fetch(self, prefix: str) -> Mapping[str, str]:
        """See contracts.refs.Refs. A copy that turns out to be damaged is made anew, once."""
        try:
            return self._fetch(prefix)
        except (GitFailed, Unavailable) as error:
            if not _BROKEN.search(getattr(error.__cause__ or error, "stderr", "")):
                raise
            shutil.rmtree(self.copy, ignore_errors=True)
            return self._fetch(prefix)

    def _fetch(self, prefix: str) -> Mapping[str, str]:
        local = prefix.replace(NAMESPACE, REMOTE, 1)
        with self._locked():
            self._knock()
            self._outside("fetch", "--prune", *QUIETLY, NAME, f"+{prefix}*:{local}*")
            listed = self._inside("for-each-ref", "--format=%(objectname) %(refname)", local).decode()
            self._pack()
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {prefix + ref.removeprefix(local): oid for oid, ref in pairs}

    def push(self, moves: Sequence[Move], *, brief: bool = False) -> None:
        """See contracts.refs.Refs."""
        moves = [move for move in moves if move.old != move.new]
        if not moves:
            return
        leases = [f"--force-with-lease={move.ref}:{move.old}" for move in moves]
        flags = ("--atomic", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
        specs = [f"{move.new}:{move.ref}" for move in moves]
        self._ready()
        if not brief:
            self._knock()
        said: ControllerError | None = None
        for pause in PAUSES:
            time.sleep(pause)
            try:
                self._asked("push", *flags, *leases, NAME, *specs, brief=brief)
                return
            except ControllerError as error:
                said = error
            there = self._where([move.ref for move in moves])
            if all(there.get(move.ref, "") == move.new for move in moves):
                return  # it arrived, only its answer did not
            # Some at new and the rest at old: a server that died midway. The next try makes it whole.
            moved = [move.ref for move in moves if there.get(move.ref, "") not in (move.old, move.new)]
            if moved:
                raise Lost(f"{moved[0]} was moved by somebody else", where=self.address)
            if gitanswer.hopeless(said) or gitanswer.silent(said):
                break
        raise self._refused("push to", said) from said

    def _where(self, refs: Sequence[str]) -> Mapping[str, str]:
        listed = self._outside("ls-remote", "--refs", NAME, *refs, brief=True).decode()
        return {ref: oid for oid, _, ref in (line.partition("\t") for line in listed.splitlines())}

    def _knock(self) -> None:
        """Before a call that may take its time: whether the remote answers at all. Raises Unavailable."""
        if time.monotonic() - self._heard > gitanswer.FRESH:
            self._where(["HEAD"])

    def _asked(self, verb: str, *args: str, brief: bool = False) -> bytes:
        found = (self._brief if brief else self._engine).run(verb, *args, env=self._environment)
        self._heard = time.monotonic()
        return found

    def _outside(self, verb: str, *args: str, brief: bool = False) -> bytes:
        """A verb that asks the remote. Raises Unavailable."""
        self._ready()
        said: ControllerError | None = None
        for pause in PAUSES:
            time.sleep(pause)
            try:
                return self._asked(verb, *args, brief=brief)
            except ControllerError as error:
                said = error
                broken = _BROKEN.search(getattr(error, "stderr", ""))
                if broken or gitanswer.hopeless(error) or gitanswer.silent(error):
                    break
        raise self._refused("read from", said) from said

    def _refused(self, what: str, said: ControllerError | None) -> Unavailable:
        if (hint := gitanswer.remedy(said)) == gitanswer.ACCESS:
            names = ("core.sshcommand", "credential.helper")
            program = next((name for name in names if self._top.engine.setting(name)), None)
            if program:
                hint += f"; {program} of the repository names a program and is not used: set it in your own"
        return Unavailable(f"can't {what} the remote: {gitanswer.why(said)}", where=self.address, hint=hint)

    # ---- the copy -----------------------------------------------------------------------------------------
    def make(self, drafts: Sequence[Draft]) -> list[str]:
        """See contracts.refs.Refs. One process for all."""
        self._ready()
        now, spare = int(time.time()), f"refs/made/{os.getpid()}-{uuid.uuid4().hex[:8]}"
        feed = [b"feature done\n"]
        for number, draft in enumerate(drafts, start=1):
            feed.append(f"commit {spare}\nmark :{number}\ncommitter {AUTHOR} {now} +0000\n".encode())
            feed.append(gitformat.fed(draft.message.encode()))
            if draft.parent is not None:
                mark = f":{draft.parent + 1}" if isinstance(draft.parent, int) else draft.parent
                feed.append(f"from {mark}\n".encode())
            if draft.base != draft.parent:
                feed.append(b"deleteall\n")
                if draft.base:
                    tree = self._inside("rev-parse", "--verify", f"{draft.base}^{{tree}}").decode().strip()
                    feed.append(f"M 040000 {tree} \n".encode())
            for path, data in draft.files.items():
                feed.append(f"D {path}\n".encode() if data is None else gitformat.fed_file(path, data))
            # The ref goes at once: the commit is known by its id, and the next one must not build on it.
            feed.append(f"\nget-mark :{number}\nreset {spare}\nfrom {'0' * 40}\n\n".encode())
        feed.append(b"done\n")
        flags = ("--quiet", "--force", "--done")
        return self._inside("fast-import", *flags, stdin=b"".join(feed)).decode().split()

    def listed(self, commit: str) -> Mapping[str, int]:
        """See contracts.refs.Refs."""
        found = {}
        try:
            out = self._inside("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        except GitFailed as error:  # a ref that somebody set to a file
            if "not a tree object" not in error.stderr:
                raise
            out = b""
        for line in out.split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if tab:
                found[gitformat.text(path)] = int(head.split()[3])
        return found

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """See contracts.refs.Refs."""
        if not names:
            return []
        data = self._inside("cat-file", "--batch", stdin="\n".join(names).encode() + b"\n")
        found: list[bytes | None] = []
        at = 0
        for _ in names:
            end = data.index(b"\n", at)
            head, at = data[at:end], end + 1
            if head.endswith(b" missing"):
                found.append(None)
                continue
            size = int(head.rsplit(b" ", 1)[1])
            found.append(data[at : at + size])
            at += size + 1
        return found

    def have(self, commit: str) -> bool:
        """See contracts.refs.Refs."""
        try:
            if self.read([commit]) == [None]:
                self._outside("fetch", *QUIETLY, NAME, f"+{commit}:{HAD}{commit}")
        except Unavailable as error:
            if not gitanswer.unknown(error.__cause__):
                raise
            return False
        return True

    def contains(self, commit: str, tip: str) -> bool:
        """See contracts.refs.Refs."""
        if commit == tip:
            return True
        # Told from an error by its output: `--is-ancestor` says 1 for both on some versions.
        found = self._inside("merge-base", commit, tip, ok=(0, 1, 128)).decode().strip()
        return found == commit

    def trailers(self, old: str, new: str, key: str) -> list[str]:
        """See contracts.refs.Refs."""
        form = f"--format=tformat:%(trailers:key={key},valueonly,separator=%x1f)%x00"
        found = self._inside("log", form, f"{old}..{new}").decode("utf-8", "replace").split("\0")
        return [each.strip() for each in found[:-1]]

    def seen(self, ref: str) -> str | None:
        """See contracts.refs.Refs. No process."""
        found = GitDir.of(self._ready())
        return found.ref(ref.replace(NAMESPACE, SEEN, 1)) if found else None

    def saw(self, ref: str, commit: str) -> None:
        """See contracts.refs.Refs."""
        if self.seen(ref) != commit:
            with self._locked():
                self._inside("update-ref", ref.replace(NAMESPACE, SEEN, 1), commit)

    def noted(self) -> list[str]:
        """See contracts.refs.Refs."""
        self._ready()
        listed = self._inside("for-each-ref", "--format=%(refname)", SEEN).decode().split()
        return [ref.replace(SEEN, NAMESPACE, 1) for ref in listed]

    def first(self, name: str, value: str, *, anew: bool = False) -> str:
        """See contracts.refs.Refs."""
        path = self._ready() / "first" / digest(name)[:16]
        if anew or not path.exists():
            path.parent.mkdir(exist_ok=True)
            _write(path, value)
        return path.read_text()

    def bring(self, commit: str, branch: str = "") -> None:
        """The commit and its history into the user's repository, where a ref must soon name it: `branch` does, when it
        is not there, or only behind and nowhere checked out."""
        run, ref = self._top.engine.run, f"refs/heads/{branch}"
        if self._top.rev(commit) is None:
            more = ("--upload-pack=git-upload-pack", str(self.copy), commit)
            run("fetch", *QUIETLY, *more, env={"GIT_ALLOW_PROTOCOL": "file"})
        mine = self._top.rev(ref) if branch else commit
        if mine == commit or (mine and self._top.merge_base(mine, commit) != mine):
            return
        if branch not in (held for _, held in self._top.engine.place().holders()):
            self._top.update_ref(ref, commit, mine or "", "as it is on the remote")

    def _inside(self, verb: str, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)) -> bytes:
        """A verb on the copy. Raises Unavailable for a damaged one."""
        try:
            return self._engine.run(verb, *args, stdin=stdin, ok=ok)
        except GitFailed as error:
            if not _BROKEN.search(error.stderr):
                raise
            raise Unavailable(
                f"the copy of the remote's refs is damaged: {error.message}",
                where=str(self.copy),
                hint="delete that folder: it is made again from the remote",
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time moves the refs of the copy. A git whose controller was killed may still be at it."""
        self._ready()
        with self._guard, (self.copy / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for lock in (*(self.copy / "refs").rglob("*.lock"), self.copy / "packed-refs.lock"):
                while (age := _age(lock)) is not None and age < STALE:
                    time.sleep(0.1)
                lock.unlink(missing_ok=True)
            yield

    def _pack(self) -> None:
        """Packs the copy when there is much that is loose; once a process."""
        if self._packed:
            return
        self._packed = True
        if len(list((self.copy / "objects").glob("17/*"))) > LOOSE:
            self._inside("gc", "--quiet", "--prune=1.day.ago")


def _write(path: Path, text: str | None) -> None:
    """`text` as the content of `path` (None: no file); nothing is written where it is that already."""
    if text is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_text() != text:
        durable.replace(path, text.encode())


def _age(path: Path) -> float | None:
    """Seconds since it was written; None when it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return None
