"""The benchmark itself: it counts what a model reads, its figures can fall short, and it plays a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.ports import Ran
from controller.conformance.loopback.recorded import record
from controller.conformance.weights import dump
from tests.bench.conversation.__main__ import HORIZONS, WAYS
from tests.bench.conversation.clis import KINDS, Keeping
from tests.bench.conversation.figures import CACHED, OURS, TOKENS, cell, compared, judged, overtaken
from tests.bench.conversation.reading import reading, said
from tests.bench.conversation.runs import Clocked, Continued, Run, Typed
from tests.bench.skillexec import warehouse
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect
from tests.bench.tokens import tokens
from tests.gateway import Recorded, Text

Json = dict[str, Any]
CALL = {"thought": "so", "action": "Wait"}


class Typing:
    """A CLI without a process: its requests hold the last `kept` messages. In the place of a gateway, too."""

    def __init__(self, kept: int | None, system: str = "") -> None:
        self.asked: list[Recorded] = []
        self._said: list[Json] = []
        self._kept, self._system = kept, [{"role": "system", "content": system}]

    def say(self, message: str) -> str:
        self._said.append({"role": "user", "content": message})
        kept = self._said[-self._kept :] if self._kept else self._said
        body = dump({"messages": [*self._system, *kept]}).encode()
        request = record(len(self.asked) + 1, "POST", "/v1/chat/completions", {}, body)
        request.answer = Text(Perfect(WAREHOUSE.books).reply(said(request)))
        self.asked.append(request)
        self._said.append({"role": "assistant", "content": request.answer.text})
        return request.answer.text


def typed(kept: int | None, length: int = HORIZONS[-1], system: str = "") -> Run:
    cli = Typing(kept, system)
    world = Clocked(warehouse.events(42, length), cli)  # type: ignore[arg-type]
    return world.run(play(world, Continued(True), Typed(cli.say)))


@pytest.fixture(scope="module")
def talk() -> Run:
    return typed(None)


def test_the_shorter_episodes_are_the_first_events_of_the_longest() -> None:
    longest = warehouse.events(42, HORIZONS[-1])
    assert all(warehouse.events(42, length) == longest[:length] for length in HORIZONS)


def test_a_conversation_has_what_it_needs_and_grows_with_the_square(talk: Run) -> None:
    cells = {length: cell(talk, length) for length in HORIZONS}
    assert [each["score"] for each in cells.values()] == [1, 1, 1]
    assert [each["requests"] for each in cells.values()] == list(HORIZONS)
    found = compared({"lean": cells, "ours": cells})
    assert found[f"lean / ours, T=100, {TOKENS}"] == 1
    assert 1.8 < found[f"lean, exponent of {TOKENS}"] < 2
    # By the cache, all but the newest message is read for a tenth.
    (before, after) = (reading(request) for request in talk.requests[:2])
    assert after.startswith(before)
    assert cell(talk, 2)[CACHED] == pytest.approx(
        tokens(before) + 0.1 * tokens(before) + tokens(after[len(before) :]), abs=2
    )


def test_one_that_forgets_is_cheaper_and_gets_lost() -> None:
    """So the score of a conversation says that the CLI really keeps it."""
    lost = typed(kept=5, length=50)
    found = cell(lost, 50)
    assert found["score"] < 0.6
    figures = {"pi: lean, T=50": found}
    bounds = judged(figures, ["pi"], 50)
    (key, most) = bounds["every conversation and every step has what it needs"]
    assert figures[key] > most  # type: ignore[operator]


def test_where_one_overtakes_the_other(talk: Run) -> None:
    flat = replace(talk, requests=[talk.requests[9]] * len(talk.requests))
    assert overtaken(talk, talk) is None
    # One request of the tenth's size a step: the first nineteen sum up to about nineteen of it.
    assert 18 <= (overtaken(talk, flat) or 0) <= 22
    assert overtaken(flat, replace(talk, requests=[talk.requests[0]] * len(talk.requests))) == 1


def test_what_falls_short_is_said(talk: Run) -> None:
    dear = {length: {**cell(talk, length), TOKENS: 1000 * length**2} for length in HORIZONS}
    cheap = {length: {**cell(talk, length), TOKENS: 1000 * length} for length in HORIZONS}

    def short(ours: dict[int, Json], lean: dict[int, Json]) -> set[str]:
        cells = {OURS: ours, "default": lean, "lean": lean}
        figures: Json = {f"{cli}: {label}": v for cli in KINDS for label, v in compared(cells).items()}
        figures |= {"cell": cheap[10]}
        return {
            label for label, (key, most) in judged(figures, list(KINDS), 100).items() if figures[key] > most
        }

    assert short(cheap, dear) == set()
    told = short(dear, cheap)
    assert len(told) == 3 * 3 + 1
    assert "pi: ours grows with the horizon" in told
    assert "two CLIs by default take 16.2 times ours" in told


ANTHROPIC = {
    "system": [{"type": "text", "text": "SYSTEM", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {"name": "StructuredOutput", "input_schema": {"type": "object"}},
        {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": True},
    ],
    "messages": [
        {"role": "user", "content": "FIRST"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": CALL}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "TAKEN"}]},
        {"role": "user", "content": [{"type": "text", "text": "SECOND"}]},
    ],
}
CHAT = {
    "tools": [{"type": "function", "function": {"name": "StructuredOutput", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "SYSTEM"},
        {"role": "user", "content": [{"type": "text", "text": "FIRST"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "function": {"name": "StructuredOutput", "arguments": dump(CALL)}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "TAKEN"},
        {"role": "user", "content": "SECOND"},
    ],
}
RESPONSES = {
    "text": {"format": {"type": "json_schema", "name": "StructuredOutput", "schema": {}}},
    "input": [
        {"type": "additional_tools", "role": "developer", "tools": [{"name": "exec", "description": "run"}]},
        {"role": "developer", "id": "msg_1", "content": [{"type": "input_text", "text": "SYSTEM"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "FIRST"}]},
        {"type": "function_call", "call_id": "c", "name": "StructuredOutput", "arguments": dump(CALL)},
        {"type": "function_call_output", "call_id": "c", "output": "TAKEN"},
        {"role": "user", "content": [{"type": "input_text", "text": "SECOND"}]},
    ],
}


@pytest.mark.parametrize(
    ("path", "body", "tools"),
    [
        ("/v1/messages", ANTHROPIC, [ANTHROPIC["tools"][0]]),
        ("/v1/chat/completions", CHAT, CHAT["tools"]),
        ("/v1/responses", RESPONSES, [RESPONSES["input"][0]["tools"][0], RESPONSES["text"]["format"]]),  # type: ignore[index]
    ],
)
def test_what_a_model_reads_is_each_text_once_in_order(path: str, body: Json, tools: list[Json]) -> None:
    request = record(1, "POST", path, {}, json.dumps(body, indent=1).encode())
    texts = ["SYSTEM", "FIRST", f"StructuredOutput {dump(CALL)}", "TAKEN", "SECOND"]
    assert said(request) == "\n\n".join(texts)
    assert reading(request) == "\n\n".join([*map(dump, tools), *texts])


class Noting:
    """ports.Runner: starts nothing."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []

    async def run(self, argv: Sequence[str], **how: Any) -> Ran:
        self.started.append(list(argv))
        return Ran(exit=0)


@pytest.mark.parametrize(
    ("cli", "argv", "second"),
    [
        ("claude", "claude -p --no-session-persistence --model M", "claude -p --model M --continue"),
        ("codex", "codex exec --ephemeral --cd D -", "codex exec --cd D resume --last -"),
        ("pi", "node pi --no-session --tools T", "node pi --tools T --continue"),
    ],
)
def test_only_the_words_about_the_session_are_changed(cli: str, argv: str, second: str) -> None:
    runner = Noting()
    keeping = Keeping(runner, cli)  # type: ignore[arg-type]
    for words in (f"{cli} --version", argv, argv):
        anyio.run(keeping.run, words.split())
    asked, first, again = (" ".join(words) for words in runner.started)
    assert (asked, again) == (f"{cli} --version", second)
    assert first == argv.replace(f"{Keeping.FORBIDS[cli]} ", "")


@pytest.mark.binaries
@pytest.mark.parametrize("cli", KINDS)
def test_with_the_real_cli(cli: str, tmp_path: Path) -> None:
    listed = warehouse.events(42, 3)
    runs = {way: play(tmp_path / str(at), cli, listed) for at, (way, play) in enumerate(WAYS.items())}
    cells = {way: cell(run, 3) for way, run in runs.items()}
    assert {way: (found["score"], found["requests"]) for way, found in cells.items()} == dict.fromkeys(
        WAYS, (1, 3)
    )
    for way in ("default", "lean"):  # each request begins with all of the one before
        texts = [said(request) for request in runs[way].requests]
        assert all(after.startswith(before) for before, after in pairwise(texts))
    assert cells["default"][TOKENS] > cells["lean"][TOKENS]
