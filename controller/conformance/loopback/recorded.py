"""One HTTP request as it came, and what the model would read in it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

Json = dict[str, Any]
Api = Literal["anthropic", "responses", "chat", "google", "other"]

ANSWER_TOOLS = ("StructuredOutput", "skill_state_transition")
"""Tools whose call is the reply itself. With none of these, a lone tool counts as it if no schema is sent."""

CLI_SYSTEM = ("x-anthropic-billing-header:", "You are a Claude agent", "You are Claude Code")
CLI_USER = (
    "<system-reminder>",
    "<environment_context>",
    "# AGENTS.md instructions for ",
    "<permissions instructions>",
    "<user_instructions>",
    "<session_context>",
)
"""How the blocks begin that the CLIs add by themselves; nothing rendered by the controller does."""


@dataclass
class Recorded:
    """A request: when, where, its bytes. The properties read the body as the model would; a body that is
    not a JSON object reads as an empty one."""

    number: int
    at: float
    api: Api
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    answer: Any = None
    usage: dict[str, int] = field(default_factory=dict)
    status: int | None = None
    error: str | None = None
    """Why no answer could be given (policy raised, unknown path)."""

    @cached_property
    def parsed(self) -> Json:
        """The body as JSON."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def prompt_text(self) -> str:
        """What the controller rendered: its system text (the stable part), a blank line, its user text.

        The same for every agent: whitespace at the seam is evened out, because Codex trims its
        instructions file.
        """
        return "\n\n".join(part for part in (self.system_text.strip(), self.user_text.lstrip("\n")) if part)

    @cached_property
    def system_text(self) -> str:
        """The controller's own instructions, without what the CLI puts before them."""
        return "".join(t for t in self._system if not t.startswith(CLI_SYSTEM))

    @cached_property
    def user_text(self) -> str:
        """The controller's own prompt: the first user turn, without blocks that the CLI adds."""
        return "".join(t for t in self._user if not t.startswith(CLI_USER))

    @cached_property
    def added(self) -> list[str]:
        """Every text in the model's input that the CLI added by itself, in order; also later turns of one
        process."""
        mine = [t for t in self._system if t.startswith(CLI_SYSTEM)]
        mine += [t for t in self._user if t.startswith(CLI_USER)]
        return mine + self._later

    @cached_property
    def everything(self) -> str:
        """All text that the model reads, and the schema and tools: for `nonce not in request.everything`."""
        rest = json.dumps([self.schema, self.tools], ensure_ascii=False)
        return "\n".join([*self._system, *self._user, *self._later, rest])

    @cached_property
    def tools(self) -> list[Json]:
        """The tools as sent."""
        tools = list(self.parsed.get("tools") or [])
        for item in self._items:
            if item.get("type") == "additional_tools":
                tools += item.get("tools") or []
        if self.api == "google":
            return [each for tool in tools for each in tool.get("functionDeclarations") or []]
        return tools

    @cached_property
    def answer_tool(self) -> str | None:
        """The tool whose call is the reply, if the reply is a tool call."""
        names = [_function(tool).get("name") for tool in self.tools]
        for name in ANSWER_TOOLS:
            if name in names:
                return name
        return names[0] if len(names) == 1 and self._format is None else None

    @cached_property
    def schema(self) -> Json:
        """The JSON Schema that the reply must match; `{}` if none was sent."""
        if self._format is not None:
            return self._format
        for tool in self.tools:
            function = _function(tool)
            if function.get("name") == self.answer_tool:
                return dict(function.get("input_schema") or function.get("parameters") or {})
        return {}

    @property
    def model(self) -> str:
        """The model asked for."""
        if self.api == "google":
            return self.path.rsplit("/", 1)[-1].split(":", 1)[0]
        return str(self.parsed.get("model", ""))

    @property
    def streaming(self) -> bool:
        """Whether server-sent events are asked for."""
        return bool(self.parsed.get("stream")) or ":streamGenerateContent" in self.path

    def save(self, folder: Path) -> None:
        """`NNN.request` (the raw body) and `NNN.json` (everything else, without credentials) in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        hidden = ("authorization", "x-api-key", "x-goog-api-key", "cookie")
        facts = {
            "number": self.number,
            "at": self.at,
            "api": self.api,
            "method": self.method,
            "path": self.path,
            "headers": {k: "<hidden>" if k in hidden else v for k, v in self.headers.items()},
            "status": self.status,
            "answer": repr(self.answer),
            "usage": self.usage,
            "error": self.error,
        }
        (folder / f"{self.number:03}.request").write_bytes(self.body)
        (folder / f"{self.number:03}.json").write_text(json.dumps(facts, indent=2) + "\n")

    @cached_property
    def _format(self) -> Json | None:
        """The schema of OpenAI's `text.format` or `response_format`."""
        text = self.parsed.get("text") or {}
        wrapped = (self.parsed.get("response_format") or {}).get("json_schema") or text.get("format") or {}
        schema = wrapped.get("schema")
        return schema if isinstance(schema, dict) else None

    @cached_property
    def _items(self) -> list[Json]:
        value = self.parsed.get("messages") or self.parsed.get("input") or self.parsed.get("contents") or []
        if isinstance(value, str):
            return [{"role": "user", "content": value}]
        return [item for item in value if isinstance(item, dict)]

    @cached_property
    def _split(self) -> tuple[list[str], list[str], list[str]]:
        """(system texts, texts of the first user turn, all later texts)."""
        system = _texts(self.parsed.get("system")) + _texts(self.parsed.get("instructions"))
        system += _texts((self.parsed.get("systemInstruction") or {}).get("parts"))
        user: list[str] = []
        later: list[str] = []
        turn_over = False
        for item in self._items:
            role = item.get("role")
            texts = [text for key in ("content", "output", "parts") for text in _texts(item.get(key))]
            if role in ("system", "developer") and not user:
                system += texts
            elif role == "user" and not turn_over:
                user += texts
            else:
                turn_over = turn_over or bool(user)
                later += texts
        return system, user, later

    @property
    def _system(self) -> list[str]:
        return self._split[0]

    @property
    def _user(self) -> list[str]:
        return self._split[1]

    @property
    def _later(self) -> list[str]:
        return self._split[2]


def record(number: int, method: str, path: str, headers: dict[str, str], body: bytes) -> Recorded:
    """A request as received now; header names in lower case."""
    where = path.split("?", 1)[0].rstrip("/")
    api: Api = "other"
    if method == "POST" and where.endswith("/messages"):
        api = "anthropic"
    elif method == "POST" and where.endswith("/responses"):
        api = "responses"
    elif method == "POST" and where.endswith("/chat/completions"):
        api = "chat"
    elif method == "POST" and where.endswith((":generateContent", ":streamGenerateContent")):
        api = "google"
    lower = {name.lower(): value for name, value in headers.items()}
    return Recorded(number, time.time(), api, method, path, lower, body)


def _function(tool: Json) -> Json:
    inner = tool.get("function")
    return inner if isinstance(inner, dict) else tool


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    out: list[str] = []
    for block in content:
        if isinstance(block, str):
            out.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                out.append(block["text"])
            elif block.get("type") == "tool_result":
                out += _texts(block.get("content"))
    return out
