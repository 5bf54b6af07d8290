"""The measures of the wire can fail, and they add up: on requests of each API, made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.conformance.cases import STABLE, VOLATILE
from controller.conformance.loopback.recorded import record
from controller.conformance.weights import dump, inside, overhead, weigh
from tests.gateway import Recorded
from tests.wire.prefix import SLACK, allowed, beyond, excess, reads, stable

Json = dict[str, Any]
PATHS = {"anthropic": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
SCHEMA: Json = {"type": "object", "properties": {"id": {"type": "string", "description": "“so”"}}}


def prompt(state: str = "a: 1\nb: 2", observation: str = "read é\n" * 90, **more: str) -> tuple[str, str]:
    parts = {
        "STATE": state,
        "AUTHORITIES": "git: clean",
        **more,
        "OBSERVATION": observation,
        "BUDGET": "1 of 9",
    }
    volatile = "".join(f"=== {name} ===\n{text}\n\n" for name, text in parts.items())
    return "=== SKILL ===\nDo it.\n\n=== ACTIONS ===\nrun\n\n", volatile


def sent(
    api: str, texts: tuple[str, str] | None = None, number: int = 1, tool: str = "", **fields: Any
) -> Recorded:
    """A request as this API has it. The ids in it differ by number."""
    stable_text, volatile = texts or prompt()
    if api == "anthropic":
        added = {"type": "text", "text": "You are a Claude agent."}
        body: Json = {
            "system": [added, {"type": "text", "text": stable_text, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": volatile}]}],
            "tools": [{"name": "StructuredOutput", "description": f"Call it.{tool}", "input_schema": SCHEMA}],
        }
    elif api == "responses":
        spoken = (("developer", stable_text.strip()), ("user", volatile))
        form = {"type": "json_schema", "name": "codex_output_schema", "schema": SCHEMA}
        body = {
            "input": [
                {"id": f"msg_{number}", "role": role, "content": [{"type": "input_text", "text": text}]}
                for role, text in spoken
            ],
            "tools": [{"name": tool}] if tool else [],
            "text": {"format": form},
        }
    else:
        function = {"name": "skill_state_transition", "description": f"Call it.{tool}", "parameters": SCHEMA}
        spoken = (("system", stable_text), ("user", volatile))
        body = {
            "messages": [{"role": role, "content": text} for role, text in spoken],
            "tools": [{"type": "function", "function": function}],
        }
    return record(number, "POST", PATHS[api], {}, dump(body | fields).encode())


@pytest.mark.parametrize("api", PATHS)
def test_the_weights_of_a_request_add_up(api: str) -> None:
    request = sent(api, metadata={"session": "x"})
    weights = weigh(request)
    assert sum(weight.bytes for weight in weights.values()) == len(request.body)
    assert [name for name in weights if name[0] != "+"] == [
        *("skill", "actions", "state", "authorities", "observation", "budget", "schema")
    ]
    # Each text as it is in the body: quoted, with its accents and line ends.
    for name in ("state", "observation", "budget"):
        text = dump(weights[name].text)[1:-1].encode()
        assert text in request.body and len(text) == weights[name].bytes
    assert weights["schema"].bytes == len(dump(SCHEMA).encode()) - 2
    assert weights["+metadata"].bytes == len(b'"metadata":{"session":"x"},')
    assert (weights["+metadata"].text, weights["+json"].bytes) == ("", 1)


@pytest.mark.parametrize("api", PATHS)
def test_overhead_is_what_is_neither_prompt_nor_schema(api: str) -> None:
    plain = overhead(weigh(sent(api)))
    long = prompt(observation="x" * 9000, CORRECTION="no", VIEWS="y" * 500)
    assert overhead(weigh(sent(api, long))) == plain
    assert overhead(weigh(sent(api, tool="twelve bytes"))) > plain
    spaced = sent(api)
    spaced.body = json.dumps(spaced.parsed, indent=1, ensure_ascii=False).encode()
    assert overhead(weigh(spaced)) > plain


def test_what_a_cli_appends_to_our_text_is_its_own() -> None:
    stable_text, volatile = prompt()
    added = "\n\n<cwd>\n/somewhere\n</cwd>"
    with_folder = sent("chat", (stable_text + added, volatile))
    assert overhead(weigh(with_folder)) == overhead(weigh(sent("chat"))) + len(dump(added)) - 2


@pytest.mark.parametrize("api", PATHS)
def test_what_is_appended_to_the_prompt_of_the_suite_for_installed_versions_is_seen(api: str) -> None:
    stable_text, volatile, added = STABLE.strip(), VOLATILE.strip(), "\nYou are in /somewhere."
    plain = overhead(weigh(sent(api, (stable_text, volatile))))
    for texts in ((stable_text + added, volatile), (stable_text, volatile + added)):
        assert overhead(weigh(sent(api, texts))) == plain + inside(added)


@pytest.mark.parametrize("api", PATHS)
def test_from_step_to_step_only_what_moves_is_new(api: str) -> None:
    moved = (
        prompt(),
        prompt("a: 1\nb: 3", "wrote é\n" * 80),
        prompt("a: 1\nb: 3", "x\n" * 300, CORRECTION="no"),
    )
    requests = [sent(api, texts, number) for number, texts in enumerate(moved)]
    assert stable(requests) == 1 and max(excess(requests)) <= 1 + SLACK
    # From the second field of the state on; and none of it where it stayed the same.
    weights = weigh(requests[1])
    fixed = sum(weights[name].bytes for name in ("authorities", "observation"))
    assert allowed(*requests[:2]) == fixed + len(r"b: 3\n\n")
    assert b"msg_" not in reads(requests[1]) and b'"id"' in reads(requests[1])  # the one of the schema


@pytest.mark.parametrize("api", PATHS)
def test_what_changes_where_nothing_may_is_noticed(api: str) -> None:
    stable_text, volatile = prompt()
    clock = [stable_text.replace("Do it.", f"Do it. 12:00:0{number}") for number in range(2)]
    timed = [sent(api, (text, volatile), number) for number, text in enumerate(clock)]
    assert stable(timed) == 2 and excess(timed)[0] > 1 + SLACK
    tools = [sent(api, number=number, tool=f"at 12:00:0{number}") for number in range(2)]
    assert stable(tools) == 2 and beyond(*tools) > allowed(*tools) * (1 + SLACK)
