"""Gemini CLI, opencode and Qwen Code as one-shot processes: one adapter, three presets."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import ClassVar, Literal

import orjson

from contracts.errors import ConfigError
from contracts.ports import Ran, Settle
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass
from contracts.text import clean, cut
from tool_adapters.agents.abilities import able
from tool_adapters.agents.auth import key_auth
from tool_adapters.agents.binary import find_binary, version_beside
from tool_adapters.agents.classify import Failure, classify, ended_badly
from tool_adapters.agents.credentials import Credential, key_credential
from tool_adapters.agents.json_reply import only_object
from tool_adapters.agents.launch import (
    REPLY_CAP,
    TEXT_CAP,
    Folders,
    agent_environment,
    check_options,
    cost,
    failed,
)
from tool_adapters.agents.preset_replies import Told
from tool_adapters.agents.presets import GEMINI, OPENCODE, QWEN, Asked, Preset
from tool_adapters.agents.settings import AgentSettings


class PresetAgent:
    """ports.Agent for a preset. Options of the task: `cli`, the path of the program."""

    preset: Preset
    kind: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ("cli",)
    dialect_kind: ClassVar[Literal["merge"]] = "merge"
    native_reasoning: ClassVar[bool] = True
    explores: ClassVar[tuple[str, ...]] = ("none",)
    prespawns: ClassVar[bool] = False
    # For the conformance suite: what its model endpoint speaks, whether the model is held to the reply's form, and
    # whether the task must name one.
    wire: ClassVar[str] = "chat"
    holds_to_schema: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: AgentSettings) -> None:
        self.settings, self.dialect = settings, settings.dialect
        self.model = settings.config.model or self.preset.model or ""
        self.profile = AgentProfile(
            name=settings.name,
            kind=self.kind,
            model=self.model,
            dialect=self.dialect_kind,
            reasoning=settings.dialect.reasoning,
            credential=settings.config.auth,
        )

    def configured(self) -> list[str]:
        """See ports.Configured."""
        settings = self.settings
        check_options(settings, self.options)
        if not self.model:
            raise ConfigError(
                f"agent {settings.name}: which model is not said",
                hint="write `model:`, as its CLI or server names it",
            )
        if settings.config.run is not None:
            raise ConfigError(
                f"agent {settings.name}: `run` is for kind command", hint="remove it, or name the kind"
            )
        self._auth()
        return able(settings, self)

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, with the one command that mends it; starts nothing."""
        notices = self.configured()
        version = version_beside(self._program())
        credential = self._credential()
        self.profile = self.profile.model_copy(update={"version": version, "credential": credential.kind})
        return [*credential.notices, *notices]

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. Never raises for what the process does."""
        settings, preset = self.settings, self.preset
        try:
            program, credential = self._program(), self._credential()
        except ConfigError as error:
            return failed(Failure(ReplyClass.MISCONFIGURED, str(error)))
        folders = Folders(settings)
        # These CLIs keep what was said in files of their HOME: the next launch finds none of it.
        shutil.rmtree(folders.home, ignore_errors=True)
        folders.make()
        asked = Asked(
            prompt=prompt,
            home=folders.home,
            system=folders.write("system.md", prompt.stable if preset.words is None else prompt.text),
            schema=folders.write("schema.json", orjson.dumps(self.dialect.schema).decode()),
            model=self.model,
            key=next(iter(credential.env.values()), ""),
            base_url=settings.config.base_url,
        )
        start = preset.start(asked)
        for name, content in start.files.items():
            folders.write(name, orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())
        ran = await settings.runner.run(
            (str(program), *start.argv),
            cwd=folders.work,
            env=agent_environment(settings.environ, folders, start.env),
            stdin=(prompt.volatile if preset.words is None else preset.words).encode("utf-8", "replace"),
            timeout=settings.config.timeout,
            cap=REPLY_CAP,
            settle=Settle(preset.astray, 0) if preset.astray else None,
            redact=False,
        )
        return self._read(ran, credential)

    async def close(self) -> None:
        """No spare process is kept."""

    def _program(self) -> Path:
        return find_binary(self.settings, self.preset.program, self.preset.install)

    def _auth(self) -> None:
        key_auth(self.settings, self.preset.key_env)

    def _credential(self) -> Credential:
        return key_credential(self.settings, self.preset.key_env)

    def _read(self, ran: Ran, credential: Credential) -> AgentReply:
        """The reply of a process that has ended."""
        settings, told = self.settings, self.preset.read(ran)
        price = settings.config.price
        if told.usage.input is not None and told.usage.output is not None:
            money = cost(price, told.usage.input, told.usage.cached or 0, told.usage.output)
            told.usage = told.usage.model_copy(update={"usd_micro": money})
        failure = self._failure(ran, told)
        value = told.value
        if failure is None and value is None:
            value, failure = only_object(told.text or "")
        text = clean(told.text or (orjson.dumps(value).decode() if value else ran.err.text))
        if failure is not None:
            return failed(
                failure,
                ran,
                usage=told.usage,
                text=text,
                hint=self._hint(failure.cls),
                secrets=credential.env,
                requests=told.requests,
            )
        return AgentReply(
            cls=ReplyClass.OK,
            value=value,
            text=cut(text, TEXT_CAP),
            usage=told.usage,
            requests=told.requests,
            survivors=ran.survivors,
            took=ran.took,
        )

    def _failure(self, ran: Ran, told: Told) -> Failure | None:
        """Why this run gave no answer; None when it gave one, good or not. Its own events go before its exit code,
        which some of these CLIs take from the HTTP status."""
        if told.failure is not None and (ran.exit is not None or ran.settled):
            return told.failure
        if told.signals is not None and ran.exit is not None and ran.signal is None:
            return classify(told.signals, self.settings.now())
        config = self.settings.config
        failure = ended_badly(ran, self.preset.program, config.timeout, config.idle)
        if failure is None and ran.out.total > REPLY_CAP:
            failure = Failure(ReplyClass.INVALID, f"the output has {ran.out.total:,} bytes: too large")
        if failure is None and told.text is None and told.value is None:
            tail = " ".join(ran.err.text.split())[-400:]
            said = f"{self.preset.program} ended with exit code {ran.exit} without an answer: {tail or 'no reason'}"
            failure = Failure(ReplyClass.CRASHED if ran.exit else ReplyClass.MISSING, said)
        return failure

    def _hint(self, cls: ReplyClass) -> str:
        if cls is not ReplyClass.AUTH:
            return ""
        name = self.settings.config.api_key_env or self.preset.key_env
        return f"mend the key in {name}" if name else "write `api_key_env: NAME`"


class Gemini(PresetAgent):
    """Gemini CLI."""

    kind, preset, wire = "gemini", GEMINI, "generate"
    program = GEMINI.program
    holds_to_schema, needs_model = False, False


class Opencode(PresetAgent):
    """opencode."""

    kind, preset, program = "opencode", OPENCODE, OPENCODE.program
    holds_to_schema = False


class Qwen(PresetAgent):
    """Qwen Code, whose reply is the call of a tool with the reply's schema."""

    kind, preset, program = "qwen", QWEN, QWEN.program
    native_reasoning = False
