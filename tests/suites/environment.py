"""An environment of Python of its own for what a suite needs and the project does not."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.agents.binaries import ROOT


@cache
def environment(name: str, requirements: Path) -> Path:
    """Made once below `.cache`, and again when the requirements are others; its Python."""
    home = ROOT / ".cache" / name
    python, done = home / "bin/python", home / "installed"
    wanted = requirements.read_text()
    if not done.is_file() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip = [python, "-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "-r", requirements], check=True)
        done.write_text(wanted)
    return python
