"""One run that hangs in a phase of its step, and is then told to end by a signal."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.suites.crash.stage import PROBE, RULES, Template, Victims, Whole, World, finish, living

# While $HOME/hang is there: a child that takes no notice of signals, and a grandchild in a session of its own.
HANG = "test ! -e $HOME/hang || { setsid sleep 600 & trap '' INT TERM; sleep 600; sleep 600; }"
# The agent has a home of its own: it is told where the file is. A limit that passes in seconds, or hanging.
AGENT = """if test ! -e "$1"; then shift; exec "$@"; fi
for log; do :; done; echo start >> "$log"
case "$(cat "$1")" in
limit) printf '{"error": {"class": "limit_with_reset", "message": "later", "not_before": %s}}' $(($(date +%s) + 8)) ;;
*) setsid sleep 600 & trap '' INT TERM; sleep 600; sleep 600 ;;
esac"""
SOUND = '"sh check.sh #sound"'


def hanging(folder: Path, phase: str) -> Template:
    """A world whose run hangs in `phase` as long as its home holds `hang`."""
    words = ["sh", "-c", AGENT, "sh", "../home/hang", sys.executable, "-I", "-S", str(RULES), "../starts"]
    agents = {"slow": {"kind": "command", "run": words}}
    spoiled = f'"! grep -qa invalid src/a.txt || {HANG}; sh check.sh #sound"'
    finishing = f'"grep -q old src/b.txt || {HANG}; sh check.sh #sound"'
    changes = {
        "agent": (),
        "waiting": (),
        "opening": ((SOUND, spoiled),),
        "check": ((SOUND, finishing),),
        "command": (('"wc -l src/*.txt;', f'"{HANG}; wc -l src/*.txt;'),),
        "effect": (),
        "deaf effect": (),
    }[phase]
    effect = "sleep 2; " if phase == "effect" else f"{HANG}; " if phase == "deaf effect" else ""
    ship = f"{effect}echo $SKILL_STATE_KEY >> $HOME/effects #ship"
    use = "slow" if phase in ("agent", "waiting") else "mine"
    made = Template(folder, agents, use, PROBE, ship, changes).prepare()
    (folder / "home/hang").write_text("limit" if phase == "waiting" else "")
    return made


UNTIL = {
    "agent": "child sh: started 1",
    "waiting": "store swap reply: committed 1",
    "opening": "child sound: started 2",
    "check": "child sound: started 3",
    "command": "child count: started 1",
    "effect": "child ship: started 1",
    "deaf effect": "child ship: started 1",
}


@dataclass(frozen=True)
class Ended:
    """How the interrupted call ended: exit code, seconds since the first signal, what was alive, its worktree."""

    code: int
    took: float
    alive: list[str]
    world: World
    victims: Victims

    def completes(self, whole: Whole) -> tuple[int, list[str]]:
        """Called again, with nothing that hangs: (exit code in the end, faults)."""
        (self.world.home / "hang").unlink()
        return finish(self.world, self.victims)[-1], self.world.faults(whole)


@contextmanager
def interrupted(folder: Path, phase: str, *signals: int, **more: Any) -> Iterator[Ended]:
    """The run of `phase`, sent `signals` (half a second between two) once it hangs there."""
    world, victims = hanging(folder / "template", phase).world(folder / "world"), Victims()
    try:
        log = world.folder / "log"
        # Nobody watches: without a word nothing is waited for.
        words = ("--wait-limit", "1m") if phase == "waiting" else ()
        pid = victims.start(world.call("run", *words, log=str(log), **more))
        until = time.monotonic() + 60
        while not (log.exists() and f"{UNTIL[phase]}\n" in log.read_text()):
            assert time.monotonic() < until, world.said()
            time.sleep(0.02)
        time.sleep(0.3)
        began = time.monotonic()
        for number in signals:
            os.kill(pid, number)
            time.sleep(0.5)
        code = victims.wait()
        took = time.monotonic() - began
        alive = living(world.folder)
        name = " ".join(signal.Signals(number).name for number in signals)
        print(f"{phase}: {name} to exit {code} in {took:.1f} s, {len(alive)} alive")
        yield Ended(code, took, alive, world, victims)
    finally:
        for each in living(folder):
            os.kill(int(each.partition(":")[0]), signal.SIGKILL)
        victims.close()
