"""The real binaries edit by themselves: with their own tools, in the sandbox, against the loopback gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from controller.conformance.loopback import Gateway
from tests.agents.ways import some
from tests.controller.delegates import DELEGATED, Delegated, rows, said
from tests.controller.hands import AGENTS, KEYS, Hands, agent, environ

LOOK = (
    "pwd; cat src/a.txt; git log --oneline; env; touch /etc/x; cat ../../../../task.yaml; ls -A ~ /work /root"
)


def _task(kind: str, url: str) -> str:
    start = DELEGATED.index("mine: {") + len("mine: ")
    return DELEGATED[:start] + agent(kind, url) + DELEGATED[DELEGATED.index("}", start) + 1 :]


@pytest.mark.parametrize("kind", some(AGENTS, ("claude", "codex")))
def test_a_good_and_a_bad_one_by_the_real_binary(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "r"
    steps = [
        [LOOK, ("src/a.txt", "one old", "one new"), "submit"],
        ["sed -i s/old/new/ src/b.txt; git -c user.name=x -c user.email=x@y.z commit -qam mine", "submit"],
        ["sed -i s/old/new/ src/b.txt; (setsid sleep 300 >/dev/null 2>&1 &)", "submit"],
        ["sed -i s/old/new/ src/b.txt", "submit"],
        ["finish"],
    ]
    with Gateway(Hands(kind, steps, root / ".agent-runtime/work/tidy")) as gateway:
        world = Delegated(root, [], task=_task(kind, gateway.url))
        end = world.run(environ(tmp_path / "home"))
    assert end.outcome is Outcome.completed, end.record.halt
    assert said(world) == ["allow", "policy.submit.commits", "policy.submit.processes", "allow", "allow"]
    assert world.branch_log() == ["step 4: submit src/b.txt", "step 1: submit src/a.txt"]
    assert world.branch_file("src/a.txt") == "one new\ntwo\n"
    saw = gateway.requests[1].everything
    assert "one old" in saw and "start" in saw and ".agent-runtime/work/tidy" in saw
    assert "Read-only file system" in saw and "task.yaml: No such file" in saw.replace("'", "")
    assert "name: tidy" not in saw
    if kind == "codex":  # Claude Code hands its environment on
        assert KEYS["OPENAI_API_KEY"] not in saw
    launches = [row.usage for row in rows(world) if row.usage is not None]
    assert all(usage.input and usage.usd_micro for usage in launches), "charged as reported"
    assert launches[0].input > launches[-1].input, "all of its requests"


def test_pi_repairs_no_reply_by_itself(tmp_path: Path) -> None:
    """Pi tells the model what it takes for wrong, and asks again: that would be a request that nobody knows of."""
    root = tmp_path / "r"
    with Gateway(Hands("pi", [["true", "submarine"], ["finish"]], root / "x")) as gateway:
        world = Delegated(root, [], task=_task("pi", gateway.url))
        world.run(environ(tmp_path / "home"), limit=1)
    assert said(world) == ["schema.tool"] and len(gateway.requests) == 2
