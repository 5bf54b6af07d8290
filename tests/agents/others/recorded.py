"""Runs of the real CLIs, as their adapters saw them end: on disk, and played to an adapter again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.ports import Captured, Ran

FIXTURES = Path(__file__).parent / "fixtures"
_KEPT = ("exit", "signal", "timed_out", "idle", "settled", "flooded")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID = re.compile(r"\b(ses|prt|msg)_\w+")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d+)?Z")
_GMT = re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")
_MILLIS = re.compile(r'"(timestamp|start|end|\w*_?ms|\w*Ms)":\d+')


@dataclass
class Recorder:
    """ports.Runner that notes how the child of another one ended."""

    runner: Any
    last: Ran | None = None

    async def run(self, argv: Sequence[str], **more: Any) -> Ran:
        self.last = await self.runner.run(argv, **more)
        return self.last


@dataclass
class Player:
    """ports.Runner that starts nothing: its child ended as `ran` says."""

    ran: Ran

    async def run(self, argv: Sequence[str], **more: Any) -> Ran:
        return self.ran


def path_of(kind: str, case: str) -> Path:
    """The file of a recording."""
    return FIXTURES / kind / f"{case}.json"


def save(kind: str, case: str, ran: Ran, folder: Path, home: Path) -> None:
    """Writes a recording. `folder` of the run and `home` of the programs are named alike on every machine."""
    facts: dict[str, Any] = {name: value for name in _KEPT if (value := getattr(ran, name))}
    facts["stdout"] = normalised(ran.out.text, folder, home).splitlines()
    facts["stderr"] = normalised(ran.err.text, folder, home).splitlines()[:30]
    path_of(kind, case).parent.mkdir(parents=True, exist_ok=True)
    path_of(kind, case).write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def load(kind: str, case: str) -> Ran:
    """How that run ended."""
    facts = json.loads(path_of(kind, case).read_text("utf-8"))
    texts = ["\n".join(facts.pop(name)) + "\n" for name in ("stdout", "stderr")]
    out, err = (Captured(data=text.encode().lstrip(b"\n"), total=len(text.encode())) for text in texts)
    code = 0 if not facts else facts.pop("exit", None)
    return Ran(exit=code, out=out, err=err, **facts)


def normalised(text: str, folder: Path, home: Path) -> str:
    """`text` without what differs between two runs: folders, ports, ids, times."""
    text = text.replace(str(folder), "/run").replace(str(home), "/programs")
    text = re.sub(re.escape(str(folder)).replace("/", "-").replace("\\", ""), "-run", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", text)
    text = _UUID.sub("00000000-0000-4000-8000-000000000000", text)
    text = _ID.sub(r"\1_1", text)
    text = _STAMP.sub("2026-01-01T00:00:00Z", text)
    text = _GMT.sub("Thu, 01 Jan 2026 00:00:00 GMT", text)
    return _MILLIS.sub(r'"\1":1', text)
