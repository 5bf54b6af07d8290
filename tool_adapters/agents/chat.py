"""Any server of OpenAI's chat completions API, made for small models of one's own: the decoding itself is held to the
reply's form. A fresh process per step like every other agent, `chat_client.py`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.ports import Ran
from contracts.reply import ReplyClass, Usage
from tool_adapters.agents import chat_client
from tool_adapters.agents.auth import key_auth
from tool_adapters.agents.classify import Failure, Signals
from tool_adapters.agents.credentials import Credential, key_credential
from tool_adapters.agents.gbnf import LONGEST, grammar
from tool_adapters.agents.gbnf_text import CannotBound
from tool_adapters.agents.preset import PresetAgent
from tool_adapters.agents.preset_replies import Told
from tool_adapters.agents.presets import Asked, Preset, Start
from tool_adapters.agents.settings import AgentSettings

DECODING = ("json-schema", "grammar", "vllm")
MAX_TOKENS = 4096


def read(ran: Ran) -> Told:
    """What the server answered, as `chat_client` prints it."""
    try:
        told = orjson.loads(ran.out.data)
    except orjson.JSONDecodeError:
        return Told()
    if failed := told.get("failed"):
        return Told(signals=Signals((), None, str(failed)))
    try:
        body = orjson.loads(told["body"])
    except orjson.JSONDecodeError:
        body = {}
    body = body if isinstance(body, dict) else {}
    if told["status"] != 200:
        return Told(signals=_signals(told, body), requests=1)
    return _answer(body)


def _answer(body: JsonObject) -> Told:
    match body.get("choices"):
        case [{"message": dict(message), **choice}, *_]:
            pass
        case _:
            said = "the server's answer holds no `choices`: is `base_url` that of a chat completions API?"
            return Told(failure=Failure(ReplyClass.MISCONFIGURED, said), requests=1)
    told = Told(usage=_usage(body.get("usage")), requests=1)
    content = message.get("content")
    if choice.get("finish_reason") == "length":
        said = "the answer was cut at the limit of its length (options: max_tokens)"
        told.failure = Failure(ReplyClass.INVALID, said)
    elif message.get("refusal") or choice.get("finish_reason") == "content_filter":
        told.failure = Failure(ReplyClass.REFUSAL, str(message.get("refusal") or "the answer was held back"))
    else:
        told.text = content if isinstance(content, str) else ""
    return told


def _signals(told: Mapping[str, Any], body: JsonObject) -> Signals:
    error = body.get("error", body.get("detail", body.get("message")))  # what vLLM and others call it
    error = error if isinstance(error, dict) else {"message": error}
    kinds = tuple(str(error[name]) for name in ("code", "type") if isinstance(error.get(name), str))
    said = str(error.get("message") or told["body"])[:2000]
    after = str(told.get("retry_after") or "")
    return Signals(kinds, told["status"], f"{said} Retry after {after} s." if after.isdigit() else said)


def _usage(told: Any) -> Usage:
    if not isinstance(told, Mapping):
        return Usage()
    details = told.get("prompt_tokens_details")
    counts = {"input": told.get("prompt_tokens"), "output": told.get("completion_tokens")}
    counts["cached"] = details.get("cached_tokens") if isinstance(details, Mapping) else None
    return Usage(**{name: count for name, count in counts.items() if type(count) is int and count >= 0})


class Chat(PresetAgent):
    """Options of the task: `decoding`, how the server is told the form (`json-schema` as OpenAI has it, `grammar` as
    llama.cpp's server takes it, `vllm`); `max_tokens`, and with `grammar` `longest`, bound the answer and each text in
    it, in tokens and characters; `temperature`. Without `api_key_env` no key is sent."""

    kind: ClassVar[str] = "openai-compatible"
    options: ClassVar[tuple[str, ...]] = ("decoding", "max_tokens", "longest", "temperature")
    native_reasoning: ClassVar[bool] = False

    def __init__(self, settings: AgentSettings) -> None:
        self.preset = Preset(
            Path(sys.executable).name, "", None, None, start=self._start, read=read, words=""
        )
        super().__init__(settings)

    def configured(self) -> list[str]:
        """See ports.Configured."""
        notices = super().configured()
        if not self.settings.config.base_url:
            raise ConfigError(
                f"agent {self.settings.name}: kind {self.kind} needs `base_url:`",
                hint="the address below which the server has /chat/completions, such as http://127.0.0.1:8080/v1",
            )
        self._bounds(), self._form()
        return notices

    def _program(self) -> Path:
        return Path(sys.executable)

    def _auth(self) -> None:
        if self._keyed:
            key_auth(self.settings, None)

    def _credential(self) -> Credential:
        return key_credential(self.settings, None) if self._keyed else Credential("none")

    @property
    def _keyed(self) -> bool:
        return self.settings.config.auth != "api-key" or self.settings.config.api_key_env is not None

    def _start(self, asked: Asked) -> Start:
        """The client's command line, the request in a file of HOME."""
        prompt = asked.prompt
        body: JsonObject = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.stable},
                {"role": "user", "content": prompt.volatile},
            ],
            **self._bounds(),
            **self._form(),
        }
        url = f"{(asked.base_url or '').rstrip('/')}/chat/completions"
        argv = ("-I", chat_client.__file__, url, str(asked.home / "request.json"))
        return Start(argv, {chat_client.KEY: asked.key} if asked.key else {}, {"request.json": body})

    def _bounds(self) -> JsonObject:
        found: JsonObject = {"max_tokens": self._number("max_tokens", 1, 1_000_000) or MAX_TOKENS}
        temperature = self._number("temperature", 0, 2)
        return found if temperature is None else {**found, "temperature": temperature}

    def _form(self) -> JsonObject:
        """How the server is told the form of the reply."""
        schema, options = self.dialect.schema, self.settings.config.options
        longest = self._number("longest", 1, 2000)
        match options.get("decoding", "json-schema"):
            case "json-schema":
                form = {"name": "transition", "schema": schema}
                return {"response_format": {"type": "json_schema", "json_schema": form}}
            case "grammar":
                try:
                    return {"grammar": grammar(schema, longest=int(longest or LONGEST))}
                except CannotBound as error:
                    raise ConfigError(
                        f"agent {self.settings.name}: the reply can't be said as a grammar: {error}",
                        hint="write `decoding: json-schema`, or mend the pattern",
                    ) from error
            case "vllm":
                return {"structured_outputs": {"json": schema, "disable_any_whitespace": True}}
            case other:
                raise ConfigError(
                    f"agent {self.settings.name}: unknown `decoding: {other}`", hint=" or ".join(DECODING)
                )

    def _number(self, name: str, low: float, high: float) -> float | None:
        value = self.settings.config.options.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ConfigError(
                f"agent {self.settings.name}: `{name}` is a number from {low} to {high}",
                hint=f"options: {name}",
            )
        return value
