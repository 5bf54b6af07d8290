"""One number of an HTTP service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import reconcilers.http
from contracts.authorities import Authority
from contracts.ports import Ask, Given
from contracts.telemetry import ValueReading
from reconcilers.http_json import HttpJsonReconciler
from tests.forge.application import Application
from tests.forge.server import Reply
from tool_adapters.process import ProcessRunner

NOW = 1_772_366_400.0  # 2026-03-01T12:00:00Z


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))
    with Application() as stub:
        yield stub


def read(
    app: Application, *, stood: float | None = None, opened: bool = True, **options: Any
) -> ValueReading:
    said = {"url": f"{app.url}/metrics", "pointer": "/rate", "at_most": 0.01, **options}
    authority = Authority.model_validate({"use": "http_json", "options": said, "timeout": 20})
    here = Path("/")
    given = Given("errors", authority, "main", {"KEY": "s3cret-key"}, ProcessRunner(here), here, {})
    before = {} if stood is None else {"errors": stood}
    ask = Ask(base="b", head="h", step=1, now=NOW, stood=before if opened else None)
    return anyio.run(HttpJsonReconciler.given(given).read, ask)


def test_a_number_and_its_limit(app: Application) -> None:
    for value, state in {
        0.004: "passed",
        0.01: "passed",
        0.02: "failed",
        "0.004": "passed",
        "1e-3": "passed",
    }.items():
        app.metrics = {"rate": value}
        assert read(app).state == state, value
    seen = read(app)
    assert seen.said == "passed: 0.001: it is at most 0.01" and seen.value == 0.001


@pytest.mark.parametrize(
    "value", [None, "x", "NaN", True, {}, [[1, 2, 3]], float("inf"), "1e999", [None], 10**400]
)
def test_what_is_no_number_is_unknown(app: Application, value: Any) -> None:
    app.metrics = {"rate": value}
    seen = read(app)
    assert (seen.state, seen.read) == ("unknown", False) and "another shape" in seen.note


def test_a_metric_that_nobody_wrote_yet(app: Application) -> None:
    seen = read(app)
    assert (seen.state, seen.why, seen.not_before) == ("unknown", "there is no sample", NOW + 60)
    app.metrics = {"rate": []}
    assert read(app).state == "unknown"


def test_as_prometheus_answers(app: Application) -> None:
    values = [[NOW - 60 * minute, "0.002"] for minute in range(10, -1, -1)]
    app.metrics = {"status": "success", "data": {"result": [{"metric": {}, "values": values}]}}
    asked = {
        "pointer": "/data/result/0/values",
        "window": "10m",
        "query": {"query": "rate(x[5m])", "step": "60"},
    }
    assert read(app, **asked).state == "passed" and read(app, **asked).samples == 11
    assert app.seen[-1].query == {"query": ["rate(x[5m])"], "step": ["60"]}
    values[4][1] = "0.5"
    assert read(app, **asked).why == "1 of 11 samples are not at most 0.01 for 600 s"
    app.metrics["data"]["result"][0]["value"] = [NOW, "0.002"]
    assert read(app, pointer="/data/result/0/value/1").state == "passed"


def test_times_as_services_write_them(app: Application) -> None:
    for when in (
        NOW,
        NOW * 1000,
        str(NOW),
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01T12:00:00",
    ):
        app.metrics = {"rate": 0.001, "at": when}
        assert read(app, time="/at", window="1m", stood=NOW - 60).state == "passed", when
    app.metrics["at"] = "2026-03-01T11:00:00Z"
    assert "3,600 s old" in read(app, time="/at", window="1m", stood=NOW - 60).why
    app.metrics["at"] = "yesterday"
    assert read(app, time="/at", window="1m").state == "unknown"


def test_a_window_over_readings(app: Application) -> None:
    app.metrics = {"rate": 0.001}
    assert read(app, window="10m").not_before == NOW + 600
    assert read(app, window="10m", stood=NOW - 590).not_before == NOW + 10
    assert read(app, window="10m", stood=NOW - 600).state == "passed"
    assert read(app, window="10m", opened=False).state == "passed", (
        "when a run is opened what is now is all there is"
    )


def test_the_token_and_its_header(app: Application) -> None:
    app.metrics = {"rate": 0}
    read(app, token_env="KEY")
    assert app.seen[-1].headers["authorization"] == "Bearer s3cret-key"
    read(app, token_env="KEY", header="X-Api-Key")
    assert app.seen[-1].headers["x-api-key"] == "s3cret-key" and "authorization" not in app.seen[-1].headers


def test_faults_are_unknown_and_pass(app: Application) -> None:
    app.metrics = {"rate": 0}
    for fault in (
        Reply(503),
        Reply(429),
        Reply(cut=0),
        Reply(200, b"rate 0", {"Content-Type": "text/plain"}),
    ):
        app.always = {"/metrics": fault}
        seen = read(app)
        assert (
            (seen.state, seen.read) == ("unknown", False)
            and seen.not_before
            and seen.not_before > time.time()
        )
    app.always = {}
    app.fail("/metrics", Reply(500), Reply(cut=3))
    assert read(app).state == "passed"
    app.always = {"/metrics": Reply(403, {})}
    assert read(app).not_before is None
