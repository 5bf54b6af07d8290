"""A suite that is interrupted takes its agent with it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.agents.binaries import ROOT
from tests.conformance.test_controls import FAKE


@pytest.mark.parametrize("started_by", ["", "trap '' INT; "], ids=["foreground", "background"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_agent_too_and_leaves_nothing(
    number: signal.Signals, code: int, started_by: str, tmp_path: Path
) -> None:
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} hangs "$@"\n')
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    env = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(ROOT),
    }
    words = [sys.executable, "-m", "controller", "agents", "test", "claude", "--cli", str(program)]
    argv = ["/bin/sh", "-c", f"{started_by}exec {shlex.join(words)}"]
    with subprocess.Popen(
        argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as suite:

        def agents() -> list[psutil.Process]:
            return [
                each
                for each in psutil.Process(suite.pid).children(recursive=True)
                if str(FAKE) in each.cmdline()
            ]

        while not (started := agents()):
            assert suite.poll() is None
            time.sleep(0.05)
        suite.send_signal(number)
        assert suite.wait() == code
    assert not [each for each in started if each.is_running()]
    assert list((tmp_path / "tmp").iterdir()) == []
