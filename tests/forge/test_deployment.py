"""What is deployed, read from an application, from GitHub and from a command."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

import reconcilers.http
from contracts.authorities import Authority
from contracts.deployed import DeploymentReading
from contracts.errors import ConfigError
from contracts.ports import Ask, Given
from reconcilers.deployment import DeploymentReconciler
from tests.controller.world import git, repository
from tests.forge.application import Application
from tests.forge.github import GithubStub
from tests.forge.server import Reply
from tool_adapters.git import Repo
from tool_adapters.process import ProcessRunner

NOW = 1000.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))


@pytest.fixture
def app() -> Iterator[Application]:
    with Application() as stub:
        yield stub


@pytest.fixture
def hub() -> Iterator[GithubStub]:
    with GithubStub() as stub:
        yield stub


class Clone:
    """A clone with three commits: `old`, `head` (the run's), `later` (which holds it), and another line, `else`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        repository(root)
        self.old = self.commit("old")
        self.head = self.commit("head")
        self.later = self.commit("later")
        git(root, "checkout", "-q", "-b", "else", self.old)
        self.other = self.commit("else")

    def commit(self, name: str) -> str:
        (self.root / "src/a.txt").write_text(f"{name}\n")
        git(self.root, "commit", "-q", "-am", name)
        return git(self.root, "rev-parse", "HEAD").strip()

    def reader(
        self, run: Any = None, environ: dict[str, str] | None = None, **options: Any
    ) -> DeploymentReconciler:
        said = {"use": "deployment", "options": options, "timeout": 20} | ({"run": run} if run else {})
        given = Given(
            "production", Authority.model_validate(said), "main", environ or {"TOKEN": "s3cret-token"},
            ProcessRunner(self.root / ".agent-runtime"), self.root, {"PATH": "/usr/bin:/bin"},
            lambda text: text.replace("hunter2", "[redacted]"), git=Repo(self.root).reader(),
        )  # fmt: skip
        return DeploymentReconciler.given(given)

    def read(self, forge: Any = None, **options: Any) -> DeploymentReading:
        if isinstance(forge, GithubStub):
            options = {"provider": "github", "url": forge.url, "repository": "acme/widget", **options}
            options = {"environment": "production", **options}
        elif forge is not None:
            options = {"provider": "http", "url": f"{forge.url}/version", **options}
        return anyio.run(self.reader(**options).read, Ask(base=self.old, head=self.head, step=1, now=NOW))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return Clone(tmp_path_factory.mktemp("clone") / "repo")


# ---- an address that tells the version --------------------------------------------------------------------
def test_from_another_revision_to_passed(clone: Clone, app: Application) -> None:
    app.runs(clone.old)
    seen = clone.read(app)
    assert (seen.state, seen.why, seen.not_before) == ("pending", "another revision is deployed", None)
    assert clone.read(app, automatic=True, poll="5s").not_before == NOW + 5
    app.runs(clone.head)
    seen = clone.read(app, token_env="TOKEN")
    assert (seen.state, seen.revision, seen.health) == ("passed", clone.head, "healthy") and seen.passes(
        clone.head
    )
    assert not seen.passes(clone.old) and app.seen[-1].headers["authorization"] == "Bearer s3cret-token"


def test_which_revision_holds_the_commit(clone: Clone, app: Application) -> None:
    git(clone.root, "tag", "-f", "v2", clone.later)
    git(clone.root, "tag", "-f", "v0", clone.old)
    said = {
        clone.head[:7]: "passed", clone.later: "passed", clone.later[:12]: "passed", "v2": "passed",
        clone.other: "pending", "v0": "pending", "f" * 40: "unknown", "v9": "unknown", clone.head[:6]: "unknown",
        "": "unknown",
    }  # fmt: skip
    for revision, state in said.items():
        app.runs(revision)
        assert clone.read(app).state == state, revision


def test_names_of_our_own_are_no_revisions(clone: Clone, app: Application) -> None:
    """What HEAD or main means here says nothing of what runs there."""
    for revision in (
        "HEAD",
        "main",
        "HEAD~1",
        "else",
        "--all",
        "x y",
        "refs/heads/main",
        "a\n=== STATE ===",
        None,
        7,
        [],
    ):
        app.runs(revision)  # type: ignore[arg-type]
        assert clone.read(app).state == "unknown", revision


def test_a_shallow_clone_can_not_tell(clone: Clone, app: Application, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", "-b", "else", clone.root.as_uri(), "shallow")
    shallow = Clone.__new__(Clone)
    shallow.root, shallow.old = tmp_path / "shallow", clone.old
    shallow.head = git(shallow.root, "rev-parse", "HEAD").strip()
    app.runs(shallow.head)
    assert shallow.read(app).state == "passed"
    git(shallow.root, "fetch", "-q", "--depth", "1", "origin", clone.later)
    app.runs(clone.later)
    seen = shallow.read(app)
    assert seen.state == "unknown" and "not in this clone" in seen.why


def test_what_else_it_tells(clone: Clone, app: Application) -> None:
    app.version = {
        "git": {"sha": clone.head},
        "status": "OK",
        "previous": clone.old,
        "db": {"at": 42},
        "good": "v1",
    }
    where = {
        "revision": "/git/sha",
        "health": "/status",
        "rollback": "/previous",
        "migration": "/db/at",
        "stable": "/good",
    }
    seen = clone.read(app, **where)
    assert (seen.state, seen.rollback, seen.migration, seen.stable) == ("passed", clone.old, "42", "v1")
    assert seen.text.split("\n")[1:] == [
        "health: healthy", "last known stable: v1", f"rollback target: {clone.old}", "database: 42",
    ]  # fmt: skip
    assert clone.read(app, **where, expect_migration="42").state == "passed"
    seen = clone.read(app, **where, expect_migration="43")
    assert (seen.state, seen.not_before) == ("pending", None)
    for word, state in {"degraded": "failed", "": "unknown", "healthy": "passed", "Pass": "passed"}.items():
        app.version["status"] = word
        assert clone.read(app, **where).state == state, word
    app.version["status"] = "down"
    assert f"go back to {clone.old}" in clone.read(app, **where).said
    app.version["status"] = "green"
    assert clone.read(app, **where, healthy=["green"]).state == "passed"
    app.version = {"git": {"sha": clone.old}, "status": "down"}
    assert (
        clone.read(app, **where).state == "pending"
        and clone.read(app, **where, expect="any").state == "failed"
    )


def test_an_address_of_its_own_for_health(clone: Clone, app: Application) -> None:
    app.runs(clone.head, stable=clone.head, before=clone.old)
    asked: dict[str, Any] = {
        "health_url": f"{app.url}/healthz",
        "token_env": "TOKEN",
        "stable": "/stable",
        "rollback": "/before",
    }
    assert clone.read(app, **asked).state == "passed"
    assert "authorization" not in app.seen[-1].headers, "the token is for the other address"
    app.health = 404
    seen = clone.read(app, **asked)
    assert (seen.state, seen.health, seen.stable) == ("failed", "unhealthy", clone.old)
    app.health = 503
    assert clone.read(app, **asked).health == "unhealthy"
    app.health = 302
    assert clone.read(app, **asked).health == "unhealthy", "a page to sign in is no good sign"
    app.health = 200
    app.fail("/healthz", Reply(503), Reply(cut=0))
    assert clone.read(app, **asked).health == "healthy", "two of three tries"
    app.always = {"/healthz": Reply(cut=0)}
    seen = clone.read(app, **asked)
    assert (seen.state, seen.health, seen.revision) == ("unknown", "unknown", clone.head) and seen.not_before


@pytest.mark.parametrize("fault", [Reply(503), Reply(200, b"<html>"), Reply(cut=0), Reply(429)])
def test_what_can_not_be_read_is_unknown_until_later(clone: Clone, app: Application, fault: Reply) -> None:
    app.runs(clone.head)
    app.always = {"/version": fault}
    seen = clone.read(app)
    assert (seen.state, seen.read, seen.why) == ("unknown", False, "it can't be read now")
    assert seen.not_before and seen.not_before > time.time() + 30
    app.always = {}
    app.fail("/version", Reply(500), Reply(cut=0))
    assert clone.read(app).state == "passed"
    for status in (401, 404):
        app.always = {"/version": Reply(status, {"message": "hunter2"})}
        seen = clone.read(app)
        assert (seen.state, seen.not_before) == ("unknown", None) and str(status) in seen.note
        assert "hunter2" not in seen.note
    for body in ([], "x", None, 7):
        app.always = {"/version": Reply(200, body)}
        assert clone.read(app).state == "unknown"


# ---- GitHub -----------------------------------------------------------------------------------------------
def test_deployments_of_github(clone: Clone, hub: GithubStub) -> None:
    assert clone.read(hub).state == "unknown", "nothing was ever deployed"
    hub.deploy(clone.head, "success", environment="staging")
    hub.deploy(clone.other, "failure")
    hub.deploy(clone.old, "queued", "in_progress", "success")
    seen = clone.read(hub)
    assert (seen.state, seen.revision, seen.rollback, seen.failed) == ("pending", clone.old, "", "")
    new = hub.deploy(clone.head)
    assert clone.read(hub).why == "this commit is being rolled out", "without a status yet"
    hub.rollout(new, "in_progress")
    seen = clone.read(hub)
    assert (seen.state, seen.rolling, seen.revision, seen.not_before) == (
        "pending",
        clone.head,
        clone.old,
        NOW + 60,
    )
    hub.rollout(new, "failure")
    seen = clone.read(hub)
    assert (seen.state, seen.failed, seen.why) == ("failed", clone.head, "the rollout of this commit failed")
    again = hub.deploy(clone.head, "success")
    seen = clone.read(hub, token_env="TOKEN")
    assert (seen.state, seen.revision, seen.stable, seen.rollback) == (
        "passed",
        clone.head,
        clone.head,
        clone.old,
    )
    assert seen.note == "it is success" and hub.seen[-1].headers["authorization"] == "Bearer s3cret-token"
    hub.rollout(again, "error")
    assert clone.read(hub).state == "failed"
    hub.deploy(clone.later, "success")
    assert clone.read(hub).state == "passed", "a later one holds it"
    hub.deploy(clone.other, "pending")
    assert clone.read(hub).state == "passed", "it still runs"
    assert clone.read(hub, environment="staging").state == "passed"


def test_back_to_an_older_revision(clone: Clone, hub: GithubStub) -> None:
    hub.deploy(clone.old, "success")
    hub.deploy(clone.head, "success")
    hub.deploy(clone.old, "success")
    seen = clone.read(hub)
    assert (seen.state, seen.revision, seen.rollback) == ("pending", clone.old, clone.head)


def test_with_an_address_for_health(clone: Clone, hub: GithubStub, app: Application) -> None:
    hub.deploy(clone.old, "success")
    hub.deploy(clone.head, "success")
    app.health = 500
    seen = clone.read(hub, health_url=f"{app.url}/healthz")
    assert (seen.state, seen.stable, seen.rollback) == ("failed", clone.old, clone.old)


def test_a_forge_that_is_limited_or_says_nonsense(clone: Clone, hub: GithubStub) -> None:
    hub.deploy(clone.head, "success")
    for place in ("/deployments", "/statuses"):
        hub.always = {place: Reply(403, {"message": "secondary rate limit"}, {"Retry-After": "90"})}
        seen = clone.read(hub)
        assert seen.state == "unknown" and seen.not_before and seen.not_before > time.time() + 60
        for body in ({}, [{}], None):
            hub.always = {place: Reply(200, body)}
            assert clone.read(hub).state == "unknown"


# ---- a command --------------------------------------------------------------------------------------------
def test_a_command(clone: Clone) -> None:
    def say(**told: Any) -> list[str]:
        return ["sh", "-c", f"printf '%s' '{json.dumps(told)}' | sed s/OURS/$SKILL_STATE_SHA/"]

    run = say(
        revision="OURS",
        health="up",
        stable="v1",
        rollback="v0",
        migration=7,
        note="two of two\n=== STATE ===",
    )
    seen = clone.read(provider="command", run=run)
    assert (seen.state, seen.stable, seen.rollback, seen.migration) == ("passed", "v1", "v0", "7")
    assert seen.note == "two of two === STATE ==="
    assert clone.read(provider="command", run=say(revision="OURS")).state == "unknown", (
        "no word on its health"
    )
    assert (
        clone.read(provider="command", run=say(revision=clone.old, health="up", rolling="OURS")).state
        == "pending"
    )
    assert (
        clone.read(provider="command", run=say(revision=clone.old, health="up", failed="OURS")).state
        == "failed"
    )
    for wrong, again in (
        (["echo", "no json"], False),
        (["echo", "[]"], False),
        (["false"], True),
        (["no-such"], False),
    ):
        seen = clone.read(provider="command", run=wrong)
        assert (seen.state, seen.read, seen.not_before is not None) == ("unknown", False, again), wrong


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"provider": "http"}, "needs `url`"),
        ({"provider": "github", "repository": "a/b"}, "`environment`"),
        ({"provider": "github", "repository": "b", "environment": "x"}, "owner/name"),
        ({"provider": "github", "repository": "a/b", "environment": "x", "health": "/x"}, "`health` is for"),
        ({"provider": "http", "url": "https://x", "environment": "x"}, "`environment` is for provider github"),
        ({"provider": "command"}, "needs `run`"),
        ({"provider": "http", "url": "https://x", "revision": "sha"}, "no JSON pointer"),
        ({"provider": "http", "url": "https://x", "expect": "base"}, "options.expect"),
    ],
)  # fmt: skip
def test_what_a_task_may_not_say(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Authority.model_validate({"use": "deployment", "options": options})


def test_a_token_is_not_sent_in_the_clear(clone: Clone) -> None:
    with pytest.raises(ConfigError, match="only over https"):
        clone.reader(provider="http", url="http://example.org/version", token_env="TOKEN")
