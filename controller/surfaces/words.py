"""How numbers and commands read. Standard library only: the fast path of `status` uses it."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

from contracts.text import clean, standing


def duration(seconds: float) -> str:
    """Seconds as "8.2 s", "3m 12s" or "2h 05m"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def money(micro: int, estimated: bool) -> str:
    """Micro-USD as "$0.42"; "no cost reported" for nothing: it may have been free, or nobody told a price."""
    if not micro:
        return "no cost reported"
    text = f"${micro / 1e6:.2f}" if micro >= 10_000 else f"${micro / 1e6:.4f}"
    return f"about {text} (partly estimated)" if estimated else text


def size(count: int) -> str:
    """Bytes as "812 B", "24.5 KiB" or "3.1 GiB"."""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{count:,} B" if units[0] == "B" else f"{amount:,.1f} {units[0]}"


def clock(at: float) -> str:
    """Local time of UTC epoch seconds, with its day where that is not today."""
    try:
        there, today = time.localtime(at), time.localtime()
    except (ValueError, OverflowError, OSError):  # of a record that kept what an agent made up
        return f"{at:g} s after 1970"
    form = "%H:%M:%S" if there[:3] == today[:3] else "%Y-%m-%d %H:%M:%S"
    return time.strftime(form, there)


def colour(passed: bool, why: str = "") -> str:
    return standing(passed, why)


TASK_BY_OPTION = ("diff", "explain", "log")  # they take something else first


def command(name: str, task: Path | None = None, *more: str) -> str:
    """The command line that does `name` for the task file at `task` from the current folder."""
    words = ["controller", name]
    if task is not None and task.resolve() != Path("task.yaml").resolve():
        words += [*(["--task"] if name in TASK_BY_OPTION else []), shlex.quote(str(task))]
    return " ".join([*words, *more])


def left(count: int, most: int) -> str:
    """A worklist's count as "12 of 60 left"."""
    return f"{count:,} of {most:,} left" if most > count else f"{count:,} left"


def bar(count: int, most: int, width: int = 20) -> str:
    """What is done of a worklist that was `most` long, as "███████─────────────"."""
    done = width if most <= 0 else round(width * (most - count) / most)
    return "█" * done + "─" * (width - done)


def plural(count: int, word: str) -> str:
    if count == 1:
        return f"{count:,} {word}"
    return f"{count:,} {word}es" if word.endswith(("s", "ch")) else f"{count:,} {word}s"


# What has no width: a log's parser may look through it to what stands behind.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """Text that does nothing but stand there: no control characters, nothing that a CI's log would take for a command:
    `::set-output…` at the start of a line, whatever blanks are before it, `##[error]` or `##vso[…]` anywhere."""
    seen = _UNSEEN.sub("", clean(text))
    return re.sub(r"##(?=\w*\[)", "## ", re.sub(r"(?m)^([^\S\n]*)::", r"\1: ::", seen))
