"""The benchmark itself: its events are the frozen ones, its reader reads and does not cheat, its scores can fall."""

from __future__ import annotations

import ast
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.bench.skillexec import books, readers, repository, warehouse
from tests.bench.skillexec.bounds import bounded
from tests.bench.skillexec.domains import REPOSITORY, WAREHOUSE
from tests.bench.skillexec.episode import NOISE, Event
from tests.bench.skillexec.experiments import EVERYBODY, RIVALS, episode, stored
from tests.bench.skillexec.faults import Faulty, committed
from tests.bench.skillexec.figures import Sized, exponent
from tests.bench.skillexec.noise import telemetry
from tests.bench.skillexec.ours import play_ours, rig_of
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.runtimes import Memory, Window
from tests.bench.skillexec.warehouse import SEEDS, Warehouse
from tests.bench.tokens import tokens, weighted

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


def test_events_are_those_that_were_frozen() -> None:
    made = {f"seed {seed}": warehouse.digest(warehouse.events(seed, 200)) for seed in SEEDS}
    made |= {
        f"{kind}, seed {seed}": warehouse.digest(warehouse.drifted(kind, seed))
        for kind in warehouse.DRIFTS
        for seed in SEEDS
    }
    made |= {f"repository, seed {seed}": warehouse.digest(repository.events(seed, 200)[0]) for seed in SEEDS}
    made |= {
        f"{kind}, seed {seed}": warehouse.digest(repository.drifted(kind, seed)[0])
        for kind in repository.DRIFTS
        for seed in SEEDS
    }
    assert made == GOLDEN


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rules_own_actions_are_always_right(seed: int) -> None:
    for listed in (warehouse.events(seed, 300), warehouse.events(seed, 300, shelves=3, receive_weight=4)):
        world = Warehouse(listed, 500)
        for at, event in enumerate(listed):
            world.happen(at)
            fed = world.act(at, event.gold)
            assert fed.accepted and fed.strict and fed.lenient and world.right(), event


def test_a_wrong_action_is_seen_in_score_and_world() -> None:
    events = warehouse.events(42, 30)
    world = Warehouse(events)
    assert events[0].gold == "Store item_0 shelf_0"
    elsewhere = world.act(0, "Store item_0 shelf_7")
    assert (elsewhere.accepted, elsewhere.strict, elsewhere.lenient, world.right()) == (
        True,
        False,
        True,
        False,
    )
    for action, why in {
        "Ship item_9 shelf_0": "item_9 is not on shelf_0",
        "Store item_0 shelf_3": "item_0 is stored already",
        "Store item_5 shelf_7": "shelf_7 holds item_0",
        "Move item_0 shelf_7 shelf_900": "there is no shelf_900",
        "Fly item_0": "unknown action 'Fly item_0'",
        "": "unknown action ''",
    }.items():
        assert world.act(1, action).text == f"Error: {why}."


@pytest.mark.parametrize("runtime", EVERYBODY)
def test_a_perfect_reader_finds_all_it_needs(runtime: str) -> None:
    outcome = episode(runtime, stored(43, 20), noise=lambda at: telemetry(43, at, 3))
    assert outcome.score() == outcome.score(strict=False) == 1.0
    assert outcome.desync is None and outcome.rejected == outcome.unparsed == outcome.retried == 0
    assert len(outcome.turns) == 20 and NOISE in outcome.turns[-1].prompt


@pytest.mark.parametrize("runtime", EVERYBODY)
def test_control_a_reader_whose_line_is_cut_out_goes_wrong(runtime: str) -> None:
    """Whatever says where item_0 stands is taken out of each prompt: it can't be shipped or moved rightly any more."""
    listed = warehouse.events(42, 3)
    stored = next(event for event in listed if event.gold.startswith("Store item_0"))
    listed = [stored, Event("Order received for item_0.", "Ship item_0 shelf_0", "item_0")]

    class Blind(Perfect):
        def reply(self, prompt: str) -> str:
            kept = [
                line
                for line in prompt.splitlines()
                if "item_0" not in line or "arrived" in line or "received" in line
            ]
            return super().reply("\n".join(kept) + "\n")

    assert episode(runtime, Warehouse(listed)).strict == [True, True]
    assert episode(runtime, Warehouse(listed), reader=Blind()).strict != [True, True]


def test_readers_know_nothing_of_the_environment() -> None:
    for module in (readers, books):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        ours = {name for name in names if name.startswith(("tests", "controller", "contracts"))}
        assert ours <= {"tests.bench.skillexec.books", "tests.bench.skillexec.episode"}
    assert (
        "warehouse" not in Path(str(readers.__file__)).read_text().replace("inventory", "").split("import")[0]
    )


@pytest.mark.parametrize("kind", warehouse.DRIFTS)
@pytest.mark.parametrize("runtime", ["prompt", "skill.state", "ours, paper"])
def test_what_is_announced_is_recovered_from_at_once(kind: str, runtime: str) -> None:
    listed = warehouse.drifted(kind, 44)
    steps = warehouse.recovery(listed, episode(runtime, Warehouse(listed)).strict)
    assert steps == (0 if kind in warehouse.RECOVERABLE else None), (
        "a cancelled order is announced too late for anybody"
    )


@pytest.mark.parametrize("layout", ["full", "compact"])
def test_who_reads_the_authority_ships_no_cancelled_order(layout: str) -> None:
    for seed in SEEDS[:2]:
        listed = warehouse.drifted("cancelled", seed)
        outcome = episode(f"ours, {layout}", Warehouse(listed))
        assert warehouse.recovery(listed, outcome.strict) == 0 and outcome.score() == 1.0


@pytest.mark.parametrize("kind", warehouse.RECOVERABLE)
def test_drift_that_nobody_is_told_of_is_not_guessed(kind: str) -> None:
    """The one order of what drifted goes wrong; that others are answered rightly is no recovery."""
    listed = warehouse.drifted(kind, 45, alert=False)
    outcome = episode("skill.state", Warehouse(listed))
    assert outcome.score() < 1.0 and any(outcome.strict[11:])
    assert warehouse.recovery(listed, outcome.strict) is None


def test_a_budget_makes_a_window_and_a_summary_lose() -> None:
    for small, large in ((Window(WAREHOUSE, 475, tokens), Window(WAREHOUSE, 50_000, tokens)),
                         (Memory(WAREHOUSE, 475, tokens), Memory(WAREHOUSE, 50_000, tokens))):  # fmt: skip
        lost, kept = episode(small, stored(44, 60)), episode(large, stored(44, 60))
        assert lost.score() < 0.8 and kept.score() == 1.0
        assert max(tokens(turn.prompt) for turn in lost.turns) <= 475 + 8, (
            "the budget is that of the whole prompt"
        )


def test_who_overlooks_much_scores_less() -> None:
    for runtime in ("prompt", "skill.state"):
        scores = [
            episode(runtime, stored(42, 60), reader=Perfect(rate=rate, seed=1)).score()
            for rate in (0.0, 0.05, 0.5)
        ]
        assert scores[0] == 1.0 and scores[2] < scores[1] <= 1.0


def test_a_reply_that_is_none_is_asked_again_and_counted() -> None:
    class Stutters(Perfect):
        said = 0

        def reply(self, prompt: str) -> str:
            self.said += 1
            return "Well." if self.said % 3 == 1 else super().reply(prompt)

    for runtime in RIVALS:
        outcome = episode(runtime, stored(42, 10), reader=Stutters())
        assert outcome.score() == 1.0 and outcome.retried == len(outcome.turns) - 10 > 0


def test_ours_takes_a_refused_action_as_evidence_and_keeps_the_state(tmp_path: Path) -> None:
    """A patch beside an action that the environment does not take is not merged; the next event is not lost."""

    class Wrong(Perfect):
        said = 0

        def reply(self, prompt: str) -> str:
            self.said += 1
            if self.said != 2:
                return super().reply(prompt)
            lie = {"state_patch": {"inventory": {"shelf_9": "item_77"}}}
            return json.dumps(
                lie | {"action": {"tool": "ship", "args": {"item": "item_77", "from": "shelf_9"}}}
            )

    rig, around = rig_of(tmp_path / "run", Warehouse(warehouse.events(42, 8)), Wrong(), WAREHOUSE)
    outcome = anyio.run(play_ours, rig, around)
    assert outcome.rejected == 1 and outcome.strict[1] is False
    assert "item_77" not in outcome.turns[-1].prompt.partition("=== STATE ===")[2].partition("===")[0]


def test_broken_replies_are_told_apart_from_those_that_lost_a_key() -> None:
    counts = {}
    for runtime in ("skill.state", "ours, paper"):
        reader = Faulty(Perfect(), 0.5, 1)
        outcome = episode(runtime, stored(42, 60), reader=reader)
        assert len(reader.faults) == len(outcome.turns) > 60
        counts[runtime] = committed(outcome, reader)
    ours, theirs = counts["ours, paper"], counts["skill.state"]
    assert all(injected > 2 for injected, _ in ours.values()), "each kind was injected"
    assert ours["wrong type"][1] == ours["broken syntax"][1] == 0 < ours["key loss"][1]
    assert theirs["wrong type"][1] > 0, "the paper's runtime has no schema: what ours refuses gets in"


def test_a_compact_prompt_is_smaller_and_as_much_can_be_read_in_it() -> None:
    """The repository's state is nested, so that most of it stays JSON."""
    looked_after = repository.Repository(*repository.events(43, 40))
    for domain, world, most in ((WAREHOUSE, stored(43, 40), 0.5), (REPOSITORY, looked_after, 0.7)):
        paper, compact = (
            Sized.of(episode(f"ours, {layout}", deepcopy(world), domain)) for layout in ("paper", "compact")
        )
        assert compact.strict == paper.strict == 1.0 and compact.rejected == compact.unparsed == 0
        assert compact.prompt["o200k"] < most * paper.prompt["o200k"], domain.schema


def test_a_prompt_that_grew_is_a_bound_that_is_not_held() -> None:
    key = "horizon: ours, compact, T=200"
    for mean, held in ((219.9, True), (220.1, False)):
        figures = {key: {"score, strict": [1.0, 0.0], "tokens a prompt, o200k": [mean, 20.0]}}
        bounds = bounded(figures)
        assert all(figures[name] <= most for name, most in bounds.values()) is held
    figures = {"long: ours, paper, growth exponent, 10 shelves": 1.06}
    assert [(figures[name], most) for name, most in bounded(figures).values()] == [(1.06, 1.05)]


def test_a_drift_that_is_not_recovered_from_is_a_bound_that_is_not_held() -> None:
    lists = {
        "drift: audit, alert, ours, paper": [0, 1],
        "drift: cancelled, alert, ours, full": [0, None],
        "repository: closed, ours, full": [0, 0],
        "releases: flaky, ours, compact": [0, 0],
    }
    other = {
        "drift: audit, alert, prompt": [None],
        "drift: audit, no alert, ours, full": [None],
        "drift: cancelled, alert, ours, paper": [None],
        "repository: ours, full, T=20, delivered": [0.5, 0.1],
    }
    figures: dict[str, Any] = lists | other
    bounds = bounded(figures)
    assert [(figures[name], most) for name, most in bounds.values()] == [(1, 0), (999, 0), (0, 0), (0, 0)]


def test_costs_are_counted_as_they_are() -> None:
    assert tokens("hello world") == tokens("hello world", "cl100k") == 2
    same = "a long text that is the same " * 20
    assert weighted([same, same]) == pytest.approx(tokens(same) * 1.1)
    assert exponent([10, 100, 1000], [5 * t**2 for t in (10, 100, 1000)]) == 2.0


# ---- the repository ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
def test_the_repository_s_own_actions_are_always_right(seed: int) -> None:
    listed, features = repository.events(seed, 300)
    world = repository.Repository(listed, features)
    for at, event in enumerate(listed):
        world.happen(at)
        fed = world.act(at, event.gold)
        assert fed.accepted and fed.strict and world.right(), (event, fed)
    assert world.real.broken == 0 and world.delivered() > 0.8
    golds = {event.gold.split()[0] for event in listed}
    assert golds == {"Commit", "CreatePR", "FixCI", "Merge"}
    stale = [event for event in listed if "approved" in event.text and event.gold.startswith("FixCI")]
    assert stale, "some request was overtaken by a merge, and nothing in its event said so"


def test_who_merges_whatever_is_approved_breaks_main() -> None:
    class Hasty(Perfect):
        def reply(self, prompt: str) -> str:
            return re.sub(r"Action: FixCI (#\d+)$", r"Action: Merge \1", super().reply(prompt))

    world = repository.Repository(*repository.events(42, 120))
    outcome = episode("prompt", world, REPOSITORY, reader=Hasty(REPOSITORY.books))
    assert world.real.broken > 0 and outcome.score() < 1.0 and world.delivered() < 1.0


@pytest.mark.parametrize("runtime", EVERYBODY)
def test_a_perfect_reader_looks_after_the_repository(runtime: str) -> None:
    world = repository.Repository(*repository.events(44, 40))
    outcome = episode(runtime, world, REPOSITORY)
    assert outcome.score() == 1.0 and world.real.broken == 0 and outcome.desync is None


@pytest.mark.parametrize("kind", repository.DRIFTS)
@pytest.mark.parametrize("runtime", ["memory", "skill.state", "ours, paper", "ours, full"])
def test_a_request_that_changed_unseen(kind: str, runtime: str) -> None:
    listed, features = repository.drifted(kind, 43)
    outcome = episode(runtime, repository.Repository(listed, features), REPOSITORY)
    lost = kind == "closed" and runtime != "ours, full"  # who reads the forge knows it in time
    assert repository.recovery(listed, outcome.strict) == (None if lost else 0)
