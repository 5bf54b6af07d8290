"""What goes wrong around an agent, in small: each experiment shows what it is for, and its controls lose."""

from __future__ import annotations

import pytest

from tests.bench.skillexec import contradiction, growth, malice, migrating, trouble
from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.readers import Perfect

SEEDS = (42,)


def test_a_failed_action_stays_out_of_the_state_that_is_merged_when_it_is_accepted() -> None:
    found = trouble.failing(25, (43,))
    for name in (
        "ours, staged, trusting",
        "ours, staged, undoing",
        "skill.state, merged when accepted, trusting",
    ):
        assert found[name]["score, strict"][0] == 1.0 and found[name]["prompts with a false state"] == 0, name
        assert found[name]["troubles"] == found[name]["rejected, unparsed, retried"][2] > 0
    for name in ("skill.state, merged before", "ours, optimistic"):
        assert (
            found[f"{name}, trusting"]["prompts with a false state"]
            > found[f"{name}, undoing"]["prompts with a false state"]
        )
        assert (
            found[f"{name}, trusting"]["score, strict"][0]
            < 1.0
            == found[f"{name}, undoing"]["score, strict"][0]
        )


def test_an_action_that_nobody_heard_of_is_not_done_twice_by_who_looks_it_up() -> None:
    world = trouble.Troubled(43, 40, ("unheard",))
    outcome = trouble.probing(world, Perfect())
    assert outcome.score() == 1.0 and world.twice == 0 < world.troubles
    again = trouble.Troubled(43, 40, ("unheard",))
    trouble.play(again, trouble.AcceptedOnly(trouble.WAREHOUSE), Perfect())
    assert again.twice > 0, "who can't look asks for it again"


def test_an_undoing_reader_takes_back_what_it_wrote_and_no_more() -> None:
    books = trouble.Undoing({"inventory": {"shelf_0": "item_1", "shelf_2": "item_3"}})
    for action in ("Store item_1 shelf_0", "Move item_3 shelf_1 shelf_2", "Ship item_4 shelf_3"):
        books.take([trouble.JAMMED.format(action)])
    assert books.shelves == {"shelf_1": "item_3", "shelf_3": "item_4"}
    plain = Shelves({"inventory": {"shelf_0": "item_1"}})
    plain.take([trouble.JAMMED.format("Store item_1 shelf_0")])
    assert plain.shelves == {"shelf_0": "item_1"}


def test_who_learns_from_errors_needs_to_see_what_was_tried() -> None:
    tried = trouble.UNHEARD.format("Move item_1 shelf_0 shelf_1")
    whole, newest = (trouble.Inferring({"inventory": {"shelf_0": "item_1"}}) for _ in range(2))
    whole.take([tried, "Error: item_1 is not on shelf_0."])
    newest.take(["Error: item_1 is not on shelf_0."])
    assert whole.shelves == {"shelf_1": "item_1"} and newest.shelves == {}
    whole.take([tried])
    assert whole.answer("Maintenance required on shelf_1.") == "Move item_1 shelf_0 shelf_1", (
        "sent again as it was"
    )


def test_a_field_that_grows_ends_at_its_bound_unless_something_goes() -> None:
    found = growth.bounded(30)
    assert "no maxProperties" in found["ours, no bound in the schema"]["validate refuses"][0]
    ended = found["ours, bounded, the reader adds for ever"]
    assert ended == {"ended": "schema.state", "events answered": growth.KEPT}
    for name in ("ours, x-evict", "ours, bounded, the reader takes old entries out"):
        assert found[name]["score, strict"] == 1.0
    first, last = found["skill.state, no bound"]["tokens a prompt, first and last tenth"]
    assert last > 2 * first, "without a bound it grows for ever"


def test_shelves_that_fill_up_cost_so_much_each() -> None:
    (cell,) = growth.filled((6,), 60).values()
    slope, _ = cell["tokens a shelf, tokens without any"]
    assert cell["score, strict"] == [1.0, 0.0] and cell["shelves taken, most"] > 20 and 5 < slope < 20


def test_false_notices_are_known_by_who_is_shown_the_books() -> None:
    found = contradiction.contradictory(15, SEEDS)
    for name, cell in found.items():
        shown = "told to all" in name or name.startswith("ours, full")
        assert (cell["score, strict"][0] == 1.0) is shown, name  # type: ignore[index]


def test_a_reader_that_obeys_gets_no_order_through_that_a_rule_can_tell() -> None:
    found = malice.malicious(8, SEEDS)
    assert (
        found["ours, orders that a rule can tell, in state or world"] == 0 == found["ours, forged headings"]
    )
    assert (
        found["skill.state, orders that a rule can tell, in state or world"]
        > 0
        < found["skill.state, forged headings"]
    )
    for name in (
        "a lie in good form",
        "a deed in good form",
    ):  # what no rule can tell gets through, and is counted
        obeyed, state, done = found[f"ours, {name}, [obeyed, prompts with it in the state, done]"]
        assert obeyed > 0 < state + done, name


def test_a_schema_changes_twice_in_mid_run() -> None:
    found = migrating.migrated(18, SEEDS)
    assert (
        found["ours, migrated twice"]["score, strict"] == [1.0, 0.0]
        and found["ours, entries carried over"] > 4
    )
    assert found["ours, faults of the audit"] == 0


def test_control_a_reader_of_the_old_schema_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "Renamed", Perfect)
    with pytest.raises(RuntimeError, match="schema"):
        migrating.migrated(12, SEEDS)
