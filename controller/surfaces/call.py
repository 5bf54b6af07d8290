"""What this call as a whole was told, for whoever ends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Call:
    """debug: tracebacks are shown. json_lines: the last line on stdout is the outcome, also of a failure."""

    debug: bool = False
    json_lines: bool = False


call = Call()
