"""`checks`: every check, now, in the run's worktree."""

from __future__ import annotations

from pathlib import Path

import orjson

from contracts.readings import CheckReading, UnknownReading
from controller.assemble import assemble
from controller.interrupt import unless_interrupted
from controller.opening import read_checks
from controller.surfaces.locate import load, wait_for
from controller.surfaces.progress import for_stderr
from controller.surfaces.watched import watched
from controller.surfaces.words import colour, duration, plain


def checks(task: Path | None, as_json: bool) -> int:
    """0 when all are green, 3 otherwise."""
    loaded, shown = load(task), for_stderr()
    try:
        rig = watched(assemble(loaded, watch=shown))
        record, readings = wait_for(lambda: unless_interrupted(rig, lambda: read_checks(rig)))
    finally:
        shown.close()
    found = {
        name: item for name, item in readings.items.items() if isinstance(item, CheckReading | UnknownReading)
    }
    found = {name: item for name, item in found.items() if name in rig.task.checks}
    green = [isinstance(item, CheckReading) and item.passed for item in found.values()]
    good = all(green) and len(found) == len(rig.task.checks)
    if as_json:
        run = record.run if record else None
        told = {name: item.model_dump(mode="json") for name, item in found.items()}
        print(orjson.dumps({"run": run, "green": good, "checks": told}).decode())
        return 0 if good else 3
    for name, item in found.items():
        match item:
            case CheckReading():
                print(
                    plain(
                        f"{item.role:<6} {name}: {colour(item.passed, item.why)}: {item.why} ({duration(item.took)})"
                    )
                )
                if not item.passed and item.text:
                    print(plain("\n".join(f"    {line}" for line in item.text.rstrip().split("\n"))))
            case UnknownReading():
                print(plain(f"       {name}: unknown: {item.why}"))
    return 0 if good else 3
