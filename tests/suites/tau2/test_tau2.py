"""Ten tasks of each domain, scored by the benchmark itself: the published actions pass when they go through our
step, who does nothing fails, and so does who leaves out the last write. One reply in three is spoiled, so
rejection and asking again take part. This tests the adapter and the runtime; it is no score of anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.suites.environment import environment
from tests.suites.tau2.play import SAY, Office, Played, Script, chosen, play

HERE = Path(__file__).parent
DOMAINS, TASKS, EVERY = ("retail", "airline"), 10, 3

SPOILS: dict[str, Callable[[dict[str, Any]], str]] = {
    "no JSON": lambda right: json.dumps(right)[:-3],
    "prose": lambda right: "I will look that up first.",
    "a third key": lambda right: json.dumps({**right, "thought": "it is plain"}),
    "wrong type": lambda right: json.dumps({**right, "state_patch": {"items": {"a0": {"status": 7}}}}),
    "an unknown field": lambda right: json.dumps({**right, "state_patch": {"paid": True}}),
    "an unknown tool": lambda right: json.dumps({**right, "action": {"tool": "refund_all", "args": {}}}),
    "an unknown argument": lambda right: json.dumps(
        {**right, "action": {**right["action"], "args": {**right["action"]["args"], "force": True}}}
    ),
}


@pytest.fixture(scope="module", params=DOMAINS)
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    opened = Office(environment("tau2", HERE / "requirements.txt"), request.param)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tasks(office: Office) -> list[dict[str, Any]]:
    found = chosen(office)
    assert len(found) == TASKS
    return found


def whole(task: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The published actions, then a word to the user that holds what has to be told."""
    told = f"It is done. {'; '.join(task['told'])}"
    return [*map(tuple, task["actions"]), (SAY.name, {"text": told})]


def played(folder: Path, office: Office, task: dict[str, Any], script: Script) -> Played:
    return anyio.run(partial(play, folder, office, task, script))


@pytest.mark.parametrize("number", range(TASKS))
def test_the_published_actions_pass_by_our_runtime(
    number: int, tmp_path: Path, office: Office, tasks: list[dict[str, Any]]
) -> None:
    task = tasks[number]
    spoils = [*SPOILS.values()] * 2  # another to begin with in each task
    script = Script(whole(task), [*spoils[number:], *spoils[:number]], EVERY)
    end = played(tmp_path, office, task, script)
    print(
        f"task {task['id']}: {len(task['actions'])} actions, {script.spoiled} replies spoiled: {end.rejected}"
    )
    assert end.reward["reward"] == 1.0, end.reward
    assert end.calls == len(task["actions"]), "a spoiled reply reached a tool, or an action was done twice"
    assert script.spoiled == len(end.rejected) > 0
    assert script.asked == len(whole(task)) + script.spoiled
    noted = end.record.state["items"].values()
    assert [entry["note"] for entry in noted] == [tool[:32] for tool, _ in whole(task)]
    assert end.broken == []


@pytest.mark.parametrize("number", range(TASKS))
def test_who_does_nothing_fails(
    number: int, tmp_path: Path, office: Office, tasks: list[dict[str, Any]]
) -> None:
    end = played(tmp_path, office, tasks[number], Script(whole(tasks[number])[-1:]))
    assert end.calls == 0 and end.reward["by"]["DB"] == 0.0 == end.reward["reward"]


@pytest.mark.parametrize("number", range(TASKS))
def test_who_leaves_out_the_last_write_fails(
    number: int, tmp_path: Path, office: Office, tasks: list[dict[str, Any]]
) -> None:
    task = tasks[number]
    actions = whole(task)
    del actions[max(at for at, writes in enumerate(task["writes"]) if writes)]
    end = played(tmp_path, office, task, Script(actions))
    assert end.calls == len(task["actions"]) - 1 and end.reward["by"]["DB"] == 0.0 == end.reward["reward"]


@pytest.mark.parametrize("name", SPOILS)
def test_each_way_to_spoil_a_reply_is_refused(
    name: str, tmp_path: Path, office: Office, tasks: list[dict[str, Any]]
) -> None:
    """The very reply: the script that says nothing else gets nowhere, and the domain is not touched."""
    script = Script(whole(tasks[0]), [SPOILS[name]], 1)
    with pytest.raises(RuntimeError, match=r"stuck|rejection"):
        played(tmp_path, office, tasks[0], script)
    assert script.spoiled == script.asked > 1
    assert office("reward")["by"]["DB"] == 0.0


def test_an_action_that_the_domain_refuses_leaves_the_state(
    tmp_path: Path, office: Office, tasks: list[dict[str, Any]]
) -> None:
    """It reaches the domain, is answered by an error, and what its patch said is not merged: it is asked for again."""

    def nobody(right: dict[str, Any]) -> str:
        args = {
            name: "nobody" if isinstance(value, str) else value
            for name, value in right["action"]["args"].items()
        }
        return json.dumps({**right, "action": {**right["action"], "args": args}})

    script = Script(whole(tasks[0]), [nobody], 4)
    end = played(tmp_path, office, tasks[0], script)
    assert end.reward["reward"] == 1.0 and end.rejected == end.broken == []
    assert end.calls == len(tasks[0]["actions"]) + 1 and script.spoiled == 1
    assert len(end.record.state["items"]) == len(whole(tasks[0]))
