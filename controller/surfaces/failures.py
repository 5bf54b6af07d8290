"""What went wrong as one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from contracts.errors import (
    Busy,
    ConfigError,
    ControllerError,
    Interrupted,
    Permanent,
    Temporary,
    Unavailable,
    of_disk,
)
from contracts.events import Ended
from contracts.outcomes import EXIT_CODES, Outcome

# The first class that holds is the one: Lost is a Busy.
_OUTCOMES: tuple[tuple[type[ControllerError], Outcome], ...] = (
    (ConfigError, Outcome.config_error),
    (Busy, Outcome.busy),
    (Unavailable, Outcome.unavailable),
    (Temporary, Outcome.waiting),
    (Permanent, Outcome.failed),
)


def outcome_of(error: BaseException) -> Outcome:
    """The outcome that an exception at the top stands for."""
    if isinstance(error, Interrupted):
        return Outcome.interrupted if error.number == signal.SIGINT else Outcome.terminated
    if isinstance(error, KeyboardInterrupt):
        return Outcome.interrupted
    if _of_files(error) is not None:
        return Outcome.unavailable
    return next((known for kind, known in _OUTCOMES if isinstance(error, kind)), Outcome.internal_error)


def _of_files(error: BaseException) -> Unavailable | None:
    """What a file system that refuses means: full, read-only, or not ours to write."""
    if not isinstance(error, OSError):
        return None
    if isinstance(error, PermissionError) and error.filename is not None:
        return Unavailable(f"{error.strerror}", where=str(error.filename), hint="check the folder's rights")
    return of_disk(error)


def explained(error: BaseException, runtime: Path | None, debug: bool) -> tuple[Outcome, str]:
    """(the outcome, what to print of it). A bug is one line and the place of its traceback; with `debug` the
    traceback itself."""
    if (refused := _of_files(error)) is not None and not debug:
        return explained(refused, runtime, debug)
    outcome = outcome_of(error)
    if isinstance(error, ControllerError) and not debug:
        return outcome, str(error)
    if outcome is Outcome.interrupted and not debug:
        return outcome, "interrupted"
    trace = "".join(traceback.format_exception(error))
    if debug:
        return outcome, trace.rstrip()
    said = str(error).splitlines()
    what = f"{type(error).__name__}: {said[0][:300]}" if said else type(error).__name__
    return outcome, f"internal error: {what} (traceback in {_kept(trace, runtime)})"


def failure(error: BaseException) -> Ended:
    """What is reported of a call that ended by an exception; a bug without what it may have held."""
    outcome, known = outcome_of(error), _of_files(error) or error
    said = str(known) if isinstance(known, ControllerError) else type(error).__name__
    return Ended(outcome=outcome, exit=EXIT_CODES[outcome], say=said)


def _kept(trace: str, runtime: Path | None) -> str:
    """Where the traceback was written: beside the store when there is one, else in the temporary folder."""
    folder = runtime / "errors" if runtime is not None and runtime.is_dir() else None
    try:
        if folder is not None:
            folder.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="controller-", suffix=".txt", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(trace)
        return name
    except OSError:
        sys.stderr.write(trace)
        return "the lines above"
