"""Who calls, for the audit."""

from __future__ import annotations

import getpass


def who() -> str:
    """The name of the user whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
