"""Codex CLI as a one-shot process: one request, one JSON message, events as JSON Lines on stdout.

Measured on 0.171.0. A CODEX_HOME generated per run (codex_home), zero tools, no retries. The CLI never checks
the message against the schema and leaves with 0 even without an answer: success is exit 0 and `turn.completed`
and a last `agent_message` that parses as one JSON object.

Silence: `idle` bounds a stream without events inside the CLI. Nothing in the CLI bounds the wait for the first
headers, and it prints nothing while the model thinks, so from outside only `timeout` bounds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
import orjson

from contracts.agents import Price
from contracts.base import JsonObject, digest
from contracts.errors import ConfigError
from contracts.ports import Ran
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.text import clean, cut
from tool_adapters.agents.abilities import able
from tool_adapters.agents.ahead import Ahead, Launch
from tool_adapters.agents.auth import codex_auth
from tool_adapters.agents.binary import find_binary, native_codex, version_beside
from tool_adapters.agents.classify import Failure, Signals, classify, ended_badly
from tool_adapters.agents.codex_home import LentLogin, catalog_name, config_toml, trimmed_catalog
from tool_adapters.agents.credentials import Credential, codex_credential
from tool_adapters.agents.launch import (
    REPLY_CAP,
    TEXT_CAP,
    Folders,
    agent_environment,
    check_options,
    cost,
    effort,
    failed,
    last_line,
)
from tool_adapters.agents.settings import AgentSettings

DEFAULT_MODEL = "gpt-6.2-sol"
INSTALL = "npm install -g @openai/codex"


class Codex:
    """ports.Agent for the Codex CLI. Options of the task: `cli`, the path of the binary; `effort`, how much the
    model thinks (low to high; absent: the model's own default)."""

    kind = program = "codex"
    wire = "responses"
    dialect_kind: Literal["strict"] = "strict"
    native_reasoning = True
    explores, prespawns = ("none", "delegate"), True

    def __init__(self, settings: AgentSettings) -> None:
        self.settings, self.dialect = settings, settings.dialect
        self.model = settings.config.model or DEFAULT_MODEL
        self.hands = settings.config.explore == "delegate"
        self.profile = AgentProfile(
            name=settings.name,
            kind=self.kind,
            model=self.model,
            dialect=self.dialect_kind,
            reasoning=settings.dialect.reasoning,
            credential=settings.config.auth,
        )
        self._ahead = Ahead(settings)

    def configured(self) -> list[str]:
        """See ports.Configured."""
        check_options(self.settings, ("cli", "effort"))
        effort(self.settings)
        codex_auth(self.settings)
        return able(self.settings, self)

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, with the one command that mends it; starts nothing."""
        settings, said = self.settings, self.configured()
        binary = self._binary()
        self.profile = self.profile.model_copy(update={"version": version_beside(binary)})
        credential = codex_credential(settings)
        notices = [*credential.notices, *said]
        if credential.auth_file and not os.access(credential.auth_file.parent, os.W_OK):
            notices.append(
                f"agent {settings.name}: refreshed tokens can't be written back to {credential.auth_file}; they are "
                f"kept below {settings.home}"
            )
        if binary.suffix == ".js":
            notices.append(
                f"agent {settings.name}: no native codex beside {binary}: its node shim is started"
            )
        return notices

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. Never raises for what the process does."""
        settings, folders = self.settings, self._ahead.folders
        try:
            binary, credential = self._binary(), codex_credential(settings)
        except ConfigError as error:
            return failed(Failure(ReplyClass.MISCONFIGURED, str(error)))
        folders.make_home()
        home = folders.home / "codex"
        env = self.environment(folders, home, credential)
        catalog = await self._catalog(binary, folders, env)
        # An empty instructions file is refused, and Codex trims what it reads.
        text = prompt.stable if prompt.stable.strip() else "Reply with one JSON object.\n"
        instructions = folders.write("codex/instructions.md", text)
        schema = folders.write("codex/schema.json", orjson.dumps(settings.dialect.schema).decode())
        config = settings.config
        top = {"model": self.model, "model_instructions_file": str(instructions)}
        if catalog is not None:
            top["model_catalog_json"] = str(catalog)
        if wanted := effort(settings):
            top["model_reasoning_effort"] = wanted
        toml = config_toml(top, credential, config.base_url, config.idle, self.hands)
        folders.write("codex/config.toml", toml)
        argv = self.argv(binary, schema, settings.place(folders.work))
        launch = Launch(tuple(argv), env, digest([toml, text, settings.dialect.schema]))
        # A process that waits looks for its login when it has its prompt: it is lent no earlier.
        login = LentLogin(credential.auth_file, home) if credential.auth_file else None
        if login:
            await anyio.to_thread.run_sync(login.lend, folders)
        try:
            ran = await self._ahead.run(launch, prompt.volatile, final=_is_final)
        finally:
            if login:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(login.take_back)
        reply = self._read(ran, credential)
        await self._ahead.prepare(launch, reply.cls)
        return self._ahead.told(reply)

    async def close(self) -> None:
        """Ends the process that waits."""
        await self._ahead.end()

    def argv(self, binary: Path, schema: Path, work: Path) -> list[str]:
        """The command line; the prompt comes on stdin. One that edits by itself is in our sandbox, in which Codex can't
        put up its own."""
        box = "danger-full-access" if self.hands else "read-only"
        return [
            *(str(binary), "exec", "--ephemeral", "--json", "--skip-git-repo-check", "--strict-config"),
            *("--output-schema", str(schema), "--sandbox", box, "--cd", str(work), "-"),
        ]

    def environment(self, folders: Folders, home: Path, credential: Credential) -> dict[str, str]:
        """The whole environment of the child. CODEX_HOME stands beside TMPDIR, never below it."""
        return agent_environment(self.settings.environ, folders, {"CODEX_HOME": str(home), **credential.env})

    def _binary(self) -> Path:
        return native_codex(find_binary(self.settings, self.program, INSTALL))

    async def _catalog(self, binary: Path, folders: Folders, env: Mapping[str, str]) -> Path | None:
        """The trimmed catalog, made once per binary and model; None for a model that the binary does not know
        (it then has no tools either, and says so in a notice)."""
        path = folders.home / catalog_name(binary, self.model, self.hands)
        if path.is_file():
            return path if path.stat().st_size else None
        bare = folders.home / "catalog"
        bare.mkdir(mode=0o700, exist_ok=True)
        listed = await self.settings.runner.run(
            (str(binary), "debug", "models"),
            cwd=folders.tmp,
            env={**env, "CODEX_HOME": str(bare)},
            timeout=60,
            cap=16 * 1024 * 1024,
            redact=False,
        )
        if listed.exit != 0:
            return None
        text = trimmed_catalog(listed.out.data, self.model, self.hands)
        folders.write(path.name, text or "")
        return path if text else None

    def _read(self, ran: Ran, credential: Credential) -> AgentReply:
        """The reply of a process that has ended."""
        settings = self.settings
        seen = read_events(ran.out.data)
        usage = _usage(seen.usage, settings.config.price)
        failure = ended_badly(ran, "codex", settings.config.timeout, settings.config.idle)
        if failure is None and ran.out.total > REPLY_CAP:
            failure = Failure(ReplyClass.INVALID, f"the reply has {ran.out.total:,} bytes: too large")
        if failure is None and seen.completed and seen.failure is None and (ran.exit == 0 or ran.settled):
            value, failure = _answer(seen.message)
            if value is not None:
                return AgentReply(
                    cls=ReplyClass.OK,
                    value=value,
                    text=cut(clean(seen.message or ""), TEXT_CAP),
                    usage=usage,
                    requests=None if self.hands else 1,
                    survivors=ran.survivors,
                    took=ran.took,
                )
        if failure is None:
            failure = classify(_signals(ran, seen), settings.now())
        asked = 2 if credential.auth_file else 1  # a login that was refreshed asks once more
        return failed(
            failure,
            ran,
            usage=usage,
            text=seen.message or seen.failure or ran.err.text,
            hint=self._hint(failure.cls),
            secrets=credential.env,
            requests=asked if settings.config.explore == "none" else None,
        )

    def _hint(self, cls: ReplyClass) -> str:
        if cls is not ReplyClass.AUTH:
            return ""
        config = self.settings.config
        if config.auth == "subscription":
            return "run `codex login`"
        return f"mend the key in {config.api_key_env or config.token_env or 'OPENAI_API_KEY'}"


@dataclass
class Events:
    """What the event stream said. `message` is the last agent message, `failure` the text of `turn.failed`,
    `error` the last top-level error that was no announcement of a retry."""

    message: str | None = None
    failure: str | None = None
    error: str | None = None
    completed: bool = False
    usage: list[Mapping[str, Any]] = field(default_factory=list)


def read_events(data: bytes) -> Events:
    """Folds the JSON Lines of stdout. Lines that are none, and events of unknown types, are passed over; an item
    of type `error` is a notice and no failure."""
    seen = Events()
    for line in data.splitlines():
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        match event:
            case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                seen.message = text
            case {"type": "turn.completed"}:
                seen.completed = True
                usage = event.get("usage")
                if isinstance(usage, dict):
                    seen.usage.append(usage)
            case {"type": "turn.failed", "error": {"message": str(text)}}:
                seen.failure = text
            case {"type": "turn.failed"}:
                seen.failure = ""
            case {"type": "error", "message": str(text)} if not text.startswith("Reconnecting..."):
                seen.error = text
    return seen


def _is_final(path: Path) -> bool:
    seen = read_events(last_line(path))
    return seen.completed or seen.failure is not None


def _answer(message: str | None) -> tuple[JsonObject | None, Failure | None]:
    if message is None:
        said = "the turn ended without a message: the model refused or said nothing"
        return None, Failure(ReplyClass.MISSING, said)
    try:
        value = orjson.loads(message)
    except orjson.JSONDecodeError as error:
        return None, Failure(ReplyClass.INVALID, f"the message is not one JSON object: {error}")
    if not isinstance(value, dict):
        return None, Failure(
            ReplyClass.INVALID, f"the message is JSON, but a {type(value).__name__} and no object"
        )
    return value, None


_STATUS = re.compile(r"\b(?:unexpected|last) status:? (\d{3})\b")


def _signals(ran: Ran, seen: Events) -> Signals:
    """Every signal of a failed launch. A failed turn carries a vendor's raw error body now and then."""
    said = seen.failure or seen.error
    if said is None:
        lines = [line for line in ran.err.text.splitlines() if not line.startswith(("Reading ", "WARNING:"))]
        return Signals(channel="\n".join(lines))
    status = _STATUS.search(said)
    try:
        error = orjson.loads(said)["error"]
        kinds = tuple(str(error[name]) for name in ("code", "type") if error.get(name))
        said = str(error.get("message") or said)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        kinds = ()
    return Signals(kinds, int(status[1]) if status else None, said)


def _usage(turns: list[Mapping[str, Any]], price: Price | None) -> Usage:
    """The sum over the turns; money only with the task's price (Codex reports none). `input` includes `cached`."""
    if not turns:
        return Usage()
    total = {
        name: sum(int(turn.get(f"{name}_tokens") or 0) for turn in turns) for name in ("input", "output")
    }
    cached = sum(int(turn.get("cached_input_tokens") or 0) for turn in turns)
    money = cost(price, total["input"], cached, total["output"])
    return Usage(**total, cached=cached, usd_micro=money)
