"""docs/task.md is made from the types, so it can't be wrong for long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/reference"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_it_names_keys_at_every_depth() -> None:
    text = (ROOT / "docs/task.md").read_text("utf-8")
    for key in ("agents.NAME.auth_file", "checks[].must_notice", "actions.commands.NAME.params.NAME.pattern"):
        assert f"`{key}`" in text
