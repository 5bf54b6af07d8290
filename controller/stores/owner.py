"""Who holds a lease, and whether that process still lives: identity by boot, pid and start time."""

from __future__ import annotations

from dataclasses import replace

from contracts.ports import Owner
from controller.stores.liveness import boot, lives, processes, this_process


def me() -> Owner:
    """This process."""
    host, boot, pid, started, pgid = this_process()
    return Owner(host=host, boot=boot, pid=pid, started=started, pgid=pgid)


def alive(owner: Owner) -> bool | None:
    """True or False for a process of this host, None for one of another host (nothing can be known)."""
    return lives(owner.host, owner.boot, owner.pid, owner.started)


def here() -> Owner:
    """This process for those who share no disk with it: its boot is told with the processes that it can see."""
    return replace(me(), boot=f"{boot()} {processes()}".strip())


def known(owner: Owner) -> bool | None:
    """Of an owner as `here` makes it: True or False where it can be seen from here, else None. Two machines may have
    the same name, and two containers of one machine each a process of this number."""
    if owner.boot != here().boot:
        return None
    return lives(owner.host, boot(), owner.pid, owner.started)
