"""What a forge and the way to it can do: nothing of it is ever green, ends a run, or gets the token."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import anyio
import pytest

import reconcilers.http
from contracts.errors import ConfigError, Permanent
from contracts.ports import Ask
from reconcilers.http import CAP, Client, Later
from tests.forge.github import GithubStub
from tests.forge.server import Forge, Reply
from tests.forge.test_github import OTHER, SHA, read, reader

SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
PRIMARY = {"message": "API rate limit exceeded for installation ID 1."}
BUSY = Reply(503, {"message": "busy"})


class Plain(Forge):
    """Answers {"ok": true} everywhere, a list of 3 at /list."""

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        return Reply(200, [1, 2, 3] if path.endswith("/list") else {"ok": True})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))


@pytest.fixture
def plain() -> Iterator[Plain]:
    with Plain() as stub:
        yield stub


@pytest.fixture
def hub() -> Iterator[GithubStub]:
    with GithubStub() as stub:
        stub.push("topic", SHA)
        stub.check(SHA, "test")
        yield stub


def client(forge: Forge) -> Client:
    return Client(forge.url, {"Authorization": "Bearer s3cret"}, secret=True)


def get(one: Client, path: str = "/x", seconds: float = 10.0) -> Any:
    return one.read(path, deadline=time.monotonic() + seconds)


# ---- every place of a reading, every fault: unknown, with the time to look again --------------------------
FAULTS: dict[str, Reply] = {
    "403 secondary": Reply(403, SECONDARY),
    "403 with retry-after": Reply(403, SECONDARY, {"Retry-After": "30"}),
    "403 primary": Reply(403, PRIMARY, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4000000000"}),
    "429": Reply(429, {"message": "slow down"}),
    "429 with a date": Reply(429, b"", {"Retry-After": formatdate(time.time() + 7200, usegmt=True)}),
    "500": Reply(500, {"message": "oops"}),
    "502 html": Reply(502, b"<html>", {"Content-Type": "text/html"}),
    "503 with retry-after": Reply(503, b"", {"Retry-After": "120"}),
    "cut at once": Reply(cut=0),
    "cut in the middle": Reply(200, {"check_runs": []}, cut=9),
    "cut, and good JSON": Reply(200, b'{"check_runs": [], "workflow_runs": [], "statuses": []}    ', cut=56),
    "no JSON": Reply(200, b'{"check_runs": ['),
    "HTML with 200": Reply(200, b"<html>sign in</html>", {"Content-Type": "text/html"}),
    "JSON as text": Reply(200, b"[]", {"Content-Type": "text/plain"}),
}
PLACES = (
    f"/commits/{SHA}", "/actions/runs", "/check-runs", "/status", "/pulls", "/rules/", "/branches/main",
    "/branches-where-head",
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_unknown_until_later(hub: GithubStub, fault: str) -> None:
    assert read(hub).state == "passed"
    for place in PLACES:
        hub.always = {place: FAULTS[fault]}
        seen = read(hub)
        assert (seen.state, seen.why) == ("unknown", "it can't be read now"), (place, seen)
        assert seen.not_before and seen.not_before > time.time() + 0.5, (place, seen)
    hub.always = {}
    assert read(hub).state == "passed"


@pytest.mark.parametrize(
    "fault",
    ["500", "502 html", "cut at once", "cut in the middle", "cut, and good JSON", "no JSON", "HTML with 200"],
)
def test_a_fault_that_passes_is_not_seen(hub: GithubStub, fault: str) -> None:
    hub.fail("/check-runs", FAULTS[fault], FAULTS[fault])
    assert read(hub).state == "passed"
    assert not hub.faults


@pytest.mark.parametrize("status", [401, 403, 404, 451])
def test_no_access_is_unknown_and_says_so(hub: GithubStub, status: int) -> None:
    for place in PLACES[1:]:
        if (place, status) == ("/branches/main", 404):
            continue  # a base without a branch has no rules
        hub.always = {place: Reply(status, {"message": "Resource not accessible by integration"})}
        seen = read(hub)
        assert (seen.state, seen.not_before) == ("unknown", None) and str(status) in seen.note, place


@pytest.mark.parametrize("body", [[], {}, None, {"check_runs": None}, {"check_runs": [{"name": 1}]}, "x", 7])
def test_an_answer_of_another_shape_is_unknown(hub: GithubStub, body: Any) -> None:
    for place in (*PLACES[:4], "/rules/"):
        hub.always = {place: Reply(200, body)}
        seen = read(hub)
        if place == "/rules/" and body == []:
            assert seen.state == "passed"
            continue
        assert seen.state == "unknown", (place, seen)
    hub.always = {"/check-runs": Reply(200, {"check_runs": []})}
    assert read(hub).state == "unknown"


# ---- limits -----------------------------------------------------------------------------------------------
def due(reply: Reply, plain: Plain) -> float:
    plain.always = {"/x": reply}
    with pytest.raises(Later) as caught:
        get(client(plain))
    return caught.value.not_before - time.time()


def test_when_a_limit_ends(plain: Plain) -> None:
    now = time.time()
    assert 25 < due(FAULTS["403 with retry-after"], plain) < 31
    assert 55 < due(FAULTS["403 secondary"], plain) < 61
    dated = {"Retry-After": formatdate(now + 90, usegmt=True)}
    assert 75 < due(Reply(429, b"", dated), plain) < 92
    assert 80_000 < due(FAULTS["403 primary"], plain) <= 86_400, "no server is believed beyond a day"
    soon = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(now) + 600)}
    assert 590 < due(Reply(403, PRIMARY, soon), plain) < 602
    past = {"RateLimit-Remaining": "0", "RateLimit-Reset": str(int(now) - 600)}
    assert 0 < due(Reply(429, {}, past), plain) <= 1
    # A secondary limit bites while the hour's requests are not used up: their reset says nothing.
    left = {"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": str(int(now) + 3000)}
    assert 55 < due(Reply(403, SECONDARY, left), plain) < 61


def test_the_servers_clock_counts_where_it_differs(plain: Plain) -> None:
    ahead = time.time() + 7200
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(ahead) + 300)}
    plain.dated = formatdate(ahead, usegmt=True)
    assert 290 < due(Reply(403, PRIMARY, headers), plain) < 302


def test_nothing_is_asked_while_a_limit_holds(plain: Plain) -> None:
    one = client(plain)
    plain.fail("/x", Reply(429, {}, {"Retry-After": "60"}))
    for _ in range(3):
        with pytest.raises(Later):
            get(one)
    assert len(plain.seen) == 1, "not even tried again"


def test_the_last_request_of_the_hour_is_good_and_the_next_is_not_sent(plain: Plain) -> None:
    one = client(plain)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 900)}
    plain.fail("/x", Reply(200, {"ok": 1}, headers))
    assert get(one) == {"ok": 1}
    with pytest.raises(Later) as caught:
        get(one)
    assert caught.value.not_before > time.time() + 800 and len(plain.seen) == 1


def test_a_refusal_that_is_no_limit_is_no_limit(plain: Plain) -> None:
    plain.always = {
        "/x": Reply(403, {"message": "Must have admin rights"}, {"X-RateLimit-Remaining": "4000"})
    }
    with pytest.raises(Permanent, match="no access: Must have admin"):
        get(client(plain))


# ---- bounds -----------------------------------------------------------------------------------------------
def test_three_tries_and_no_more(plain: Plain) -> None:
    plain.always = {"/x": BUSY}
    with pytest.raises(Later, match="status 503"):
        get(client(plain))
    assert len(plain.seen) == 3


def test_the_deadline_ends_the_tries(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (30.0, 30.0))
    plain.always = {"/x": BUSY}
    with pytest.raises(Later):
        get(client(plain), seconds=5.0)
    assert len(plain.seen) == 1
    with pytest.raises(Later, match="no time left"):
        get(client(plain), seconds=-1.0)


def test_a_huge_body_is_not_read_to_its_end(plain: Plain) -> None:
    plain.always = {"/x": Reply(200, b" " * (CAP + 10_000_000))}
    with pytest.raises(Permanent, match="longer than 8 MiB"):
        get(client(plain))
    assert len(plain.seen) == 1


def test_silence_ends(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcilers.http, "SILENCE", 0.2)

    def asleep() -> Reply:
        time.sleep(0.6)
        return Reply(200, {})

    plain.always = {"/x": asleep}
    with pytest.raises(Later, match="too slow"):
        get(client(plain))


def test_pages_in_a_circle_and_without_end(plain: Plain) -> None:
    def pages(link: str) -> Any:
        plain.always = {"/list": Reply(200, [1], {"Link": link})}
        return client(plain).pages("/list", deadline=time.monotonic() + 10)

    with pytest.raises(Permanent, match="circle"):
        pages(f'<{plain.url}/list?page=2>; rel="next"')
    number = iter(range(1000))
    plain.always = {}
    with pytest.raises(Permanent, match="another host"):
        pages('<https://evil.example/list?page=2>; rel="next"')
    plain.always = {"/list": lambda: Reply(200, [1], {"Link": f'</list?page={next(number)}>; rel="next"'})}
    with pytest.raises(Permanent, match="more than 20 pages"):
        client(plain).pages("/list", deadline=time.monotonic() + 10)
    plain.always = {"/list": Reply(200, {"it": [1], "total_count": 2})}
    with pytest.raises(Later, match="1 of 2 were sent"):
        client(plain).pages("/list", key="it", deadline=time.monotonic() + 10)
    plain.always = {}
    assert client(plain).pages("/y/list", deadline=time.monotonic() + 10) == [1, 2, 3]


# ---- where the token goes ---------------------------------------------------------------------------------
def test_no_redirect_to_another_host(plain: Plain) -> None:
    with Plain() as other:
        for status in (301, 302, 307, 308):
            plain.always = {"/x": Reply(status, b"", {"Location": f"{other.url}/x"})}
            with pytest.raises(Permanent, match="another host"):
                get(client(plain))
        plain.always = {"/x": Reply(302, b"", {"Location": "file:///etc/passwd"})}
        with pytest.raises(Permanent, match="another host"):
            get(client(plain))
        assert not other.seen
    plain.always = {"/x": Reply(301, b"", {"Location": "/repositories/1"})}
    assert get(client(plain)) == {"ok": True}
    plain.always = {"/x": Reply(301, b"", {"Location": "/x"})}
    with pytest.raises(Permanent, match="too many redirects"):
        get(client(plain))


def test_a_token_only_over_tls_or_to_this_machine() -> None:
    with pytest.raises(ConfigError, match="only over https"):
        Client("http://ci.example.org", {}, secret=True)
    Client("http://ci.example.org", {})
    Client("https://ci.example.org", {}, secret=True)


def test_no_proxy_to_this_machine(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert get(client(plain)) == {"ok": True}


def test_a_token_that_is_missing_or_none(plain: Plain) -> None:
    with pytest.raises(ConfigError, match="NOT_THERE is not set"):
        reader(plain, token_env="NOT_THERE")


def test_no_error_shows_the_token(plain: Plain) -> None:
    shown = []
    for reply in (*FAULTS.values(), Reply(401, {"message": "Bad credentials"})):
        plain.always = {"/x": reply}
        with pytest.raises((Later, Permanent)) as caught:
            get(client(plain))
        shown.append(str(caught.value))
    assert "s3cret" not in json.dumps(shown)
    assert {seen.headers["authorization"] for seen in plain.seen} == {"Bearer s3cret"}


def test_a_host_that_is_not_there() -> None:
    class Gone:
        url = "http://127.0.0.1:9"

    seen = anyio.run(reader(Gone()).read, Ask(base=OTHER, head=SHA, step=1, now=time.time()))
    assert seen.state == "unknown" and seen.not_before and "no answer" in seen.note
