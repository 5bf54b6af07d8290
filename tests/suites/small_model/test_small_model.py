"""A real model of 135 million parameters answers in the form of a real task's transition, every time, because it can't
do otherwise; left to itself it never does. Nothing is said of whether it does the task."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from contracts.charter import Charter
from contracts.reply import AgentReply, Prompt, ReplyClass
from controller.assemble import charter
from controller.taskfile import read_task
from tests.agents.binaries import ROOT
from tests.suites.environment import environment
from tests.tool_adapters.agent_world import ask, settings
from tool_adapters.agents.chat import Chat

HERE = Path(__file__).parent
REPLIES, CONTROLS = 50, 5
CAP = 5000  # tokens of a reply: more than any took, so that a cut is a fault
OBSERVATIONS = (
    "the tests pass",
    "2 files are left: larder/stock.py, larder/units.py",
    "larder/stock.py was edited",
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    python = environment("small-model", HERE / "requirements.txt")
    (weights,) = (ROOT / ".cache/small-model").rglob("SmolLM2-135M-Instruct*.gguf")
    with subprocess.Popen(
        [python, HERE / "engine.py", weights], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as engine:
        try:
            assert engine.stdout is not None
            url = engine.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), "the engine did not start"
            yield f"{url}/v1"
        finally:
            engine.kill()


class Unheld(Chat):
    """The control: the same client, but the server is not told the form."""

    def _form(self) -> dict[str, Any]:
        return {}


def law() -> Charter:
    """What the task `examples/tidy` asks of an agent of this kind."""
    return charter(read_task(ROOT / "examples/tidy/task.yaml"), Chat.kind)


def replies(
    folder: Path, url: str, count: int, kind: type[Chat] = Chat, **options: Any
) -> Iterator[AgentReply]:
    """Launches of the adapter, with the form and the grammar's text of a real task."""
    options = {"max_tokens": CAP, "temperature": 0.8, **options}
    config = {"base_url": url, "model": "smollm2", "timeout": 900.0, "options": options}
    agent = kind(settings(folder, Chat.kind, {}, dialect=law().dialect, **config))
    agent.preflight()
    stable = f"{law().task.goal}\nReply with one JSON object: state_patch and action.\n\n{law().grammar}\n"
    for step in range(count):
        said = OBSERVATIONS[step % len(OBSERVATIONS)]
        reply = ask(
            agent, Prompt(step, stable, f"=== STATE ===\n{{}}\n=== OBSERVATION ===\nStep {step}: {said}.\n")
        )
        print(
            f"{step}: {reply.cls}, {reply.usage.output} tokens, {reply.took:.1f} s: {reply.text[:100]}",
            flush=True,
        )
        yield reply


def test_every_reply_is_in_the_form_of_the_task(tmp_path: Path, server: str) -> None:
    form = Draft202012Validator(law().dialect.schema)
    seen = Counter[str]()
    for reply in replies(tmp_path, server, REPLIES, decoding="grammar", longest=40):
        assert reply.cls is ReplyClass.OK and reply.value is not None, reply
        assert not list(form.iter_errors(reply.value)), reply.value
        assert list(law().dialect.decode(reply.value)) == ["state_patch", "action"]
        assert reply.text == orjson.dumps(reply.value).decode(), "whitespace of its own"
        seen[reply.value["action"]["tool"]] += 1
    print(dict(seen))
    assert seen.total() == REPLIES


def test_left_to_itself_it_is_never_in_form(tmp_path: Path, server: str) -> None:
    """The control: the same model, prompt and client; the form is said in the prompt alone."""
    form = Draft202012Validator(law().dialect.schema)
    for reply in replies(tmp_path, server, CONTROLS, Unheld, max_tokens=200):
        assert reply.value is None or list(form.iter_errors(reply.value)), reply.value


def test_a_reply_that_is_cut_is_no_reply(tmp_path: Path, server: str) -> None:
    (reply,) = replies(tmp_path, server, 1, decoding="grammar", longest=40, max_tokens=8)
    assert reply.cls is ReplyClass.INVALID and "max_tokens" in reply.message


def test_a_prompt_that_is_too_long_and_a_form_that_is_none(tmp_path: Path, server: str) -> None:
    """How this engine words what it refuses."""
    agent = Chat(settings(tmp_path, Chat.kind, {}, base_url=server, model="smollm2"))
    assert ask(agent, Prompt(1, "word " * 20_000, "go\n")).cls is ReplyClass.CONTEXT_TOO_LONG
    broken = type("Broken", (Chat,), {"_form": lambda _: {"grammar": "root ::= ("}})
    reply = ask(broken(settings(tmp_path, Chat.kind, {}, base_url=server, model="smollm2")))
    assert reply.cls is ReplyClass.SCHEMA_REFUSED, reply
