"""`log`: the audit rows of a run, and whether their chain holds."""

from __future__ import annotations

from pathlib import Path

import orjson

from contracts.record import AuditRow
from contracts.reply import AHEAD, LOST
from controller.surfaces.locate import load, newest, open_existing, rows, wait_for
from controller.surfaces.words import clock, plain


def log(task: Path | None, run: str | None, *, as_json: bool, verify: bool) -> int:
    """Print the audit. With `verify` 0 when the chain holds, 3 when it does not."""
    loaded = load(task)
    store = open_existing(loaded)
    if verify:
        record = wait_for(lambda: newest(store, loaded.task.name, run))
        wrong = wait_for(lambda: store.verify(record.run))
        count = len(wait_for(lambda: rows(store, record.run))) if not wrong else None
        if as_json:
            print(
                orjson.dumps({"run": record.run, "holds": not wrong, "rows": count, "wrong": wrong}).decode()
            )
        else:
            print("\n".join(wrong) or f"{record.run}: {count} rows, the chain holds")
        return 3 if wrong else 0
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    for seq, prev, hash, row in wait_for(lambda: rows(store, record.run)):
        if as_json:
            chained = {"run": record.run, "seq": seq, "prev_hash": prev, "hash": hash}
            print(orjson.dumps(chained | row.model_dump(mode="json")).decode())
        else:
            print(plain(line(row)))
    return 0


def line(row: AuditRow) -> str:
    """A row in one line."""
    action = row.action if isinstance(row.action, dict) else {}
    parts = [clock(row.at), f"step {row.step:<3}", f"{row.kind:<8}", f"{action.get('tool', '')!s:<12}"]
    if row.outcome:
        parts.append(row.outcome)
    result = row.tool_result if row.kind == "step" else row.validator_result
    parts.append(str(result or row.extra.get("what") or row.extra.get("cause") or ""))
    if "lost" in row.extra:
        parts.append(f"step {row.extra['lost']}: {LOST}")
    if row.commit:
        parts.append(f"commit {row.commit[:10]}")
    if row.undone:
        parts.append(f"kept as {row.undone}")
    if row.score_delta and any(row.score_delta.values()):
        parts.append(
            "checks " + ", ".join(f"{name} {delta:+}" for name, delta in row.score_delta.items() if delta)
        )
    if row.human_events:
        parts.append("; ".join(row.human_events))
    if row.agent:
        tokens = (row.prompt_tokens or 0) + (row.completion_tokens or 0)
        parts.append(f"{row.agent}" + (f" {tokens:,} tokens" if tokens else ""))
    if row.durations.get(AHEAD):
        parts.append("started ahead")
    return "  ".join(part for part in parts if part.strip())
