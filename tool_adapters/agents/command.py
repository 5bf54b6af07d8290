"""Any program as an agent: the prompt on stdin, one JSON transition on stdout.

The program gets the whole prompt on stdin (closed after it), an empty folder as its working folder, an own
HOME, and in SKILL_STATE_SCHEMA the path of the JSON Schema of its reply. Credentials are passed on only by
name: `options: {env: [NAME, …]}`. With `explore: delegate` its working folder is a copy of the worktree, and what it
changes there is handed in by the action `submit`.

Reply: exit 0 and exactly one JSON object on stdout, alone, fenced, or amid noise. Two objects are no reply.
Failure, typed: exit with any code and the object `{"error": {"class": CLASS, "message": TEXT}}`, CLASS one of
the reply classes (`auth`, `limit_with_reset` with `"not_before": UTC seconds`, `transient`, `refusal`, …).
Usage, optional, as the last line of stderr: `usage: {"input": N, "cached": N, "output": N, "usd": X}`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import orjson

from contracts.agents import AgentConfig, Price
from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.ports import Ran
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.reply_rules import LONGEST_WAIT
from contracts.text import clean, cut
from tool_adapters.agents.abilities import able
from tool_adapters.agents.classify import Failure, ended_badly
from tool_adapters.agents.json_reply import find_object
from tool_adapters.agents.launch import (
    REPLY_CAP,
    TEXT_CAP,
    Folders,
    agent_environment,
    check_options,
    cost,
    failed,
    start,
)
from tool_adapters.agents.limits import LATE
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import resolve

MOST_USD = 1_000_000  # of one launch: more is no cost but a mistake, and so unknown
# A word that ends so is a file of the task's folder.
SCRIPTS = (".py", ".sh", ".js", ".mjs", ".ts", ".rb", ".pl")
# Ends the names of variables that say where the model is asked.
ADDRESS = "_BASE_URL"


class Command:
    """ports.Agent for any argv. Options of the task: `env`, names of variables to pass on."""

    kind = "command"
    dialect_kind: Literal["merge"] = "merge"
    native_reasoning = False
    explores, prespawns = ("none", "delegate"), False
    holds_to_schema = False  # that is its program's own affair

    def __init__(self, settings: AgentSettings) -> None:
        self.settings, self.dialect = settings, settings.dialect
        self.profile = AgentProfile(
            name=settings.name,
            kind=self.kind,
            model=settings.config.model or "",
            dialect=self.dialect_kind,
            reasoning=settings.dialect.reasoning,
            credential=", ".join(self._passed()) or "none",
        )

    def configured(self) -> list[str]:
        """See ports.Configured."""
        settings, config = self.settings, self.settings.config
        check_options(settings, ("env",))
        if not config.run:
            raise ConfigError(
                f"agent {settings.name}: kind command needs `run:`", hint="run: [python3, policy.py]"
            )
        for option in ("token_env", "api_key_env", "auth_file", "base_url"):
            if getattr(config, option) is not None:
                raise ConfigError(
                    f"agent {settings.name}: `{option}` has no meaning for kind command",
                    hint="name the variables that it needs: `options: {env: [NAME]}`",
                )
        return able(settings, self)

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, with what mends it; starts nothing."""
        settings, notices = self.settings, self.configured()
        missing = [name for name in self._passed() if name not in settings.environ]
        if missing:
            raise ConfigError(
                f"agent {settings.name}: {missing[0]} is not set", hint=f"export {missing[0]}=VALUE"
            )
        folders = Folders(settings)
        argv = self.argv()
        if resolve(argv[0], self.environment(folders, Path()), settings.base_dir.absolute()) is None:
            raise ConfigError(
                f"agent {settings.name}: no program {argv[0]!r}", hint="mend `run:` or the PATH"
            )
        for word in argv[1:]:
            if word.endswith(SCRIPTS) and len(word.split()) == 1 and not Path(word).is_file():
                raise ConfigError(
                    f"agent {settings.name}: there is no file {word!r} beside the task",
                    hint="write it (docs/agents.md says what it gets and gives), or mend `run:`",
                )
        return notices

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. Never raises for what the process does."""
        settings, folders = self.settings, Folders(self.settings)
        folders.make()
        schema = folders.write("schema.json", orjson.dumps(settings.dialect.schema).decode())
        ran = await start(
            settings,
            self.argv(),
            cwd=settings.place(folders.work),
            env=self.environment(folders, schema),
            stdin=prompt.text,
            idle=settings.config.idle,
            final=_is_final,
        )
        return self._read(ran)

    async def close(self) -> None:
        """No spare process is kept."""

    @staticmethod
    def pointed(config: AgentConfig, url: str, key: str) -> tuple[AgentConfig, Mapping[str, str]] | None:
        """For the conformance suite: its variables, with `url` in those that end in _BASE_URL and `key` in the
        others. None where it has no address to change."""
        names = [str(name) for name in config.options.get("env", [])]
        if not any(name.endswith(ADDRESS) for name in names):
            return None
        at = {
            name: f"{url}/v1" if name.startswith("OPENAI") else url
            for name in names
            if name.endswith(ADDRESS)
        }
        return config, {name: at.get(name, key) for name in names}

    def argv(self) -> list[str]:
        """The command line; a word that is a file of the task's folder becomes its absolute path, because the
        program starts in an empty folder."""
        base = self.settings.base_dir.absolute()
        return [self._resolved(word, base) for word in self.settings.config.run or ()]

    def environment(self, folders: Folders, schema: Path) -> dict[str, str]:
        """The whole environment of the child."""
        environ = self.settings.environ
        named = {name: environ[name] for name in self._passed() if name in environ}
        return agent_environment(environ, folders, {"SKILL_STATE_SCHEMA": str(schema), **named})

    def _passed(self) -> list[str]:
        names = self.settings.config.options.get("env", [])
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise ConfigError(f"agent {self.settings.name}: `options: env:` is a list of variable names")
        return names

    @staticmethod
    def _resolved(word: str, base: Path) -> str:
        if not word or word.startswith(("-", "/")) or "\x00" in word:
            return word
        path = base / word
        try:
            return str(path) if path.is_file() else word
        except OSError:  # too long for a name: a script in the command line
            return word

    def _read(self, ran: Ran) -> AgentReply:
        """The reply of a process that has ended."""
        config = self.settings.config
        usage = read_usage(ran.err.text, config.price)
        program = Path((config.run or ("command",))[0]).name
        secrets = {name: self.settings.environ.get(name, "") for name in self._passed()}
        value: JsonObject | None = None
        failure = ended_badly(ran, program, config.timeout, config.idle)
        if failure is None and ran.out.total > REPLY_CAP:
            failure = Failure(ReplyClass.INVALID, f"the reply has {ran.out.total:,} bytes: too large")
        if failure is None:
            value, failure = find_object(ran.out.data)
            typed = _typed_error(value, self.settings.now())
            if typed is not None:
                failure = typed
            elif ran.exit != 0 and not ran.settled:
                tail = " ".join(ran.err.text.split())[-400:]
                failure = Failure(
                    ReplyClass.CRASHED, f"{program} ended with exit code {ran.exit}: {tail or 'no reason'}"
                )
        text = ran.out.text or ran.err.text
        if failure is not None or value is None:
            failure = failure or Failure(ReplyClass.MISSING, f"{program} printed no JSON object")
            return failed(failure, ran, usage=usage, text=text, secrets=secrets)
        return AgentReply(
            cls=ReplyClass.OK,
            value=value,
            text=cut(clean(text), TEXT_CAP),
            usage=usage,
            survivors=ran.survivors,
            took=ran.took,
        )


def _typed_error(value: JsonObject | None, now: float) -> Failure | None:
    """The failure that the program itself names; None when the object is no such event."""
    match value:
        case {"error": dict(error), **rest} if not rest:
            name = str(error.get("class", ""))
            known = name in ReplyClass.__members__.values() and name != ReplyClass.OK
            when = error.get("not_before")
            due = float(when) if isinstance(when, int | float) and math.isfinite(when) else None
            said = cut(clean(str(error.get("message") or "no reason given")), 600)
            cls = ReplyClass(name) if known else ReplyClass.UNKNOWN
            if cls is ReplyClass.LIMIT_WITH_RESET and due is not None and due > now + LONGEST_WAIT:
                return Failure(ReplyClass.LIMIT_PERMANENT, f"{said.rstrip('.')}. {LATE}", due)
            return Failure(cls, said, due)
    return None


def _is_final(path: Path) -> bool:
    """Whether the output so far is one whole JSON object with its end of line: the program may take it back by
    writing more until its grace is over."""
    with path.open("rb") as file:
        data = file.read(REPLY_CAP + 1)
    if len(data) > REPLY_CAP or not data.endswith(b"}\n"):
        return False
    return find_object(data)[0] is not None


def read_usage(stderr: str, price: Price | None) -> Usage:
    """The usage on the last line of stderr; what is missing or odd there is unknown, not zero."""
    lines = stderr.strip().splitlines()
    if not lines or not lines[-1].startswith("usage:"):
        return Usage()
    try:
        told = orjson.loads(lines[-1].removeprefix("usage:"))
    except orjson.JSONDecodeError:
        return Usage()
    if not isinstance(told, dict):
        return Usage()
    tokens = {name: _count(told, name) for name in ("input", "cached", "output")}
    usd = told.get("usd")
    money = (
        round(usd * 1_000_000)
        if isinstance(usd, int | float) and not isinstance(usd, bool) and 0 <= usd < MOST_USD
        else None
    )
    if money is None and tokens["input"] is not None and tokens["output"] is not None:
        money = cost(price, tokens["input"], tokens["cached"] or 0, tokens["output"])
    return Usage(**tokens, usd_micro=money)


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
