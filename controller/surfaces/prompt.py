"""`prompt STEP`: what the agent saw (secrets are redacted in what is kept), or its sections, sizes and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.bounds import worst_case_bytes
from contracts.controls import exact
from contracts.errors import ConfigError
from contracts.ports import Artifacts, Gone
from contracts.sections import sections
from controller.assemble import charter
from controller.record_store import artifacts_of
from controller.render import worst_case
from controller.surfaces.locate import Row, load, newest, open_existing, rows, wait_for
from controller.surfaces.words import plain
from controller.taskfile import LoadedTask


def prompt(task: Path | None, step: int | None, run: str | None, as_table: bool, as_json: bool) -> int:
    """Print the prompt of `step` (the newest that is kept when None). Raises ConfigError where there is none."""
    loaded = load(task)
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    kept = wait_for(lambda: rows(store, record.run))
    number, text = _found(kept, step, artifacts_of(loaded, store))
    if as_json:
        told = {
            "run": record.run,
            "step": number,
            "bytes": len(text.encode()),
            "sections": table(text, loaded),
        }
        print(orjson.dumps(told | ({} if as_table else {"text": text})).decode())
    elif as_table:
        print(plain("\n".join([f"step {number} of run {record.run}", *table_lines(table(text, loaded))])))
    else:
        print(plain(exact(text)), end="")
    return 0


def _found(kept: Sequence[Row], step: int | None, artifacts: Artifacts) -> tuple[int, str]:
    """(step, text) of the prompt that is meant. Of several rows of one step the newest counts."""
    asked = [row for *_, row in kept if "prompt" in row.digests and step in (None, row.step)]
    if not asked:
        which = "any step" if step is None else f"step {step}"
        hint = (
            "it began no launch: see `controller log`"
            if step is not None
            else "`controller run` launches one"
        )
        raise ConfigError(f"no prompt of {which} was kept", hint=hint)
    id = asked[-1].digests["prompt"]
    try:
        return asked[-1].step, artifacts.get(id).decode("utf-8", "replace")
    except Gone as gone:
        raise ConfigError(f"the prompt of step {asked[-1].step} is not here: {gone.why}") from None
    except (KeyError, OSError):
        hint = "`controller clean` keeps the outputs of the newest runs only"
        raise ConfigError(f"the prompt of step {asked[-1].step} is gone (artifact {id})", hint=hint) from None


def table(text: str, loaded: LoadedTask) -> list[JsonObject]:
    """Each section of a stored prompt: bytes, percent of the whole, the bound that `validate` proves (None for a
    section that has none of its own)."""
    law = charter(loaded)
    bounds, whole = worst_case(law, worst_case_bytes(law.schema.source)), max(1, len(text.encode()))
    return [
        {
            "section": part.name,
            "bytes": part.bytes,
            "percent": round(100 * part.bytes / whole, 1),
            "bound": bounds.get(part.name),
        }
        for part in sections(text)
    ]


def table_lines(found: Sequence[JsonObject]) -> list[str]:
    """The table as text, its sum last."""
    cells = [("section", "bytes", "share", "at most")]
    for each in found:
        bound = f"{each['bound']:,}" if each["bound"] else ""
        cells.append((each["section"], f"{each['bytes']:,}", f"{each['percent']:.1f} %", bound))
    cells.append(("together", f"{sum(each['bytes'] for each in found):,}", "100.0 %", ""))
    return [f"  {name:<22}{size:>10}{share:>10}{bound:>12}".rstrip() for name, size, share, bound in cells]
