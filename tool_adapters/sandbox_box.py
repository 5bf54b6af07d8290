"""One sandbox as all kinds of it understand it: what is seen, where the command starts, what it may use."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tool_adapters.sandbox_mounts import Mount

Kind = Literal["bwrap", "landlock", "sandbox-exec"]
MIB = 1024 * 1024


def memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True)
class Resources:
    """Limits of one command, generous: they stop an accident or an attack, not a build. Bytes, but `processes`
    and `files` (open at once); `memory` is of each process, 0: as much as the machine has."""

    processes: int = 2048
    files: int = 16384
    file_size: int = 4096 * MIB
    memory: int = 0
    scratch: int = 2048 * MIB

    def limits(self) -> dict[str, int]:
        """By the names of `prlimit`, never above what this process may have itself."""
        wanted = {
            "core": (resource.RLIMIT_CORE, 0),
            "fsize": (resource.RLIMIT_FSIZE, self.file_size),
            "nofile": (resource.RLIMIT_NOFILE, self.files),
            "nproc": (resource.RLIMIT_NPROC, self.processes),
            "data": (resource.RLIMIT_DATA, self.memory or memory()),
        }
        found = {}
        for name, (number, most) in wanted.items():
            hard = resource.getrlimit(number)[1]
            found[name] = most if hard == resource.RLIM_INFINITY else min(most, hard)
        return found

    @property
    def temporary(self) -> int:
        """Bytes of each writable place that is held in memory."""
        return min(self.scratch, memory() // 4)


@dataclass(frozen=True)
class Box:
    """`mounts`: folders before what lies in them. `private`: an own empty folder on disk, for kinds that can't
    make one in memory."""

    mounts: tuple[Mount, ...]
    cwd: Path
    network: bool
    resources: Resources
    private: Path | None = None


@dataclass(frozen=True)
class Found:
    """A sandbox that was tried and works. `weaker`: what this kind does not keep in, empty when nothing."""

    kind: Kind
    program: str
    version: str
    source: str
    weaker: str = ""

    def __str__(self) -> str:
        name = f"{self.kind} {self.version}".strip()
        return f"{name} (weaker: {self.weaker})" if self.weaker else name


@dataclass(frozen=True)
class Refused:
    """Why there is no sandbox here, and how to get one."""

    reason: str
    install: str


def limited(resources: Resources, prlimit: Path = Path("/usr/bin/prlimit")) -> list[str]:
    """The words before a command that set its limits; by the shell where there is no `prlimit`."""
    limits = resources.limits()
    if os.access(prlimit, os.X_OK):
        return [str(prlimit), *(f"--{name}={value}" for name, value in limits.items()), "--"]
    # Shells disagree about the letter for processes, and some refuse single limits: each is set if it can be.
    lines = [
        "ulimit -c 0",
        f"ulimit -f {limits['fsize'] // 512}",
        f"ulimit -n {limits['nofile']}",
        f"ulimit -d {limits['data'] // 1024}",
        f"{{ ulimit -u {limits['nproc']} || ulimit -p {limits['nproc']}; }}",
    ]
    return ["/bin/sh", "-c", f'{{ {"; ".join(lines)}; }} 2>/dev/null; exec "$@"', "sh"]
