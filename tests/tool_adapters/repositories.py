"""Real repositories for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "a person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


def git(root: Path, *args: str, check: bool = True, env: dict[str, str] | None = None) -> str:
    """Plain git, as the user of the repository would run it."""
    done = subprocess.run(
        ["git", *args], cwd=root, env={**ENV, **(env or {})}, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {args}: {done.stderr}")
    return done.stdout.strip()


def repository(root: Path, files: dict[str, str] | None = None) -> Path:
    """A repository with one commit on `main`."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    write(
        root,
        files if files is not None else {"a.txt": "one\n", "src/b.txt": "two\n", ".gitignore": "*.log\n"},
    )
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
