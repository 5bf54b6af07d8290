"""Background telemetry: lines that mean nothing, by a random source of their own, so that the task is the same with
them and without."""

from __future__ import annotations

import random

CAMERA = ("Motion detected in aisle {0}.", "Lens of camera {0} was cleaned.", "Camera {0} records at 30 fps.")
WAREHOUSE = (
    "Robot {0} battery at {1} %.",
    "Sensor {0} reads {1}.{2} degrees.",
    *CAMERA,
)
SYSLOG = (
    "systemd[{0}]: Started session {1} of user ci.",
    "kernel: eth{2}: link is up, {1} Mbps",
    "cron[{0}]: job {1} ended with 0",
)


def telemetry(seed: int, at: int, lines: int, kinds: tuple[str, ...] = WAREHOUSE) -> list[str]:
    """The noise of event `at`. The first two warehouse kinds are as likely as the three of the camera together."""
    rng = random.Random(f"{seed} {at}")
    groups = [kinds[0:1], kinds[1:2], kinds[2:]]
    drawn = []
    for _ in range(lines):
        group = rng.choice([group for group in groups if group])
        drawn.append(
            rng.choice(group).format(rng.randrange(1, 400), rng.randrange(10, 100), rng.randrange(4))
        )
    return drawn
