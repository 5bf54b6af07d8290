"""docs/ci.md, followed as a newcomer would: its commands, its additions to the task, its workflow; on stubs. What can't
be had here is replaced: by a rule-based agent, the stub's address, and a CI that is always green."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ci.actions import Job, clean_env, evaluated, load, with_controller
from tests.ci.lint import ROOT, actionlint
from tests.ci.test_action import job
from tests.controller.world import git
from tests.forge.hub import Hub
from tests.surfaces.shell import Shell, act
from tests.tool_adapters.git_http import bare

SECTION = re.compile(r"## From nothing to a nightly job in ten minutes\n(.*?)\n## ", re.DOTALL)
BLOCKS = re.compile(r"```(sh|yaml)\n(.*?)```", re.DOTALL)
BRANCH = "skill-state/widget"
FILES = {
    "src/larder.py": "import six\n\n\ndef names(all):\n    return [six.text_type(each) for each in all]\n",
    "tests/__init__.py": "",
    "tests/test_larder.py": "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test_it_compiles(self):\n"
    "        compile(open('src/larder.py').read(), 'larder', 'exec')\n",
}
DONE = "def names(all):\n    return [str(each) for each in all]\n"
REPLIES = [
    act("edit_files", edits=[{"op": "write", "path": "src/larder.py", "content": DONE}]),
    act("git_push"),
    act("wait", authority="remote"),
    act("pr_open", title="Drop six", body="It is not used any more."),
    act("finish", summary="six is gone"),
]


@pytest.fixture
def widget(tmp_path: Path) -> Iterator[tuple[Shell, Hub]]:
    """A newcomer's clone of acme/widget."""
    shell = Shell(tmp_path / "widget", tmp_path / "home")
    shell.home.mkdir()
    with Hub(bare(tmp_path / "remote.git"), "app[bot]") as hub:
        git(tmp_path, "clone", "-q", str(hub.remote), "widget")
        for name, text in FILES.items():
            path = shell.repo / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        for words in (("checkout", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "as found")):
            git(shell.repo, *words)
        git(shell.repo, "push", "-q", "-u", "origin", "main")
        yield shell, hub


def follow(shell: Shell, blocks: list[tuple[str, str]]) -> str:
    """What the page says, done in order; what its commands printed."""
    env = clean_env(shell.home, path=with_controller(shell.home / "bin")) | {
        "CONTROLLER": str(ROOT),
        "EDITOR": "true",
    }
    env |= dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "you")
    env |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "you@localhost")
    said = ""
    for kind, body in blocks:
        if kind == "yaml":
            added(shell.repo / "task.yaml", body)
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", body], cwd=shell.repo, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{body}\n{done.stdout}"
        said += done.stdout
    return said


def added(task: Path, block: str) -> None:
    """A block of YAML where the page says that it goes."""
    text = task.read_text()
    if block.startswith("  claude:"):  # in place of the line that `init` wrote
        text, found = re.subn(r"(?m)^  claude: .*\n", lambda _: block, text)
        assert found == 1
        task.write_text(text)
        return
    below = "actions:" if block.startswith("  allow") else "checks:" if block.startswith("  - ") else ""
    if not below:
        task.write_text(text.rstrip("\n") + "\n" + block)
        return
    head, line, rest = re.split(rf"(?m)^({below}[^\n]*\n)", text)
    task.write_text(head + line + block + rest)


def here(shell: Shell, hub: Hub) -> None:
    """What differs from a real account: the agent, where the forge is, and how often CI is asked."""
    (shell.home / "replies").mkdir()
    scratch = Shell(shell.home / "replies", shell.home)
    scratch.task(*REPLIES)
    task = shell.repo / "task.yaml"
    text = task.read_text().replace("provider: github,", f'provider: github, url: "{hub.url}",')
    text = re.sub(r"agent: \{use: \w+\}", "agent: {use: script}", text)
    text = re.sub(r"(options: \{[^}]*)\}", r"\1, poll: 200ms}", text)  # not a minute
    made = f"  script: {{kind: command, run: [python3, {shell.home / 'agent.py'}]}}\n"
    task.write_text(text.replace("agents:\n", "agents:\n" + made))


def pays(shell: Shell, secrets: dict[str, str]) -> Any:
    """What the task would pay with in the committed workflow, given these secrets of the repository, and what is
    wrong with that: as `doctor` tells it."""
    workflow = load(shell.repo / ".github/workflows/maintain.yml")
    (ours,) = (each for each in workflow["jobs"]["maintain"]["steps"] if each.get("id") == "maintain")
    env = {name: evaluated(str(value), {"secrets": secrets}) for name, value in ours["env"].items()}
    claude = shell.home / "agents" / "claude"
    claude.parent.mkdir(exist_ok=True)
    claude.write_text("#!/bin/sh\necho '2.0.0 (Claude Code)'\n")
    claude.chmod(0o755)
    there = {"PATH": f"{claude.parent}:{shell.env['PATH']}", "GITHUB_TOKEN": "ghs_" + "a" * 36}
    told = Shell(shell.repo, shell.home, env | there)("doctor", "--json").one
    return told["task"]["pays"], told["problems"]


def nightly(shell: Shell, name: str) -> tuple[dict[str, str], Job]:
    """The committed workflow, by hand or by its schedule, on a runner that knows nothing."""
    workflow = load(shell.repo / ".github/workflows/maintain.yml")
    (ours,) = (each for each in workflow["jobs"]["maintain"]["steps"] if each.get("id") == "maintain")
    runner = Shell(shell.home.parent / name, shell.home)
    git(shell.home.parent, "clone", "-q", str(shell.home.parent / "remote.git"), name)
    one = job(runner, f"{name}-temp")
    known: dict[str, Any] = {"inputs": {}, "steps": {"app": {"outputs": {"token": "ghs_" + "a" * 36}}}}
    given = {name: evaluated(str(value), known) for name, value in ours["with"].items()}
    code, told = one.action(ROOT, given | {"install": "false"})
    assert code == 0, one.ran[-1].log
    return told, one


def test_from_nothing_to_a_pull_request(widget: tuple[Shell, Hub]) -> None:
    shell, hub = widget
    section = SECTION.search((ROOT / "docs/ci.md").read_text("utf-8"))
    assert section is not None
    blocks = BLOCKS.findall(section[1])
    kinds = [kind for kind, _ in blocks]
    assert kinds == ["sh", "yaml", "yaml", "yaml", "yaml", "sh", "sh", "sh"]
    follow(shell, blocks[:5])
    agreed = (shell.repo / "task.yaml").read_text()
    here(shell, hub)
    assert "prompt at most" in follow(shell, blocks[5:6])
    follow(shell, blocks[6:7])
    replaced = (shell.repo / "task.yaml").read_text()
    (shell.repo / "task.yaml").write_text(agreed)
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "a" * 32}
    assert pays(shell, key) == ("api-key", []), "the workflow gives what the task names"
    assert pays(shell, {"ANTHROPIC_API_KEY": ""})[0] is None, "the control: without it nobody pays"
    (shell.repo / "task.yaml").write_text(replaced)
    assert actionlint((shell.repo / ".github/workflows/maintain.yml").read_text()) == []

    first, one = nightly(shell, "first")
    assert first["outcome"] == "waiting", one.ran[-1].log
    sha = hub.tip(BRANCH)
    assert sha is not None
    hub.check(sha, "test", "success", run=hub.run(sha, "completed", "success"))
    record = {"outcome": "waiting"}
    for night in range(2, 9):
        record, one = nightly(shell, f"night-{night}")
        if record["outcome"] != "waiting":
            break
    assert record["outcome"] == "completed", one.ran[-1].log
    (pull,) = hub.pulls
    assert pull["title"] == "Drop six" and record["pr-url"] == pull["html_url"]
    assert git(hub.remote, "show", f"{BRANCH}:src/larder.py") == DONE
    seen = follow(shell, blocks[7:])
    assert "completed" in seen and "git_push" in seen, "in any clone"
