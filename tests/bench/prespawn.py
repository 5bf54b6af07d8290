"""Time from a prompt that is ready to the first request that the gateway sees: by a process that was started ahead, and
by one that is started then, turn by turn, with each real program. Beside it what the one that waits costs."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import psutil

from contracts.reply import ReplyClass
from tests.bench.report import report, say, spread
from tests.gateway import Gateway, Script
from tests.tool_adapters.agent_world import PROMPT
from tests.tool_adapters.real_agents import done, real
from tool_adapters.descendants import below

AGENTS = ("claude", "codex", "pi")
AHEAD = 3.0  # seconds, as a short step takes to act and verify
BOUNDS = {"claude": 0.6, "pi": 0.3}


@dataclass
class Turns:
    """What was measured of one agent: ms, and MB of the process that waits."""

    ahead: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    cpu_ahead: list[float] = field(default_factory=list)
    cpu_cold: list[float] = field(default_factory=list)
    resident: list[float] = field(default_factory=list)
    private: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)

    def figures(self, agent: str) -> dict[str, Any]:
        ratios = [one / other for one, other in zip(self.ahead, self.cold, strict=True)]
        return {
            f"{agent}: prompt to request, started ahead, ms": spread(self.ahead, 0),
            f"{agent}: prompt to request, cold, ms": spread(self.cold, 0),
            f"{agent}: ahead / cold": spread(ratios),
            f"{agent}: CPU of a launch, started ahead, ms": spread(self.cpu_ahead, 0),
            f"{agent}: CPU of a launch, cold, ms": spread(self.cpu_cold, 0),
            f"{agent}: CPU of a second of waiting, ms": spread(self.idle, 0),
            f"{agent}: memory of the one that waits, MB": spread(self.resident, 0),
            f"{agent}: of it its own, MB": spread(self.private, 0),
        }


def cpu() -> float:
    """CPU ms of every child that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


async def asked(agent: Any, gateway: Gateway) -> float:
    """ms from the prompt to the first request of a launch."""
    before, began = len(gateway.requests), time.time()
    reply = await agent.ask(PROMPT)
    assert reply.cls is ReplyClass.OK and not reply.notices, reply
    return (gateway.requests[before].at - began) * 1000


async def turn(ahead: Any, cold: Any, gateway: Gateway, told: Turns) -> None:
    await ahead.ask(PROMPT)
    used = cpu()
    await anyio.sleep(AHEAD - 1)
    (waiting,) = [psutil.Process(each.pid) for each in below(os.getpid()) if each.parent == os.getpid()]
    before = sum(waiting.cpu_times()[:2])
    await anyio.sleep(1)
    told.idle.append((sum(waiting.cpu_times()[:2]) - before) * 1000)
    told.resident.append(waiting.memory_info().rss / 1e6)
    told.private.append(waiting.memory_full_info().uss / 1e6)
    told.ahead.append(await asked(ahead, gateway))
    told.cpu_ahead.append(cpu() - used)
    await ahead.close()
    used = cpu()
    told.cold.append(await asked(cold, gateway))
    told.cpu_cold.append(cpu() - used)


async def measure(folder: Path, name: str, runs: int) -> Turns:
    told = Turns()
    with Gateway(Script([done(name)], repeat_last=True)) as gateway:
        ahead = real(folder / "ahead", gateway, name)
        cold = real(folder / "cold", gateway, name, prespawn=False)
        for _ in range(2):  # what is made once, and files that are read for the first time
            await cold.ask(PROMPT)
            await ahead.ask(PROMPT)
        await ahead.close()
        for _ in range(runs):
            await turn(ahead, cold, gateway, told)
            say(f"{name}: {told.ahead[-1]:.0f} ms ahead, {told.cold[-1]:.0f} ms cold")
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="turns of each agent")
    parser.add_argument("--only", choices=AGENTS, action="append", help="these agents alone")
    chosen = parser.parse_args()
    figures: dict[str, Any] = {}
    names = tuple(chosen.only or AGENTS)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for name in names:
            figures |= anyio.run(measure, Path(folder) / name, name, chosen.runs).figures(name)
    bounds = {name: (f"{name}: ahead / cold", most) for name, most in BOUNDS.items() if name in names}
    return report("prespawn", chosen.runs, figures, bounds)


if __name__ == "__main__":
    sys.exit(main())
