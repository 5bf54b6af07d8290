"""Claude Code as a one-shot process: one request, one StructuredOutput call, one JSON object on stdout.

Measured on 2.1.332. Whatever would add to the request or repeat it is off: built-in tools, settings, project
memory, slash commands, `@file` expansion, the session, retries and in-CLI repairs. Two ways to the same wire:
with an API key by `--bare`, with a subscription (which `--bare` would ignore, and bill a key instead) by
`--restricted`. Success is decided by exit code, `is_error` and the presence of `structured_output` together:
`subtype` is wrong in both directions.

Silence: `idle` bounds a stalled stream inside the CLI (bytes; at least 10 s, its own floor) and the wait for
the first headers. The process prints nothing until the end, so from outside only `timeout` bounds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.paths import SECRET_FILES
from contracts.ports import Ran
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.text import clean, cut
from tool_adapters.agents.abilities import able
from tool_adapters.agents.ahead import Ahead, Launch, only
from tool_adapters.agents.auth import claude_auth
from tool_adapters.agents.binary import find_binary, version_beside
from tool_adapters.agents.classify import Failure, Signals, classify, ended_badly
from tool_adapters.agents.credentials import Credential, claude_credential
from tool_adapters.agents.launch import (
    REPLY_CAP,
    TEXT_CAP,
    Folders,
    agent_environment,
    check_options,
    effort,
    failed,
    last_line,
    start,
)
from tool_adapters.agents.settings import AgentSettings

DEFAULT_MODEL = "claude-sonnet-5-5"
INSTALL = (
    "npm install -g @anthropic-ai/claude-code (needs Node 22; an older Node silently gives an old version)"
)
# The kernel takes 128 KiB for one argument, and the schema has no file form.
SCHEMA_LIMIT = 120 * 1024
TURNS = {"none": 1, "read-only": 40, "delegate": 200}
HANDS = "Read,Grep,Glob,Edit,Write,Bash"  # of one that edits by itself, in the sandbox

ENVIRONMENT: Mapping[str, str] = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",  # varies with the prompt and would break the cached prefix
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # `@path` in the prompt would inline any file of the machine
    "ENABLE_TOOL_SEARCH": "false",
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "MAX_STRUCTURED_OUTPUT_RETRIES": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
    # After a refused request the CLI would drop one beta header and ask again, and again. So none is sent, nor what
    # needs one: the cache for an hour, and these three.
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
    "CLAUDE_CODE_PROMPT_CACHE_TTL": "5m",
    # Without --bare the CLI tells the model of its folder, system and date; without `mid_conv_system` it does so
    # before the prompt, where that stays the same from step to step, and not behind it.
    "CLAUDE_CODE_MODEL_CAPABILITIES": "-mid_conv_system,-per_turn_effort,-context_management",
}
CLOUD_HINTS: Mapping[str, str] = {
    "bedrock": "`aws sts get-caller-identity` says whose credential it is; the account must have access to the model",
    "vertex": "gcloud auth application-default login",
}


class Claude:
    """ports.Agent for Claude Code. Options of the task: `cli`, the path of the binary; `effort`, how much the
    model thinks (low to max)."""

    kind = program = "claude"
    wire = "messages"
    dialect_kind: Literal["merge"] = "merge"
    native_reasoning = True
    explores, prespawns = ("none", "read-only", "delegate"), True

    def __init__(self, settings: AgentSettings) -> None:
        self.settings, self.dialect = settings, settings.dialect
        self.model = settings.config.model or DEFAULT_MODEL
        self.profile = AgentProfile(
            name=settings.name,
            kind=self.kind,
            model=self.model,
            dialect=self.dialect_kind,
            reasoning=settings.dialect.reasoning,
            credential=settings.config.auth,
        )
        # Draft 2020-12 by name is refused by the CLI; without the name the same schema is taken.
        schema = {key: value for key, value in settings.dialect.schema.items() if key != "$schema"}
        self._schema = orjson.dumps(schema).decode()
        self._ahead = Ahead(settings, only("system"))

    def configured(self) -> list[str]:
        """See ports.Configured."""
        settings = self.settings
        check_options(settings, ("cli", "effort"))
        effort(settings)
        claude_auth(settings)
        size = len(self._schema.encode())
        if size >= SCHEMA_LIMIT:
            raise ConfigError(
                f"agent {settings.name}: the reply schema has {size:,} bytes; it is an argument of the command "
                f"line, and more than {SCHEMA_LIMIT:,} are refused there by the system (E2BIG)",
                hint="allow fewer actions or commands, or shorten the state schema",
            )
        return able(settings, self)

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, with the one command that mends it; starts nothing."""
        notices = self.configured()
        binary = find_binary(self.settings, self.program, INSTALL)
        self.profile = self.profile.model_copy(update={"version": version_beside(binary)})
        return [*claude_credential(self.settings).notices, *notices]

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. Never raises for what the process does."""
        settings = self.settings
        try:
            binary, credential = find_binary(settings, self.program, INSTALL), claude_credential(settings)
        except ConfigError as error:
            return failed(Failure(ReplyClass.MISCONFIGURED, str(error)))
        if settings.starts_ahead:
            return await self._ask_late(prompt, binary, credential)
        folders = Folders(settings)
        folders.make()
        system = folders.write("system.md", _system(prompt))
        ran = await start(
            settings,
            self.argv(binary, credential, system),
            cwd=settings.place(folders.work),
            env=self.environment(folders, credential),
            stdin=_user(prompt),
            final=lambda path: _result(last_line(path)) is not None,
        )
        return self._read(ran, credential)

    async def _ask_late(self, prompt: Prompt, binary: Path, credential: Credential) -> AgentReply:
        """The same with everything of the step on stdin, by the process that waits where there is one."""
        environment = self.environment(self._ahead.folders, credential)
        launch = Launch(tuple(self.argv(binary, credential, None)), environment)
        ran = await self._ahead.run(
            launch,
            late_input(_system(prompt), self._schema, _user(prompt)),
            final=lambda path: _result(last_line(path)) is not None,
        )
        reply = self._read(ran, credential)
        await self._ahead.prepare(launch, reply.cls)
        return self._ahead.told(reply)

    async def close(self) -> None:
        """Ends the process that waits."""
        await self._ahead.end()

    def argv(self, binary: Path, credential: Credential, system: Path | None) -> list[str]:
        """The command line, prompt and credential not in it; without `system` neither schema nor system prompt."""
        explore = self.settings.config.explore
        lean = ["--restricted", "--strict-mcp-config", "--disable-slash-commands"]
        if credential.kind != "subscription" and explore == "none":
            lean = ["--bare"]  # ignores a subscription, drops Grep and Glob
        if system is None:
            form = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        else:
            given = ["--system-prompt-file", str(system), "--json-schema", self._schema]
            form = [*given, "--output-format", "json"]
        return [
            *(str(binary), "-p", *lean, "--no-session-persistence", *_tools(explore)),
            *("--max-turns", str(TURNS[explore]), "--model", self.model),
            *(("--effort", wanted) if (wanted := effort(self.settings)) else ()),
            *form,
        ]

    def environment(self, folders: Folders, credential: Credential) -> dict[str, str]:
        """The whole environment of the child."""
        config = self.settings.config
        idle = round(config.idle * 1000)
        more = {
            **ENVIRONMENT,
            "CLAUDE_CONFIG_DIR": str(folders.home / "claude"),
            "API_TIMEOUT_MS": str(idle),
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": str(max(idle, 10_000)),
            **credential.env,
            **credential.more,
        }
        if credential.kind in ("bedrock", "vertex"):
            # The CLI asks the cloud, with a small paid request each, whether its models of the other sizes are
            # there, unless they are named. A name that it can't take for a model is not asked for.
            others = (size for size in ("OPUS", "SONNET", "HAIKU") if size.lower() not in self.model)
            more |= {f"ANTHROPIC_DEFAULT_{size}_MODEL": "unused" for size in others}
        if config.base_url:
            more[credential.url] = config.base_url
        return agent_environment(self.settings.environ, folders, more)

    def _read(self, ran: Ran, credential: Credential) -> AgentReply:
        """The reply of a process that has ended."""
        result = _result(ran.out.data)
        usage = _usage(result) if result else Usage()
        failure = ended_badly(ran, "claude", self.settings.config.timeout, self.settings.config.idle)
        if failure is None and result is None and ran.out.total > REPLY_CAP:
            failure = Failure(ReplyClass.INVALID, f"the reply has {ran.out.total:,} bytes: too large")
        value = result.get("structured_output") if result else None
        if failure is None and result and result.get("is_error") is False and (ran.exit == 0 or ran.settled):
            if isinstance(value, dict):
                text = cut(orjson.dumps(value).decode(), TEXT_CAP)
                once = 1 if self.settings.config.explore == "none" else None
                return AgentReply(
                    cls=ReplyClass.OK,
                    value=value,
                    text=text,
                    usage=usage,
                    requests=once,
                    survivors=ran.survivors,
                    took=ran.took,
                )
            failure = _no_output(result)
        if failure is None:
            failure = classify(_signals(ran, result), self.settings.now())
        said = str((result or {}).get("result") or ran.err.text or ran.out.text)
        return failed(
            failure, ran, usage=usage, text=said, hint=self._hint(failure.cls), secrets=credential.env
        )

    def _hint(self, cls: ReplyClass) -> str:
        if cls is not ReplyClass.AUTH:
            return ""
        config = self.settings.config
        if config.auth == "subscription":
            return (
                f"run `claude setup-token`, then export {config.token_env or 'CLAUDE_CODE_OAUTH_TOKEN'}=TOKEN"
            )
        if config.auth in CLOUD_HINTS:
            return CLOUD_HINTS[config.auth]
        return f"mend the key in {config.api_key_env or config.token_env or 'ANTHROPIC_API_KEY'}"


def _system(prompt: Prompt) -> str:
    return prompt.stable or "Reply by one StructuredOutput call.\n"


def _user(prompt: Prompt) -> str:
    # A leading `/name` would be a command of the CLI and never reach the model.
    return prompt.volatile if prompt.volatile.startswith("=") else "\n" + prompt.volatile


def late_input(system: str, schema: str, user: str) -> str:
    """What a process that was started without them is told, a line each: how it shall be set up, and the prompt."""
    setup = {"subtype": "initialize", "jsonSchema": orjson.Fragment(schema), "systemPrompt": _valid(system)}
    lines: list[JsonObject] = [
        {"type": "control_request", "request_id": "1", "request": setup},
        {"type": "user", "message": {"role": "user", "content": _valid(user)}},
    ]
    return b"\n".join([*map(orjson.dumps, lines), b""]).decode()


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _tools(explore: str) -> list[str]:
    """The built-in tools of the CLI, and what it lets them do without being asked."""
    if explore == "none":
        return ["--tools", ""]
    secret = [f"Read(**/{pattern})" for pattern in SECRET_FILES]
    deny = ["--settings", orjson.dumps({"permissions": {"deny": secret}}).decode()]
    if explore == "read-only":
        return ["--tools", "Read,Grep,Glob", "--permission-mode", "dontAsk", *deny]
    return ["--tools", HANDS, "--allowedTools", HANDS, "--permission-mode", "acceptEdits", *deny]


def _result(data: bytes) -> JsonObject | None:
    """The final event: the first line of stdout that is a result object."""
    for line in data.splitlines():
        if line.startswith(b"{") and b'"result"' in line:
            try:
                found = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(found, dict) and found.get("type") == "result":
                return found
    return None


def _no_output(result: JsonObject) -> Failure:
    """Said to be a success, yet without the structured reply."""
    if result.get("stop_reason") == "refusal":
        return Failure(ReplyClass.REFUSAL, "the model refused to answer")
    if not result.get("terminal_reason") and not result.get("modelUsage"):
        return Failure(ReplyClass.MISSING, "claude answered by itself and did not ask the model")
    return Failure(ReplyClass.MISSING, "the model answered in prose and did not call StructuredOutput")


def _signals(ran: Ran, result: JsonObject | None) -> Signals:
    """Every signal of a failed launch."""
    if result is None:
        return Signals(channel=ran.err.text or "")
    names = ("stop_reason", "api_error", "api_error_code", "terminal_reason", "subtype", "api_error_type")
    typed = {name: str(result[name]) for name in names if result.get(name)}
    if (
        typed.get("terminal_reason") == "api_error"
    ):  # of any request that failed; the API means a fault of its own
        del typed["terminal_reason"]
    kinds = tuple(typed.values())
    status = result.get("api_error_status")
    errors = result.get("errors")
    said = " ".join(map(str, errors)) if isinstance(errors, list) else str(result.get("result") or "")
    return Signals(kinds, status if isinstance(status, int) else None, said)


def _usage(result: JsonObject) -> Usage:
    """Tokens and money over all models. `input` includes what was read from and written to the cache. The field
    `usage` is no source: where a run ends badly it leaves out the last request."""
    models: Any = result.get("modelUsage")
    cost = result.get("total_cost_usd")
    if not isinstance(models, dict) or not isinstance(cost, int | float):
        return Usage()
    if not models and not _unbilled(result):
        return Usage()
    total = {"input": 0, "cached": 0, "output": 0}
    for model in models.values():
        cached = int(model.get("cacheReadInputTokens") or 0)
        total["input"] += (
            int(model.get("inputTokens") or 0) + int(model.get("cacheCreationInputTokens") or 0) + cached
        )
        total["cached"] += cached
        total["output"] += int(model.get("outputTokens") or 0)
    return Usage(**total, usd_micro=round(cost * 1_000_000))


def _unbilled(result: JsonObject) -> bool:
    """Whether nothing was spent: the vendor refused the request, or none was made. A stream that broke shows no
    usage either, but was paid for."""
    said = clean(str(result.get("result") or ""))
    refused = isinstance(result.get("api_error_status"), int)
    return refused or any(word in said for word in ("Not logged in", "ECONNREFUSED", "ENOTFOUND"))
