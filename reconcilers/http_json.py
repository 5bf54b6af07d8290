"""One number of an HTTP service as an authority: telemetry, held against what it must be."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

from contracts.errors import ControllerError
from contracts.fence import fenced
from contracts.live import ValueOptions
from contracts.ports import Ask, Given
from contracts.telemetry import Sample, ValueReading, at_pointer, judge
from contracts.text import line
from reconcilers.asked import asked, token
from reconcilers.http import Client, Later, origin

MILLIS = 1e11  # times beyond this are milliseconds


class HttpJsonReconciler:
    """Reads one number. What can't be read is a reading of state `unknown`, never raised."""

    def __init__(self, given: Given, options: ValueOptions, http: Client) -> None:
        self.name, self.when = given.name, ("step",)
        self._given, self._options, self._http = given, options, http

    @classmethod
    def given(cls, given: Given) -> HttpJsonReconciler:
        """What the task's authority asks for. Raises ConfigError where its token is not there."""
        options = given.authority.settings
        assert isinstance(options, ValueOptions), "of an authority with `use: http_json`"
        secret = token(given, options.token_env)
        sent = f"Bearer {secret}" if options.header.lower() == "authorization" else secret
        headers = {"Accept": "application/json"} | ({options.header: sent} if secret else {})
        return cls(given, options, Client(origin(options.url), headers, secret=bool(secret)))

    async def read(self, ask: Ask) -> ValueReading:
        """The reading, now."""
        began, options = time.monotonic(), self._options
        try:
            found = await asked(self._samples, self._given.authority.timeout)
        except Later as error:
            return self._unknown(began, "it can't be read now", error.message, error.not_before)
        except (ControllerError, OSError) as error:
            return self._unknown(began, "it can't be read", str(error), None)
        since = 0.0 if ask.stood is None else ask.stood.get(self.name)
        told = judge(found, options, ask.now, since)
        return ValueReading(
            name=self.name,
            state=told.state,
            why=told.why,
            wanted=options.wanted,
            value=told.value,
            samples=len(found),
            not_before=told.again,
            took=time.monotonic() - began,
        )

    def _unknown(self, began: float, why: str, note: str, not_before: float | None) -> ValueReading:
        return ValueReading(
            name=self.name,
            state="unknown",
            why=why,
            wanted=self._options.wanted,
            note=line(fenced(self._given.clear(note))[0], 300),
            not_before=not_before,
            read=False,
            took=time.monotonic() - began,
        )

    def _samples(self, deadline: float) -> list[Sample]:
        options = self._options
        body = self._http.read(urlsplit(options.url).path, options.query or None, deadline=deadline)
        try:
            found = at_pointer(body, options.pointer)
        except LookupError:
            return []  # a metric that nobody wrote yet
        return samples(found, None if options.time is None else at_pointer(body, options.time))


def samples(found: Any, at: Any = None) -> list[Sample]:
    """The samples in what an answer has: a number (of time `at`), numbers, or pairs of time and number. A number may
    be written as a text. Raises ValueError for anything else."""
    if not isinstance(found, list):
        return [(None if at is None else _moment(at), _number(found))]
    return [
        (_moment(each[0]), _number(each[1]))
        if isinstance(each, list) and len(each) == 2
        else (None, _number(each))
        for each in found
    ]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("what is there is no number")
    number = float(value)
    if not isfinite(number):
        raise ValueError("what is there is no number")
    return number


def _moment(value: Any) -> float:
    """UTC seconds of a time in seconds, in milliseconds, or as ISO 8601 writes it (without a zone: UTC)."""
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    number = _number(value)
    return number / 1000 if abs(number) > MILLIS else number
