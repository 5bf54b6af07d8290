"""`status`: what the store says of the newest run, and whether somebody works on it. Reads one SQLite file
read-only and nothing else; standard library only, so that it costs no more than starting Python."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from contracts.outcomes import EDITED
from controller.stores.liveness import lives
from controller.surfaces.words import bar, clock, colour, command, duration, money, plural

RUNTIME, STORE = ".agent-runtime", "state.db"
APPLICATION_ID, SCHEMA, FORMAT = 0x534B5354, 1, 2  # as in controller.stores.sqlite and contracts.record
OK, CONFIG, UNAVAILABLE = 0, 2, 8  # exit codes, as in contracts.outcomes
CLOSING = ("completed", "nothing_to_do")
_NAME = re.compile(r"""^name:[ \t]+(["']?)([a-z0-9-]{1,40})\1[ \t]*(?:#.*)?$""", re.MULTILINE)
_STORE = re.compile(r"^store:", re.MULTILINE)

Json = dict[str, Any]


class Unreadable(Exception):
    """The store can't be read; the text says why."""


def fast(words: list[str]) -> int | None:
    """The whole of `controller [-C DIR] status [TASK] [--json]`, or None when the words or the task file are
    unusual and the full command line must look at them. Returns the exit code."""
    as_json, base, task, rest = False, Path(), "task.yaml", list(words)
    if rest[:1] == ["-C"] and len(rest) > 2:
        base, rest = Path(rest[1]), rest[2:]
    if rest[:1] != ["status"]:
        return None
    for word in rest[1:]:
        if word == "--json":
            as_json = True
        elif word.startswith("-") or task != "task.yaml":
            return None
        else:
            task = word
    path = base / task
    try:
        said = path.read_text("utf-8")[:65536]
        names = _NAME.findall(said)
        store = path.resolve().parent / RUNTIME / STORE
    except (OSError, ValueError):
        return None
    if len(names) != 1 or _STORE.search(said):
        return None
    return show(store, names[0][1], path, as_json)


def show(store: Path, task: str, path: Path, as_json: bool) -> int:
    """Print the status of `task`. 0; 8 when the store can't be read."""
    try:
        seen = read(store, task)
    except Unreadable as error:
        print(f"controller: {store}: {error}", file=sys.stderr)
        return UNAVAILABLE
    told = summary(task, seen, path)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever reads may stop reading
    print(json.dumps(told, ensure_ascii=False) if as_json else text(told))
    return OK


# ---- reading ----------------------------------------------------------------------------------------------
def read(store: Path, task: str) -> Json:
    """{"record", "inbox", "lease"} of the newest run; empty when there is none. Raises Unreadable."""
    if not store.exists():
        return {}
    if store.stat().st_size == 0:
        raise Unreadable(
            "the store is damaged: the file is empty (`controller state recover` rebuilds it; nothing was changed)"
        )
    try:
        db = sqlite3.connect(f"file:{quote(str(store))}?mode=ro", uri=True, timeout=5)
    except sqlite3.Error as error:
        raise Unreadable(str(error)) from error
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise Unreadable("the store is damaged: it is not a store of this program")
        if (schema := db.execute("PRAGMA user_version").fetchone()[0]) > SCHEMA:
            raise Unreadable(f"the store has schema {schema}, this version reads up to {SCHEMA} (upgrade)")
        row = db.execute(
            "SELECT record, sum FROM runs WHERE task = ? ORDER BY number DESC LIMIT 1", (task,)
        ).fetchone()
        inbox = db.execute("SELECT body FROM inbox WHERE task = ? ORDER BY id", (task,)).fetchall()
        lease = db.execute("SELECT owner, expires, id FROM leases WHERE task = ?", (task,)).fetchone()
    except sqlite3.Error as error:
        raise _unreadable(error) from error
    finally:
        db.close()
    owner = json.loads(lease[0]) | {"expires": lease[1], "id": lease[2]} if lease else None
    if row is None:
        return {"lease": owner}
    data = row[0] if isinstance(row[0], bytes) else str(row[0]).encode()
    if hashlib.sha256(data).hexdigest() != row[1]:
        raise Unreadable("the store is damaged: the record does not match its checksum")
    record = json.loads(data)
    if record.get("format", 1) > FORMAT:
        raise Unreadable(
            f"the record has format {record['format']}, this version reads up to {FORMAT} (upgrade)"
        )
    return {"record": record, "inbox": [json.loads(body) for (body,) in inbox], "lease": owner}


def _unreadable(error: sqlite3.Error) -> Unreadable:
    said = str(error)
    if "unable to open" in said or "readonly" in said:
        return Unreadable(
            f"the store can't be opened: {said} (to read it, SQLite writes beside it: this takes the right to write in "
            "its folder, and a disk that is not read-only)"
        )
    if "locked" in said:
        return Unreadable("the store is locked by another process (try again)")
    return Unreadable(
        f"the store is damaged or can't be read: {said} (`controller state recover` rebuilds a damaged one)"
    )


# ---- what it means ----------------------------------------------------------------------------------------
def summary(task: str, seen: Json, path: Path) -> Json:
    """One JSON object: see docs/cli.md."""
    record, lease = seen.get("record"), seen.get("lease")
    working = _working(lease)
    if record is None:
        kept = any((path.parent / ".agent-runtime" / "audit").glob(f"{task}@*.jsonl"))
        state = "starting" if working else "lost" if kept else "none"
        following = command("state recover", path) if kept else command("run", path)
        return {"task": task, "run": None, "state": state, "next": "" if working else following}
    state, say, following = _state(record, seen, working, path)
    halt, spent = record.get("halt") or {}, record.get("spent") or {}
    checks = {
        name: {"role": check["role"], "start": check["baseline"], "now": check["passed"],
               "why": check.get("why", ""), "step": check.get("step", 0)}
        for name, check in record.get("checks", {}).items()
    }  # fmt: skip
    return {
        "task": task,
        "run": record["run"],
        "state": state,
        "outcome": halt.get("outcome"),
        "say": say,
        "not_before": halt.get("not_before"),
        "step": record.get("step", 0),
        "committed": spent.get("steps", 0),
        "branch": record["branch"],
        "base": record["base"],
        "head": record["head"],
        "checks": checks,
        "left": (record.get("progress") or {}).get("counts", {}),
        "most": (record.get("progress") or {}).get("most", {}),
        "launches": spent.get("launches", 0),
        "tokens": spent.get("input", 0) + spent.get("output", 0),
        "usd_micro": spent.get("usd_micro", 0),
        "estimated": spent.get("estimated", False),
        "wall": round(spent.get("wall", 0.0), 1),
        "rejections": record.get("rejections", 0),
        "left_out": {
            name: until
            for name, until in (record.get("left_out") or {}).items()
            if until is None or until > time.time()
        },
        "queue": [
            {
                "id": entry["id"],
                "kind": entry["kind"],
                "why": entry["why"],
                "status": entry.get("status", "open"),
            }
            for entry in record.get("queue", ())
        ],
        "owner": {"host": lease["host"], "pid": lease["pid"], "lease": lease["id"]}
        if working and lease
        else None,
        "next": following,
    }


def _working(lease: Json | None) -> bool:
    """Whether the owner of the lease is, as far as can be known, at work."""
    if lease is None or not lease["pid"]:
        return False
    if "working" in lease:
        return bool(lease["working"])
    known = lives(lease["host"], lease["boot"], lease["pid"], lease["started"])
    return lease["expires"] > time.time() if known is None else known


def _state(record: Json, seen: Json, working: bool, path: Path) -> tuple[str, str, str]:
    """(state, what to know of it, the next command)."""
    halt, lease = record.get("halt") or {}, seen.get("lease")
    outcome, say, go_on = halt.get("outcome"), halt.get("say", ""), command("run", path)
    if working and outcome not in CLOSING:
        return "running", "", command("status", path)
    if outcome in CLOSING:
        return outcome, say, command("diff", path) if outcome == "completed" else ""
    if outcome == "blocked" and halt.get("cause") in EDITED:
        return outcome, say, command("run", path, *EDITED[halt["cause"]])
    if outcome == "blocked":
        answered = {post["entry"] for post in seen["inbox"] if post["kind"] in ("answer", "decision")}
        open_ = [entry for entry in record.get("queue", ()) if entry.get("status", "open") == "open"]
        left = [entry for entry in open_ if entry["id"] not in answered]
        if open_ and not left:
            return "answered", say, go_on
        if not left:
            return outcome, say, command("run", path, "--retry")
        if left[0]["kind"] not in ("ask", "unknown"):
            return outcome, say, f"controller approvals show {left[0]['id']}"
        text = "happened|did-not-happen" if left[0]["kind"] == "unknown" else "TEXT"
        return outcome, say, f"controller answer {left[0]['id']} {text}"
    if outcome in ("failed", "stuck"):
        return outcome, say, command("run", path, "--retry")
    if outcome == "waiting" and (halt.get("not_before") or 0) <= time.time():
        return "due", say, go_on
    if outcome:
        return outcome, say, go_on
    if record.get("staged") or record.get("reserve") or (lease and lease["pid"]):
        return "interrupted", "the controller ended in the middle of a step; nothing is lost", go_on
    return "paused", "between two steps", go_on


# ---- text -------------------------------------------------------------------------------------------------
def text(told: Json) -> str:
    """The same for a person."""
    if told["run"] is None:
        what = "its record is gone, its audit is there" if told["state"] == "lost" else "no run yet"
        return f"task {told['task']}: {what}" + (f"\nnext: {told['next']}" if told["next"] else " (starting)")
    owner = told["owner"]
    state = told["state"] + (
        f" (pid {owner['pid']} on {owner['host']}, lease {owner['lease']})" if owner else ""
    )
    if told["not_before"] and told["state"] == "waiting":
        state += f" until {clock(told['not_before'])}"
    lines = [f"run    {told['run']}", f"state  {state}, step {told['step']}"]
    if told["say"]:
        lines.append(f"       {told['say']}")
    for name, until in told["left_out"].items():
        lines.append(
            f"agent  {name} is left out {'for the rest of the run' if until is None else f'until {clock(until)}'}"
        )
    for entry in told["queue"]:
        lines.append(f"asks   {entry['id']} ({entry['status']}): {entry['why']}")
    for name, check in told["checks"].items():
        change = f"{colour(check['start'])} → {colour(check['now'], check['why'])}"
        lines.append(f"{check['role']:<6} {name}: {change} (read at step {check['step']})")
    for name, count in told["left"].items():
        most = told["most"].get(name, count)
        lines.append(f"left   {name}: {count:,} of {most:,} {bar(count, most)}")
    about = "about " if told["estimated"] else ""
    price = money(told["usd_micro"], told["estimated"])
    spent = f"{plural(told['launches'], 'launch')}, {about}{told['tokens']:,} tokens, "
    lines.append(
        f"branch {told['branch']} at {told['head'][:12]}, {plural(told['committed'], 'committed step')}"
    )
    lines.append(f"spent  {spent}{price}, {duration(told['wall'])}")
    if told["next"]:
        lines.append(f"next   {told['next']}")
    return "\n".join(lines)
