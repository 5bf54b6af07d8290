"""Which folders outside the system a command's programs live in: found by following the program, its links, its
first line and its virtual environment.

What lies in the worktree may have been written by a model, so nothing found there can make a private folder
visible: from there only an installation of an interpreter is followed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tool_adapters.sandbox_mounts import SYSTEM, Mount

# Looked up on every PATH, since `make`, `npm` or a shell script may start them.
INTERPRETERS = (
    *("python3", "python", "pip", "uv", "node", "npm", "npx", "pnpm", "yarn", "deno", "bun", "ruby", "go"),
    *("java", "perl", "php", "git", "rg", "make"),
)
ENVIRONMENTS = (".venv/bin/python", "venv/bin/python", "env/bin/python")
_BIN = ("bin", "sbin", "shims", ".bin")
# What makes a folder an interpreter's own, and not just somebody's.
_INSTALLED = (
    *("lib/python3*/os.py", "lib/node_modules", "lib/ruby/*/rbconfig.rb", "lib/ruby/*/set.rb"),
    *("src/runtime/proc.go", "lib/modules", "lib/perl5/*/strict.pm", "libexec/pyenv", "libexec/rbenv"),
)
_SHOWN = (*SYSTEM, "/etc/alternatives")
_DEEPEST = 12


@dataclass(frozen=True)
class Toolchains:
    """`worktree` is where nothing is trusted; `home` is never shown as a whole."""

    worktree: Path
    home: Path

    def of(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[Mount, ...]:
        """The mounts that the programs of `argv`, the interpreters on the PATH and the worktree's virtual
        environments need, beside the system's."""
        path = env.get("PATH", os.defpath)
        return (*_interpreters(self, path), *self._mounts(self._starts(argv, cwd, path), path))

    def _mounts(self, starts: Iterable[tuple[str, Path, bool]], path: str) -> tuple[Mount, ...]:
        found: dict[Path, Mount] = {}
        for name, program, trusted in starts:
            try:
                for place in self._trail(program, path, trusted=trusted):
                    found.setdefault(place, Mount(place, "ro", f"{name} lives there"))
            except OSError:
                continue  # what this user may not even look at is no program of theirs
        return tuple(found.values())

    def _starts(self, argv: Sequence[str], cwd: Path, path: str) -> Iterator[tuple[str, Path, bool]]:
        """(name, program, whether its place was named by the user)"""
        for name in dict.fromkeys(_words(argv)):
            if "/" in name:
                # A path in a shell's text may be a parameter that a model filled in.
                if os.access(cwd / name, os.X_OK):
                    yield name, Path(os.path.abspath(cwd / name)), name == argv[0]  # noqa: PTH100 (keeps links)
            elif found := shutil.which(name, path=path):
                yield name, Path(found), True
        for folder in dict.fromkeys((cwd, self.worktree)):
            for name in ENVIRONMENTS:
                if os.access(folder / name, os.X_OK):
                    yield name, folder / name, False

    def _trail(self, program: Path, path: str, *, trusted: bool, depth: int = 0) -> Iterator[Path]:
        if depth > _DEEPEST:
            return
        hops = _hops(program)
        for hop in hops:
            trusted = trusted and not self._inside(hop)
            if place := self._place(hop, trusted):
                yield place
            if base := _environment_base(hop):
                yield from self._trail(base, path, trusted=trusted, depth=depth + 1)
        if interpreter := _first_line(hops[-1], path):
            trusted = trusted and not self._inside(interpreter)
            yield from self._trail(interpreter, path, trusted=trusted, depth=depth + 1)

    def _place(self, program: Path, trusted: bool) -> Path | None:
        """What must be shown so that `program` works there: its prefix, or only the file where that would show
        too much; None when it is shown anyway, or must not be."""
        if self._inside(program) or any(program.is_relative_to(each) for each in _SHOWN):
            return None
        prefix = program.parent.parent if program.parent.name in _BIN else program.parent
        if self._too_much(prefix):
            return program if trusted and program.exists() else None
        if any(any(prefix.glob(pattern)) for pattern in _INSTALLED):
            return prefix
        if not trusted:
            return None
        shallow = len(prefix.parts) < 3 or prefix.parent == self.home
        return program if shallow else prefix

    def _too_much(self, prefix: Path) -> bool:
        return len(prefix.parts) < 2 or any(
            each.is_relative_to(prefix) for each in (self.home, self.worktree, Path("/run"), Path("/tmp"))
        )

    def _inside(self, path: Path) -> bool:
        return path.is_relative_to(self.worktree)


@lru_cache(maxsize=32)
def _interpreters(toolchains: Toolchains, path: str) -> tuple[Mount, ...]:
    """Looked for once a process: no command can change what lies outside the worktree."""
    starts = [(name, Path(found), True) for name in INTERPRETERS if (found := shutil.which(name, path=path))]
    return toolchains._mounts(starts, path)


def _words(argv: Sequence[str]) -> list[str]:
    """The words that may be programs: the first, or those of a shell's text."""
    if len(argv) >= 3 and argv[1] == "-c" and Path(argv[0]).name in ("sh", "bash", "dash", "zsh"):
        lexer = shlex.shlex(argv[2], posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            words = argv[2].split()
        return [argv[0], *(word for word in words[:200] if word and not word.startswith("-"))]
    return list(argv[:1])


def _hops(path: Path) -> list[Path]:
    """`path`, what it links to, and so on; then where it really is."""
    hops = [path]
    while hops[-1].is_symlink() and len(hops) < _DEEPEST:
        hops.append(Path(os.path.normpath(hops[-1].parent / hops[-1].readlink())))
    real = path.resolve()
    return hops if hops[-1] == real else [*hops, real]


def _environment_base(program: Path) -> Path | None:
    """The interpreter that the virtual environment of `program` was made from."""
    try:
        lines = (program.parent.parent / "pyvenv.cfg").read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            return Path(value.strip()) / "python3"
    return None


def _first_line(program: Path, path: str) -> Path | None:
    """The interpreter that a script names in its first line."""
    try:
        with program.open("rb") as file:
            line = file.read(256).split(b"\n", 1)[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode("utf-8", "surrogateescape").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(words[0], path=path) if words else None
        return Path(found) if found else None
    return Path(words[0]) if words and words[0].startswith("/") else None
