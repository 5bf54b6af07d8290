"""Checks that rest on what runs: red, waiting and green; nothing unknown is ever green, and no fault ends a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reconcilers.http
from contracts.bounds import worst_case_bytes
from contracts.charter import Charter
from contracts.deployed import DeploymentReading
from contracts.errors import ConfigError, Temporary
from contracts.outcomes import Outcome
from contracts.readings import Readings
from contracts.telemetry import ValueReading
from contracts.waiting import standing, waits
from controller.assemble import assemble, charter
from controller.render import render, worst_case
from controller.taskfile import read_task
from tests.controller.test_ci import head, section
from tests.controller.test_render import GIT, NASTY, a_record
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, action, edit, finish
from tests.forge.application import Application
from tests.forge.server import Reply


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))
    with Application() as stub:
        stub.runs("0" * 40)
        stub.metrics = {"rate": 0.001}
        yield stub


def task(url: str, *, role: str = "goal", on: str = "production", value: Any = None, **options: Any) -> str:
    runs = {"provider": "http", "url": f"{url}/version", "poll": "100ms", **options}
    rate = {"url": f"{url}/metrics", "pointer": "/rate", "at_most": 0.01, "poll": "100ms", **(value or {})}
    more = (
        f"  production: {{use: deployment, options: {runs}}}\n  errors: {{use: http_json, options: {rate}}}\n"
    )
    text = TASK.replace("authorities:\n", f"authorities:\n{more}").replace(
        " ask, finish]", " ask, wait, finish]"
    )
    return text + f"  - {{name: live, role: {role}, authority: {on}}}\n"


def test_deployed_and_healthy_is_the_goal(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url, health="/status"))
    app.version["status"] = "ok"
    end = go(world, [*WORK, finish()], limit=3)
    assert "production: http says unknown of" in section(world.prompts[0], "AUTHORITIES")
    assert "errors: passed: 0.001: it is at most 0.01" in section(world.prompts[0], "AUTHORITIES")
    assert end.record.correction and "live is red" in end.record.correction.say
    app.runs(head(world), status="ok")
    app.always = {
        "/version": Reply(503)
    }  # a fault is no answer: the finish is looked at again, without a launch
    end = go(world, [finish()], limit=1)
    assert end.outcome is Outcome.waiting and "can't be read now" in end.record.halt.say
    app.always = {}
    assert go(world, [finish()]).outcome is Outcome.waiting, "not before it is due"


def test_a_rollout_is_waited_for_without_a_launch(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url, automatic=True))
    base = world.git("rev-parse", "main").strip()
    app.runs(base)
    end = go(world, [*WORK, finish()])
    assert end.outcome is Outcome.waiting and "another revision is deployed" in end.record.halt.say
    for _ in range(3):
        time.sleep(0.11)
        assert go(world, []).outcome is Outcome.waiting
    app.runs(head(world))
    time.sleep(0.11)
    end = go(world, [])
    assert end.outcome is Outcome.completed and end.record.spent.launches == 3


def test_unhealthy_is_red_and_says_what_to_go_back_to(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url, health="/status", rollback="/before"))
    go(world, WORK, limit=2)
    app.runs(head(world), status="down", before="v1")
    end = go(world, [finish()], limit=1)
    assert "it is unhealthy; go back to v1" in end.record.correction.excerpt and end.outcome is None


def test_telemetry_as_a_guard(tmp_path: Path, app: Application) -> None:
    app.metrics = {"rate": 0.5}
    world = World(tmp_path / "repo", task=task(app.url, role="guard", on="errors"))
    with pytest.raises(ConfigError, match="red before anything was changed"):
        go(world, [])
    app.metrics = {}
    with pytest.raises(Temporary, match="not decided yet"):
        go(world, [])
    app.metrics = {"rate": 0.001}
    go(world, WORK, limit=2)
    app.metrics = {"rate": 0.02}
    end = go(world, [finish()], limit=1)
    assert "failed: 0.02: it is not at most 0.01" in end.record.correction.excerpt
    app.metrics = {"rate": 0.003}
    assert go(world, [finish()]).outcome is Outcome.completed


def test_waiting_for_what_runs(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url, expect="any", health="/status"))
    app.version["status"] = "down"
    asked = action("wait", {"authority": "production", "is": ["healthy"]})
    end = go(world, [asked])
    assert end.outcome is Outcome.waiting
    app.version["status"] = "ok"
    end = go(world, [], limit=0)
    words = waits(world.loaded.task.authorities, None, ())
    assert words["production"] == ("passed", "failed", "healthy", "unhealthy", "changed")
    assert words["errors"] == ("passed", "failed")
    ill = DeploymentReading(name="p", provider="http", sha="a", state="failed", why="", health="unhealthy")
    assert standing(ill) == {"failed", "unhealthy"}
    for gone in (
        DeploymentReading(name="p", provider="http", sha="a", state="unknown", why="", read=False),
        ValueReading(name="v", state="unknown", why="", wanted="", read=False),
    ):
        assert standing(gone, "then") == frozenset(), "what can't be read is no change"


@pytest.mark.parametrize("on", ["remaining", "nothing"])
def test_a_check_rests_on_what_decides(tmp_path: Path, on: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(task("http://127.0.0.1:1", on=on))
    with pytest.raises(
        ConfigError, match=f"no authority '{on}' of `use: ci`, `use: deployment`, `use: http_json`"
    ):
        read_task(file)


def test_the_tokens_are_secrets_of_the_run(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url, token_env="LIVE", value={"token_env": "METRICS"}))
    with pytest.raises(ConfigError, match="LIVE is not set"):
        assemble(world.loaded, environ={"METRICS": "m"})
    rig = assemble(
        world.loaded, environ={"LIVE": "tok-live-123456", "METRICS": "tok-metrics-123456", "PATH": "/bin"}
    )
    shown = rig.task.redactor.redact_text("tok-live-123456 and tok-metrics-123456")
    assert "tok-" not in shown


def test_an_edit_of_what_it_rests_on_is_an_edit_of_the_checks(tmp_path: Path, app: Application) -> None:
    world = World(tmp_path / "repo", task=task(app.url))
    go(world, [edit("src/a.txt", "old", "new")], limit=1)
    world.file.write_text(task(app.url, expect="any"))
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "checks" in end.record.halt.say


# ---- the prompt -------------------------------------------------------------------------------------------
TEXT = st.one_of(st.text(max_size=200), st.just(NASTY), st.just("é" * 200))


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    file = tmp_path_factory.mktemp("live") / "task.yaml"
    file.write_text(task("http://127.0.0.1:1"))
    return charter(read_task(file))


@settings(max_examples=40, deadline=None)
@given(note=TEXT, word=st.from_regex(r"[A-Za-z0-9._/@+:-]{1,80}", fullmatch=True))
def test_the_readings_keep_their_proved_bound(law: Charter, note: str, word: str) -> None:
    runs = DeploymentReading(
        name="production", provider="github", sha="a" * 40, state="failed", why="x" * 120, revision=word,
        health="healthy", stable=word, rollback=word, migration=word, rolling=word, failed=word, note=note,
    )  # fmt: skip
    rate = ValueReading(name="errors", state="failed", why="y" * 120, wanted="", value=1e300, note=note)
    prompt = render(
        a_record(law), Readings(at=1.0, items={"git": GIT, "production": runs, "errors": rate}), law
    )
    bounds = worst_case(law, worst_case_bytes(law.schema.plain))
    sizes = dict(prompt.sections)
    assert all(size <= bounds[name] for name, size in sizes.items()), (sizes, bounds)
    rows = section(prompt.text, "AUTHORITIES").split("\n")[1:]
    ours = [row for row in rows if row and not row.startswith(" ")]
    assert [row.partition(":")[0] for row in ours[:2]] == ["production", "errors"] and len(ours) == 2
