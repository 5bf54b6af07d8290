"""One number against what it must be: now, over samples, and over time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.live import ValueOptions
from contracts.telemetry import Sample, at_pointer, judge

NOW = 10_000.0


def rule(**more: Any) -> ValueOptions:
    return ValueOptions.model_validate({"url": "https://x/y", "pointer": "/v", "at_most": 1, **more})


def told(found: list[Sample], since: float | None = None, now: float = NOW, **more: Any) -> tuple[str, Any]:
    judged = judge(found, rule(**more), now, since)
    return judged.state, judged.again


def every(seconds: int, count: int, value: float = 0.5) -> list[Sample]:
    return [(NOW - seconds * step, value) for step in reversed(range(count))]


def test_one_number_now() -> None:
    assert told([(None, 1.0)]) == ("passed", None) and told([(None, 1.1)]) == ("failed", None)
    assert (
        told([(None, 0.5)], at_least=0.5) == ("passed", None)
        and told([(None, 0.4)], at_least=0.5)[0] == "failed"
    )
    assert told([]) == ("unknown", NOW + 60) and told([], poll="5s") == ("unknown", NOW + 5)
    assert told([(None, 0.5), (None, 2.0), (None, 0.5)])[0] == "failed", "any of several"


def test_one_number_for_a_time() -> None:
    """It must have been seen to hold for so long."""
    one = [(None, 0.5)]
    assert told(one, window="5m") == ("pending", NOW + 300)
    assert told(one, since=NOW - 100, window="5m") == ("pending", NOW + 200)
    assert told(one, since=NOW - 300, window="5m") == ("passed", None)
    assert told(one, since=NOW + 3600, window="5m") == ("pending", NOW + 300), "a clock that was set back"
    assert told([(None, 2.0)], since=0.0, window="5m") == ("failed", None)
    assert told([(NOW - 400, 0.5)], since=0.0, window="5m") == ("unknown", NOW + 60), (
        "too old to say anything"
    )
    assert told([(NOW - 40, 0.5)], since=NOW - 300, window="5m") == ("passed", None)


def test_a_series() -> None:
    assert told(every(60, 6), window="5m") == ("passed", None)
    assert told([*every(60, 6), (NOW, 3.0)], window="5m")[0] == "failed"
    assert told([(NOW - 301, 9.0), *every(60, 6)], window="5m")[0] == "passed", (
        "before the window it may be anything"
    )
    assert told(every(60, 3), window="5m") == ("pending", NOW + 180), "not long enough yet"
    late = [(at - 1000, value) for at, value in every(60, 20) if at]
    assert told(late, window="5m") == ("unknown", NOW + 60)
    assert told([(NOW + 3600, 0.5)], window="5m")[0] == "unknown", "from the future"


@given(
    found=st.lists(
        st.tuples(st.one_of(st.none(), st.floats(NOW - 900, NOW + 90)), st.floats(-9, 9)), max_size=9
    ),
    window=st.sampled_from([None, 60, 300]),
    since=st.one_of(st.none(), st.floats(0, NOW + 90)),
)
def test_nothing_passes_without_a_sample_that_holds(
    found: list[Sample], window: int | None, since: float | None
) -> None:
    wanted = rule(window=window)
    judged = judge(found, wanted, NOW, since)
    if judged.state == "passed":
        times = [at for at, _ in found if at is not None]
        counted = [value for at, value in found if window is None or not times or (at and at >= NOW - window)]
        assert counted and all(map(wanted.holds, counted))
    assert judged.again is None or judged.again >= NOW


def test_pointers() -> None:
    body = {"a": [{"b": 1}, {"": 2}], "c/d": {"~": 3}, "0": 4}
    named = {"/a/0/b": 1, "/a/1/": 2, "/c~1d/~0": 3, "/0": 4, "": body}
    assert all(at_pointer(body, pointer) == value for pointer, value in named.items())
    for wrong in ("/a/2", "/a/00", "/a/-", "/a/٣", "/x", "/a/0/b/c"):
        with pytest.raises(LookupError):
            at_pointer(body, wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at_most": None}, "say what the number must be"),
        ({"at_least": 2}, "no number is both"),
        ({"pointer": "v"}, "no JSON pointer"),
        ({"url": "https://x/y?z=1"}, "url"),
        ({"header": "X Key"}, "header"),
        ({"at_most": float("nan")}, "at_most"),
    ],
)
def test_what_a_task_may_not_say(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        rule(**change)
