"""Ending another controller of this host, and what a dead one left running, before its work is taken over.

A controller that died by SIGKILL could end nothing: its agent, its commands and its git go on, each in a session
of its own, and would do their deed a second time beside the one who takes over. They are known by a variable of
their environment, which names the controller that started them.
"""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tool_adapters.descendants import CHILD, Process, below, process_started, processes

_GRACE = 1.0  # seconds after TERM
_PATIENCE = 5.0  # seconds after KILL
_MARK = re.compile(rb"(?:^|\0)%s\w+=([^\0]*)" % CHILD.encode())


def evict(pid: int, started: str) -> tuple[str, ...]:
    """Ends the process `pid` that began at `started` (as in contracts.ports.Owner), the group that it leads, and
    everything that it started; a process that has that pid now is left alone. Blocks for at most a few seconds.
    Returns what was ended, as `pid: program`."""
    me = (os.getpid(), os.getppid())
    if pid <= 1 or pid in me or not started:
        return ()
    known = _end(pid, started)
    return _sweep(f"{pid}:{started}", known, frozenset(me))


def _end(pid: int, started: str) -> list[Process]:
    """Kills exactly that process and the group that it leads; returns what was below it then."""
    handle = None
    with suppress(AttributeError, OSError):  # not Linux, or gone: what follows says which
        handle = os.pidfd_open(pid)
    try:
        # Looked at after the handle was taken: from here on the number can't come to mean another process.
        if process_started(pid) != started:
            return []
        known = below(pid)
        if os.getpgid(pid) == pid and pid != os.getpgrp():
            os.killpg(pid, signal.SIGKILL)
        elif handle is not None:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + _PATIENCE
        while process_started(pid) == started and time.monotonic() < until:
            time.sleep(0.01)
        return known
    except (ProcessLookupError, PermissionError):
        return []
    finally:
        if handle is not None:
            os.close(handle)


def _sweep(mark: str, known: list[Process], spared: frozenset[int]) -> tuple[str, ...]:
    """TERM, which lets git take its locks away, then KILL, to what carries `mark` or was known to be below."""
    ended: dict[int, str] = {}
    begun, number = time.monotonic(), signal.SIGTERM
    while time.monotonic() - begun < _GRACE + _PATIENCE:
        living = [each for each in _left(mark, known) if each.pid not in spared]
        if not living:
            break
        for process in living:
            with suppress(psutil.Error):
                fresh = process.pid not in ended
                if fresh:
                    ended[process.pid] = process.name()
                if fresh or number == signal.SIGKILL:
                    process.send_signal(number)  # refuses a pid that was used again
                if fresh:
                    process.send_signal(signal.SIGCONT)
        time.sleep(0.02)
        if time.monotonic() - begun > _GRACE:
            number = signal.SIGKILL
    return tuple(f"{pid}: {name}" for pid, name in sorted(ended.items()))


def _left(mark: str, known: list[Process]) -> list[psutil.Process]:
    table = processes()
    still = {each.pid for each in known if (now := table.get(each.pid)) and now.started == each.started}
    found: dict[int, psutil.Process] = {}
    for pid in list(table) or psutil.pids():
        with suppress(psutil.Error):
            if pid in still or mark in _marks(pid):
                process = psutil.Process(pid)
                for each in (process, *process.children(recursive=True)):
                    if each.status() != psutil.STATUS_ZOMBIE:
                        found[each.pid] = each
    return list(found.values())


def _marks(pid: int) -> list[str]:
    """The controllers that the environment of a process names (nested ones: several)."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return []
        raw = b"\0".join(f"{name}={value}".encode() for name, value in psutil.Process(pid).environ().items())
    except OSError:
        return []
    return [each.decode("ascii", "replace") for each in _MARK.findall(raw)]
