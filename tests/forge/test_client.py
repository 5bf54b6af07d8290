"""The client that acts: one request, one try, and an honest word on what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError
from contracts.forge_api import Call
from controller.surfaces.forging import problems, warnings
from tests.controller.forge_world import ForgeWorld
from tests.forge.server import Forge, Reply
from tests.forge.test_faults import FAULTS
from tool_adapters.forge.client import CAP, Client

POST = Call("/x", method="POST", body={"a": 1})
GET = Call("/x")
LIMITS = ("403 secondary", "403 with retry-after", "403 primary", "429", "429 with a date")


class Plain(Forge):
    """Answers {"ok": true} everywhere, a list of 3 at /list, in pages of 2."""

    page = 2

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        return Reply(200, [1, 2, 3] if path.endswith("/list") else {"ok": True})

    def act(self, method: str, path: str, body: Any) -> Reply:
        return Reply(201, {"made": body})


@pytest.fixture
def plain() -> Iterator[Plain]:
    with Plain() as stub:
        yield stub


def client(forge: Forge) -> Client:
    return Client(forge.url, {"Authorization": "Bearer s3cret"}, secret=True)


def test_what_is_done_is_told(plain: Plain) -> None:
    sent = client(plain).send(POST)
    assert (sent.kind, sent.status, sent.body) == ("done", 201, {"made": {"a": 1}})
    assert plain.seen[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_sent_once_and_told_as_what_it_is(plain: Plain, fault: str) -> None:
    plain.always = {"/x": FAULTS[fault]}
    sent = client(plain).send(POST)
    good = fault in ("no JSON", "HTML with 200", "JSON as text")  # the forge said that it did it
    assert sent.kind == ("done" if good else "later" if fault in LIMITS else "maybe"), sent
    assert len(plain.seen) == 1 and "s3cret" not in sent.why
    assert good or sent.not_before > time.time()
    if not good:
        assert client(plain).send(GET).kind == "later", "nothing can have been done by looking"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422, 451])
def test_a_refusal_says_why(plain: Plain, status: int) -> None:
    plain.always = {"/x": Reply(status, {"message": "No", "errors": [{"message": "really"}, "x"]})}
    sent = client(plain).send(POST)
    assert (sent.kind, sent.status) == ("refused", status) and sent.why.endswith("No; really")


def test_nobody_listens() -> None:
    sent = Client("http://127.0.0.1:9", {}, secret=True).send(POST)
    assert sent.kind == "later" and "no answer" in sent.why, "what was never received is not done"


def test_all_pages_or_none(plain: Plain) -> None:
    one = client(plain)
    assert one.all(Call("/list")).body == [1, 2, 3]
    plain.fail("page=2", Reply(503, b""))
    plain.always = {"/list": Reply(200, [1], {"Link": '<https://evil.example/list?page=2>; rel="next"'})}
    assert one.all(Call("/list")).kind == "refused"
    plain.always = {"/list": Reply(200, [1], {"Link": '</list?page=3>; rel="next"'})}
    assert "more than 20 pages" in one.all(Call("/list")).why
    plain.always = {"/list": Reply(200, {"jobs": [1]})}
    assert one.all(Call("/list", key="jobs")).body == [1] and one.all(Call("/list")).kind == "refused"


def test_no_redirect_is_followed_with_the_token(plain: Plain) -> None:
    with Plain() as other:
        for status in (301, 302, 307, 308):
            plain.always = {"/x": Reply(status, b"", {"Location": f"{other.url}/x"})}
            sent = client(plain).send(POST)
            assert sent.kind == "refused" and "has moved to" in sent.why
        assert not other.seen
        text = client(plain).text(GET)
        assert (text.kind, text.body) == ("done", b'{"ok": true}')
        assert "authorization" not in other.seen[0].headers
    plain.always = {"/x": Reply(302, b"", {"Location": "http://kept.example.org/log"})}
    assert "without TLS" in client(plain).text(GET).why
    plain.always = {"/x": Reply(302, b"", {"Location": "/x"})}
    assert client(plain).text(GET).kind == "refused"


def test_a_huge_answer_is_not_read_to_its_end(plain: Plain) -> None:
    plain.always = {"/x": Reply(200, b" " * (CAP + 1_000_000))}
    assert client(plain).send(GET).kind == "later"


def test_a_token_only_over_tls_or_to_this_machine(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="only over https"):
        Client("http://forge.example.org", {}, secret=True)
    Client("http://forge.example.org", {}, secret=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert client(plain).send(GET).kind == "done", "and to this machine by no proxy"


# ---- before a run -----------------------------------------------------------------------------------------
def test_what_validate_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORGE_TOKEN", raising=False)
    more = "approvals: {who: ['gitlab:ana', 'github:bob', ana]}\n"
    world = ForgeWorld(tmp_path / "a", "https://api.github.com", more=more)
    told = list(warnings(world.loaded))
    assert len(told) == 3 and list(problems(world.loaded)) == []
    for word in (
        "FORGE_TOKEN is not set here",
        "pr_merge is allowed and nobody",
        "gitlab:ana is nobody on github",
    ):
        assert any(word in each for each in told), told
    world.git("remote", "remove", "origin")
    assert "no remote 'origin'" in next(problems(world.loaded))
    other = ForgeWorld(tmp_path / "b", "https://x", tools="recall", caps={"timezone": "Mars/Olympus"})
    assert "Mars/Olympus" in next(problems(other.loaded))
    assert any("no action that is allowed uses the forge" in each for each in warnings(other.loaded))
