"""Whether a process still lives: identity by boot, pid and start time. Standard library only: `status` needs it
before anything heavy is imported."""

from __future__ import annotations

import os
import socket
import subprocess
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def boot() -> str:
    """An id of this boot: Linux's boot id, else the boot time."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        asked = subprocess.run(["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False)
        return asked.stdout.strip() or "unknown"


def started(pid: int) -> str:
    """When the process started, as text that differs for every reuse of a pid; empty when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    except OSError:
        return ""
    asked = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def lives(host: str, on_boot: str, pid: int, start: str) -> bool | None:
    """True or False for a process of this host, None for one of another host (nothing can be known)."""
    if host != socket.gethostname():
        return None
    return on_boot == boot() and bool(start) and started(pid) == start


def this_process() -> tuple[str, str, int, str, int]:
    """(host, boot id, pid, start, process group) of this process."""
    pid = os.getpid()
    return socket.gethostname(), boot(), pid, started(pid), os.getpgid(0)
