"""What the world may do to us, as exceptions. Expected failures of a step are stored values, not these."""

from __future__ import annotations

import errno

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class ControllerError(Exception):
    """`message` says what is wrong, `hint` what to do about it, `where` the place (`task.yaml:12:3`, a path)."""

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.where = message, hint, where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(ControllerError):
    """Usage, configuration, credentials, contract files: nobody can mend it by waiting. Exit 2."""


class Busy(ControllerError):
    """Another controller holds the lease of this task. Exit 7."""


class Lost(Busy):
    """The record moved or the lease was taken while we worked: what we hold is stale. Exit 7."""


class Interrupted(ControllerError):
    """A signal ended the call before there was a run to report. `number` is the signal's; exit 128 + number."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class Temporary(ControllerError):
    """May pass by itself. Exit 6 when it reaches the top."""


class Moved(Temporary):
    """The task's worktree is another one now: what was assembled for the old one is stale; assemble again."""


class Permanent(ControllerError):
    """Will not pass by itself. Exit 3 when it reaches the top."""


class Unavailable(ControllerError):
    """The store or an authority can't be used: damaged, ambiguous, read-only, from a newer version. Exit 8."""


class NoRoom(Unavailable):
    """Too little space is left to begin something. Exit 8; lifted by freeing some."""


def of_disk(error: OSError) -> Unavailable | None:
    """The error of a file system that takes no more (full, over quota, read-only); None for any other."""
    if error.errno not in _DISK:
        return None
    return Unavailable(
        f"the disk refuses: {error.strerror}",
        where=str(error.filename or ""),
        hint="nothing is lost: free space or mend the mount, then run again",
    )


def bare(several: BaseExceptionGroup) -> BaseException:
    """The first error in what a task group wraps: callers match on it alone."""
    first: BaseException = several
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first
