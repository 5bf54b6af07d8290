"""The one JSON object that is a reply, taken out of what a program printed; never guessed which of two."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from contracts.base import JsonObject
from contracts.reply import ReplyClass
from contracts.text import clean
from tool_adapters.agents.classify import Failure

# Noise with more opening braces than this is no noise around a reply.
MOST_CANDIDATES = 2_000
# What begins so is meant as an object: where it can't be read, it was cut short, and what stands in it is a fragment.
_BEGUN = re.compile(r"""\{\s*(?:["']|\Z)""")
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.S)


def only_object(text: str) -> tuple[JsonObject | None, Failure | None]:
    """The one JSON object that is all of a model's answer, or all but one fence around it: (object, None) or
    (None, why not). Prose beside it makes it no reply: the model was told to write nothing else."""
    text = text.strip()
    if not text:
        return None, Failure(ReplyClass.MISSING, "the model answered with nothing")
    fenced = _FENCED.fullmatch(text)
    text = fenced[1].strip() if fenced else text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        said = f"the answer is not one JSON object and nothing else: {clean(str(error))}"
        return None, Failure(ReplyClass.INVALID if "{" in text else ReplyClass.MISSING, said)
    if not isinstance(value, dict):
        return None, Failure(
            ReplyClass.INVALID, f"the answer is JSON, but a {type(value).__name__} and no object"
        )
    return _once(value, text)


def find_object(data: bytes) -> tuple[JsonObject | None, Failure | None]:
    """The one JSON object on stdout: (object, None) or (None, why not). Alone, in a ```json fence, or amid lines
    of noise; more than one top-level object is ambiguous, and so none is taken."""
    # Not with replacement: a reply that is not UTF-8 would then write other characters into files than it meant.
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").strip()
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return _search(text, str(error))
    if isinstance(value, dict):
        return _once(value, text)
    return None, Failure(ReplyClass.INVALID, f"stdout is JSON, but a {type(value).__name__} and no object")


def _search(text: str, why: str) -> tuple[JsonObject | None, Failure | None]:
    found: list[JsonObject] = []
    spans: list[str] = []
    decoder, at, tried = json.JSONDecoder(), 0, 0
    while (at := text.find("{", at)) >= 0:
        tried += 1
        if tried > MOST_CANDIDATES:
            return None, Failure(ReplyClass.INVALID, f"stdout is not one JSON object ({why})")
        try:
            end = decoder.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            if _BEGUN.match(text, at):
                return None, Failure(ReplyClass.INVALID, f"stdout is not one JSON object ({why})")
            at += 1
            continue
        try:
            # The strict parser decides: no NaN, no lone surrogate, no endless nesting.
            found.append(orjson.loads(text[at:end]))
        except orjson.JSONDecodeError as error:
            said = f"the JSON object on stdout can't be taken: {clean(str(error))}"
            return None, Failure(ReplyClass.INVALID, said)
        spans.append(text[at:end])
        at = end
    if len(found) == 1:
        return _once(found[0], spans[0])
    if found:
        said = f"stdout holds {len(found)} JSON objects: which one is the reply can't be told"
        return None, Failure(ReplyClass.INVALID, said)
    cls = ReplyClass.INVALID if "{" in text else ReplyClass.MISSING
    return None, Failure(cls, f"stdout is not one JSON object ({why})")


def _once(value: JsonObject, text: str) -> tuple[JsonObject | None, Failure | None]:
    """The object, unless a key stands in it twice: which of the two is meant can't be told."""

    def pairs(items: list[tuple[str, Any]]) -> JsonObject:
        if len({key for key, _ in items}) < len(items):
            twice = next(key for place, (key, _) in enumerate(items) if key in dict(items[:place]))
            raise KeyError(twice)
        return dict(items)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except KeyError as error:
        return None, Failure(
            ReplyClass.INVALID, f"the key {str(error.args[0])[:60]!r} stands in one object twice"
        )
    except (ValueError, RecursionError) as error:
        return None, Failure(ReplyClass.INVALID, f"the JSON object on stdout can't be taken: {error}")
    return value, None
