"""`recall QUERY`: what a run knew, did and saw, found by words; the same search that the model has."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import orjson

from contracts.errors import ConfigError
from contracts.recall import KINDS, Hit, Recalled
from controller.assemble import charter
from controller.memory.asked import RunMemory
from controller.record_store import artifacts_of
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.words import plain, plural


def recall(
    task: Path | None, query: str, run: str | None, kinds: list[str], limit: int, as_json: bool
) -> int:
    """Print what was found. Raises ConfigError for an unknown kind or run, Unavailable without FTS5."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ConfigError(f"there is no kind {unknown[0]!r}", hint=f"kinds: {', '.join(KINDS)}")
    loaded = load(task)
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    memory = RunMemory(loaded.task.name, store, artifacts_of(loaded, store), charter(loaded).fields)
    found = wait_for(lambda: memory.recall(query, kinds, limit, record.run))
    if as_json:
        print(orjson.dumps({"run": record.run, **asdict(found)}).decode())
    else:
        print(plain(_text(found)))
    return 0


def _text(found: Recalled) -> str:
    lines = [each for hit in found.hits for each in _hit(hit)]
    if not found.words:
        lines.append("there is no word to look for: letters or digits")
    elif not found.hits:
        held = ", ".join(f"{count:,} {kind}" for kind, count in found.held.items())
        lines.append(f"nothing found; searched: {held or 'nothing'}")
    else:
        some = "" if found.all_words else "; none holds all of the words"
        lines.append(f"{plural(found.found, 'place')} found{some}")
    return "\n".join([*lines, *found.limits])


def _hit(hit: Hit) -> list[str]:
    gone = ", no longer kept" if hit.gone else ""
    where = (
        f" (artifact {hit.artifact}, lines {hit.first}-{hit.last} of {hit.total}{gone})"
        if hit.artifact
        else ""
    )
    also = f", also at steps {', '.join(map(str, sorted(hit.also)))}" if hit.also else ""
    more = f", {hit.more} more in it" if hit.more else ""
    return [
        f"step {hit.step}  {hit.kind}  {hit.place}{where}{also}{more}",
        *(f"    {line}" for line in hit.text.split("\n")),
        "",
    ]
