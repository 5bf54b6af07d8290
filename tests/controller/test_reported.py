"""Fields of the state that the controller keeps: at what authorities say, and at the evidence."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from contracts.deployed import DeploymentReading
from contracts.outcomes import Outcome
from contracts.pointers import pointer_of
from contracts.readings import Readings
from contracts.reported import reported
from contracts.state import StateSchema
from controller.stores.artifacts import FileArtifacts
from tests.controller.test_ci import head, section
from tests.controller.test_drift import LOOK
from tests.controller.test_freshness import app, hub, look, made, old
from tests.controller.test_intent_rules import same_again
from tests.controller.test_queue import change, record, say, waiting
from tests.controller.test_step import WORK, go
from tests.controller.world import edit, finish
from tests.forge.application import Application
from tests.forge.github import GithubStub
from tests.forge.server import Reply

__all__ = ["app", "hub"]  # fixtures


def test_the_controller_keeps_its_own_fields(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    go(world, [LOOK, WORK[0] | {"state_patch": {}}], limit=2)
    shown = section(world.prompts[0], "STATE")
    assert f'"revision":"{"a" * 40}"' in shown and '"health":"healthy"' in shown, (
        "the first prompt has it already"
    )
    state = record(world).state
    assert state["runs"] == {
        "revision": "a" * 40, "health": "healthy", "stable": "a" * 40, "migration": "7",
        "proof": state["runs"]["proof"],
    }  # fmt: skip
    assert state["issues"] == {"12": {"status": "open"}} and state["tip"] == record(world).base
    app.runs("b" * 40, health="down", db=8)
    hub.issue("Another")
    hub.issues[0]["state"] = "closed"
    go(world, [LOOK], limit=1)
    shown = section(world.prompts[0], "STATE")
    assert f'"revision":"{"b" * 40}"' in shown and '"12"' not in shown, "the snapshot first, then the agent"
    assert "production was" in section(world.prompts[0], "AUTHORITIES")
    state = record(world).state
    assert (
        state["runs"]["stable"] == "a" * 40
        and state["runs"]["rollback"] == "a" * 40
        and state["runs"]["health"] == "unhealthy"
    )
    assert state["issues"] == {"13": {"status": "open"}} and state["tip"] == head(world)
    app.always = {"/version": Reply(503)}
    end = go(world, [LOOK], limit=1)
    assert end.record.state["runs"]["revision"] == "b" * 40, "it stays what it was"
    assert old(world.prompts[0]) == ["/runs: production can't be read now"]
    same_again(world)


def test_the_agent_does_not_write_them(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    for patch in (
        {"runs": {"revision": "c"}},
        {"runs": None},
        {"evidence": "step:1"},
        {"issues": {"12": None}},
    ):
        end = go(world, [look(**patch)], limit=1)
        assert end.record.correction and end.record.correction.code in (
            "patch.not_writable",
            "intent.locked",
        ), patch


def test_the_state_points_at_the_full_evidence(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    world = made(tmp_path / "r", hub, app)
    artifacts = FileArtifacts(world.root / ".agent-runtime/artifacts")
    go(world, [LOOK], limit=1)
    found = pointer_of(record(world).state["evidence"])
    assert found and found.kind == "artifact"
    readings = orjson.loads(artifacts.get(found.name))
    assert readings["fresh"]["items"]["production"]["revision"] == "a" * 40, (
        "of a look: what it was judged by"
    )
    end = go(world, [WORK[0] | {"state_patch": {}}], limit=1)
    found = pointer_of(end.record.state["evidence"])
    after = orjson.loads(artifacts.get(found.name)) if found else {}
    assert "src/a.txt" in after["items"]["git"]["dirty"], "of a deed: what was read after it"
    assert end.record.state["runs"]["proof"] == end.record.state["evidence"]


@pytest.mark.parametrize("mode", ["optimistic", "dual"])
def test_in_every_mode_the_state_is_rebuilt(
    tmp_path: Path, hub: GithubStub, app: Application, mode: str
) -> None:
    world = made(tmp_path / "r", hub, app, f"commit_mode: {mode}\n")
    wrong = edit("src/a.txt", "not there", "x", build="red")
    go(world, [look(plan="a"), wrong, WORK[0] | {"state_patch": {}}], limit=3)
    app.runs("b" * 40, health="ok")
    end = go(world, [WORK[1] | {"state_patch": {}}, finish()])
    assert end.outcome is Outcome.completed and end.record.state["runs"]["revision"] == "b" * 40
    same_again(world)


def test_production_authority_stays_false_until_a_person_says_yes(
    tmp_path: Path, hub: GithubStub, app: Application
) -> None:
    world = made(tmp_path / "r", hub, app)
    for patch in ({"production_authority_executed": True}, {"production_authority_executed": None}):
        end = go(world, [look(**patch)], limit=1)
        assert (
            end.record.correction.code == "intent.locked"
            and end.record.state["production_authority_executed"] is False
        )
    asked = change("/state/production_authority_executed", "true", why="the rollout was done by hand")
    for folder, yes in (("no", False), ("yes", True)):
        world = made(tmp_path / folder, hub, app)
        end = go(world, [asked])
        assert end.outcome is Outcome.blocked and end.record.state["production_authority_executed"] is False
        say(world, waiting(world), yes=yes)
        go(world, [] if yes else [LOOK], limit=1)
        assert record(world).state["production_authority_executed"] is yes


def test_the_shipped_repository_schema_keeps_what_is_deployed(app: Application) -> None:
    schema = StateSchema.builtin("repository")
    seen = Readings(
        at=1.0,
        items={
            "deployment": DeploymentReading(
                name="deployment",
                provider="http",
                sha="a",
                state="passed",
                why="",
                revision="v1",
                health="healthy",
            )
        },
    )
    state = schema.initial()
    assert state["production_authority_executed"] is False and schema.locks(
        ("production_authority_executed",)
    )
    found = reported(schema, state, seen)
    assert found == {"deployed": {"revision": "v1", "health": "healthy", "stable": "v1"}}
    long = seen.items["deployment"].model_copy(update={"revision": "v" * 64, "migration": "7"})
    seen = seen.model_copy(update={"items": {"deployment": long}})
    assert reported(schema, state, seen) == {"deployed": {"health": "healthy", "migration": "7"}}, "what fits"
