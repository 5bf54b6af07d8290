"""The world changes by itself, and no observation says so: an order is cancelled, a pull request is closed. With the
authority that is read each step the run is right again within one step; without it, it does what nobody wants."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from contracts.outcomes import Outcome
from contracts.record import AuditRow, RunRecord
from contracts.state import StateSchema
from controller.assemble import assemble
from controller.loop import End, run
from controller.opening import Options
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.controller.test_queue import rows
from tests.controller.world import World
from tests.forge.github import GithubStub

AGENT = Path(__file__).parent / "drift" / "decide.py"
ITEMS = {"a1": "lamp", "a2": "vase", "b1": "rug", "b2": "globe"}
ORDERS = {12: "lamp", 13: "vase", 14: "rug"}
JUDGE = """\
import json, pathlib, sys
wanted = json.loads(pathlib.Path(sys.argv[1]).read_text())
gone = {path.name: path.read_text().strip() for path in pathlib.Path("shipped").iterdir() if path.name != "README"}
wrong = [f"order {id} was cancelled and is shipped" for id in gone if wanted.get(id) != "open"]
wrong += [f"order {id} is not shipped" for id, status in wanted.items() if status == "open" and id not in gone]
left = sorted(path.read_text().strip() for path in pathlib.Path("shelves").iterdir())
wrong += ["an item is lost"] if sorted([*gone.values(), *left]) != sorted(sys.argv[2:]) else []
print("\\n".join(wrong) or "all is as the customers want it")
sys.exit(bool(wrong))
"""
WAREHOUSE = """\
version: 1
name: orders
goal: >
  Ship what customers ordered: {told}. What is on a shelf is a file in shelves/, what went out is a file shipped in
  shipped/, named by its order. What was cancelled stays on a shelf.
contract: .agent-contract
agent: {{use: rules}}
agents: {{rules: {{kind: command, run: {agent}}}}}
workspace: {{base: main, scope: ["shelves/**", "shipped/**"]}}
sandbox: {{mode: none}}
{authorities}actions:
  allow: [edit_files, run, ask, finish]
  commands:
    stock: {{run: "for f in shelves/*; do echo \\"$(basename $f) holds $(cat $f)\\"; done"}}
checks:
  - {{name: customers, role: goal, run: {judge}}}
budgets: {{steps: 12}}
"""


class Outside(GithubStub):
    """A forge on which something happens just before the n-th time that anybody looks."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.looks, self.place = 0, place
        self.then: tuple[int, Callable[[], None]] | None = None

    def at(self, path: str, query: dict[str, list[str]]) -> Any:
        if path.endswith(self.place):
            self.looks += 1
            if self.then and self.looks == self.then[0]:
                self.then[1]()
        return super().at(path, query)


def carried(world: World, meanwhile: Callable[[RunRecord], None] | None = None) -> End:
    """`controller run` with the real agent process, until it ends; `meanwhile` happens after each step."""
    rig = assemble(read_task(world.file))

    async def story() -> End:
        return await run(rig, Options(patience=0.0), meanwhile)

    return anyio.run(story)


def steps(world: World, name: str) -> list[AuditRow]:
    async def story() -> list[AuditRow]:
        store = SqliteStore(world.root / ".agent-runtime/state.db")
        record = await store.load(name)
        assert record is not None
        return [row async for _, _, _, row in store.log(record.run)]

    return [row for row in anyio.run(story) if row.kind in ("step", "reply")]


# ---- an order is cancelled --------------------------------------------------------------------------------
class Shop:
    """The customers, and what they want at any moment."""

    def __init__(self, folder: Path, look: int, cancelled: int, *, read: bool = True) -> None:
        self.truth = folder / "wanted.json"
        self.forge = Outside("/issues")
        for item in ORDERS.values():
            self.forge.issue(f"ship the {item}", "Thank you.", labels=("order",))
        self.cancelled = cancelled
        self.forge.then = (look, self.cancel)
        self._write()
        options = {"provider": "github", "url": self.forge.url, "repository": "acme/widget", "state": "all"}
        authority = f"authorities:\n  orders: {{use: issues, options: {json.dumps(options | {'labels': ['order']})}}}\n"
        text = WAREHOUSE.format(
            told="; ".join(f"order {id}: ship the {item}" for id, item in ORDERS.items()),
            agent=json.dumps([sys.executable, str(AGENT)]),
            authorities=authority if read else "",
            judge=json.dumps([sys.executable, "judge.py", str(self.truth), *ITEMS.values()]),
        )
        files = {f"shelves/{shelf}": f"{item}\n" for shelf, item in ITEMS.items()}
        schema = orjson.dumps(StateSchema.builtin("warehouse").source).decode()
        files |= {"shipped/README": "\n", "judge.py": JUDGE, ".agent-contract/state.schema.json": schema}
        self.world = World(folder / "repo", task=text, files=files)

    def cancel(self) -> None:
        """A customer changes their mind; nobody is told."""
        next(each for each in self.forge.issues if each["number"] == self.cancelled)["state"] = "closed"
        self._write()

    def _write(self) -> None:
        self.truth.write_text(json.dumps({str(each["number"]): each["state"] for each in self.forge.issues}))

    def __enter__(self) -> Shop:
        self.forge.__enter__()
        return self

    def __exit__(self, *more: object) -> None:
        self.forge.__exit__(*more)

    def shipped(self) -> set[int]:
        listed = self.world.git("ls-tree", "--name-only", "skill-state/orders", "shipped/").split()
        return {int(Path(path).name) for path in listed if path != "shipped/README"}


# The first look is at the opening; each step looks twice: before the agent is asked (even), and after it answered.
@pytest.mark.parametrize("look", range(2, 10))
@pytest.mark.parametrize("cancelled", [13, 14])
def test_a_cancelled_order(tmp_path: Path, look: int, cancelled: int) -> None:
    with Shop(tmp_path, look, cancelled) as shop:
        end = carried(shop.world)
        assert end.outcome is Outcome.completed, end.record.halt
        assert shop.shipped() == set(ORDERS) - {cancelled}
        told = steps(shop.world, "orders")
        stale = [row for row in told if row.validator_result == "policy.stale"]
        # The stock, two or three orders, one back at most, the end; what changes while the agent thinks costs one more.
        assert end.record.spent.launches <= 6 + len(stale) and len(stale) <= 1
        assert all(row.tool_result in (None, "ok") for row in told if row not in stale), (
            "nothing was done in vain"
        )


def test_it_is_right_again_within_one_step(tmp_path: Path) -> None:
    """Cancelled before step 3 is asked for: step 3 does the right thing already, told by the prompt's first lines."""
    with Shop(tmp_path, 6, 13) as shop:
        assert carried(shop.world).outcome is Outcome.completed
        done = [row for row in steps(shop.world, "orders") if row.kind == "step"]
        assert [row.extra.get("drift") for row in done] == [
            None, None, ["orders/13 was open, is closed (ship the vase)"], None,
        ]  # fmt: skip
        paths = [edit["path"] for edit in done[2].action["args"]["edits"]]
        assert paths == ["shelves/b1", "shipped/14"], "the rug, and not the vase"


@pytest.mark.parametrize("after", [1, 2, 3])
def test_control_without_the_authority_it_ships_what_nobody_wants(tmp_path: Path, after: int) -> None:
    with Shop(tmp_path, 0, 13, read=False) as shop:

        def meanwhile(record: RunRecord) -> None:
            if record.step == after:
                shop.cancel()

        end = carried(shop.world, meanwhile)
        assert end.outcome is not Outcome.completed and 13 in shop.shipped()
        assert "order 13 was cancelled and is shipped" in end.record.correction.excerpt


# ---- a pull request is closed -----------------------------------------------------------------------------
REQUEST = """\
version: 1
name: tidy
goal: Replace every `old` by `new`, for the pull request of this branch.
agent: {{use: rules}}
agents: {{rules: {{kind: command, run: {agent}}}}}
workspace: {{base: main, scope: ["src/**"]}}
sandbox: {{mode: none}}
authorities:
  remaining: {{use: command, run: [git, grep, -n, old, --, src], ok_exit: [0, 1], worklist: true}}
{authorities}actions: {{allow: [edit_files, ask, finish]}}
checks:
  - {{name: no-old, role: goal, run: [git, grep, -q, old, --, src], pass_exit: [1]}}
"""


class Review:
    """A branch with an open pull request, which a person closes."""

    def __init__(self, folder: Path, look: int, *, read: bool = True) -> None:
        self.forge = Outside("/pulls/1")
        self.forge.push("skill-state/tidy", "a" * 40)
        self.pull = self.forge.open("skill-state/tidy", title="Tidy")
        self.closed_at: list[int] = []
        self.forge.then = (look, self.close)
        options = {"provider": "github", "url": self.forge.url, "repository": "acme/widget"}
        authority = f"  request: {{use: pulls, options: {json.dumps(options)}}}\n"
        text = REQUEST.format(
            agent=json.dumps([sys.executable, str(AGENT)]), authorities=authority if read else ""
        )
        self.world = World(folder / "repo", task=text, files={f"src/{n}.txt": f"old {n}\n" for n in range(4)})

    def close(self) -> None:
        self.pull["state"] = "closed"
        self.closed_at.append(self.commits())

    def commits(self) -> int:
        return len(self.world.branch_log())

    def __enter__(self) -> Review:
        self.forge.__enter__()
        return self

    def __exit__(self, *more: object) -> None:
        self.forge.__exit__(*more)


@pytest.mark.parametrize("look", range(2, 9))
def test_a_closed_pull_request(tmp_path: Path, look: int) -> None:
    with Review(tmp_path, look) as review:
        end = carried(review.world)
        assert end.outcome is Outcome.blocked and "The pull request was closed" in end.record.halt.say
        assert [review.commits()] == review.closed_at, "not one commit after it was closed"
        told = rows(review.world)
        stale = sum(row.validator_result == "policy.stale" for row in told)
        assert stale == (look % 2) and end.record.spent.launches == review.commits() + 1 + stale


def test_control_without_the_authority_it_works_for_nobody(tmp_path: Path) -> None:
    with Review(tmp_path, 0, read=False) as review:

        def meanwhile(record: RunRecord) -> None:
            if record.step == 1:
                review.close()

        end = carried(review.world, meanwhile)
        assert end.outcome is Outcome.completed and review.closed_at == [1] and review.commits() == 4


# ---- what the agent knows ---------------------------------------------------------------------------------
def test_the_agent_knows_nothing_of_the_world() -> None:
    known = AGENT.read_text()
    for word in (*ITEMS, *ITEMS.values(), *map(str, ORDERS), "shelves/", "shipped/", ".txt"):
        assert word not in known, word
