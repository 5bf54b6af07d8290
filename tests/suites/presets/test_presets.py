"""Gemini CLI, opencode and Qwen Code, the real programs: what goes over the wire, and what each way of failing is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contracts.reply import Prompt, ReplyClass
from tests.agents.others.cases import CASES, Case
from tests.agents.others.recorded import save
from tests.suites.presets.world import KINDS, PROMPT, launch, programs
from tests.tool_adapters.agent_world import DIALECTS, FINISH, surround

# Bytes of the only request beside prompt and schema: as measured, and room for longer names of folders.
OVERHEAD = {"gemini": 900, "opencode": 800, "qwen": 1_600}


@pytest.mark.parametrize("kind", KINDS)
def test_one_lean_request(kind: str, tmp_path: Path) -> None:
    one = launch(tmp_path, kind, FINISH)
    assert (one.reply.cls, one.reply.value, one.reply.requests) == (ReplyClass.OK, FINISH, 1), one.reply
    assert len(one.requests) == len(one.asked) == 1, [(r.method, r.path) for r in one.requests]
    (request,) = one.asked
    schema = len(json.dumps(request.schema)) if kind == "qwen" else 0
    overhead = len(request.body) - PROMPT.bytes - schema
    print(f"{kind}: {len(request.body)} bytes, {overhead} beside prompt and schema, {one.reply.took:.1f} s")
    assert overhead < OVERHEAD[kind]
    assert one.reply.usage.input and one.reply.usage.output
    assert one.agent.profile.version == {"gemini": "0.61.0", "opencode": "1.18.33", "qwen": "0.24.4"}[kind]
    names = [tool.get("function", tool).get("name") for tool in request.tools]
    assert names == (["structured_output"] if kind == "qwen" else [])
    if kind == "qwen":
        # It leaves out what forbids further keys: whatever it then takes is judged against the whole schema here.
        assert set(request.schema["properties"]) == set(DIALECTS["merge"].schema["properties"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_prompt_arrives_as_it_is(kind: str, tmp_path: Path) -> None:
    """Nothing in it is expanded, run or rewritten: these CLIs take `@` for a file and rewrite the text around it."""
    big = Prompt(1, PROMPT.stable, PROMPT.volatile + "x" * 150_000 + " @end\n")
    for at, prompt in enumerate((PROMPT, big)):
        (request,) = launch(tmp_path / str(at), kind, FINISH, prompt).asked
        text = request.system_text + request.user_text
        assert prompt.stable.strip() in text and prompt.volatile.strip() in text
        if KINDS[kind].preset.words:  # then both parts stand together
            assert prompt.text.strip() in request.system_text


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_surroundings_is_read(kind: str, tmp_path: Path) -> None:
    environ = surround(tmp_path)
    for name in ("GEMINI.md", "QWEN.md", ".gemini/settings.json", ".qwen/settings.json", "opencode.json"):
        for folder in (tmp_path, tmp_path / "user"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text('{"instructions": ["AGENTS.md"], "model": {"name": "LEAK"}} LEAK')
    hostile = {
        "GEMINI_API_KEY": "LEAK",
        "OPENAI_API_KEY": "LEAK",
        "GEMINI_MODEL": "LEAK",
        "QWEN_MODEL": "LEAK",
    }
    one = launch(tmp_path, kind, FINISH, environ={**environ, **hostile})
    (request,) = one.asked
    assert one.reply.cls is ReplyClass.OK
    assert b"LEAK" not in request.body and "LEAK" not in str(request.headers)
    assert "dummy-key" in str(request.headers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_launch_finds_nothing_of_the_one_before(kind: str, tmp_path: Path) -> None:
    first = launch(tmp_path, kind, FINISH, Prompt(1, "stable\n", "the secret word is MARIGOLD\n"))
    assert any(b"MARIGOLD" in path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    second = launch(tmp_path, kind, FINISH)
    assert first.reply.cls is second.reply.cls is ReplyClass.OK
    assert b"MARIGOLD" not in second.asked[0].body
    for path in (tmp_path / "home").rglob("*"):
        assert not path.is_file() or b"MARIGOLD" not in path.read_bytes(), path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.name}")
def test_each_way_of_failing(case: Case, tmp_path: Path) -> None:
    """With RECORD=1 the recordings that the other tests stand on are made anew."""
    one = launch(tmp_path, case.kind, case.answer, timeout=case.timeout)
    if os.environ.get("RECORD") and one.recorder.last:
        save(case.kind, case.name, one.recorder.last, tmp_path, programs())
    assert one.reply.cls is case.cls, one.reply
    assert bool(one.reply.value) == (case.cls is ReplyClass.OK)
    assert len(one.asked) <= case.most, [request.path for request in one.requests]
    assert len(one.requests) == len(one.asked), "another host was asked for"
    assert one.reply.requests in (None, len(one.asked))
