"""Recordings of the real binaries: their form on disk, and how they are made the same on every machine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.binaries import ROOT
from tests.agents.cases import Agent

Json = dict[str, Any]
FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Recording:
    """One run of a real binary. `code` negative: ended by that signal; `killed`: by us; `requests`: of the
    model."""

    case: str
    agent: Agent
    version: str
    auth: str
    code: int
    killed: bool
    requests: int
    stdout: str
    stderr: str

    def path(self) -> Path:
        """Its file: one JSON object for Claude, for the others the events with one line of the other facts
        before them."""
        suffix = "json" if self.agent == "claude" else "jsonl"
        return FIXTURES / self.agent / f"{self.case}.{suffix}"

    def save(self) -> None:
        """Writes the file."""
        self.path().parent.mkdir(parents=True, exist_ok=True)
        self.path().write_text(self.text(), "utf-8")

    def text(self) -> str:
        """The file's content."""
        facts: Json = {k: v for k, v in self.__dict__.items() if k not in ("stdout", "agent")}
        if self.agent != "claude":
            return json.dumps(facts, ensure_ascii=False) + "\n" + self.stdout
        facts["stdout"] = _parsed(self.stdout)
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def load(agent: Agent) -> dict[str, Recording]:
    """Every recording of `agent` by case."""
    return {path.stem: read(path) for path in sorted((FIXTURES / agent).iterdir())}


def read(path: Path) -> Recording:
    """The recording in one file; `stdout` is again the text that the binary wrote."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        head, _, stdout = text.partition("\n")
        agent = "pi" if path.parent.name == "pi" else "codex"
        return Recording(**json.loads(head), agent=agent, stdout=stdout)
    facts = json.loads(text)
    if not isinstance(facts["stdout"], str):
        facts["stdout"] = json.dumps(facts["stdout"], ensure_ascii=False) + "\n"
    return Recording(**facts, agent="claude")


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
PACKAGES = re.compile(r"/[^\s\"]*/node_modules/")
ENTRY = re.compile(r'"(id|parentId)":"[0-9a-f]{8}"')
PORT = re.compile(r"127\.0\.0\.1:\d+")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
VARYING = re.compile(r'"((?:\w+_)?ms|ttft_stream_ms|durationMs|timestamp)":\d+')
KEPT_COUNTERS = {"retry_delay_ms"}


def normalise(text: str, folder: Path) -> str:
    """`text` without what differs between two runs of the same case: folder, port, ids, times, durations."""
    text = PACKAGES.sub("", text.replace(str(folder), "/run")).replace(f"{ROOT}/", "")
    text = PORT.sub("127.0.0.1:1", text)
    text = UUID.sub("00000000-0000-4000-8000-000000000000", text)
    text = ENTRY.sub(r'"\1":"00000000"', text)
    text = STAMP.sub("2026-01-01T00:00:00Z", text)
    return VARYING.sub(lambda m: m[0] if m[1] in KEPT_COUNTERS else f'"{m[1]}":1', text)


def _parsed(stdout: str) -> Any:
    """The result object if that is exactly what stdout is (so that reading gives the same value), else the
    text."""
    try:
        value = json.loads(stdout)
    except ValueError:
        return stdout
    return value if isinstance(value, dict) else stdout
