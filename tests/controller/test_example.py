"""The example that `scripts/try` runs, end to end; and the control: an agent that sees no file text can't do it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.shell import ROOT, Shell

BLIND = """
import re, subprocess, sys
prompt = sys.stdin.read()
head, mark, rest = prompt.partition("=== OBSERVATION ===")
kept = [line for line in rest.split("\\n") if not re.match(r" *\\d+\\||  ?[-+ ]", line)]
seen = head + mark + "\\n".join(kept)
print(subprocess.run([sys.executable, sys.argv[1]], input=seen, text=True, capture_output=True).stdout)
"""


@pytest.fixture
def tidy(tmp_path: Path) -> Shell:
    """A copy of the example, as scripts/try makes it; `repo` is the folder of the task."""
    shutil.copytree(ROOT / "examples/tidy", tmp_path / "tidy", ignore=shutil.ignore_patterns("__pycache__"))
    shell = Shell(tmp_path / "tidy", tmp_path / "home")
    shell.home.mkdir()
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "as found")):
        shell.git("-C", "repo", *words)
    return shell


def test_the_example_is_carried_through(tidy: Shell) -> None:
    ran = tidy("run", "--json")
    assert ran.code == 0, ran.err
    steps = [line for line in ran.lines if line["event"] == "step"]
    assert len(steps) >= 8 and all(step["result"] == "committed" for step in steps)
    end = ran.lines[-1]
    assert end["outcome"] == "completed" and end["checks"]["todays-spelling"]["start"] is False
    commits = tidy.git("-C", "repo", "log", "--format=%s", "main..skill-state/tidy").splitlines()
    assert len(commits) == sum(1 for step in steps if step["commit"]) >= 8
    for commit in tidy.git("-C", "repo", "rev-list", "main..skill-state/tidy").split():
        changed = tidy.git("-C", "repo", "show", "--name-only", "--format=", commit).split()
        assert len(changed) == 1, "one file a step"
    assert tidy.git("-C", "repo", "status", "--porcelain") == ""
    text = tidy.git("-C", "repo", "show", "skill-state/tidy:larder/stock.py")
    assert "items: list[Item] | None = None" in text and "from typing import Iterator\n" in text
    assert tidy("log", "--verify").code == 0


def test_the_agent_knows_nothing_of_the_repository() -> None:
    agent = (ROOT / "examples/tidy/agent.py").read_text()
    repo = ROOT / "examples/tidy/repo"
    for path in repo.rglob("*.py"):
        name = path.relative_to(repo).as_posix()
        assert name not in agent and (path.stem == "__init__" or f"{path.stem}.py" not in agent)
    for word in ("larder", "List", "Dict", "Tuple", "Optional", "list[", "dict[", "| None`"):
        assert word not in agent, word


def test_without_the_text_of_the_files_it_fails(tidy: Shell) -> None:
    (tidy.repo / "blind.py").write_text(BLIND)
    task = tidy.repo / "task.yaml"
    task.write_text(
        task.read_text().replace(
            "run: [python3, agent.py]", f"run: [python3, blind.py, {tidy.repo}/agent.py]"
        )
    )
    ran = tidy("run", "--json")
    assert (ran.code, ran.lines[-1]["outcome"]) == (3, "stuck"), ran.err
    assert tidy.git("-C", "repo", "rev-list", "main..skill-state/tidy") == ""


def test_scripts_try_shows_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, tmp_path)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([str(ROOT / "scripts/try")], env=env, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "completed: " in done.stdout and "controller explain" in done.stdout
    assert "sandbox: none is used" in done.stderr
    (work,) = tmp_path.glob("controller-try.*")
    commits = shell.git("-C", str(work / "repo"), "log", "--oneline", "main..skill-state/tidy").splitlines()
    assert len(commits) >= 8 and all(line in done.stdout for line in commits)


@pytest.mark.long
def test_scripts_try_shows_it_by_jobs_that_keep_nothing(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    asked = [str(ROOT / "scripts/try"), "--on-remote"]
    done = subprocess.run(asked, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("a job on an empty machine") >= 3 and "completed: " in done.stdout
    assert "finish ok completed" in done.stdout and "step 2: batch larder/" in done.stdout
