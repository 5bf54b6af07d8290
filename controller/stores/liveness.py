"""Whether a process still lives: identity by boot, pid and start time. Standard library only: `status` needs it
before anything heavy is imported."""

from __future__ import annotations

import os
import socket
import sys
from functools import lru_cache
from pathlib import Path

if sys.platform != "linux":
    import psutil


@lru_cache(maxsize=1)
def boot() -> str:
    """An id of this boot: Linux's boot id, else the boot time."""
    if sys.platform != "linux":
        return str(psutil.boot_time())
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def processes() -> str:
    """An id of the processes that can be seen from here (of the container); empty where they are all."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def started(pid: int) -> str:
    """When the process started, as text that differs for every reuse of a pid; empty when it is gone."""
    if sys.platform != "linux":
        try:
            return str(psutil.Process(pid).create_time())
        except psutil.Error:
            return ""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def lives(host: str, on_boot: str, pid: int, start: str) -> bool | None:
    """True or False for a process of this host, None for one of another host (nothing can be known)."""
    if host != socket.gethostname():
        return None
    return on_boot == boot() and bool(start) and started(pid) == start


def this_process() -> tuple[str, str, int, str, int]:
    """(host, boot id, pid, start, process group) of this process."""
    pid = os.getpid()
    return socket.gethostname(), boot(), pid, started(pid), os.getpgid(0)
