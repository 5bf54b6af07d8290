"""How long what the state says holds: refreshed where the controller keeps it, else marked as stale, never evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reconcilers.http
from contracts.bounds import worst_case_bytes
from contracts.drift import Learned
from contracts.errors import ConfigError
from contracts.fresh_rules import rule_of
from contracts.freshness import stale, unread_rules
from contracts.readings import GitReading, Readings
from contracts.state import StateSchema
from controller.render import render, worst_case
from tests.controller.test_ci import head, section
from tests.controller.test_drift import LOOK
from tests.controller.test_intent_rules import same_again
from tests.controller.test_queue import change, record, rows
from tests.controller.test_render import a_record
from tests.controller.test_step import WORK, go
from tests.controller.world import FILES, TASK, World, finish
from tests.forge.application import Application
from tests.forge.github import GithubStub
from tests.forge.server import Reply

TEXT = {"type": "string", "maxLength": 120}
SOURCE = TEXT | {"x-format": "source"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts", "notes"],
    "properties": {
        "build": TEXT | {"x-freshness": "head"},
        "plan": TEXT | {"x-freshness": "2 steps"},
        "moment": TEXT | {"x-freshness": "1h"},
        "left": TEXT | {"x-freshness": "authority remaining"},
        "notes": {
            "type": "object", "maxProperties": 4, "propertyNames": {"maxLength": 9}, "additionalProperties": TEXT,
            "x-freshness": "authority ticket", "default": {},
        },
        "facts": {
            "type": "object", "maxProperties": 6, "propertyNames": {"maxLength": 9}, "default": {},
            "additionalProperties": {
                "type": "object", "additionalProperties": False, "required": ["value", "source"],
                "properties": {"value": TEXT, "source": SOURCE},
            },
        },
        "runs": {
            "type": "object", "x-owner": "controller", "x-freshness": "authority production",
            "additionalProperties": False,
            "properties": {
                "revision": TEXT, "health": TEXT, "stable": TEXT, "rollback": TEXT, "migration": TEXT,
                "proof": SOURCE | {"x-owner": "controller"},
            },
        },
        "issues": {
            "type": "object", "x-owner": "controller", "x-freshness": "authority ticket", "maxProperties": 5,
            "propertyNames": {"maxLength": 9},
            "additionalProperties": {
                "type": "object", "additionalProperties": False, "properties": {"status": {"enum": ["open", "closed"]}},
            },
        },
        "tip": TEXT | {"x-owner": "controller", "x-freshness": "authority git"},
        "evidence": SOURCE | {"x-owner": "controller"},
        "production_authority_executed": {"type": "boolean", "default": False, "x-owner": "user"},
    },
}  # fmt: skip


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[GithubStub]:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))
    with GithubStub() as stub:
        stub.issue("Replace old", "everywhere")
        yield stub


@pytest.fixture
def app() -> Iterator[Application]:
    with Application() as stub:
        stub.runs("a" * 40, health="ok", db=7)
        yield stub


def made(folder: Path, hub: GithubStub, app: Application, more: str = "") -> World:
    ticket = {"provider": "github", "url": hub.url, "repository": "acme/widget"}
    runs = {"provider": "http", "url": f"{app.url}/version", "health": "/health", "migration": "/db"}
    text = (
        f"  ticket: {{use: issues, options: {ticket}}}\n  production: {{use: deployment, options: {runs}}}\n"
    )
    task = TASK.replace(
        "goal: Replace every `old` by `new` in src.\n", "goal: Tidy.\ncontract: .agent-contract\n"
    )
    task = task.replace("authorities:\n", f"authorities:\n{text}").replace(
        "ask, finish]", "ask, request_change, finish]"
    )
    return World(
        folder,
        task=task + more,
        files=FILES | {".agent-contract/state.schema.json": orjson.dumps(SCHEMA).decode()},
    )


def old(prompt: str) -> list[str]:
    """The stale places as the prompt has them."""
    found = section(prompt, "STATE").partition("\nstale, no evidence any more")[2]
    return [row.strip() for row in found.split("\n")[1:] if row.strip()]


def look(**patch: Any) -> dict[str, Any]:
    return LOOK | {"state_patch": patch}


# ---- marked -----------------------------------------------------------------------------------------------
def test_each_rule(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    set_all = look(build="green", plan="first a", moment="now", left="two files", notes={"a": "for 12"})
    go(world, [set_all, LOOK, WORK[0] | {"state_patch": {}}], limit=3)
    assert [old(prompt) for prompt in world.prompts] == [[], [], []]
    hub.issues[0]["title"] = "Replace it"
    go(world, [LOOK], limit=1)
    assert old(world.prompts[0]) == [
        "/build: HEAD moved since step 1", "/plan: set 3 steps ago, it holds for 2",
        "/left: remaining says something else since step 1",
        "/notes/a: ticket says something else since step 1",
    ]  # fmt: skip
    refreshed = look(build="green again", left="one file", notes={"a": "for 12, renamed"})
    go(world, [refreshed, LOOK], limit=2)
    assert old(world.prompts[1]) == ["/plan: set 5 steps ago, it holds for 2"]
    assert [row.stale_pointers for row in rows(world) if row.kind == "step"][3:] == [
        ("/build", "/plan", "/left", "/notes/a"), ("/build", "/plan", "/left", "/notes/a"), ("/plan",),
    ]  # fmt: skip
    same_again(world)


def test_a_time_passes(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    go(world, [look(moment="now")], limit=1)
    schema, held = StateSchema(SCHEMA), record(world)
    at = held.learned["/moment"].at
    for later, found in ((3599, ()), (3601, ("/moment",)), (-3600, ())):
        seen = Readings(at=at + later, items={})
        assert tuple(each.place for each in stale(schema, held, seen, 2)) == found, later


def test_what_can_not_be_read_is_marked(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    go(world, [look(notes={"a": "for 12"})], limit=1)
    hub.always = {"/issues": Reply(503)}
    go(world, [LOOK], limit=1)
    assert old(world.prompts[0]) == [
        "/notes/a: ticket can't be read now",
        "/issues/12: ticket can't be read now",
    ]
    hub.always = {}
    go(world, [LOOK], limit=1)
    assert old(world.prompts[0]) == []


# ---- sources ----------------------------------------------------------------------------------------------
def fact(source: str, value: str = "v") -> dict[str, Any]:
    return {"value": value, "source": source}


def test_a_file_that_changed_is_no_source(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    base = world.git("rev-parse", "main").strip()
    go(
        world,
        [
            look(facts={"a": fact(f"src/a.txt@{base}:1"), "b": fact(f"src/b.txt@{base[:12]}:1")}),
            WORK[0] | {"state_patch": {}},
        ],
        limit=2,
    )
    go(world, [look(facts={"c": fact(f"src/a.txt@{base}:1")}), LOOK], limit=2)
    assert old(world.prompts[0]) == [f"/facts/a: src/a.txt changed since {base[:12]}"]
    assert (
        "policy.stale_source" in section(world.prompts[1], "CORRECTION")
        and "c" not in record(world).state["facts"]
    )
    now = head(world)
    go(world, [look(facts={"a": fact(f"src/a.txt@{now}:1", "w")}), LOOK], limit=2)
    assert old(world.prompts[1]) == [] and record(world).state["facts"]["a"]["value"] == "w"
    go(world, [look(facts={"d": fact("src/a.txt@" + "9" * 40)}), LOOK], limit=2)
    assert old(world.prompts[1]) == ["/facts/d: nothing is known of commit 999999999999"]


def test_an_issue_that_was_edited_is_no_source(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    go(world, [look(facts={"a": fact("issue:12"), "b": fact("step:1")}), LOOK], limit=2)
    assert old(world.prompts[1]) == []
    hub.issues[0]["body"] = "only in a.txt"

    def meanwhile(_: Any) -> Any:
        hub.issues[0]["body"] = "nowhere"
        return look(facts={"c": fact("issue:12")})

    end = go(world, [meanwhile, LOOK], limit=2)
    assert old(world.prompts[0]) == ["/facts/a: issue:12 is another one since step 1"]
    assert "policy.stale" in section(world.prompts[1], "CORRECTION") and end.record.rejections == 0
    go(world, [look(facts={"a": fact("issue:12", "w")}), LOOK], limit=2)
    assert old(world.prompts[1]) == []


def test_a_check_of_another_commit_is_no_source(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    cited = look(facts={"a": fact("check:sound"), "b": fact("check:none")})
    go(world, [cited, WORK[0] | {"state_patch": {}}, LOOK], limit=3)
    assert old(world.prompts[1]) == ["/facts/b: there is no check none"]
    assert old(world.prompts[2])[0] == "/facts/a: check:sound was read at another commit"
    go(world, [finish(), LOOK], limit=2)
    assert old(world.prompts[1]) == ["/facts/b: there is no check none"], "the finish read it at this commit"


def test_a_proposal_cites_what_is(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    base = world.git("rev-parse", "main").strip()
    go(world, [look(facts={"a": fact(f"src/a.txt@{base}:1")}), WORK[0] | {"state_patch": {}}], limit=2)
    asked = change("/state/production_authority_executed", "true")
    asked["action"]["args"]["source"] = f"src/a.txt@{base}:1"
    end = go(world, [asked], limit=1)
    assert end.record.correction and end.record.correction.code == "policy.stale_source"


# ---- what a schema may say --------------------------------------------------------------------------------
@pytest.mark.parametrize("word", ["head", "1 step", "12 steps", "24h", "90s", "authority prod-1"])
def test_the_rules(word: str) -> None:
    assert rule_of(word) is not None


@pytest.mark.parametrize("word", ["", "soon", "0 steps", "authority", "authority Prod", "24", "head "])
def test_what_is_no_rule_is_refused(word: str) -> None:
    assert rule_of(word) is None
    wrong = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": TEXT | {"x-freshness": word}},
    }
    with pytest.raises(ConfigError, match="x-freshness is"):
        StateSchema(wrong)


def test_a_rule_that_names_no_authority_is_warned_of() -> None:
    assert unread_rules(StateSchema(SCHEMA), {"ticket", "git"}) == [
        "state schema: /left: x-freshness names the authority remaining, which the task does not have"
    ]


# ---- the prompt -------------------------------------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 6), text=st.text(max_size=100))
def test_the_stale_lines_keep_their_proved_bound(
    tmp_path_factory: pytest.TempPathFactory, count: int, text: str
) -> None:
    folder = tmp_path_factory.mktemp("f")

    class Nowhere:
        url = "http://127.0.0.1:1"

    world = made(folder / "r", Nowhere(), Nowhere())  # type: ignore[arg-type]
    law = world.rig().task
    facts = {f"f{number}": {"value": text, "source": f"src/{'x' * 90}@{'9' * 40}"} for number in range(count)}
    state = law.schema.initial() | {"facts": facts, "build": text, "plan": text}
    git = GitReading(repository="r", branch="b", base="a" * 40, head="b" * 40, tree="t")
    known = {"/build": Learned(step=1, at=0.0, head="c" * 40)}
    held = a_record(law, state=state, step=9, learned=known)
    prompt = render(held, Readings(at=1.0, items={"git": git}), law)
    bounds = worst_case(law, worst_case_bytes(law.schema.plain))
    assert all(size <= bounds[name] for name, size in prompt.sections)
    assert len(old(prompt.text)) == count + 2 and "/plan: it is not known since when" in old(prompt.text)
