"""What stderr shows while a run goes on: on a terminal, and where nobody watches."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from controller.surfaces.words import money, plain
from tests.surfaces.shell import POLITE, Shell

SLOW = '  - {name: slow, role: guard, run: "echo counting sheep; sleep 1", pins: []}'


def on_terminal(shell: Shell, *words: str) -> tuple[int, str]:
    """Exit code, and all that appeared on a terminal as stderr."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "controller", *words],
        cwd=shell.repo, env=shell.env | {"TERM": "xterm", "COLUMNS": "200"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=other,
    )  # fmt: skip
    os.close(other)
    seen = b""
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(main)
    return process.wait(30), seen.decode("utf-8", "replace")


def slow(shell: Shell) -> None:
    shell.task(*POLITE, last=SLOW)
    task = Path(shell.repo / "task.yaml")
    lines = task.read_text().splitlines()
    task.write_text("\n".join([*lines[:-2], lines[-1], lines[-2]]) + "\n")


def test_a_live_line_shows_phase_check_and_its_last_line(shell: Shell) -> None:
    slow(shell)
    code, seen = on_terminal(shell, "run")
    assert code == 0, seen
    for part in ("check slow", "counting sheep", "in all", "\x1b["):
        assert part in seen, part
    assert seen.count("step 2   edit_files    committed") == 1, "each step has its line, once"


def test_nothing_moves_in_ci(shell: Shell) -> None:
    slow(shell)
    shell.extra["CI"] = "true"
    code, seen = on_terminal(shell, "run")
    assert code == 0 and "\x1b" not in seen and "step 2   edit_files" in seen


def test_no_colour_when_told_so(shell: Shell) -> None:
    slow(shell)
    shell.extra["NO_COLOR"] = "1"
    code, seen = on_terminal(shell, "run")
    assert code == 0 and "\x1b[3" not in seen and "check slow" in seen


def test_what_a_ci_log_would_take_for_a_command() -> None:
    assert (
        plain("a\n  ::set-output name=x::y\n##[error]no\x1b[31mred\u202e")
        == "a\n  : ::set-output name=x::y\n## [error]nored"
    )
    # A runner trims any blank, looks through what has no width, and finds the older form anywhere in a line.
    for hidden in ("\u00a0", "\u3000", "\u200b", "\u00ad \ufeff", "\t\u2060"):
        assert not plain(f"{hidden}::add-mask::x").strip().startswith("::"), hidden
    assert (
        plain("said: ##[add-mask]x ##vso[task.x]y #\u200b#[z]")
        == "said: ## [add-mask]x ## vso[task.x]y ## [z]"
    )
    assert plain("std::vector, a::b and ## a heading") == "std::vector, a::b and ## a heading"


def test_money_says_nothing_of_a_price_that_nobody_told() -> None:
    assert money(0, False) == money(0, True) == "no cost reported"
    assert (money(420_000, False), money(4_200, False)) == ("$0.42", "$0.0042")
    assert money(420_000, True) == "about $0.42 (partly estimated)"
