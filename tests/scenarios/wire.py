"""What must be true of the requests that agents were sent. Each check raises AssertionError with the place."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.gateway import Recorded
from tests.scenarios.scenario import Scenario

MOVING = ("STATE", "AUTHORITIES", "OBSERVATION")
NONCE = re.compile(r"\bnonce ([0-9a-f]{32})\b")


@dataclass(frozen=True)
class Sent:
    """One request: its bytes as sent, and the prompt in it. `plain`: the bytes are the prompt's own, not JSON."""

    body: bytes
    prompt: str
    plain: bool = False

    @property
    def sections(self) -> dict[str, str]:
        """The prompt by section, headings included, in order."""
        parts = re.split(r"^(?==== [A-Z]+ ===$)", self.prompt, flags=re.MULTILINE)
        return {part.split(" ", 2)[1]: part for part in parts if part.startswith("=== ")}

    def bytes_of(self, section: str) -> int:
        """How many bytes of the request a section takes."""
        text = self.sections.get(section, "")
        return len((text if self.plain else json.dumps(text, ensure_ascii=False)[1:-1]).encode())

    @property
    def rest(self) -> int:
        """Bytes of the request without state, observation and authorities."""
        return len(self.body) - sum(self.bytes_of(name) for name in MOVING)


def of_gateway(requests: Sequence[Recorded]) -> list[Sent]:
    """The requests that a gateway recorded."""
    return [Sent(request.body, request.prompt_text) for request in requests]


def of_folder(folder: Path) -> list[Sent]:
    """The prompts that the agent program kept, oldest first."""
    kept = [path.read_bytes() for path in sorted(folder.glob("*.prompt"))]
    return [Sent(body, body.decode(), plain=True) for body in kept]


def bounded(sent: Sequence[Sent], most: int) -> None:
    """Every request is within what `validate` printed."""
    assert max(len(each.body) for each in sent) <= most


def constant(sent: Sequence[Sent], within: float = 0.02) -> float:
    """Request − Σ − O − authorities stays the same. Returns its spread, as a share of the median."""
    sizes = [each.rest for each in sent]
    spread = (max(sizes) - min(sizes)) / median(sizes)
    assert spread <= within, f"requests without what moves: {min(sizes):,} to {max(sizes):,} bytes"
    stable = {each.prompt.split("=== STATE ===")[0] for each in sent}
    assert len(stable) == 1, "what stands before the state differs between requests"
    return spread


def forgotten(sent: Sequence[Sent], scenario: Scenario) -> int:
    """What only an observation held is in one request and in no other, nor in Σ, nor in a file. Returns how many
    such nonces there were."""
    where: dict[str, list[int]] = {}
    for number, each in enumerate(sent):
        for nonce in NONCE.findall(each.sections["OBSERVATION"]):
            where.setdefault(nonce, []).append(number)
    kept = json.dumps(scenario.state) + scenario.git(
        "log", "--patch", "--format=%B", f"main..{scenario.branch}"
    )
    for nonce, numbers in where.items():
        seen = [number for number, each in enumerate(sent) if nonce.encode() in each.body]
        assert seen == numbers == [numbers[0]], f"{nonce} was shown in request {numbers}, and is in {seen}"
        assert nonce not in kept
    return len(where)


def corrected(first: Sent, later: Sent) -> str:
    """`later` is `first` plus one correction block, the budget line aside. Returns that block."""
    assert "CORRECTION" not in first.sections
    moved = {name: text for name, text in later.sections.items() if name not in ("CORRECTION", "BUDGET")}
    assert moved == {name: text for name, text in first.sections.items() if name != "BUDGET"}
    return later.sections["CORRECTION"]
