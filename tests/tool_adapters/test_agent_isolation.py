"""The control of every "nothing leaks": the same binaries in the same surroundings, started plainly, do take in
the user's memory files, hooks and servers. Without this, a moved file would make those tests pass on nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.agents import claude_binary, codex_binary, node_binary, pi_script
from tests.gateway import Gateway, Script, Text
from tests.tool_adapters.agent_world import EVERY_CHILD, KEYS, surround


def plainly(
    folder: Path, argv: list[str], environ: dict[str, str] | None = None, **more: str
) -> dict[str, str]:
    environ = environ or surround(folder)
    (folder / "work/launch").mkdir(parents=True)
    (folder / "tmp").mkdir()
    env = {**EVERY_CHILD, **environ, **KEYS, "TMPDIR": str(folder / "tmp"), **more}
    subprocess.run(
        argv, cwd=folder / "work/launch", env=env, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    return environ


def test_plain_claude_takes_everything_in(tmp_path: Path) -> None:
    with Gateway(Script([Text("hello")], repeat_last=True), strict=False) as gateway:
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
        argv = [str(claude_binary()), "-p", "hello", "--no-session-persistence", "--max-turns", "1"]
        plainly(tmp_path, argv, ANTHROPIC_BASE_URL=gateway.url_anthropic, **quiet)
    assert any(b"LEAK" in request.body for request in gateway.asked)
    assert (tmp_path / "LEAK").exists()


def test_plain_codex_takes_everything_in(tmp_path: Path) -> None:
    with Gateway(Script([Text("hello")], repeat_last=True), strict=False) as gateway:
        provider = (
            f'{{name="g",base_url="{gateway.url_openai}",wire_api="responses",env_key="OPENAI_API_KEY"}}'
        )
        argv = [str(codex_binary()), "exec", "--ephemeral", "--json", "--skip-git-repo-check"]
        argv += ["-c", 'model_provider="g"', "-c", f"model_providers.g={provider}", "hello"]
        plainly(tmp_path, argv)
    assert any(b"LEAK" in request.body for request in gateway.asked)
    assert (tmp_path / "LEAK").exists()


def test_plain_pi_takes_everything_in(tmp_path: Path) -> None:
    with Gateway(Script([Text("hello")], repeat_last=True), strict=False) as gateway:
        argv = [str(node_binary()), str(pi_script()), "--mode", "json", "--provider", "openai"]
        argv += ["--model", "gpt-5.6-sol", "hello"]
        environ = surround(tmp_path)
        models = {"providers": {"openai": {"baseUrl": gateway.url_openai}}}
        (tmp_path / "user/.pi/agent/models.json").write_text(json.dumps(models))
        plainly(tmp_path, argv, environ, PI_OFFLINE="1")
    assert any(b"LEAK" in request.body for request in gateway.asked)
    assert (tmp_path / "LEAK").exists()
