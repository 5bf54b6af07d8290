"""A Git remote: where its refs stand, pushes with leases, objects fetched.

A remote is spoken to from an empty repository of ours that borrows the user's objects for the moment: nothing in the
repository's own configuration (an address rewritten, a proxy, a helper, a certificate switched off, a hook) has a part
in it. A push is never forced: each ref moves only from the commit where it was expected. A token is handed to git in
its environment, for one host; it stands in no argument and in no file.
"""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from contracts.errors import ConfigError, Permanent, Temporary
from contracts.text import line
from tool_adapters import gitanswer
from tool_adapters.git import Engine, GitFailed, ReadOnlyRepo

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SCP = re.compile(r"(?:[^@/:]+@)?([^:/]+):(?!/)(.+)")
_UNREACHED = re.compile(
    r"Could ?n.t resolve|Could not resolve|Failed to connect|Connection refused|No route to host|Network is unreachable"
    r"|returned error: (429|5\d\d)|Connection timed out",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"hung up|early EOF|RPC failed|Connection reset|Broken pipe|unexpected disconnect|did not end in|timed out|too slow"
    r"|SSL_ERROR|GnuTLS|Empty reply|transfer closed",
    re.IGNORECASE,
)
_MOVED = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "incorrect old value",
    "already exists",
)
_ENDED = "did not end in"


@dataclass(frozen=True)
class Access:
    """A token for the git of one host (`github.com`, `127.0.0.1:8000`). `user` is the name that goes with it."""

    host: str
    token: str
    user: str = "x-access-token"

    def __repr__(self) -> str:
        return f"Access({self.host})"


@dataclass(frozen=True)
class Pushed:
    """What became of a push; of several refs all moved, or none.

    done     every ref stands where it should.
    moved    one stood elsewhere than expected: somebody else was there.
    refused  the remote said no, and will say so again: a protected branch, a hook, no access.
    later    the remote was not reached: nothing was sent.
    maybe    the connection ended while it was at work: look where the refs stand before anything else.
    """

    kind: Literal["done", "moved", "refused", "later", "maybe"]
    why: str = ""


class Remote:
    """One remote of the repository that `engine` works on: `named` in its configuration, or an address. `seconds` is
    the limit of a call that moves objects. Raises ConfigError where there is no remote of that name, or its address is
    of a kind that is not spoken."""

    def __init__(
        self, engine: Engine, named: str, access: Access | None = None, seconds: float | None = None
    ) -> None:
        self._engine, self._seconds = engine, seconds or gitanswer.TRANSFER
        self.url, self._protocol = _spoken(_address(engine, named), engine, named, access)
        self._access = access if access and urlsplit(self.url).netloc.lower() == access.host.lower() else None

    def tips(self, refs: Sequence[str]) -> dict[str, str]:
        """Full ref -> commit, of those of `refs` that are there (`refs/heads/x`; `refs/x/*` is all below). Raises
        Temporary, Permanent."""
        wanted = [re.compile(re.escape(ref).replace(r"\*", ".*")) for ref in refs]
        with self._borrowed(seconds=min(self._seconds, gitanswer.ANSWER)) as (git, env):
            try:
                out = git.run("ls-remote", "--refs", "--quiet", "--", self.url, *refs, env=env).decode(
                    "utf-8", "replace"
                )
            except GitFailed as error:
                raise _unreadable(error) from None
        rows = (row.split("\t", 1) for row in out.splitlines() if "\t" in row)
        return {ref: oid for oid, ref in rows if any(each.fullmatch(ref) for each in wanted)}

    def push(self, moves: Mapping[str, tuple[str | None, str | None]]) -> Pushed:
        """Moves full refs, all or none: ref -> (new, expected). `new` None deletes; `expected` None: it must not be
        there yet. Raises nothing for what the remote does."""
        leases = [f"--force-with-lease={ref}:{old or ''}" for ref, (_, old) in moves.items()]
        specs = [f"{new or ''}:{ref}" for ref, (new, _) in moves.items()]
        options = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", *leases]
        options += ["--atomic"] if len(moves) > 1 else []
        with self._borrowed() as (git, env):
            try:
                git.run("push", *options, "--", self.url, *specs, env=env)
            except GitFailed as error:
                return _outcome(error)
            except Temporary as error:
                return Pushed("maybe" if _ENDED in error.message else "later", error.message)
        return Pushed("done")

    def fetch(self, refs: Sequence[str], have: Sequence[str] = ()) -> dict[str, str]:
        """The objects of full `refs` into the repository, which gets no ref of them; full ref -> commit. `have` are
        commits that the repository holds: what they reach is not sent again. Raises Temporary, Permanent."""
        with self._borrowed(have) as (git, env):
            specs = [f"+{ref}:{ref}" for ref in refs]
            options = (
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--recurse-submodules=no",
            )
            try:
                git.run("fetch", "--quiet", *options, "--", self.url, *specs, env=env)
            except GitFailed as error:
                raise _unreadable(error) from None
            place = git.place()
            return {ref: oid for ref in refs if (oid := place.ref(ref))}

    def beyond(self, ref: str, tip: str, head: str) -> tuple[str, ...]:
        """What `tip` holds and `head` does not, newest first, `AUTHOR: SUBJECT`; at most 200. Either may be a commit
        that only `ref` of the remote has: its objects are fetched. Raises Temporary, Permanent."""
        known = ReadOnlyRepo(self._engine)
        if missing := [each for each in (tip, head) if known.rev(each) is None]:
            self.fetch([ref], have=[each for each in (tip, head) if each not in missing])
            if any(known.rev(each) is None for each in missing):
                raise Temporary(f"{ref} of the remote moves while it is looked at")
        args = ("-z", "-n200", "--format=tformat:%an: %s", f"{head}..{tip}")
        rows = self._engine.run("log", *args).decode("utf-8", "replace").split("\0")
        return tuple(line(row, 200) for row in rows if row.strip())

    @contextmanager
    def _borrowed(
        self, have: Sequence[str] = (), seconds: float | None = None
    ) -> Iterator[tuple[Engine, dict[str, str]]]:
        """An empty repository on the objects of ours, and the environment of what is run in it."""
        common = self._engine.place().common
        with tempfile.TemporaryDirectory(prefix="skill-state-git-") as folder:
            root = Path(folder)
            for name in ("objects", "refs"):
                (root / name).mkdir()
            (root / "HEAD").write_text("ref: refs/heads/none\n")
            form = self._engine.setting("extensions.objectformat")
            more = f"[extensions]\n\tobjectformat = {form}\n" if form in ("sha1", "sha256") else ""
            (root / "config").write_text(
                f"[core]\n\trepositoryformatversion = {1 if more else 0}\n\tbare = true\n{more}"
            )
            if (common / "shallow").exists():
                (root / "shallow").write_bytes((common / "shallow").read_bytes())
            if have:
                (root / "packed-refs").write_text(
                    "".join(f"{oid} refs/have/{oid}\n" for oid in sorted(set(have)))
                )
            yield Engine(root, seconds or self._seconds), self._environment(common / "objects")

    def _environment(self, objects: Path) -> dict[str, str]:
        options = {"http.followRedirects": "false", "push.gpgSign": "false", **gitanswer.over_http()}
        if self._access is not None:
            pair = base64.b64encode(f"{self._access.user}:{self._access.token}".encode()).decode()
            origin = "{0.scheme}://{0.netloc}/".format(urlsplit(self.url))
            options[f"http.{origin}.extraHeader"] = f"Authorization: Basic {pair}"
        env = {"GIT_CONFIG_COUNT": str(len(options))}
        for number, (name, value) in enumerate(options.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return env | {
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALLOW_PROTOCOL": self._protocol,
            # Whatever it would ask, nobody is there to answer.
            "GIT_SSH_COMMAND": f"{gitanswer.SSH} -o BatchMode=yes",
        }


# ---- addresses --------------------------------------------------------------------------------------------
def _address(engine: Engine, named: str) -> str:
    if "/" in named or ":" in named:
        return named
    url = engine.setting(f"remote.{named}.pushurl") or engine.setting(f"remote.{named}.url")
    if not url:
        raise ConfigError(f"the repository has no remote {named!r}", hint=f"`git remote add {named} URL`")
    return url


def _spoken(url: str, engine: Engine, named: str, access: Access | None) -> tuple[str, str]:
    """(the address as it is used, its protocol). An address for ssh on the host that we have a token for is spoken to
    by https."""
    if "://" not in url and "::" not in url:
        if scp := _SCP.fullmatch(url):
            return _https(scp[1], scp[2], access) or (url, "ssh")
        root = engine.place().root or engine.root
        return str((root / Path(url).expanduser()).resolve()), "file"
    parts = urlsplit(url)
    if parts.scheme == "ssh":
        return _https(parts.hostname or "", parts.path.lstrip("/"), access) or (url, "ssh")
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        # A name and password in it would stand in the arguments of a process.
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(), parts.scheme
    if parts.scheme == "file":
        return url, "file"
    raise ConfigError(
        f"remote {named!r}: an address of this kind is not spoken to: {line(parts.scheme or url, 40)}",
        hint="https, ssh, or a folder",
    )


def _https(host: str, path: str, access: Access | None) -> tuple[str, str] | None:
    if access is None or host.lower() != access.host.lower():
        return None
    return f"https://{host}/{path}", "https"


# ---- what git says ----------------------------------------------------------------------------------------
def _outcome(error: GitFailed) -> Pushed:
    """What a push that failed came to, from its porcelain rows and what was printed on stderr."""
    rows = [
        row.split("\t") for row in error.out.decode("utf-8", "replace").splitlines() if row.startswith("!\t")
    ]
    whys = [row[2] for row in rows if len(row) > 2 and "atomic" not in row[2]]
    if any(word in why for why in whys for word in _MOVED):
        return Pushed("moved", "it stands at another commit than was seen")
    if whys:
        return Pushed("refused", line(f"{whys[0]}{_told(error.stderr)}", 300))
    if _UNREACHED.search(error.stderr):
        return Pushed("later", error.message)
    return Pushed("maybe" if _CUT.search(error.stderr) else "refused", error.message)


def _told(stderr: str) -> str:
    """The remote's own words on a refusal."""
    said = [row.removeprefix("remote:").strip() for row in stderr.splitlines() if row.startswith("remote:")]
    return f": {' '.join(filter(None, said))}" if any(said) else ""


def _unreadable(error: GitFailed) -> Temporary | Permanent:
    passing = _UNREACHED.search(error.stderr) or _CUT.search(error.stderr)
    return (Temporary if passing else Permanent)(error.message)
