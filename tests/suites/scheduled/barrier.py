"""Two jobs that overlap for certain: whoever takes the lease of a task is held there until the other has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The lease is taken by a push of its ref, and so is whatever its holder does next: that push waits on the server.
HOOKS = {
    "post-receive": "grep -q '/LEASE$' && [ -e hold ] && : > held\nexit 0\n",
    "pre-receive": """\
grep -q '/LEASE$' || exit 0
[ -e held ] || exit 0
tries=0
while [ -e hold ] && [ $tries -lt 1200 ]; do sleep 0.1; tries=$((tries + 1)); done
""",
}


class Barrier:
    """`remote` is a bare repository on disk, `task` the task whose lease is meant."""

    def __init__(self, remote: Path, task: str) -> None:
        self._hold, self._held = remote / "hold", remote / "held"
        for name, body in HOOKS.items():
            hook = remote / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\n{body.replace('LEASE', f'skill-state/{task}/lease')}")
            hook.chmod(0o755)

    @property
    def holds(self) -> bool:
        """Whether somebody has the lease and waits."""
        return self._held.exists()

    def lift(self) -> None:
        self._hold.unlink(missing_ok=True)
        self._held.unlink(missing_ok=True)

    @contextmanager
    def up(self) -> Iterator[None]:
        self._hold.touch()
        try:
            yield
        finally:
            self.lift()
