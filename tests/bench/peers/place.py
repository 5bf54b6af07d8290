"""Where the peers are installed: a virtual environment of the bench's own, from a lock of its own, so that what they
bring along stays away from the product's."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

from tests.bench.report import say

ROOT = Path(__file__).parents[3]
LOCK = Path(__file__).with_name("requirements.lock")
SHOWN = ("langgraph", "langgraph-checkpoint-sqlite", "dbos", "skill-state-controller")


def python_of(folder: Path = ROOT / ".cache/peers") -> Path:
    """The interpreter there; on first use, or when the lock has changed, the environment is made anew."""
    python, stamp = folder / "bin/python", folder / "locked.stamp"
    locked = f"{ROOT} {LOCK.read_text()}"
    if python.exists() and stamp.exists() and stamp.read_text() == locked:
        return python
    say(f"installing the peers below {folder}")
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
    for what in (["--require-hashes", "-r", str(LOCK)], ["--no-build-isolation", "--editable", str(ROOT)]):
        if subprocess.run([*pip, *what], cwd=ROOT, stdout=sys.stderr).returncode:
            raise SystemExit("installing the peers failed (see above); is a package index reachable?")
    stamp.write_text(locked)
    return python


def versions(python: Path) -> dict[str, str]:
    """What is measured, by name, and the SQLite beneath all of it."""
    code = (
        "import json, sqlite3, sys; from importlib.metadata import version;"
        " print(json.dumps({name: version(name) for name in sys.argv[1:]} | {'sqlite': sqlite3.sqlite_version}))"
    )
    said = subprocess.run([str(python), "-c", code, *SHOWN], cwd=ROOT, capture_output=True, check=True)
    found: dict[str, str] = json.loads(said.stdout)
    return found
