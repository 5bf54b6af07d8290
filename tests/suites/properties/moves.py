"""Replies as an agent might give them: valid, nearly valid, hostile. Drawn with the walk's own random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from contracts.record import RunRecord
from contracts.reply import AgentReply, Reply, ReplyClass
from tests.suites.properties import submits
from tests.suites.properties.laws import Law
from tests.suites.properties.oracle import PLANTED

Json = Any
TEXT = "abc xyz, 09 é–"
DEEP: Json = "x"
for _ in range(400):
    DEEP = {"a": DEEP}


# ---- patches --------------------------------------------------------------------------------------------------
def value(node: Json, rng: random.Random) -> Json:
    """Something that fits a schema, nearly always."""
    for word in ("anyOf", "oneOf"):
        if word in node:
            return value(rng.choice(node[word]), rng)
    if "const" in node or "enum" in node:
        return node["const"] if "const" in node else rng.choice(node["enum"])
    kind = node.get("type")
    match rng.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            named = node.get("properties", {})
            wanted = [name for name in named if name in node.get("required", ()) or rng.random() < 0.4]
            found = {name: value(named[name], rng) for name in wanted}
            if isinstance(more := node.get("additionalProperties"), dict):
                found |= {name(rng): value(more, rng) for _ in range(rng.randint(0, 2))}
            return found
        case "array":
            return [
                value(node.get("items", {}), rng)
                for _ in range(rng.randint(0, min(2, node.get("maxItems", 2))))
            ]
        case "integer" | "number":
            return rng.randint(node.get("minimum", 0), node.get("maximum", 9))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            if node.get("x-format") == "source":
                return f"step:{rng.randint(1, 9)}"
            most = node.get("maxLength", 40)
            length = rng.choice([1, 3, most, rng.randint(0, most)])
            letters = "abcdef" if "pattern" in node else TEXT
            return "".join(
                rng.choice(letters) for _ in range(max(node.get("minLength", 0), min(length, 900)))
            )


def name(rng: random.Random) -> str:
    return rng.choice("abcdefghij") + rng.choice(["", "1", "2"])


def patch(law: Law, state: Json, rng: random.Random) -> Json:
    """A patch of what the agent may write, as an agent means well."""
    named = law.charter.schema.plain["properties"]
    free = [
        each
        for each, node in named.items()
        if node.get("x-owner", "agent") == "agent" and node.get("x-change-policy") != "locked"
    ]
    return {
        each: _entry(named[each], state.get(each), rng)
        for each in rng.sample(free, min(len(free), rng.choice([0, 1, 1, 2])))
    }


def _entry(node: Json, old: Json, rng: random.Random) -> Json:
    more = node.get("additionalProperties")
    if not isinstance(more, dict):
        if node.get("type") == "object" and isinstance(old, dict) and old and rng.random() < 0.5:
            inner = rng.choice(list(node["properties"]))
            return {inner: value(node["properties"][inner], rng)}
        return value(node, rng)
    found = {name(rng): value(more, rng) for _ in range(rng.choice([1, 1, 2, 3]))}
    if isinstance(old, dict) and old and rng.random() < 0.5:
        key = rng.choice(list(old))
        found[key] = None if rng.random() < 0.5 else value(more, rng)
    return found


def wrong_patch(law: Law, state: Json, rng: random.Random) -> Json:
    """One that breaks a rule: of form, of ownership, of an invariant."""
    named = law.charter.schema.plain["properties"]
    maps = [each for each, node in named.items() if isinstance(node.get("additionalProperties"), dict)]
    notes = named.get("notes", {})
    inner, letters = named[maps[0]]["additionalProperties"], "abcdefghij"
    required = law.charter.schema.plain.get("required", ())
    choices: list[Callable[[], Json]] = [
        lambda: {"surprise": value({"type": "object"}, rng)},
        lambda: {rng.choice(list(named)): rng.choice([5, [1], "x" * 2000, True, {"deep": {"er": {"x": 1}}}])},
        lambda: {rng.choice(list(named)): None},
        lambda: {rng.choice(maps): {name(rng): rng.choice([7.5, [], "y" * 2000, {"no": 1}])}},
        lambda: {rng.choice(maps): {rng.choice(["UPPER CASE", "x" * 80, "é"]): value(inner, rng)}},
        lambda: {rng.choice(maps): {f"k{n}": value(inner, rng) for n in range(30)}},
        lambda: {
            each: {f"{c}1": value(named[each]["additionalProperties"], rng) for c in letters} for each in maps
        },
        lambda: {rng.choice(maps): {name(rng): f"see {rng.choice(PLANTED)}"}},
        lambda: {"source_authority": "me"} | ({"goal": "something easier"} if rng.random() < 0.3 else {}),
        lambda: {"goal": rng.choice(["something easier", None, 5])},
        lambda: {"rules": rng.choice([{"style": "free"}, {}, None, {"style": None}])},
        lambda: {"counter": rng.choice([3, None])},
        lambda: {"log": dict.fromkeys(state.get("log", {}) or ["first"])},
        lambda: {"tried": dict.fromkeys(state.get("tried", {}) or ["first"])},
        lambda: {"notes": {f"k{n}": "é" * limit(notes) for n in range(notes.get("maxProperties", 1))}},
        lambda: {"facts": {rng.choice("abc"): fact(rng)}},
        lambda: {"facts": {rng.choice("abc"): fact(rng)}},
        lambda: {"facts": {"d": fact(rng) | {"from": "nothing"}}},
        lambda: {"facts": {"e": fact(rng) | {"unknown": "not found"}}},
        lambda: {"facts": {"h": fact(rng)}, "hypotheses": {"h": "it may be"}},
        # Harmless, but for its size.
        lambda: {rng.choice(maps): {f"k{n}": None for n in range(30_000 if rng.random() < 0.1 else 3)}},
        lambda: {"uses": {name(rng): "nothing"}},
        lambda: {"notes": dict.fromkeys(state.get("notes", {}))},
        lambda: {"seats": {"a": 7, "b": 7}},
        lambda: {"phase": "new", "level": 0},
        lambda: {"phase": "done", "level": 0},
        lambda: {"view": {"v": {"path": "src/a.txt", "from": 9, "to": 2}}},
        lambda: {rng.choice(list(required)): None} if required else {},
        lambda: DEEP,
        lambda: {"facts": {"a": {"value": "v"}}, "tried": {"a": {}}, "hypotheses": {"a": "v"}},
    ]  # fmt: skip
    return rng.choice(choices)()


def fact(rng: random.Random) -> Json:
    return {"value": f"v{rng.randint(1, 9)}", "source": f"step:{rng.randint(1, 2)}"}


def limit(node: Json) -> int:
    return int(node.get("additionalProperties", {}).get("maxLength", 40))


# ---- actions --------------------------------------------------------------------------------------------------
PATHS = (
    "src/a.txt",
    "src/b.txt",
    "src/deep/c.txt",
    "src/guarded.txt",
    "src/x/../guarded2.txt",
    "./src/a.txt",
)
BAD_PATHS = (
    "README.md", "../a", "/etc/passwd", "~/a", "src/../../a", "task.yaml", ".git/config", "src/.gitattributes",
    "check.sh", "src/.env",
    "src/report.xml",
    "src/key.pem", "src/pinned/t.py", "src/__pycache__/a.pyc", "src/a\x07.txt", "src\\a", ".", "src/link/a",
    "src/out/a", ".github/workflows/ci.yml", "src/a\u202etxt", "conftest.py", ".agent-contract/x",
)  # fmt: skip


def path(rng: random.Random, bad: float = 0.0) -> str:
    return rng.choice(BAD_PATHS if rng.random() < bad else PATHS)


def one_edit(rng: random.Random, bad: float) -> Json:
    at = path(rng, bad)
    return rng.choice([
        {"op": "replace", "path": at, "old": "old", "new": "new"},
        {"op": "write", "path": at, "content": "text\n"},
        {"op": "delete", "path": at},
        {"op": "copy", "path": at, "source": path(rng), "move": rng.random() < 0.5},
        {"op": "copy", "path": path(rng), "source": at, "move": True},
        {"op": "replace_all", "glob": "src/**", "old": "old", "new": "new", "expect": 2},
    ])  # fmt: skip


def edits(rng: random.Random, bad: float = 0.0) -> Json:
    return {
        "tool": "edit_files",
        "args": {"edits": [one_edit(rng, bad) for _ in range(rng.choice([1, 1, 2, 3]))]},
    }


def write(at: str, text: str) -> Json:
    return {"tool": "edit_files", "args": {"edits": [{"op": "write", "path": at, "content": text}]}}


def diff(rng: random.Random, bad: float = 0.0) -> Json:
    at = path(rng, bad)
    old = rng.choice([f"a/{at}", "/dev/null"])
    body = "@@ -0,0 +1 @@\n+new\n" if old == "/dev/null" else "@@ -1,2 +1,2 @@\n-one old\n+one new\n two\n"
    return {"tool": "apply_patch", "args": {"patch": f"--- {old}\n+++ b/{at}\n{body}"}}


def run(rng: random.Random) -> Json:
    return rng.choice([
        {"tool": "run", "args": {"command": "mess"}},
        {"tool": "run", "args": {"command": "ship"}},
        {"tool": "run", "args": {"command": "test"}},
        {"tool": "run", "args": {"command": "show", "params": {"path": "src/a.txt"}}},
    ])  # fmt: skip


def read(rng: random.Random) -> Json:
    return rng.choice([
        {"tool": "list_files", "args": {"depth": rng.randint(1, 12)}},
        {"tool": "read_files", "args": {"files": [{"path": path(rng)}]}},
        {"tool": "search", "args": {"pattern": rng.choice(["old", "new", "é"])}},
        {"tool": "recall", "args": {"query": "old"}},
    ])  # fmt: skip


def batch(rng: random.Random, bad: float = 0.0) -> Json:
    parts = [edits(rng, bad / 3), {"tool": "run", "args": {"command": "mess"}}, read(rng), read(rng)]
    parts = [part for part in parts if rng.random() < 0.7] or [read(rng)]
    if rng.random() < bad:
        rng.shuffle(parts)
    return {"tool": "batch", "args": {"actions": parts}}


OLD = "d" * 40  # a commit since which src/b.txt changed


def change(rng: random.Random) -> Json:
    at, new = rng.choice([
        ("/intent/locked_requirements/keep", "Keep most file names."), ("/intent/goal", "Do less."), ("/nowhere", "x"),
        ("/intent/constraints/-", f"No. {rng.randint(1, 99)}"), ("/intent/constraints/1", None), ("/intent/goal", None),
        ("/state/source_authority", '"CI"'), ("/state/goal", '"less"'), ("/state/goal", '{"no": 1}'),
        ("/state/rules/style", '"free"'), ("/state/rules/style", None), ("/state/notes", "{}"), ("/state/counter", "3"),
    ])  # fmt: skip
    return {
        "tool": "request_change",
        "args": {"at": at, "why": "it helps"}
        | ({} if new is None else {"value": new})
        | ({"source": f"src/b.txt@{OLD}"} if rng.random() < 0.2 else {}),
    }


def deed(rng: random.Random) -> Json:
    return rng.choice([
        {"tool": "git_push", "args": {}},
        {"tool": "git_pull", "args": {}},
        {"tool": "pr_open", "args": {"title": "Tidy", "body": "Why."}},
        {"tool": "pr_open", "args": {"title": "Tidy", "body": "Why.", "draft": True}},
        {"tool": "pr_update", "args": rng.choice([{}, {"body": "More."}])},
        {"tool": "pr_merge", "args": {}},
        {"tool": "pr_comment", "args": {"body": "Done."}},
        {"tool": "issue_comment", "args": {"issue": 3, "body": "Done."}},
        {"tool": "ci_rerun", "args": {"why": "the network"}},
    ])  # fmt: skip


def submitted(rng: random.Random, record: RunRecord, bad: float = 0.0) -> Json:
    paths = [path(rng, bad / 2) for _ in range(rng.choice([1, 1, 3]))]
    return submits.submit(rng, record.head, paths, bad)


def wrong_action(rng: random.Random) -> Json:
    large, secret = "b" * 65_000 + "é" * 500, rng.choice(PLANTED)
    return rng.choice([
        {"tool": "rm_rf", "args": {}},
        {"tool": "read_files", "args": {}},
        {"tool": "run", "args": {"command": "unknown"}},
        {"tool": "run", "args": {"command": "show", "params": {"path": "/etc/passwd"}}},
        {"tool": "edit_files", "args": {"edits": "all"}},
        write("src/a.txt", large),
        write("src/a.txt", f"key = {secret}\n"),
        {"tool": "search", "args": {"pattern": secret}},
        {"tool": "apply_patch", "args": {"patch": "this is no diff"}},
        {"tool": "apply_patch", "args": {"patch": "--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-a\n+b\n"}},
        {"tool": "batch", "args": {"actions": [run(rng), edits(rng)]}},
        {"tool": "batch", "args": {"actions": [{"tool": "finish", "args": {"summary": "x"}}]}},
        edits(rng, 1.0), diff(rng, 1.0), batch(rng, 1.0),
    ])  # fmt: skip


def action(rng: random.Random) -> Json:
    """An action that nothing is wrong with, mostly."""
    word = rng.random()
    if word < 0.35:
        return edits(rng)
    return rng.choice([
        read, read, run, batch, diff, change, deed, deed,
        lambda _: {"tool": "finish", "args": {"summary": "done"}},
        lambda r: {"tool": "ask", "args": {"question": f"Which {r.randint(1, 99)}?"}},
    ])(rng)  # fmt: skip


# ---- replies --------------------------------------------------------------------------------------------------
def transition(law: Law, record: RunRecord, rng: random.Random) -> Json:
    """What an agent may answer with: well meant in half of the cases."""
    state, luck = record.state, rng.random()
    good = {"state_patch": patch(law, state, rng), "action": action(rng)}
    if rng.random() < 0.1:
        return good | {"action": submitted(rng, record, rng.choice([0.0, 1.0]))}
    if luck < 0.5:
        return good
    if luck < 0.72:
        return {"state_patch": wrong_patch(law, state, rng), "action": action(rng)}
    if luck < 0.9:
        return good | {"action": wrong_action(rng)}
    return rng.choice([
        {}, {"state_patch": {}}, good | {"done": True}, good | {"state_patch": []}, good | {"action": "finish"},
        good | {"action": {"tool": "finish"}}, good | {"action": {"tool": ["x"], "args": {}}},
        good | call("list_files", DEEP),
        good | call("list_files", {"path": "\ud800"}), good | call("list_files", {"depth": 10**40}),
        good | call("search", {"pattern": "x" * 300_000}), good | {"state_patch": {"notes": {"a": "\ud800"}}},
    ])  # fmt: skip


def call(tool: str, args: Json) -> Json:
    return {"action": {"tool": tool, "args": args}}


CLASSES = tuple(ReplyClass)


def reply(law: Law, record: RunRecord, rng: random.Random) -> Reply:
    """A reply as `launch` hands it on; one in fifteen has nothing to judge in it."""
    luck = rng.random()
    if luck < 0.03:
        return Reply(
            agent=law.charter.agent,
            raw=AgentReply(cls=ReplyClass.OK, text="no"),
            problems=("/state_patch/0: no such path",),
        )
    if luck < 0.07:
        cls = rng.choice(CLASSES)
        return Reply(agent=law.charter.agent, raw=AgentReply(cls=cls, text=f"{PLANTED[0]} …"))
    said = transition(law, record, rng)
    raw = AgentReply(cls=ReplyClass.OK, value=said, text="{}", submitted=submits.left_lying(rng))
    return Reply(agent=law.charter.agent, raw=raw, transition=said)
