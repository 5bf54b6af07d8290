"""Who holds a lease, and whether that process still lives: identity by boot, pid and start time."""

from __future__ import annotations

from contracts.ports import Owner
from controller.stores.liveness import lives, this_process


def me() -> Owner:
    """This process."""
    host, boot, pid, started, pgid = this_process()
    return Owner(host=host, boot=boot, pid=pid, started=started, pgid=pgid)


def alive(owner: Owner) -> bool | None:
    """True or False for a process of this host, None for one of another host (nothing can be known)."""
    return lives(owner.host, owner.boot, owner.pid, owner.started)
