"""The types that Pi's extension is written against are those of the schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(script: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)


def test_the_types_are_fresh() -> None:
    done = check(ROOT / "scripts/types")
    assert done.returncode == 0, done.stderr


def test_stale_types_are_noticed(tmp_path: Path) -> None:
    """The script's own copy of the project, with a tool's argument renamed in the file."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "contracts").symlink_to(ROOT / "contracts")
    (tmp_path / "scripts/types").write_text((ROOT / "scripts/types").read_text("utf-8"))
    target = tmp_path / "tool_adapters/agents/pi/transition.ts"
    target.parent.mkdir(parents=True)
    made = (ROOT / "tool_adapters/agents/pi/transition.ts").read_text("utf-8")
    assert 'tool: "finish"' in made
    target.write_text(made.replace("summary", "synopsis"))
    assert "stale" in check(tmp_path / "scripts/types").stderr
