"""A file of 216 KB is edited in 12 places; no prompt is larger than what `validate` proves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from contracts.bounds import worst_case_bytes
from contracts.outcomes import Outcome
from contracts.reply import Prompt
from controller.render import worst_case
from tests.controller.test_step import go
from tests.controller.world import FILES, World, action, finish

SIZE = 216 * 1024
PLACES = tuple(range(150, 3900, 330))
ROWS = [f"def step_{n:04}(value: int) -> int: return value * {n}\n" for n in range(1, 4000)]


def large_file() -> str:
    rows = [f"    old(value, {n}, {n % 7})\n" if n in PLACES else row for n, row in enumerate(ROWS, start=1)]
    text = "".join(rows)
    return text + "#" * (SIZE - len(text) - 1) + "\n"


def section(prompt: Prompt, name: str) -> str:
    return prompt.text.partition(f"=== {name} ===\n")[2].partition("\n=== ")[0]


def window(prompt: Prompt, number: int) -> dict[str, Any]:
    """A view around the `number`th line that is left, as the worklist in the prompt has it."""
    left = re.findall(r"^ src/big\.py:(\d+):", section(prompt, "AUTHORITIES"), re.M)
    at = int(left[min(number, len(left) - 1)])
    return {"here": {"path": "src/big.py", "from": max(1, at - 60), "to": at + 60}}


def look(prompt: Prompt) -> dict[str, Any]:
    return action("run", {"command": "show", "params": {"path": "src/big.py"}}, view=window(prompt, 0))


def read_on(prompt: Prompt) -> dict[str, Any]:
    """Reads what was cut of the command's output, from the place that the cut names."""
    told = re.search(r"stdout, last 40 of ([\d,]+) lines, ([\d,]+) bytes: artifact:(\w+)", prompt.text)
    assert told and int(told[2].replace(",", "")) == SIZE
    last = int(told[1].replace(",", ""))
    ranges = [
        {"path": f"artifact:{told[3]}", "from": last - 40 - 400 * n, "to": last - 40} for n in range(1, 7)
    ]
    return action("read_files", {"files": ranges})


def edit(prompt: Prompt) -> dict[str, Any]:
    """Replaces the first old line that the view shows, and opens the next one."""
    shown = re.search(r"^ \d+\|(    old\((.+)\))$", section(prompt, "VIEWS"), re.M)
    assert shown, "the view does not show the place"
    change = {
        "op": "replace",
        "path": "src/big.py",
        "old": shown[1],
        "new": f"    # changed\n    new({shown[2]})",
    }
    return action("edit_files", {"edits": [change]}, view=window(prompt, 1))


def test_a_file_of_216_kb_is_edited_in_12_places_within_the_bound(tmp_path: Path) -> None:
    text = large_file()
    assert (len(text), len(PLACES)) == (SIZE, 12)
    files = {"src/big.py": text, "src/a.txt": "two\n", "check.sh": FILES["check.sh"]}
    world = World(tmp_path / "r", files=files)
    end = go(world, [look, read_on, *[edit] * 12, finish()])
    assert end.outcome is Outcome.completed
    expected = re.sub(r"    old\((.+)\)\n", r"    # changed\n    new(\1)\n", text)
    assert world.branch_file("src/big.py") == expected and expected.count("new(") == 12
    assert world.agent is not None
    prompts = world.agent.prompts
    assert len(prompts) == 15  # nothing was read twice
    law = world.rig().task
    parts = worst_case(law, worst_case_bytes(law.schema.source))
    for prompt in prompts:
        assert prompt.bytes <= parts["total"]
        assert all(size <= parts[name] for name, size in prompt.sections if name in parts)
    assert max(prompt.bytes for prompt in prompts) > 16 * 1024  # the bound was worth its name
