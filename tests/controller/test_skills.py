"""The built-in skill texts: what each must say, in each layout, with examples that work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.merge import merge
from contracts.sections import sections
from contracts.state import StateSchema
from controller.assemble import builtin_skill, charter
from controller.render import render
from controller.taskfile import read_task
from tests.controller.test_render import a_record, readings
from tests.controller.world import TASK

TEXTS = [(name, layout) for name in ("coding", "batch") for layout in ("full", "compact", "paper")]
# Every text says, in its own words:
MUST_SAY = {
    "no memory": r"keep no memory between steps",
    "what belongs into the state": r"later step must know|worth knowing",
    "when the state changes": r"merged (into the state )?only when the action succeeded",
    "outcomes are not claimed": r"never how (the|this) action turned out",
    "null deletes": r"deletes (another|one)",
    "the observation goes": r"observation is gone in the next step",
    "views": r"open a view|A view stays",
    "views are closed": r"null closes|close them with null|close\s+them with null",
    "one item at a time": r"one item (at a time|per step)|One item at a time|Take (its|the) first (item|one)",
    "recall": r"`recall`",
    "corrections": r"After a correction nothing was changed",
    "who decides": r"the checks decide",
    "what is data": r"[Tt]ext moved in by one space",
}


def examples(text: str) -> Iterator[Any]:
    """The JSON objects in a text, however they are broken over lines."""
    flat, at = " ".join(text.split()), 0
    while (at := flat.find("{", at)) >= 0:
        found, end = json.JSONDecoder().raw_decode(flat, at)
        yield found
        at = end


@pytest.mark.parametrize(("name", "layout"), TEXTS)
def test_it_says_what_it_must_and_its_examples_work(name: str, layout: str) -> None:
    text, schema = builtin_skill(name, layout), StateSchema.builtin(name)
    flat = " ".join(text.split())
    missing = [what for what, words in MUST_SAY.items() if not re.search(words, flat)]
    assert missing == []
    shown = list(examples(text))
    assert len(shown) == 2 and any("view" in patch for patch in shown)
    for patch in shown:
        assert schema.errors(merge(schema.initial(), patch)) == []
    deletes = next(patch for patch in shown if "view" not in patch)
    assert None in next(iter(deletes.values())).values(), "the example deletes an entry"


@pytest.mark.parametrize("name", ["coding", "batch"])
def test_each_layout_speaks_of_what_it_shows(name: str) -> None:
    full, compact, paper = (builtin_skill(name, layout) for layout in ("full", "compact", "paper"))
    assert len(compact) < 0.6 * len(full) and len(paper) < len(full)
    assert not re.search(r"authorit|worklist", paper), "the paper's layout shows no authorities"
    assert re.search(r"authorit|worklist", full) and re.search(r"authorit|worklist", compact)


@pytest.mark.parametrize("layout", ["full", "compact", "paper"])
def test_the_prompt_begins_with_the_text_of_its_layout(tmp_path: Path, layout: str) -> None:
    (tmp_path / "task.yaml").write_text(f"{TASK}layout: {layout}\n")
    law = charter(read_task(tmp_path / "task.yaml"))
    first = next(sections(render(a_record(law), readings(), law).text))
    assert first.name == "skill" and builtin_skill("coding", layout).strip() in first.text
