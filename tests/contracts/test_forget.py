"""What a state lets go of: bounds hold after every patch, and nothing goes that must stay."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from contracts.base import JsonObject, canonical
from contracts.bounds import check_bounded, worst_case_bytes
from contracts.fields import places
from contracts.forget import SAID, Ages, Forgotten, aged, carried, forget
from contracts.merge import merge
from contracts.schema_refs import BadSchema, pointer
from contracts.state import StateSchema
from tests.contracts.test_state import TEXT, keyed, state

RANK: JsonObject = {"enum": ["low", "middle", "high"]}


class Run:
    """A state that patches are committed to, one after the other."""

    def __init__(self, properties: JsonObject, **more: Any) -> None:
        self.schema = StateSchema(state(properties, **more))
        self.state, self.ages, self.step = self.schema.initial(), Ages(), 0

    def tried(self, patch: JsonObject) -> tuple[JsonObject, Forgotten]:
        return forget(self.schema, self.state, patch, self.ages, self.step + 1)

    def commit(self, **patch: Any) -> Forgotten:
        after, gone = self.tried(patch)
        assert not gone.full and self.schema.errors(after) == [], (gone.full, self.schema.errors(after))
        self.state, self.ages, self.step = after, gone.ages, self.step + 1
        return gone


# ---- a full collection ------------------------------------------------------------------------------------
def test_the_oldest_give_way_and_a_changed_value_makes_none_younger() -> None:
    run = Run({"notes": keyed(TEXT, **{"x-evict": "oldest", "default": {}})})
    for key in "abc":
        run.commit(notes={key: key})
    assert run.commit(notes={"a": "new"}).patch == {}
    gone = run.commit(notes={"d": "d"})
    assert gone.values == {"/notes/a": "new"} and gone.patch == {"notes": {"a": None}}
    assert gone.say == "evicted from /notes: a"
    gone = run.commit(notes={"b": "set anew", "e": "e"})
    assert list(gone.values) == ["/notes/c"], "b is older, but the same patch sets it"
    assert run.state == {"notes": {"b": "set anew", "d": "d", "e": "e"}}


@pytest.mark.parametrize("field", [RANK, {"type": "integer", "minimum": 0, "maximum": 9}, {"type": "number"}])
def test_the_lowest_give_way_the_older_first(field: JsonObject) -> None:
    low, middle, high = field.get("enum", (1, 2, 3))
    entry = state({"worth": field, "text": TEXT})
    run = Run({"facts": keyed(entry, **{"x-evict": "lowest:worth", "default": {}})})
    run.commit(facts={"a": {"worth": high}})
    run.commit(facts={"b": {"worth": middle}})
    run.commit(facts={"c": {"worth": middle}})
    assert list(run.commit(facts={"d": {"worth": low}}).values) == ["/facts/b"], "not d: it was just set"
    assert list(run.commit(facts={"e": {"text": "unknown"}}).values) == ["/facts/d"]
    assert list(run.commit(facts={"f": {"worth": high}}).values) == ["/facts/e"]
    assert list(run.commit(facts={"g": {"worth": high}, "c": {"worth": high}}).values) == ["/facts/a"]


def test_more_than_fit_at_once_are_refused_and_named_keys_stay() -> None:
    notes = keyed(TEXT, **{"x-evict": "oldest", "properties": {"base": TEXT}, "required": ["must"]})
    run = Run({"notes": {**notes, "default": {"base": "b", "must": "m"}}})
    run.commit(notes={"a": "a"})
    assert list(run.commit(notes={"b": "b"}).values) == ["/notes/a"]
    after, gone = run.tried({"notes": {"c": "c", "d": "d"}})
    assert "/notes holds at most 3 entries, and 2 are set at once" in gone.full and run.schema.errors(after)


def test_nested_collections_have_each_their_own_room() -> None:
    inner = keyed(TEXT, **{"x-evict": "oldest"})
    run = Run({"items": keyed(state({"log": inner}), **{"x-evict": "oldest", "default": {}})})
    for number in range(5):
        run.commit(items={"i": {"log": {f"n{number}": "x"}}, f"j{number}": {"log": {"n": "x"}}})
    assert run.state["items"].keys() == {"i", "j3", "j4"}
    assert run.state["items"]["i"]["log"].keys() == {"n2", "n3", "n4"}
    assert {"/items/i/log/n4", "/items/j4/log/n"} <= run.ages.keys() and "/items/j0/log/n" not in run.ages


# ---- what is not set again --------------------------------------------------------------------------------
def test_what_is_not_set_for_so_many_steps_goes() -> None:
    run = Run(
        {
            "notes": keyed(TEXT, **{"x-ttl-steps": 2, "default": {}}),
            "mood": {**TEXT, "x-ttl-steps": 1, "default": "calm"},
            "hint": {**TEXT, "x-ttl-steps": 2},
            "now": state({"note": TEXT, "file": TEXT}, "note", **{"x-ttl-steps": 2}),
        }
    )
    run.commit(notes={"a": "1", "b": "1"}, mood="wild", hint="left", now={"note": "x", "file": "f"})
    gone = run.commit(notes={"a": "2"})
    assert run.state["mood"] == "calm" and run.state["hint"] == "left"
    assert gone.values == {"/mood": "wild"} and gone.patch == {"mood": "calm"}
    gone = run.commit()
    assert run.state == {"notes": {"a": "2"}, "mood": "calm"}
    assert gone.values == {"/notes/b": "1", "/hint": "left", "/now": {"note": "x", "file": "f"}}
    assert "dropped from /notes: b" in gone.say
    assert run.commit().values == {"/notes/a": "2"} and run.commit().patch == {}


def test_an_expired_field_that_is_required_is_as_at_the_beginning() -> None:
    now = state({"note": {**TEXT, "default": ""}, "file": TEXT}, "note", **{"x-ttl-steps": 1})
    run = Run({"now": now}, required=["now"])
    run.commit(now={"note": "x", "file": "f"})
    before = run.state
    gone = run.commit()
    assert run.state == {"now": {"note": ""}} == merge(before, gone.patch)


def test_what_is_kept_by_a_condition_of_the_schema_does_not_expire() -> None:
    both = {"hint": {**TEXT, "x-ttl-steps": 1}, "by": TEXT}
    run = Run(both, dependentRequired={"by": ["hint"]})
    run.commit(hint="h", by="b")
    assert run.commit().patch == {} and run.state == {"hint": "h", "by": "b"}
    assert run.commit(by=None).values == {"/hint": "h"}


def test_what_was_there_before_ages_were_kept_is_not_gone_at_once() -> None:
    run = Run({"notes": keyed(TEXT, **{"x-ttl-steps": 3, "x-evict": "oldest", "default": {"a": "1"}})})
    run.step = 40
    assert run.commit(notes={"b": "2"}).patch == {}
    run.commit()
    assert list(run.commit().values) == ["/notes/a"]


# ---- invariants -------------------------------------------------------------------------------------------
REFERRING: JsonObject = {
    "facts": keyed(TEXT, **{"x-evict": "oldest", "default": {}}),
    "uses": keyed(TEXT, default={}),
}
KNOWN = {"name": "known", "say": "a use names a fact", "refers": "/uses/*", "to": "/facts/#"}


def test_what_is_referred_to_stays_and_the_next_goes() -> None:
    run = Run(REFERRING, **{"x-invariants": [KNOWN]})
    for key in "abc":
        run.commit(facts={key: key})
    run.commit(uses={"u": "a"})
    assert list(run.commit(facts={"d": "d"}).values) == ["/facts/b"]
    run.commit(uses={"v": "c", "w": "d"})
    _, gone = run.tried({"facts": {"e": "e"}})
    assert "/facts is full, and what else is in it is needed" in gone.full
    assert list(run.commit(facts={"e": "e"}, uses={"u": None}).values) == ["/facts/a"]


def test_what_the_patch_itself_breaks_is_not_blamed_on_the_entries() -> None:
    run = Run(REFERRING, **{"x-invariants": [KNOWN]})
    for key in "abc":
        run.commit(facts={key: key})
    after, gone = run.tried({"facts": {"d": "d"}, "uses": {"u": "nothing"}})
    assert list(gone.values) == ["/facts/a"] and run.schema.broken(run.state, after)


# ---- the next run -----------------------------------------------------------------------------------------
def test_the_next_run_begins_with_what_is_to_be_kept_at_its_age() -> None:
    rules = keyed(TEXT, **{"x-retention": "forever", "default": {}})
    facts = keyed(TEXT, **{"x-retention": "task", "x-evict": "oldest", "x-ttl-steps": 9, "default": {}})
    run = Run(
        {"rules": rules, "facts": facts, "notes": keyed(TEXT, default={}), "goal": {**TEXT, "default": "g"}}
    )
    run.commit(rules={"r": "1"}, facts={"a": "1"}, notes={"n": "1"}, goal="other")
    run.commit(facts={"b": "2"})
    kept, ages, lost = carried(run.schema, run.state, run.ages, run.step)
    assert kept == {"rules": {"r": "1"}, "facts": {"a": "1", "b": "2"}, "notes": {}, "goal": "g"} and not lost
    assert ages == {"/facts/a": (-1, -1), "/facts/b": (0, 0)}
    run.state, run.ages, run.step = kept, ages, 0
    run.commit(facts={"c": "3"})
    assert list(run.commit(facts={"d": "4"}).values) == ["/facts/a"]


def test_what_no_longer_fits_is_not_taken_over_and_named() -> None:
    kept = keyed(TEXT, **{"x-retention": "task", "default": {}})
    schema = StateSchema(state({"rules": kept, "facts": kept}))
    start, _, lost = carried(schema, {"rules": {"r": 5}, "facts": {"f": "1"}, "gone": 1}, {}, 3)
    assert start == {"rules": {}, "facts": {"f": "1"}} and lost == ("/rules",)


# ---- what can't be said -----------------------------------------------------------------------------------
LOCKED: JsonObject = {**TEXT, "x-owner": "user"}


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"a": {**TEXT, "x-evict": "oldest"}}, "/a: x-evict is for keyed collections"),
        ({"a": keyed(TEXT, **{"x-evict": "newest"})}, "oldest, or lowest:FIELD"),
        ({"a": keyed(state({"n": TEXT}), **{"x-evict": "lowest:n"})}, "no field 'n' that is a number or an enum"),
        ({"a": keyed(TEXT, **{"x-evict": "lowest:n"})}, "no field 'n'"),
        ({"a": keyed(TEXT, **{"x-evict": "oldest", "required": ["x", "y", "z"]})}, "leaves room"),
        ({"a": keyed(TEXT, **{"x-evict": "oldest", "x-owner": "user"})}, "not the agent's"),
        ({"a": keyed(state({"l": LOCKED}), **{"x-evict": "oldest"})}, "not the agent's"),
        ({"a": {**state({"b": {**TEXT, "x-ttl-steps": 2}}), "x-change-policy": "locked"}}, "/a/b: .*locked"),
        ({"a": keyed(TEXT, **{"x-evict": "oldest", "x-retention": "forever"})}, "contradict x-retention"),
        ({"a": keyed(TEXT, **{"x-retention": "always"})}, "run, task, forever"),
        ({"a": keyed({**TEXT, "x-retention": "task"})}, "not of what is in its entries"),
        ({"a": keyed(TEXT, **{"x-ttl-steps": 2, "minProperties": 1, "default": {"k": ""}})}, "minProperties"),
        ({"a": keyed({**TEXT, "x-ttl-steps": 2})}, "said of their collection"),
        ({"a": {"anyOf": [TEXT, keyed(TEXT, **{"x-evict": "oldest"})]}}, "beside anyOf"),
        ({"a": {**TEXT, "x-sensitivity": "private"}}, "internal, secret"),
        ({"a": {"type": "integer", "x-sensitivity": "secret"}}, "secret is for texts"),
        ({"a": {**TEXT, "x-sensitivity": "secret"}}, "must be one of its values"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused_at_load(properties: JsonObject, problem: str) -> None:
    with pytest.raises(BadSchema, match=problem):
        StateSchema(state(properties))


def test_a_required_field_that_expires_needs_a_value_to_go_back_to() -> None:
    with pytest.raises(BadSchema, match="/n: is required and has no empty value"):
        StateSchema(state({"n": {"type": "integer", "minimum": 3, "x-ttl-steps": 2}}, "n"))


# ---- over generated schemas and patches -------------------------------------------------------------------
def generated(dice: random.Random) -> JsonObject:
    """A schema with collections that let go, beside what must stay."""
    entry = state({"text": TEXT, "rank": RANK, "n": {"type": "number"}})
    properties: JsonObject = {
        "mine": {**TEXT, "x-owner": "user", "default": "mine"},
        "log": keyed(TEXT, **{"x-change-policy": "append-only", "x-evict": "oldest", "default": {}}),
        "rules": keyed(TEXT, **{"x-retention": "forever", "default": {"first": "rule"}}),
    }
    for name in ("a", "b", "c"):
        rule: JsonObject = {"x-evict": dice.choice(["oldest", "lowest:rank", "lowest:n"]), "default": {}}
        if dice.random() < 0.4:
            rule["x-ttl-steps"] = dice.randint(1, 4)
        if dice.random() < 0.3:
            rule |= {"required": ["must"], "default": {"must": {"text": "stays"}}}
        inner = dict(entry)
        if dice.random() < 0.3:
            more = keyed(TEXT, **{"x-evict": "oldest"})
            inner = {**entry, "properties": {**entry["properties"], "more": more}}
        properties[name] = {**keyed(inner, **rule), "maxProperties": dice.randint(2, 6)}
    for name in ("x", "y"):
        properties[name] = {**TEXT, **({"x-ttl-steps": dice.randint(1, 3)} if dice.random() < 0.6 else {})}
    properties["uses"] = keyed(TEXT, default={})
    refers = {"name": "known", "say": "known", "refers": "/uses/*", "to": f"/{dice.choice('abc')}/#"}
    return state(properties, "mine", **({"x-invariants": [refers]} if dice.random() < 0.5 else {}))


def patch_of(dice: random.Random, run: Run) -> JsonObject:
    """A patch that an agent may send: no more new entries of a collection than it holds."""
    patch: JsonObject = {}
    for name in ("a", "b", "c"):
        rule = next(rule for rule in run.schema.fading if rule.path == (name,))
        keys = dice.sample([f"k{i}" for i in range(9)], dice.randint(0, rule.most - len(rule.kept)))
        for key in keys:
            entry: JsonObject = {}
            if dice.random() < 0.8:
                entry |= {
                    "rank": dice.choice(RANK["enum"]),
                    "n": dice.randint(-3, 3) / 2,
                    "text": "x" * dice.randint(0, 9),
                }
            inner = run.schema.plain["properties"][name]["additionalProperties"]["properties"]
            if "more" in inner and dice.random() < 0.5:
                entry["more"] = {f"m{dice.randint(0, 9)}": "ü" * dice.randint(0, 9) for _ in range(2)}
            patch.setdefault(name, {})[key] = (
                None if key in run.state[name] and dice.random() < 0.2 else entry
            )
    if dice.random() < 0.5:
        patch["log"] = {f"l{dice.randint(0, 99)}": "line"}
    if dice.random() < 0.4:
        patch[dice.choice("xy")] = dice.choice([None, "set"])
    if dice.random() < 0.4:
        known = [key for name in "abc" for key in {**run.state[name], **patch.get(name, {})}]
        patch["uses"] = {f"u{dice.randint(0, 2)}": dice.choice([None, *known])}
    return patch


def test_no_candidate_breaks_its_schema_or_bound_and_what_must_stay_stays() -> None:
    seen: Counter[str] = Counter()
    for seed in range(250):
        dice = random.Random(seed)
        source = generated(dice)
        run = Run(
            source["properties"],
            **{key: source[key] for key in ("required", "x-invariants") if key in source},
        )
        assert check_bounded(run.schema.source) == []
        bound, all_ages = worst_case_bytes(run.schema.source), Ages()
        for _ in range(24):
            patch, before, ages = patch_of(dice, run), run.state, run.ages
            after, gone = run.tried(patch)
            assert (after, gone) == run.tried(patch), "the same every time"
            merged = merge(before, patch)
            assert canonical(merge(merged, gone.patch)) == canonical(after)
            new = {one.name for one in run.schema.broken(before, after)}
            assert new <= {one.name for one in run.schema.broken(before, merged)}, "forgetting breaks nothing"
            if gone.full or new:
                seen["full" if gone.full else "broken"] += 1
                assert "x-invariants" in source, "without invariants there is always room"
                continue
            assert run.schema.errors(after) == [] and len(canonical(after)) <= bound
            assert after["mine"] == "mine" and after["rules"] == {"first": "rule"}
            assert all(name not in place for place in gone.values for name in ("/mine", "/rules", "/must"))
            for name in ("a", "b", "c", "log"):
                own = {key for key, value in patch.get(name, {}).items() if value is not None}
                assert own <= after[name].keys(), "what was just set is there"
                assert ("must" in before.get(name, {})) == ("must" in after[name])
            assert gone.ages.keys() == {
                pointer((*path, key)) if rule.entries else pointer(path)
                for rule in run.schema.fading
                for path, held in places(after, rule.path)
                for key in (held if rule.entries else (None,))
                if key not in rule.kept
            }  # fmt: skip
            oldest = [
                rule.path[0]
                for rule in run.schema.fading
                if rule.by_age and not rule.ttl and len(rule.path) == 1
            ]
            for name in oldest if "x-invariants" not in source else ():
                lost = [ages[f"/{name}/{key}"][0] for key in before[name] if f"/{name}/{key}" in gone.values]
                left = [
                    gone.ages[f"/{name}/{key}"][0]
                    for key in after[name].keys() - patch.get(name, {}).keys() - {"must"}
                ]
                assert not lost or not left or max(lost) <= min(left), "no younger one goes before an older"
            assert len(gone.say.encode()) <= SAID
            seen["evicted"] += len(gone.values)
            seen["committed"] += 1
            run.state, run.ages, run.step = after, gone.ages, run.step + 1
            all_ages = aged(all_ages, before, after, patch, run.step)
            assert gone.ages.items() <= all_ages.items(), "they are rebuilt from the patches alone"
    assert seen["committed"] > 4500 and seen["evicted"] > 4000 and seen["full"] and seen["broken"], seen
