"""Landlock: the kernel keeps a process to named files and, from ABI 4, away from TCP. Weaker than bubblewrap, and
never chosen before it: sockets that are files, UDP and a view of all processes stay."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Sequence

from tool_adapters import landlock_shim
from tool_adapters.sandbox_box import Box, Found

ABI_WITH_TCP = 4
_ABI_WITH_SCOPES = 6
# Not all of /proc: the kernel does not count reading another process's environment there as tracing it.
_PROC = (
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems"),
    *("/proc/loadavg", "/proc/uptime", "/proc/cgroups", "/proc/sys"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def abi() -> int:
    """The version of landlock that the kernel has; 0 when none."""
    if sys.platform != "linux":
        return 0
    found = ctypes.CDLL(None, use_errno=True).syscall(landlock_shim.CREATE, None, ctypes.c_size_t(0), 1)
    return max(int(found), 0)


def left_open(known: int) -> str:
    """What it does not keep in, in words."""
    more = "" if known >= _ABI_WITH_SCOPES else ", signals and abstract sockets"
    return f"files and TCP only; UDP, sockets that are files, file names, Git's configuration{more} stay open"


def landlock(found: Found, box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in `box`: through a small program that closes the doors behind itself."""
    return [found.program, "-IS", str(landlock_shim.__file__), json.dumps(doors(box)), *argv]


def doors(box: Box) -> dict[str, object]:
    """What the shim is told."""
    read, write = list(_PROC), list(_DEVICES)
    for mount in box.mounts:
        if mount.mode == "rw":
            write.append(str(mount.path))
        elif mount.mode == "ro" and mount.source != os.devnull:
            read.append(mount.origin)  # what is shown instead of another file: that one stays closed
    if box.private:
        write.append(str(box.private))
    return {
        "read": read,
        "write": write,
        "tcp": box.network,
        "limits": box.resources.limits(),
    }
