"""How far a worklist is: in the step's line, in the event, in `status`."""

from __future__ import annotations

from controller.surfaces.words import bar
from tests.surfaces.shell import FINISH, Shell, edit

LISTED = "authorities: {lines: {use: command, run: [grep, -n, old, src/greeting.txt], ok_exit: [0, 1], worklist: true}}"


def test_what_is_done_is_shown_beside_what_is_left(shell: Shell) -> None:
    (shell.repo / "src/greeting.txt").write_text("hello\nold\nold\nold\nold\n")
    shell.git("commit", "-qam", "more to do")
    steps = [edit(f"hello\n{'old' + chr(10)}" * 1 + "old\n" * left) for left in (2, 0)]
    shell.task(*steps, edit("hello, please\n"), FINISH, authorities=LISTED)
    ran = shell("run", "--json")
    told = [line for line in ran.lines if line["event"] == "step"]
    assert [(line["left"], line["most"]) for line in told[:3]] == [
        ({"lines": 4}, {"lines": 4}),
        ({"lines": 3}, {"lines": 4}),
        ({"lines": 1}, {"lines": 4}),
    ]
    assert "lines: 4 left" in ran.err and "lines: 3 of 4 left" in ran.err
    status = shell("status")
    assert "left   lines: 0 of 4 ████████████████████" in status.out
    assert shell("status", "--json").one["most"] == {"lines": 4}


def test_a_bar_is_as_long_as_what_is_done() -> None:
    assert [bar(count, 4, 4) for count in (4, 3, 1, 0)] == ["────", "█───", "███─", "████"]
    assert bar(0, 0, 4) == "████"
