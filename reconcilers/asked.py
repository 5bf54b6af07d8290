"""How a blocking reader of a service is asked: in time, with its token, and with every failure told as what it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from contracts.answers import SECONDARY
from contracts.errors import ConfigError, Permanent
from contracts.ports import Given
from reconcilers.http import Later

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
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Permanent(
            f"an answer of another shape than expected ({type(error).__name__}: {error})"
        ) from None


def token(given: Given, name: str | None) -> str:
    """The token in the controller's variable `name`; empty for none. Raises ConfigError when it is not there."""
    if name is None:
        return ""
    if not (found := given.environ.get(name, "").strip()):
        raise ConfigError(f"authority {given.name!r}: the variable {name} is not set")
    if not found.isascii() or not found.isprintable():
        raise ConfigError(f"authority {given.name!r}: what {name} holds is no token")
    return found
