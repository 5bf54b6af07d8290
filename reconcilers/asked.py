"""How a blocking reader of a service is asked: in time, with its token, and with every failure told as what it is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from contracts.answers import SECONDARY
from contracts.errors import ConfigError, Permanent
from contracts.ports import Ask, Given
from contracts.units import argv_of
from reconcilers.http import Later

CAP = 1024 * 1024  # bytes that a command may print
T = TypeVar("T")


async def asked(read: Callable[[float], T], timeout: float) -> T:
    """What `read` gives, called in a thread with a deadline of time.monotonic. Raises Later when it is not done in
    time, Permanent for an answer of another shape than expected, and what `read` raises of ControllerError."""
    deadline = time.monotonic() + timeout
    try:
        # A thread that hangs in a name look-up is left behind: the step must end in time.
        with anyio.fail_after(timeout + 5):
            return await anyio.to_thread.run_sync(read, deadline, abandon_on_cancel=True)
    except TimeoutError:
        raise Later(f"not done after {timeout:g} s", time.time() + SECONDARY) from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Permanent(
            f"an answer of another shape than expected ({type(error).__name__}: {error})"
        ) from None


async def printed_json(given: Given, ask: Ask, again: float) -> Any:
    """What the authority's own command prints, as JSON. It finds the run's commit in SKILL_STATE_SHA. Raises Later (ask
    again in `again` seconds) when it ends otherwise than it may, Permanent for what is no JSON."""
    ran = await given.runner.run(
        argv_of(given.authority.run or ()),
        cwd=given.cwd,
        env={**given.env, "SKILL_STATE_SHA": ask.head},
        timeout=given.authority.timeout,
        cap=CAP,
    )
    if ran.refused:
        raise Permanent(ran.refused)
    if ran.exit not in given.authority.ok_exit:
        why = "it did not end in time" if ran.timed_out else f"exit {ran.exit}"
        raise Later(f"{why}: {ran.err.text.strip()[-200:]}", ask.now + again)
    if ran.out.total > CAP:
        raise Permanent(f"it printed more than {CAP >> 20} MiB")
    try:
        return json.loads(ran.out.data)
    except ValueError:
        raise Permanent("what it printed is no JSON") from None


def token(given: Given, name: str | None) -> str:
    """The token in the controller's variable `name`; empty for none. Raises ConfigError when it is not there."""
    if name is None:
        return ""
    if not (found := given.environ.get(name, "").strip()):
        raise ConfigError(f"authority {given.name!r}: the variable {name} is not set")
    if not found.isascii() or not found.isprintable():
        raise ConfigError(f"authority {given.name!r}: what {name} holds is no token")
    return found
