"""The installed agents are the pinned ones: npm on an old Node silently installs an old Claude Code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents import claude_binary, codex_binary, node_binary, pi_script, pinned_version
from tests.agents.binaries import PACKAGES, ROOT


@pytest.mark.parametrize(("agent", "binary"), [("claude", claude_binary), ("codex", codex_binary)])
def test_version_is_the_pinned_one(agent: str, binary: Callable[[], Path], tmp_path: Path) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path),
        "CODEX_HOME": str(tmp_path),
    }
    said = subprocess.run(
        [binary(), "--version"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert said.returncode == 0, said.stderr
    assert pinned_version(agent) in said.stdout.split()


def test_pi_runs_on_the_pinned_node(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PI_OFFLINE": "1"}
    said = [
        subprocess.run([*argv, "--version"], env=env, capture_output=True, text=True, check=True).stdout
        for argv in ([node_binary()], [node_binary(), pi_script()])
    ]
    assert [line.strip() for line in said] == [f"v{pinned_version('node')}", pinned_version("pi")]


def test_binaries_are_native() -> None:
    for binary in (claude_binary(), codex_binary(), node_binary()):
        with binary.open("rb") as file:
            assert file.read(4) in (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"), binary


def test_lock_pins_everything_and_names_no_registry() -> None:
    lock = json.loads((ROOT / "tests/agents/package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    for program, package in PACKAGES.items():
        assert packages[f"node_modules/{package}"]["version"] == pinned_version(program)
    for name, entry in packages.items():
        assert "resolved" not in entry and entry["integrity"].startswith("sha512-"), name


def test_a_wrong_version_is_refused(tmp_path: Path) -> None:
    """The script's own check, on a copy whose pin is not what the binary says."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests/agents").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "scripts/agents").write_text((ROOT / "scripts/agents").read_text())
    pins = (ROOT / "tests/agents/package.json").read_text()
    (tmp_path / "tests/agents/package.json").write_text(pins)
    (tmp_path / "tests/agents/package-lock.json").write_text("{}")
    old = "#!/bin/sh\necho '2.1.197 (Claude Code)'\n"
    npm = tmp_path / "bin/npm"  # an npm that chooses an old release, as the real one does on an old Node
    npm.write_text(
        "#!/bin/sh\nset -e\ncd node_modules 2>/dev/null || { mkdir node_modules; cd node_modules; }\n"
        "for f in @anthropic-ai/claude-code-x/claude @openai/codex-x/vendor/x/bin/codex; do\n"
        f'mkdir -p "${{f%/*}}"; cat > "$f" <<"END"\n{old}END\nchmod +x "$f"; done\n'
    )
    npm.chmod(0o755)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(["bash", tmp_path / "scripts/agents"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert f"claude says version '2.1.197 (Claude Code)', pinned is {pinned_version('claude')}" in done.stderr
    assert not list((tmp_path / ".cache/agents").iterdir())
