"""The descendants of a child: found, ended and named, own-session grandchildren included.

Linux: this process becomes the reaper of orphans, so that whatever a child leaves behind shows up below us in
/proc, where its process group, its session or the marker in its environment says whose it was. One that wiped its
environment is known by that, where this process has said that it starts no other children (`sole_parent`). Elsewhere
only the process group is known.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
CHILD = "SKILL_STATE_CHILD_"  # begins a name in the environment of every child that we start
_STAT = re.compile(rb"(\d+) \((.*)\) (\S) (\d+) (\d+) (\d+) ", re.DOTALL)


@dataclass(frozen=True)
class Process:
    """One line of the process table. `started` (clock ticks since boot) tells a reused pid apart."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    zombie: bool


def adopt_orphans() -> None:
    """Orphaned descendants become children of this process (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


_sole = False


def sole_parent() -> None:
    """This process starts no child but with CHILD in its environment: what it adopts without is a child's, too."""
    global _sole
    _sole = True


def process_started(pid: int) -> str:
    """When a living process began, as in contracts.ports.Owner; empty when it is gone."""
    if sys.platform == "linux":
        found = _look(pid)
        return "" if found is None or found.zombie else str(found.started)
    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""


def stopped(pid: int) -> bool:
    """Whether a process stands still by a signal, as by Ctrl-Z: it would never take what it is given."""
    try:
        return bool(psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP))
    except psutil.Error:
        return False


def this_mark() -> str:
    """What the environment of every child says of who started it: `pid:started` of this process."""
    return _mark_of(os.getpid())


@lru_cache(maxsize=1)
def _mark_of(pid: int) -> str:
    return f"{pid}:{process_started(pid)}"


def processes() -> dict[int, Process]:
    """The process table; empty where there is no /proc."""
    found: dict[int, Process] = {}
    try:
        with os.scandir("/proc") as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return found
    for name in names:
        if name.isdigit() and (process := _look(int(name))):
            found[process.pid] = process
    return found


def _look(pid: int) -> Process | None:
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    match = _STAT.match(raw)
    if not match:
        return None
    rest = raw[match.end() :].split()
    return Process(
        pid=pid,
        parent=int(match[4]),
        group=int(match[5]),
        session=int(match[6]),
        started=int(rest[15]),
        zombie=match[3] in b"ZX",
    )


def below(pid: int) -> list[Process]:
    """The living descendants of `pid`, by parentage."""
    table = processes()
    return [each for each in _closure(table, {pid}) if not each.zombie]


def _closure(table: dict[int, Process], roots: set[int]) -> list[Process]:
    inside, grown = set(roots), True
    while grown:
        more = {each.pid for each in table.values() if each.parent in inside and each.pid not in inside}
        inside |= more
        grown = bool(more)
    return [table[pid] for pid in inside - roots if pid in table]


def left_behind(pid: int, marker: str, known: Iterable[Process] = ()) -> list[Process]:
    """What is left of the child `pid`, which is not reaped yet: its group, its session, adopted orphans that carry
    `marker` or have wiped every one, those `known` from before, and everything below them. Never the child itself,
    never this process."""
    table, me = processes(), os.getpid()
    since = table[pid].started if pid in table else None
    mine = {
        each.pid
        for each in table.values()
        if each.pid not in (pid, me)
        and (
            pid in (each.group, each.session)
            or (each.parent == me and (_marked(each.pid, marker) or _wiped(each, since)))
        )
    }
    mine |= {each.pid for each in known if (now := table.get(each.pid)) and now.started == each.started}
    mine -= {pid, me}
    return [table[each] for each in mine] + _closure(table, mine)


def _marked(pid: int, marker: str) -> bool:
    try:
        return f"{marker}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _wiped(process: Process, since: int | None) -> bool:
    """Whether an adopted process that began after `since` has an environment without any of our marks. Looked at twice:
    one that is just being started has none for a moment, or still that of this process."""
    if not _sole or process.zombie or since is None or process.started < since:
        return False
    for pause in (0.005, 0.0):
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
            if CHILD.encode() in environ or environ == Path("/proc/self/environ").read_bytes():
                return False
        except OSError:
            return False
        time.sleep(pause)
    return True


def kill_tree(pid: int) -> None:
    """Kills the group that the child `pid` leads and every process below it, now."""
    known = below(pid)
    signal_group(pid, signal.SIGKILL)
    for each in known:
        _signal(each, signal.SIGKILL)


def signal_group(pid: int, number: int) -> bool:
    """Signals the group that the child `pid` leads. Refuses every id that could be someone else's: init, this
    process's own group, a child that leads no group."""
    try:
        if pid <= 1 or pid == os.getpgrp() or os.getpgid(pid) != pid:
            return False
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def sweep(pid: int, marker: str, grace: float, known: Iterable[Process] = ()) -> tuple[str, ...]:
    """Ends what the child `pid` left behind: TERM, after `grace` seconds KILL. Returns what was found, as
    `pid: command`."""
    if not Path("/proc/self").is_dir():
        return _sweep_group(pid, grace)
    named: dict[int, str] = {}
    begun, number = time.monotonic(), signal.SIGTERM
    while time.monotonic() - begun < grace + 5:
        found = left_behind(pid, marker, known)
        for each in found:
            if each.zombie:
                _reap(each)
        living = [each for each in found if not each.zombie]
        if not living:
            break
        for each in living:
            fresh = each.pid not in named
            if fresh:
                named[each.pid] = _command(each.pid)
            if fresh or number == signal.SIGKILL:
                _signal(each, number)
        time.sleep(0.02)
        if time.monotonic() - begun > grace:
            number = signal.SIGKILL
    reap_adopted()
    return tuple(f"{each}: {command}" for each, command in sorted(named.items()))


def _sweep_group(pid: int, grace: float) -> tuple[str, ...]:
    if pid <= 1 or pid == os.getpgrp():
        return ()
    try:
        os.killpg(pid, signal.SIGTERM)
    except OSError:
        return ()
    begun = time.monotonic()
    while time.monotonic() - begun < grace + 1:
        try:
            os.killpg(pid, 0 if time.monotonic() - begun < grace else signal.SIGKILL)
        except OSError:
            break
        time.sleep(0.02)
    return (f"process group {pid}",)


def _signal(process: Process, number: int) -> None:
    now = _look(process.pid)
    if now is None or now.started != process.started or process.pid <= 1:
        return
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _reap(process: Process) -> None:
    if process.parent == os.getpid():
        try:
            os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            pass


PATIENCE = 1.0
_zombies: dict[tuple[int, int], float] = {}  # children of ours that ended: when that was first seen


def reap_adopted() -> None:
    """Takes away the zombies that nobody waits for: orphans that we adopted, as every sandboxed command leaves one. A
    child that somebody here started is waited for at once; one that still is a zombie PATIENCE seconds after it was
    first seen as one was adopted."""
    now, there = time.monotonic(), {(each.pid, each.started): each for each in ended_children()}
    for gone in _zombies.keys() - there.keys():
        _zombies.pop(gone, None)
    for known, each in there.items():
        if now - _zombies.setdefault(known, now) >= PATIENCE:
            _reap(each)


def ended_children() -> list[Process]:
    """The zombies among our children; nothing where there is no /proc that lists them."""
    found: list[Process] = []
    for listed in Path("/proc/self/task").glob("*/children"):
        try:
            pids = listed.read_text().split()
        except OSError:
            continue
        found += [each for pid in pids if (each := _look(int(pid))) is not None and each.zombie]
    return found


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
    except OSError:
        words = b""
    return words.decode("utf-8", "replace")[:120] or "?"
