"""How much of a request a prompt cache can hold: what the model reads twice in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

from controller.conformance.weights import dump, inside, weigh
from tests.gateway import Recorded

MOVING = ("authorities", "views", "correction", "observation")
SLACK = 0.05
UNREAD = ("id", "cache_control")


def reads(request: Recorded) -> bytes:
    """What the model reads, in the order of a cache: tools and the schema of the reply, system, messages. Ids and
    marks for the cache are no part of it."""
    body = request.parsed
    form = body.get("text") or {}
    shape = [body.get("tools"), form.get("format"), body.get("response_format")]
    spoken = [body.get(name) for name in ("system", "instructions", "messages", "input")]
    return dump([shape, _stripped(spoken)]).encode()


def beyond(before: Recorded, after: Recorded) -> int:
    """The bytes of `after` that stand behind what it has in common with `before`."""
    one, other = reads(before), reads(after)
    return len(other) - _same(one, other)


def allowed(before: Recorded, after: Recorded) -> int:
    """The bytes of `after` that have to be new: the state from its first changed field on, authorities, views,
    correction and observation."""
    weights = weigh(after)
    moving = sum(weights[name].bytes for name in MOVING if name in weights)
    was, now = (_lines(request, "state") for request in (before, after))
    return moving + inside("".join(now[_same(was, now) :]))


def excess(requests: Sequence[Recorded]) -> list[float]:
    """For each request and the one after it: the bytes beyond the common prefix by those that have to be new."""
    return [beyond(before, after) / allowed(before, after) for before, after in pairwise(requests)]


def again(requests: Sequence[Recorded]) -> list[float]:
    """For each request but the first: the share of what the model reads that a cache can hold from the one before."""
    return [1 - beyond(before, after) / len(reads(after)) for before, after in pairwise(requests)]


def stable(requests: Sequence[Recorded]) -> int:
    """How many different spellings of tools, schema and system (what stands before the first user's text) there
    are: 1 is right."""
    found = set()
    for request in requests:
        body = request.parsed
        whole = [body.get(name) for name in ("tools", "text", "response_format", "system", "instructions")]
        spoken = body.get("input") or body.get("messages") or []
        found.add(dump([whole, _stripped(list(takewhile(_unasked, spoken)))]))
    return len(found)


def _unasked(item: dict[str, Any]) -> bool:
    return item.get("role") != "user"


def _same(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The length of what both begin with."""
    differ = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _stripped(value: Any) -> Any:
    if isinstance(value, list):
        return [_stripped(each) for each in value]
    if isinstance(value, dict):
        return {name: _stripped(each) for name, each in value.items() if name not in UNREAD}
    return value


def _lines(request: Recorded, section: str) -> list[str]:
    weight = weigh(request).get(section)
    return weight.text.splitlines(keepends=True) if weight else []
