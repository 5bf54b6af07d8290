"""Git, as fixed verbs over the git binary: the only module that starts git, through GitPython's command runner.

A repository is untrusted: its configuration, attributes and hooks, and the caller's environment, may name
programs that git would run in our process tree. So every call has the same environment and the same overriding
options, names its Git directory itself, and every driver that the configuration defines (filter, diff, merge)
is overridden by name. The configuration is read again whenever one of its files has changed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from contracts.errors import ConfigError, Lost, Permanent, Temporary, Unavailable
from contracts.repository import FileStat, Hit, Position, Status
from tool_adapters import gitformat
from tool_adapters.bounded import Bounded
from tool_adapters.descendants import CHILD, this_mark
from tool_adapters.gitdir import GitDir
from tool_adapters.githardening import WITHIN, Hardening, Signature, overrides, signature, sources
from tool_adapters.gitposition import Positions

# GitPython runs `git version` while it is imported; without git that would raise, and we say it better.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
from git.cmd import Git as GitCommand
from git.exc import GitCommandNotFound

TIMEOUT = 120.0
# Files that the set-up of a worktree left there: ignored, without a word in the repository itself.
EXCLUDES = "skill-state-exclude"
_DISK = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system", re.IGNORECASE)
_LOCKED = re.compile(r"Unable to create '([^']*\.lock)': File exists")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty")


class GitFailed(Permanent):
    """git said no: `status` is its exit code, the message its own first line."""

    def __init__(self, verb: str, status: int, stderr: str, out: bytes = b"") -> None:
        lines = [line for line in stderr.splitlines() if line.strip()]
        first = next((line for line in lines if line.startswith(("fatal:", "error:"))), (lines or ["?"])[0])
        super().__init__(f"git {verb}: {first.split(': ', 1)[-1][:300]}")
        self.status, self.stderr, self.out = status, stderr, out


class Engine:
    """Runs git on one worktree or bare repository, which need not exist yet. `processes` counts what was
    started, `verbs` by verb."""

    def __init__(self, root: Path, timeout: float = TIMEOUT, hardening: Hardening = WITHIN) -> None:
        self.root, self.timeout, self.hardening = root, timeout, hardening
        self.processes = 0
        self.verbs: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._read: tuple[Signature, tuple[Path, ...], tuple[gitformat.Setting, ...], tuple[str, ...]] | None
        self._read = None
        self._command = GitCommand(str(root))

    def place(self) -> GitDir:
        """The Git directory; looked up each time, since it may be made, moved or mended under us."""
        found = GitDir.of(self.root)
        if found is None:
            raise ConfigError(f"{self.root} is not a Git repository or worktree")
        return found

    def run(
        self,
        verb: str,
        *args: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        ok: Collection[int] = (0,),
        sink: Bounded | None = None,
        globs: Sequence[str] = (),
    ) -> bytes:
        """stdout of `git VERB ARGS`. Paths are taken literally, but for `globs`, which come last. Raises
        GitFailed when the exit code is not in `ok`, Temporary for a lock or the time limit."""
        place = self.place()
        _, neutral = self._configuration(place)
        ignore = f"core.excludesFile={place.own / EXCLUDES}"
        specs = [spec for glob in globs for spec in (f":(top,glob){glob}", f":(top,glob){glob}/**")]
        tail = (*args, "--", *specs) if specs else args
        words = [
            # check-ignore dies of the option; `ignored` spells its paths so that none is magic.
            *([] if specs or verb == "check-ignore" else ["--literal-pathspecs"]),
            *_flags((*self.hardening.options, ignore, *neutral)),
            verb,
            *tail,
        ]
        return self._execute(place, verb, words, stdin, env or {}, ok, sink)

    def settings(self) -> tuple[gitformat.Setting, ...]:
        """The repository's own configuration, read again when it changed."""
        return self._configuration(self.place())[0]

    def setting(self, name: str) -> str | None:
        """The last value of `name` (lower case), or None."""
        return next((each.value for each in reversed(self.settings()) if each.name == name), None)

    def _configuration(self, place: GitDir) -> tuple[tuple[gitformat.Setting, ...], tuple[str, ...]]:
        always = place.config_files()
        if self._read and self._read[0] == signature((*always, *self._read[1])):
            return self._read[2:]
        # Taken before reading: what is written while git reads shows up as a change the next time.
        before = signature(always)
        words = [*_flags(self.hardening.options), "config", "--list", "-z", "--show-origin", "--includes"]
        settings = gitformat.settings(self._execute(place, "config", words, None, {}, (0,), None))
        more = tuple(sorted(sources(settings, self.root) - set(always)))
        self._read = ((*before, *signature(more)), more, settings, overrides(settings))
        return self._read[2:]

    def _execute(
        self,
        place: GitDir,
        verb: str,
        words: Sequence[str],
        stdin: bytes | None,
        extra: Mapping[str, str],
        ok: Collection[int],
        sink: Bounded | None,
    ) -> bytes:
        env = {**self.hardening.environment, f"{CHILD}git": this_mark(), "GIT_DIR": str(place.own), **extra}
        if place.root is not None:
            env["GIT_WORK_TREE"] = str(place.root)
        with self._guard:
            self.processes += 1
            self.verbs[verb] += 1
        with tempfile.TemporaryFile() as feed:
            if stdin is not None:
                feed.write(stdin)
                feed.seek(0)
            try:
                status, out, err = self._command.execute(
                    [*_program({*env, *self.hardening.passed}), *words],
                    istream=feed if stdin is not None else None,
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    output_stream=sink,
                    kill_after_timeout=self.timeout,
                    env=env,
                    # An interrupt at the terminal is for the controller: half a commit helps nobody.
                    start_new_session=self.hardening.alone,
                    process_group=None if self.hardening.alone else 0,
                )
            except GitCommandNotFound as error:
                raise ConfigError("git was not found", hint="install git 2.31 or newer") from error
        if status in ok:
            return out if isinstance(out, bytes) else b""
        said = err if isinstance(err, str) else gitformat.text(err or b"")
        if said.startswith("Timeout:"):
            raise Temporary(f"git {verb} did not end in {self.timeout:g} s and was ended")
        if locked := _LOCKED.search(said):
            raise Temporary(f"git {verb}: another git holds {locked[1]}", hint="try again")
        if full := _DISK.search(said):
            raise Unavailable(
                f"git {verb}: {full[0]}",
                where=str(place.common),
                hint="nothing is lost: free space or mend the mount, then run again",
            )
        raise GitFailed(verb, status, said, out if isinstance(out, bytes) else b"")


def _flags(options: Sequence[str]) -> list[str]:
    return [part for option in options for part in ("-c", option)]


def _program(known: Collection[str]) -> list[str]:
    """git, absolute; behind `env -u` when the caller's environment has a GIT_… variable that is not `known` and so
    must not reach it, since GitPython hands the whole environment down."""
    program = shutil.which(
        "git", path=os.pathsep.join(each for each in os.get_exec_path() if each[:1] == "/")
    )
    if program is None:
        raise ConfigError("git was not found on PATH", hint="install git 2.31 or newer")
    foreign = [
        name
        for name in os.environ
        if name.startswith("GIT_") and not name.startswith("GIT_PYTHON_") and name not in known
    ]
    return ["env", *(part for name in foreign for part in ("-u", name)), program] if foreign else [program]


class ReadOnlyRepo:
    """contracts.repository.GitReader over one worktree."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._positions = Positions(engine.run, engine.place)

    @property
    def root(self) -> Path:
        return self.engine.root

    @property
    def processes(self) -> int:
        """git processes started through this engine so far."""
        return self.engine.processes

    def status(self) -> Status:
        """See GitReader. One process; writes nothing, not even a refreshed index."""
        flags = ("--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames")
        args = (*flags, "--untracked-files=all", "--ignore-submodules=dirty")
        found = gitformat.status(self.engine.run("status", *args))
        return replace(found, untracked=(*found.untracked, *self._positions.planted()))

    def rev(self, name: str) -> str | None:
        """See GitReader. No process where a branch's own file says it."""
        place = self.engine.place()
        for ref in (name, f"refs/heads/{name}"):
            if ref.startswith(("refs/heads/", "refs/remotes/")) and (found := place.ref(ref)):
                return found
        if name.startswith("-"):
            return None
        out = self.engine.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok=(0, 1, 128))
        return out.decode().strip() or None

    def position(self, base: str, head: str) -> Position:
        """See GitReader. No process when neither commit nor a tag moved, one for a new commit on the last
        head, else three."""
        return self._positions.at(base, head)

    def changed(self, base: str, globs: Sequence[str] = ()) -> tuple[str, ...]:
        """See GitReader."""
        return gitformat.paths(self.engine.run("diff", *_DIFF, "--name-only", "-z", base, globs=globs))

    def files(self) -> tuple[str, ...]:
        """See GitReader. Sorted; what is gone from the worktree is left out."""
        listed = self.engine.run("ls-files", "-z", "-t", "-c", "-o", "-d", "--exclude-standard").split(b"\0")
        gone = {each[2:] for each in listed if each[:1] == b"R"}
        return tuple(sorted({gitformat.text(each[2:]) for each in listed if each and each[2:] not in gone}))

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """See GitReader."""
        if not paths:
            return frozenset()
        fed = b"\0".join(b"./" + gitformat.raw(path) for path in paths)
        found = gitformat.paths(self.engine.run("check-ignore", "-z", "--stdin", stdin=fed, ok=(0, 1)))
        return frozenset(path.removeprefix("./") for path in found)

    def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        word: bool = False,
        ignore_case: bool = False,
        globs: Sequence[str] = (),
        limit: int = 1000,
    ) -> tuple[tuple[Hit, ...], bool]:
        """See GitReader. Binary files are left out; a line is cut at 400 characters."""
        flags = ["-E" if regex else "-F", *["-w"] * word, *["-i"] * ignore_case]
        sink = Bounded(8 * 1024 * 1024)
        args = ("-I", "-n", "-z", "--no-color", "--full-name", "--untracked", *flags, "-e", pattern)
        self.engine.run("grep", *args, sink=sink, globs=globs, ok=(0, 1))
        hits = gitformat.grep(sink.data)
        return hits[:limit], len(hits) > limit or sink.total > len(sink.data)

    def diff(
        self, old: str, new: str | None = None, *, globs: Sequence[str] = (), limit: int = 65536
    ) -> tuple[bytes, int]:
        """See GitReader. The first `limit` bytes and the size of the whole."""
        sink = Bounded(limit)
        self.engine.run("diff", *_DIFF, "--no-color", *([old, new] if new else [old]), sink=sink, globs=globs)
        return sink.data, sink.total

    def diffstat(self, old: str, new: str) -> tuple[FileStat, ...]:
        """See GitReader."""
        return gitformat.numstat(self.engine.run("diff", *_DIFF, "--numstat", "-z", old, new))

    def show(self, commit: str, path: str) -> bytes | None:
        """See GitReader."""
        try:
            return self.engine.run("cat-file", "blob", f"{commit}:{path}")
        except GitFailed:
            return None

    def tree(self, commit: str, folder: str) -> tuple[str, ...]:
        """See GitReader."""
        inside = ("--", folder) if folder else ()
        return gitformat.paths(
            self.engine.run("ls-tree", "-rz", "--name-only", "--full-tree", commit, *inside)
        )

    def find(self, base: str, head: str, key: str, value: str) -> str | None:
        """See GitReader. The newest 200 commits are looked at first: a commit that is looked for after a
        crash is the last one."""
        form = f"--format=tformat:%H%x00%(trailers:key={key},valueonly,separator=%x1f)%x00"
        for count in ("-n200", "-n999999999"):
            fields = self.engine.run("log", count, form, f"{base}..{head}").replace(b"\n", b"").split(b"\0")
            for oid, values in zip(fields[::2], fields[1::2], strict=False):
                if value.encode() in values.split(b"\x1f"):
                    return oid.decode()
            if len(fields) < 400:
                break
        return None

    def merge_base(self, one: str, other: str) -> str | None:
        """See GitReader."""
        return self.engine.run("merge-base", one, other, ok=(0, 1)).decode().strip() or None

    def operation(self) -> str | None:
        """See GitReader. No process."""
        return self.engine.place().operation()

    def shallow(self) -> bool:
        """See GitReader. No process."""
        return self.engine.place().shallow()

    def remote(self) -> str | None:
        """See GitReader. No process when the configuration did not change."""
        place = self.engine.place()
        name = self.engine.setting(f"branch.{place.branch()}.remote") or "origin"
        url = self.engine.setting(f"remote.{name}.url")
        return re.sub(r"(?<=://)[^/@]*@", "", url) if url else None

    def config_digest(self) -> str:
        """See GitReader. No process."""
        return self.engine.place().code_digest()


class Repo(ReadOnlyRepo):
    """contracts.repository.Git: the reading verbs and the writing ones."""

    def __init__(self, root: Path, timeout: float = TIMEOUT) -> None:
        super().__init__(Engine(root, timeout))

    def reader(self) -> ReadOnlyRepo:
        """The same repository without the verbs that write; counts on the same engine."""
        return ReadOnlyRepo(self.engine)

    def commit(self, paths: Sequence[str], message: str, *, parent: str, author: str) -> str:
        """Commits exactly `paths` as they are in the worktree (gone: removed) on the branch that HEAD is on, which
        must be at `parent`; the index follows. Returns the new commit, or `parent` when nothing differs. Hooks do
        not run. Five processes. Raises Lost when the branch moved. By HEAD, not by the branch's name: a worktree
        whose HEAD was taken off the branch can't move it any more, and Git looks at both in one transaction."""
        fed = b"\0".join(map(gitformat.raw, paths))
        for attempt in (1, 2):
            self.engine.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=fed)
            tree = self.engine.run("write-tree").decode().strip()
            oid = self.commit_tree(tree, [parent], message, author)
            changes = self._changes(oid)
            if set(changes) <= set(paths):
                break
            if attempt == 2:
                stray = sorted(set(changes) - set(paths))
                raise Permanent(f"the commit would hold more than its step changed: {', '.join(stray[:5])}")
            # Something else was staged: the index goes back to the parent and takes only `paths`.
            self.engine.run("read-tree", parent)
        if not changes:
            return parent
        self.update_ref("HEAD", oid, parent, message.split("\n", 1)[0])
        return oid

    def _changes(self, oid: str) -> Mapping[str, str]:
        args = ("-1", "--raw", "--no-abbrev", "--no-renames", "-z", gitformat.LOG_FORMAT, oid)
        return gitformat.logged(self.engine.run("log", *args)).changes

    def commit_tree(self, tree: str, parents: Sequence[str], message: str, author: str) -> str:
        """A commit object of `tree`, dated now, on no branch."""
        name, _, mail = author.rstrip(">").rpartition(" <")
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", name or "skill-state"), ("EMAIL", mail))
        }
        args = [part for parent in parents for part in ("-p", parent)]
        fed = message.encode("utf-8", "replace")
        return self.engine.run("commit-tree", tree, *args, "-F", "-", stdin=fed, env=who).decode().strip()

    def update_ref(self, ref: str, new: str | None, old: str | None, why: str) -> None:
        """Moves `ref` from `old` to `new`. `old` None: wherever it is; empty: it must not exist. `new` None:
        deletes it. Raises Lost when it is not at `old`."""
        expected = [] if old is None else [old or "0" * len(new or "")]
        try:
            if new is None:
                self.engine.run("update-ref", "-d", ref, *expected)
            else:
                self.engine.run("update-ref", "-m", f"skill-state: {why[:100]}", ref, new, *expected)
        except GitFailed as error:
            if "but expected" in error.stderr or "already exists" in error.stderr:
                raise Lost(f"{ref} was moved by somebody else", hint=error.message) from error
            raise
