"""Run as a program: `landlock_shim.py JSON PROGRAM ARG…` gives up everything but what the JSON names, then becomes
the program. Standard library only; must start fast.

{"read": [path…], "write": [path…], "tcp": may it use TCP, "limits": {name: number}}
Exit 125 with a line on standard error when the doors can't be closed: then nothing was run.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import sys
from typing import Any

CREATE, ADD, RESTRICT = 444, 445, 446  # the same numbers on every machine
_NO_NEW_PRIVS, _DROP_BOUND = 38, 24
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
_TCP = 3
_SCOPES = 3  # abstract unix sockets, signals


class Rules(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def files(abi: int) -> int:
    """Every right on files that this version knows: 13 bits, then refer, truncate, ioctl."""
    return (
        (1 << 13) - 1
        | (1 << 13 if abi >= 2 else 0)
        | (1 << 14 if abi >= 3 else 0)
        | (1 << 15 if abi >= 5 else 0)
    )


def close(said: dict[str, Any]) -> None:
    """Gives up everything that `said` does not name. Raises OSError."""
    call = ctypes.CDLL(None, use_errno=True)
    abi = call.syscall(CREATE, None, ctypes.c_size_t(0), 1)
    handled = files(abi)
    net = 0 if said["tcp"] or abi < 4 else _TCP
    rules = Rules(handled, net, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _checked(call.syscall(CREATE, ctypes.byref(rules), ctypes.c_size_t(size), 0), "create")
    for paths, rights in ((said["read"], _READ), (said["write"], handled)):
        for path in paths:
            _allow(call, ruleset, path, rights & handled)
    if os.getuid() == 0:
        for capability in range(64):  # landlock leaves them; after exec root is a user like any other
            call.prctl(_DROP_BOUND, capability, 0, 0, 0)
    _checked(call.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _checked(call.syscall(RESTRICT, ruleset, 0), "restrict")
    os.close(ruleset)


def _allow(call: Any, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _ON_FILES
    beneath = Beneath(rights, place)
    _checked(call.syscall(ADD, ruleset, 1, ctypes.byref(beneath), 0), f"allow {path}")
    os.close(place)


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def main() -> None:
    said, argv = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        for name, most in said["limits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (most, most))
        close(said)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"landlock: {error}\n")
        sys.exit(125)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"landlock: {argv[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
