"""Pi as a one-shot process: one request, one call of the only tool, events as JSON Lines on stdout.

Measured on 1.6.0. Pi runs on Node with our extension (extension.ts), which registers the tool, replaces the whole
system prompt, forces the call and cuts off a second request. Sessions, discovery, context files, built-in tools,
retries and compaction are off; the home is generated per run. The reply is what the model said: that Pi's own
validation let it through, or coerced it, counts for nothing.

Silence: `idle` bounds the wait for headers and for the next byte inside Pi. It prints nothing while the model
thinks, so from outside only `timeout` bounds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import orjson

from contracts.agents import AgentConfig, Price
from contracts.base import digest
from contracts.errors import ConfigError
from contracts.ports import Captured, Ran
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.text import cut
from tool_adapters.agents.abilities import able
from tool_adapters.agents.ahead import Ahead, Launch, only
from tool_adapters.agents.auth import key_auth, key_name
from tool_adapters.agents.binary import find_binary, version_beside
from tool_adapters.agents.classify import Failure, classify, ended_badly
from tool_adapters.agents.credentials import PI_KEYS, Credential, pi_credential
from tool_adapters.agents.launch import (
    REPLY_CAP,
    TEXT_CAP,
    agent_environment,
    cost,
    failed,
)
from tool_adapters.agents.pi.configuration import DEFAULT_PROVIDER, Target
from tool_adapters.agents.pi.events import TOOL, Events, is_final, read_events, signals
from tool_adapters.agents.pi.node import find_node
from tool_adapters.agents.settings import AgentSettings

INSTALL = "npm install -g @earendil-works/pi-coding-agent (needs Node 22.19)"
NOTHING_ELSE = (
    *("--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes"),
    *("--no-context-files", "--no-mcp", "--no-approve"),
)
# By `api` or `provider`; every other provider takes chat completions.
WIRES: Mapping[str, str] = {
    "anthropic": "messages",
    "anthropic-messages": "messages",
    "openai": "responses",
    "openai-responses": "responses",
}
HANDS = "read,bash,edit,write,grep,find,ls"  # of one that edits by itself, in the sandbox
# Pi repeats the prompt, and the reply several times over.
OUTPUT_CAP = 8 * REPLY_CAP
# Said of a model that Pi's list does not have; its prices are then those of another one.
UNLISTED = "Using custom model id"


class Pi:
    """ports.Agent for Pi. Options of the task: `cli`, the path of Pi's script; `node`, that of Node; `provider`, one
    that Pi knows (anthropic); `api`, what an endpoint at `base_url` speaks; `effort`, how much the model thinks."""

    kind = program = "pi"
    dialect_kind: Literal["merge"] = "merge"
    native_reasoning = False
    explores, prespawns = ("none", "delegate"), True

    def __init__(self, settings: AgentSettings) -> None:
        self.settings, self.dialect = settings, settings.dialect
        self.profile = AgentProfile(
            name=settings.name,
            kind=self.kind,
            model=settings.config.model or "",
            dialect=self.dialect_kind,
            reasoning=settings.dialect.reasoning,
            credential=settings.config.auth,
        )
        self.hands = settings.config.explore == "delegate"
        self._node: Path | None = None
        self._ahead = Ahead(settings, only("session"))

    @staticmethod
    def wire(config: AgentConfig) -> str:
        """The API that its model is asked by: what `api` says, else that of the provider."""
        options = config.options
        return WIRES.get(str(options.get("api") or options.get("provider") or DEFAULT_PROVIDER), "chat")

    def configured(self) -> list[str]:
        """See ports.Configured."""
        key_auth(self.settings, PI_KEYS.get(Target.of(self.settings).provider))
        return able(self.settings, self)

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, with the one command that mends it; launches nothing."""
        settings, notices = self.settings, self.configured()
        target, cli = Target.of(settings), find_binary(settings, self.program, INSTALL)
        self.profile = self.profile.model_copy(update={"version": version_beside(cli), "model": target.model})
        credential = pi_credential(settings, target.provider)
        self._node = find_node(settings)
        return [*credential.notices, *notices]

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. Never raises for what the process does."""
        settings, folders = self.settings, self._ahead.folders
        try:
            target, cli = Target.of(settings), find_binary(settings, self.program, INSTALL)
            credential = pi_credential(settings, target.provider)
            node = self._node = self._node or find_node(settings)
        except ConfigError as error:
            return failed(Failure(ReplyClass.MISCONFIGURED, str(error)))
        folders.make_home()
        files = target.files(settings.config.idle)
        for name, text in files.items():
            folders.write(f".pi/agent/{name}", text)
        schema = folders.write("schema.json", orjson.dumps(settings.dialect.schema).decode())
        system = folders.write(
            "system.md", prompt.stable if prompt.stable.strip() else f"Call {TOOL} once.\n"
        )
        own = {"PI_OFFLINE": "1", "SKILL_STATE_SCHEMA": str(schema), "SKILL_STATE_SYSTEM": str(system)}
        own |= {"SKILL_STATE_HANDS": "1"} if self.hands else {}
        with resources.as_file(resources.files(__package__)) as package:
            launch = Launch(
                tuple(self.argv(node, cli, target, package / "extension.ts")),
                agent_environment(settings.environ, folders, {**own, **credential.env}),
                digest([dict(files), settings.dialect.schema]),
            )
            ran = await self._ahead.run(launch, prompt.volatile, final=is_final, cap=OUTPUT_CAP)
        reply = self._read(ran, credential)
        await self._ahead.prepare(launch, reply.cls, OUTPUT_CAP)
        return self._ahead.told(reply)

    async def close(self) -> None:
        """Ends the process that waits."""
        await self._ahead.end()

    def argv(self, node: Path, cli: Path, target: Target, extension: Path) -> list[str]:
        """The command line; the prompt comes on stdin."""
        return [
            *(str(node), str(cli), "--mode", "json", *NOTHING_ELSE),
            *("--provider", target.provider, "--model", target.model, "--thinking", target.effort),
            *("--extension", str(extension), "--tools", f"{HANDS},{TOOL}" if self.hands else TOOL),
        ]

    def _read(self, ran: Ran, credential: Credential) -> AgentReply:
        """The reply of a process that has ended."""
        settings, seen = self.settings, read_events(ran.out.data, self.hands)
        usage = _usage(seen.usage, settings.config.price, listed=UNLISTED not in ran.err.text)
        # Before the model has answered, Pi's lines say nothing that bears on how it ended.
        heard = ran if seen.stop is not None or ran.exit == 0 else replace(ran, out=Captured())
        failure = ended_badly(heard, "pi", settings.config.timeout, settings.config.idle)
        if failure is None and ran.out.total > OUTPUT_CAP:
            failure = Failure(ReplyClass.INVALID, f"the reply has {ran.out.total:,} bytes: too large")
        unsaid = seen.stop is None and bool(ran.err.text.strip())  # then stderr says why
        if failure is None and seen.error is None and not unsaid and (ran.exit == 0 or ran.settled):
            failure = unusable(seen)
            if failure is None:
                value = seen.calls[0].arguments
                return AgentReply(
                    cls=ReplyClass.OK,
                    value=value,
                    text=cut(orjson.dumps(value).decode(), TEXT_CAP),
                    usage=usage,
                    requests=None if self.hands else 1,
                    survivors=ran.survivors,
                    took=ran.took,
                )
        if failure is None:
            failure = classify(signals(seen, ran.err.text), settings.now())
        return failed(
            failure,
            ran,
            usage=usage,
            text=seen.text or seen.error or ran.err.text,
            hint=self._hint(failure.cls),
            secrets=credential.env,
            requests=None if self.hands else 1,
        )

    def _hint(self, cls: ReplyClass) -> str:
        if cls is not ReplyClass.AUTH:
            return ""
        return f"mend the key in {key_name(self.settings, PI_KEYS.get(Target.of(self.settings).provider))}"


def unusable(seen: Events) -> Failure | None:
    """Why a message that ended well is no reply."""
    if seen.stop is None:
        return Failure(ReplyClass.MISSING, "pi ended without asking the model")
    if not seen.settled:
        return Failure(ReplyClass.UNKNOWN, "pi ended before its run was over")
    if seen.stop == "length":
        return Failure(ReplyClass.INVALID, "the answer was cut off at the model's output limit")
    if seen.refused:
        return Failure(ReplyClass.REFUSAL, "the model refused to answer")
    if not seen.calls:
        how = "answered in prose" if seen.text.strip() else "said nothing"
        return Failure(ReplyClass.MISSING, f"the model {how} and did not call {TOOL}")
    if len(seen.calls) > 1:
        return Failure(
            ReplyClass.INVALID, f"the model made {len(seen.calls)} tool calls in one answer; make one"
        )
    call = seen.calls[0]
    if call.name != TOOL:
        return Failure(
            ReplyClass.INVALID, f"the model called {call.name!r}, which is no tool here; call {TOOL}"
        )
    if call.error is not None:
        return Failure(
            ReplyClass.INVALID, f"the call's arguments are not one JSON object: {cut(call.error, 300)}"
        )
    return None


def _usage(told: Mapping[str, Any] | None, price: Price | None, listed: bool) -> Usage:
    """Tokens of the one message; money with the task's price, else as Pi's own list has it, where the model is
    `listed` (an unknown price is 0 there). `input` includes `cached`."""
    if not told or not told.get("totalTokens"):
        return Usage()
    cached, output = int(told.get("cacheRead") or 0), int(told.get("output") or 0)
    input = int(told.get("input") or 0) + int(told.get("cacheWrite") or 0) + cached
    own = (round(float((told.get("cost") or {}).get("total") or 0) * 1_000_000) or None) if listed else None
    money = cost(price, input, cached, output)
    return Usage(input=input, cached=cached, output=output, usd_micro=own if money is None else money)
