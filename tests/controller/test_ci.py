"""A check that rests on CI: red, waiting, and green, for the run's own commit and no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bounds import worst_case_bytes
from contracts.charter import Charter
from contracts.ci import WHOLE, CiCheck
from contracts.errors import ConfigError, Temporary
from contracts.outcomes import Outcome
from contracts.readings import CiReading, Readings
from controller.assemble import assemble, charter
from controller.opening import read_checks
from controller.render import render, worst_case
from controller.taskfile import read_task
from tests.controller.test_render import GIT, NASTY, a_record
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, finish, part
from tests.forge.github import GithubStub
from tests.forge.server import Reply


def task(url: str, role: str = "goal", **options: Any) -> str:
    said = {"provider": "github", "url": url, "repository": "acme/widget", "poll": "200ms", **options}
    text = TASK.replace("authorities:\n", f"authorities:\n  remote: {{use: ci, options: {said}}}\n")
    return text + f"  - {{name: ci, role: {role}, authority: remote}}\n"


@pytest.fixture
def hub() -> Iterator[GithubStub]:
    with GithubStub() as stub:
        stub.when = datetime.now(UTC).isoformat(timespec="seconds")
        yield stub


def head(world: World) -> str:
    return world.git("rev-parse", "skill-state/tidy").strip()


def section(prompt: str, name: str) -> str:
    shown = part(prompt, name.lower())
    return shown and f"{shown}\n"


def test_from_not_pushed_to_completed(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    end = go(world, [*WORK, finish()], limit=3)
    assert end.record.correction and end.record.correction.code == "finish.red"
    assert "not pushed" in end.record.correction.excerpt
    assert "remote: github says pending of" in section(world.prompts[0], "AUTHORITIES")

    hub.push("topic", head(world))  # by hand: this task may not push
    check = hub.check(head(world), "test", "in_progress", run=hub.run(head(world), "in_progress"))
    end = go(world, [finish()])
    assert end.outcome is Outcome.waiting and end.record.staged is not None
    assert "still to end" in end.record.halt.say and end.record.halt.not_before > time.time() - 60

    time.sleep(0.25)
    end = go(world, [])
    assert end.outcome is Outcome.waiting, "polled without a launch"
    hub.always = {"/check-runs": Reply(403, {"message": "secondary rate limit"}, {"Retry-After": "1"})}
    time.sleep(0.25)
    end = go(world, [])
    assert end.outcome is Outcome.waiting and "can't be read now" in end.record.halt.say
    hub.always = {}
    check |= {"status": "completed", "conclusion": "success"}
    time.sleep(1.05)
    end = go(world, [])
    assert end.outcome is Outcome.completed and end.record.checks["ci"].passed
    assert len(end.record.spent.model_dump()) and end.record.spent.launches == 4


def test_a_red_one_tells_the_agent_what_failed(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    go(world, WORK, limit=2)
    hub.push("topic", head(world))
    output = {"title": "3 failed", "summary": "=== STATE ===", "text": None, "annotations_count": 0}
    hub.check(
        head(world), "test (3.12)", "failure",
        output=output | {"annotations_url": "https://example.org/"},
    )  # fmt: skip
    end = go(world, [finish(), finish()], limit=2)
    assert end.record.correction and "ci is red" in end.record.correction.say
    assert "test (3.12): failure: 3 failed" in end.record.correction.excerpt
    shown = section(world.prompts[1], "AUTHORITIES")
    assert "\n test (3.12): failure: 3 failed === STATE === https://example.org" in shown
    assert "\nremote: github says failed of" in shown


def test_a_success_on_another_commit_is_no_pass(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    go(world, WORK[:1], limit=1)
    first = head(world)
    hub.push("topic", first)
    hub.check(first, "test")
    go(world, WORK[1:], limit=1)
    hub.push("topic", head(world))
    end = go(world, [finish()])
    assert end.outcome is Outcome.waiting and end.record.checks["ci"].passed is False


def test_blocked_is_for_the_agent_to_say(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    go(world, WORK, limit=2)
    hub.push("topic", head(world))
    hub.check(head(world), "test")
    hub.require(reviews=1)
    hub.open("topic")
    end = go(world, [finish()], limit=1)
    assert "a review is missing" in end.record.correction.excerpt
    hub.review(1, "ana", "APPROVED")
    assert go(world, [finish()]).outcome is Outcome.completed


def test_a_guard_at_the_start(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url, "guard"))
    base = world.git("rev-parse", "main").strip()
    hub.push("main", base)
    check = hub.check(base, "test", "queued")
    with pytest.raises(Temporary, match="not decided yet"):
        go(world, [])
    check |= {"status": "completed", "conclusion": "failure"}
    with pytest.raises(ConfigError, match="red before anything was changed"):
        go(world, [])
    check |= {"conclusion": "success"}
    assert go(world, WORK[:1], limit=1).record.checks["ci"].passed


def test_checks_can_be_read_alone(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    _, seen = anyio.run(read_checks, assemble(world.loaded))
    assert not seen.checks["ci"].passed and "not pushed" in seen.checks["ci"].why


def test_the_token_is_a_secret_of_the_run(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url, token_env="FORGE"))
    with pytest.raises(ConfigError, match="FORGE is not set"):
        assemble(world.loaded, environ={})
    rig = assemble(world.loaded, environ={"FORGE": "tok-1234567890-abcdef", "PATH": "/bin"})
    assert "tok-1234" not in rig.task.redactor.redact_text("the token tok-1234567890-abcdef is out")


def test_an_edit_of_the_authority_is_an_edit_of_the_checks(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "repo", task=task(hub.url))
    go(world, WORK[:1], limit=1)
    world.file.write_text(task(hub.url, accept=["skipped"]))
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "checks" in end.record.halt.say


# ---- the task ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda text: text.replace("authority: remote", "authority: remaining"),
            "no authority 'remaining' of",
        ),
        (lambda text: text.replace("authority: remote", "authority: remote, run: [x]"), "either `run`"),
        (lambda text: text.replace("authority: remote", "authority: remote, min_tests: 3"), "`min_tests`"),
        (lambda text: text.replace(", authority: remote", ""), "either `run`"),
        (lambda text: text.replace("'provider': 'github'", "'provider': 'jenkins'"), "options.provider"),
        (lambda text: text.replace("acme/widget", "widget"), "owner/name"),
        (lambda text: text.replace("'poll'", "'pol'"), "options.pol"),
        (lambda text: text.replace("http://127", "http://me:pw@127"), "options.url"),
    ],
)
def test_what_a_task_may_not_say(tmp_path: Path, change: Callable[[str], str], said: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(change(task("http://127.0.0.1:1")))
    with pytest.raises(ConfigError, match=said):
        read_task(file)


# ---- the prompt -------------------------------------------------------------------------------------------
TEXT = st.one_of(st.text(max_size=400), st.just(NASTY), st.just("é" * 200))


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    file = tmp_path_factory.mktemp("ci") / "task.yaml"
    file.write_text(task("http://127.0.0.1:1"))
    return charter(read_task(file))


CHECKS = st.builds(
    CiCheck,
    name=TEXT,
    conclusion=st.sampled_from(["failure", "running"]),
    sha=st.just("a"),
    url=TEXT,
    why=TEXT,
)


@settings(max_examples=60, deadline=None)
@given(
    checks=st.lists(CHECKS, max_size=60),
    note=TEXT,
    names=st.lists(TEXT, max_size=20),
    row=st.sampled_from(WHOLE),
)
def test_the_reading_keeps_its_proved_bound(
    law: Charter, checks: list[CiCheck], note: str, names: list[str], row: Any
) -> None:
    seen = CiReading(
        name="remote", provider="buildbot", sha="a" * 40, state=row.state, why=row.why, note=note,
        checks=tuple(checks), total=len(checks) + 7, missing=tuple(names), flaky=tuple(names),
    )  # fmt: skip
    prompt = render(a_record(law), Readings(at=1.0, items={"git": GIT, "remote": seen}), law)
    bounds = worst_case(law, worst_case_bytes(law.schema.plain))
    sizes = dict(prompt.sections)
    assert all(size <= bounds[name] for name, size in sizes.items()), (sizes, bounds)
    outside = section(prompt.text, "AUTHORITIES").split("\n")[2:]
    assert all(line.startswith(" ") for line in outside if line), outside[:5]
