"""What people see of a launch whose controller was killed, in either store."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.surfaces.runners import Runners
from tests.surfaces.shell import POLITE, READ, new_shell

LOST = "launch lost: charged as reserved"


@pytest.mark.parametrize("store", ["sqlite", "git"])
def test_log_and_explain_show_it(tmp_path: Path, store: str) -> None:
    begun = tmp_path / "begun"
    slow = ({"sleep": 60} | READ, *POLITE[1:])
    if store == "git":
        runners = Runners(tmp_path, *slow)
        shell = runners.fresh("one")
    else:
        shell = new_shell(tmp_path / "one")
        shell.task(*slow)
    agent = (tmp_path if store == "git" else shell.home) / "agent.py"
    agent.write_text(f"open({str(begun)!r}, 'a').close()\n{agent.read_text()}")
    working = shell.start("run")
    try:
        ends = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < ends:
            time.sleep(0.05)
    finally:
        working.kill()
        working.wait()
    Path(f"{agent}.json").write_text(Path(f"{agent}.json").read_text().replace('"sleep": 60', '"sleep": 0'))
    assert shell("run").code == 0
    lines = shell("log").out.splitlines()
    assert ["step 1" in line and LOST in line for line in lines] == [False, True, *[False] * (len(lines) - 2)]
    explained = shell("explain", "1")
    assert explained.code == 0 and LOST in explained.out
    assert shell("explain", "1", "--json").one["rows"][0]["prompt"].startswith("=== SKILL")
    for words in (("log", "--verify"), ("replay",), ("recall", "greeting")):
        assert shell(*words).code == 0, words
