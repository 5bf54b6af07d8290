"""Who calls, for the audit and for `approvals.who`."""

from __future__ import annotations

import os
import pwd


def who() -> str:
    """The name of the user whose process this is, by the system's word: no variable of the environment changes it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
