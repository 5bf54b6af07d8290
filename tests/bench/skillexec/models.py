"""Real models as readers: any agent that a task can name, or a server of OpenAI's chat completions API. And tapes, on
which replies are kept by their prompt, so that what a model did can be played again by anybody."""

from __future__ import annotations

import hashlib
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from contracts.agents import AgentConfig
from contracts.dialects import Dialect, DialectError, compile_dialect
from contracts.ports import Agent
from contracts.reply import AgentReply, Prompt, ReplyClass
from contracts.state import StateSchema
from controller.installed import found
from controller.taskfile import read_task
from tests.bench.skillexec.domains import Domain
from tests.bench.skillexec.readers import Reader, is_ours
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import ProcessRunner

FREE = {
    "type": "object",
    "properties": {
        "reply": {"type": "string", "description": "Your whole reply, in the form that is asked for."}
    },
    "required": ["reply"],
    "additionalProperties": False,
}
UNUSABLE = (
    ReplyClass.INVALID,
    ReplyClass.MISSING,
    ReplyClass.REFUSAL,
)  # the model's doing: counted, asked again
PATIENCE = 600.0
OWN = re.compile(
    r"artifact:[0-9a-f]+"
)  # what differs between two runs that do the same: readings hold their time


class NoReply(RuntimeError):
    """The model could not be asked; the text says why, and what to do."""


def parted(prompt: str) -> Prompt:
    """A prompt in two: what is the same in each step, and the rest."""
    if is_ours(prompt):
        at = prompt.index("\n[state]\n" if prompt.startswith("[") else "\n=== STATE ===\n") + 1
    else:
        at = prompt.index("\n\n") + 2
    return Prompt(1, prompt[:at], prompt[at:])


@dataclass
class Server:
    """A model behind `URL/chat/completions`: it answers freely, as its prompt asks it to. `key_env` names the variable
    that holds its key; without one, no key is sent."""

    url: str
    model: str
    key_env: str = ""

    def reply(self, prompt: str) -> str:
        asked = parted(prompt)
        said = [{"role": "system", "content": asked.stable}, {"role": "user", "content": asked.volatile}]
        body = {"model": self.model, "messages": said, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if self.key_env:
            headers["Authorization"] = f"Bearer {os.environ.get(self.key_env, '')}"
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                told = json.load(answer)
            return str(told["choices"][0]["message"]["content"] or "")
        except urllib.error.HTTPError as error:
            raise NoReply(
                f"{self.url} answered {error.code}: {error.read(500).decode('utf-8', 'replace')}"
            ) from error
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise NoReply(f"{self.url} is no chat completions server that answers: {error!r}") from error


@dataclass
class Launched:
    """An agent of a task, launched for each reply as in a run. Ours is asked in the agent's own dialect; of the other
    runtimes the reply is a text, wrapped in an object of one field, since every adapter asks for JSON."""

    name: str
    config: AgentConfig
    domain: Domain
    folder: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    base: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        self._kind = found("agents", self.config.kind or self.name)
        self._agents: dict[bool, Agent] = {}

    def _agent(self, ours: bool) -> Agent:
        if ours not in self._agents:
            think, state = not self._kind.native_reasoning, StateSchema.builtin(self.domain.schema)
            dialect = compile_dialect(self._kind.dialect_kind, state, self.domain.specs, reasoning=think)
            folder = self.folder / ("ours" if ours else "free")
            made = self._kind(
                AgentSettings(
                    name=self.name,
                    config=self.config,
                    dialect=dialect if ours else Dialect(dialect.name, FREE, False, dict, dict),
                    runner=ProcessRunner(folder / "spool"),
                    home=folder / "home",
                    cwd=folder / "empty",
                    environ=self.environ,
                    base_dir=self.base,
                )
            )
            made.preflight()
            self._agents[ours] = made
        return self._agents[ours]

    def reply(self, prompt: str) -> str:
        ours = is_ours(prompt)
        agent = self._agent(ours)
        answer: AgentReply = anyio.run(agent.ask, parted(prompt))
        if answer.cls in UNUSABLE:
            return answer.text
        if answer.cls is not ReplyClass.OK or answer.value is None:
            raise NoReply(f"agent {self.name}: {answer.cls}: {answer.message}")
        if not ours:
            return str(answer.value.get("reply", ""))
        try:
            return json.dumps(agent.dialect.decode(answer.value))
        except DialectError as error:
            return f"{answer.text}\n{error}"


def reader_of(
    asked: str, task: Path | None, domain: Domain, folder: Path, model: str, key_env: str
) -> Reader:
    """The reader that `asked` names: a URL, or an agent, as the task file has it, else with its defaults."""
    if asked.startswith(("http://", "https://")):
        return Server(asked, model, key_env)
    if task is None:
        return Launched(asked, AgentConfig(kind=asked), domain, folder)
    loaded = read_task(task)
    return Launched(asked, loaded.task.agent_config(asked), domain, folder, base=loaded.base_dir)


class Tape:
    """Replies by the digest of their prompt, in the order in which they came, as JSON lines. With a `reader` what is
    not on it is asked and added; without one it is an error. Of a prompt that comes more often than it was recorded
    the last reply is given."""

    def __init__(self, path: Path, reader: Reader | None = None) -> None:
        self._path, self._reader = path, reader
        self._known: dict[str, list[str]] = {}
        self._given: dict[str, int] = {}
        if reader is None and not path.is_file():
            raise NoReply(f"there is no {path}: record it with --reader READER --record {path}")
        for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
            held = json.loads(line)
            self._known.setdefault(held["prompt"], []).append(held["reply"])

    def reply(self, prompt: str) -> str:
        name = hashlib.sha256(OWN.sub("artifact:", prompt).encode()).hexdigest()
        replies, given = self._known.setdefault(name, []), self._given.get(name, 0)
        self._given[name] = given + 1
        if given < len(replies):
            return replies[given]
        if self._reader is None:
            if replies:
                return replies[-1]
            raise NoReply(
                f"{self._path} holds no reply to this prompt ({name[:12]}): it was recorded with other prompts, "
                "runtimes, lengths or seeds. Record it anew with --reader READER --record FILE. The prompt ends with\n"
                + prompt[-400:]
            )
        replies.append(self._reader.reply(prompt))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"prompt": name, "reply": replies[-1]}, ensure_ascii=False) + "\n")
        return replies[-1]
