"""docs/intent.md, followed command by command as a newcomer would: every exit code is the one that it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.surfaces.shell import ROOT, Shell

EXAMPLE = re.compile(r"## An example, from nothing\n(.*?)\n## ", re.DOTALL)
BLOCK = re.compile(r"(?:`([\w./-]+)`[^`\n]*:?\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


def test_the_worked_example(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "shop", tmp_path / "home")
    shell.repo.mkdir()
    shell.home.mkdir()
    program = tmp_path / "bin/controller"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m controller "$@"\n')
    program.chmod(0o755)
    env = shell.env | dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "you")
    env |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "you@localhost")
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    example = EXAMPLE.search((ROOT / "docs/intent.md").read_text("utf-8"))
    assert example is not None
    said: dict[str, str] = {}
    files = 0
    for name, kind, body in BLOCK.findall(example[1]):
        if kind != "sh":
            path = shell.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
            files += 1
            continue
        for line in body.splitlines():
            command, _, code = line.partition("# exit ")
            done = subprocess.run(
                command,
                shell=True,
                cwd=shell.repo,
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == int(code or 0), f"{line}\n{done.stdout}\n{done.stderr}"
            said[command.strip()] = said.get(command.strip(), "") + done.stdout
    assert files == 4
    assert "not provable  [kind] It sounds kind. (locked)" in said["controller validate --criteria"]
    assert "against it speaks check:short" in said["controller approvals show d1"]
    assert "- At most six words." not in said["controller approvals show d1"]
    assert (
        "At most six words." in said["controller intent show"]
        and "six is fine" in said["controller intent show"]
    )
    assert '"request_change"' in said["controller explain --source /intent/constraints/1"]
    assert "no check proves [kind]" in said["controller run"] and "+ Emoji." in said["controller run"]
    assert "controller approve f6" in said["controller run --accept-new-intent"], "asked once more"
    assert "not provable by a check: [kind] It sounds kind." in said["controller run"]
