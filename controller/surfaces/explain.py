"""`explain STEP`: everything that is kept of one step, from the prompt to the diff of its commit."""

from __future__ import annotations

from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError, ControllerError
from contracts.ports import Artifacts, Gone
from contracts.record import AuditRow, RunRecord
from contracts.reply import AHEAD
from controller.audit import patched
from controller.record_store import artifacts_of
from controller.surfaces.changes import repository
from controller.surfaces.locate import Row, load, newest, open_existing, rows, wait_for
from controller.surfaces.prompt import table, table_lines
from controller.surfaces.words import clock, duration, money, plain
from controller.taskfile import LoadedTask
from tool_adapters.git import ReadOnlyRepo

DIFF_BYTES = 256 * 1024


def explain(task: Path | None, step: int | None, run: str | None, as_json: bool) -> int:
    """Print what is known of `step` (the last one when None). What isn't kept is said. Raises ConfigError for
    a step that the run does not have."""
    loaded = load(task)
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    kept = wait_for(lambda: rows(store, record.run))
    wanted = record.step if step is None else step
    of_step = [each for each in kept if each[3].step == wanted]
    if not of_step and (record.staged is None or record.staged.step != wanted):
        raise ConfigError(f"run {record.run} has no step {wanted}", hint=f"it is at step {record.step}")
    artifacts = artifacts_of(loaded, store)
    repo = repository(loaded, record)
    told = [_row(each, artifacts, repo, loaded) for each in of_step]
    half = _half_done(record) if record.staged is not None and record.staged.step == wanted else None
    if as_json:
        found = {"run": record.run, "step": wanted, "rows": told, "half_done": half}
        print(orjson.dumps(found).decode())
        return 0
    print(plain(_text(record, wanted, told, half)))
    return 0


def _row(kept: Row, artifacts: Artifacts, repo: ReadOnlyRepo, loaded: LoadedTask) -> JsonObject:
    seq, _, hash, row = kept
    found: JsonObject = {"seq": seq, "hash": hash, "row": row.model_dump(mode="json", exclude_defaults=True)}
    for name in ("prompt", "reply"):
        found[name], found[f"{name}_gone"] = _artifact(artifacts, row.digests.get(name))
    found["sections"] = table(found["prompt"], loaded) if found["prompt"] is not None else []
    found["diff"] = _diff(repo, row) if row.commit else None
    return found


def _artifact(artifacts: Artifacts, id: str | None) -> tuple[str | None, str]:
    """(its text, why it is not there)."""
    if id is None:
        return None, ""
    try:
        return artifacts.get(id).decode("utf-8", "replace"), ""
    except Gone as gone:
        return None, gone.why
    except (KeyError, OSError):
        return None, "it is gone"


def _diff(repo: ReadOnlyRepo, row: AuditRow) -> str:
    try:
        data, total = repo.diff(f"{row.commit}^", f"{row.commit}", limit=DIFF_BYTES)
    except ControllerError as error:
        return f"(the commit can't be read: {error})"
    cut = f"\n… cut {total - len(data):,} of {total:,} bytes …" if total > len(data) else ""
    return data.decode("utf-8", "replace") + cut


def _half_done(record: RunRecord) -> JsonObject | None:
    staged = record.staged
    if staged is None:
        return None
    return {
        "transition": staged.transition | {"state_patch": patched(staged)["state_patch"]},
        "key": staged.key,
        "before": staged.before.model_dump(mode="json"),
    }


# ---- text -------------------------------------------------------------------------------------------------
def _text(record: RunRecord, step: int, told: list[JsonObject], half: JsonObject | None) -> str:
    lines = [f"step {step} of run {record.run}"]
    shown: set[str] = set()
    for each in told:
        lines += _row_lines(each, shown)
    wrong = record.correction
    if wrong is not None and wrong.step == step:
        lines += ["", f"correction, shown in the next prompt ({wrong.layer}, {wrong.code}): {wrong.say}"]
    if half is not None:
        lines += [
            "",
            "allowed, and not yet verified; `controller run` takes it up again:",
            _json(half["transition"]),
        ]
    return "\n".join(lines)


def _row_lines(each: JsonObject, shown: set[str]) -> list[str]:
    row: JsonObject = each["row"]
    lines, took = ["", f"--- {row['kind']} at {clock(row['at'])}"], dict(row.get("durations", {}))
    if row.get("agent"):
        usage = row.get("usage") or {}
        charged = row.get("charged") or {}
        price = money(charged.get("usd_micro") or 0, row.get("estimated", False))
        lines.append(
            f"agent {row['agent']} {row.get('model') or ''} ({row.get('credential')}): "
            f"{usage.get('input') or 'unknown'} tokens in, {usage.get('output') or 'unknown'} out, {price}"
        )
        if (waited := took.pop(AHEAD, None)) is not None:
            lines.append(f"process: {_started(waited)}")
        for name in ("prompt", "reply"):
            if name not in shown:
                lines += _kept_lines(name, each, row)
                shown.add(name)
    if row.get("validator_result"):
        lines.append(f"verdict: {row['validator_result']}")
    if row.get("state_patch") is not None:
        lines += ["state_patch:", _json(row["state_patch"])]
    if row.get("action") is not None:
        lines += ["action:", _json(row["action"])]
    if row.get("tool_result"):
        lines.append(f"evidence: {row['tool_result']}")
    for name in ("outcome", "commit", "undone"):
        if row.get(name):
            lines.append(f"{name}: {row[name]}")
    for word in row.get("human_events", ()):
        lines.append(f"person: {word}")
    if row.get("extra"):
        lines += ["more:", _json(row["extra"])]
    if took:
        lines.append("took: " + ", ".join(f"{verb} {duration(s)}" for verb, s in took.items()))
    if each["diff"]:
        lines += ["diff:", each["diff"].rstrip("\n")]
    return lines


def _started(waited: float) -> str:
    if not waited:
        return "started for this prompt, as none waited for it"
    return f"started ahead, {duration(waited)} before its prompt"


def _kept_lines(name: str, each: JsonObject, row: JsonObject) -> list[str]:
    """A reply whole, of a prompt the sizes of its sections."""
    text, id = each[name], row.get("digests", {}).get(name)
    if text is None:
        gone = f" any more (artifact {id}: {each[f'{name}_gone']})" if id else ""
        return [f"{name}: not kept{gone}"]
    whole = f"; whole: `controller prompt {row['step']}`" if name == "prompt" else ""
    body = table_lines(each["sections"]) if name == "prompt" else _moved_in(text)
    return [f"{name} ({len(text.encode()):,} bytes{whole}):", *body]


def _moved_in(text: str) -> list[str]:
    return [f"  {line}" for line in text.rstrip("\n").split("\n")]


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
