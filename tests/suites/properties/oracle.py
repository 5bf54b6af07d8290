"""What must hold of whatever was allowed, said a second time in few words and without the gate: no function of the gate
or of what it calls is used here, but for the data types, `contracts.base` and jsonschema."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator

from contracts.forge_reading import ForgeReading
from contracts.queue import Entry
from contracts.readings import CiReading, Readings
from contracts.record import RunRecord, Staged
from tests.suites.properties import submits
from tests.suites.properties.laws import Law

Json = Any
PLANTED = ("ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",)  # credentials that the generator writes into replies
COMPACT: Any = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
READS = ("read_files", "list_files", "search", "recall")
CLOSED = (
    ".git*",
    "*/.git*",
    "task.yaml",
    ".agent-*",
    "check.sh",
    "src/pinned/*",
    "src/report.xml",
    "*.env",
    "*.pem",
    "*__pycache__*",
)


def faults(
    record: RunRecord, seen: Readings, fresh: Readings, staged: Staged, entry: Entry | None, law: Law
) -> Iterator[str]:
    """What is wrong with a transition that was allowed; nothing when it is right."""
    patch, tool, args = staged.transition.get("state_patch"), staged.tool, staged.args
    yield from form(staged.transition)
    yield from _valid(staged.candidate, law)
    for each in (staged.held, staged.proven):
        yield from () if each is None else (f"confirmed: {fault}" for fault in _valid(each, law))
    yield from _broken(record.state, staged.candidate, law)
    gone = set(staged.forgotten.values)
    asked = _asked(entry) if entry is not None else ()
    yield from _protected(law.charter.schema.plain, record.state, staged.candidate, (), asked, gone)
    made = merged(merged(merged(record.state, patch), staged.forgotten.patch), staged.changed or {})
    if made != staged.candidate:
        yield "the candidate is not the state with the patch, less what was let go of"
    yield from (
        f"{name} was let go of, and the patch sets it" for name in gone if _in(patch, name) is not None
    )
    yield from _action(tool, args, seen, fresh, law)
    yield from submits.faults(args, fresh, entry is not None) if tool == "submit" else ()
    yield from _deed(tool, fresh)
    yield from _person(record, fresh, staged, entry, law)


# ---- the state ------------------------------------------------------------------------------------------------
@lru_cache(maxsize=64)
def _validator(source: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(source))


def _ok(schema: Json, value: Json) -> bool:
    return bool(_validator(json.dumps(schema)).is_valid(value))


def _valid(state: Json, law: Law) -> Iterator[str]:
    if not _ok(law.charter.schema.source, state):
        yield f"schema: {next(_validator(json.dumps(law.charter.schema.source)).iter_errors(state)).message[:200]}"
    if (
        len(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode())
        > law.charter.task.limits.state
    ):
        yield "the state is larger than limits.state"
    for view in state.get("view", {}).values():
        if view.get("from", 1) > view.get("to", 10**9):
            yield "a view ends before it begins"
    if any(secret in json.dumps(_shown(law.charter.schema.plain, state)) for secret in PLANTED):
        yield "the state holds a credential"


def _shown(node: Json, value: Any) -> Any:
    """The value with stand-ins for what the schema marks as secret: that is never shown, and may hold a credential."""
    if node.get("x-sensitivity") == "secret" and isinstance(value, str):
        hidden = value.startswith("[secret: ")
        return value if hidden else f"[secret: {len(value.encode('utf-8', 'surrogatepass'))} bytes]"
    if not isinstance(value, dict):
        return value
    return {key: _shown(_child(node, key), each) for key, each in value.items()}


def _child(node: Json, key: str) -> Json:
    found = node.get("properties", {}).get(key, node.get("additionalProperties"))
    return found if isinstance(found, dict) else {}


def _broken(before: Json, after: Json, law: Law) -> Iterator[str]:
    for one in law.charter.schema.plain.get("x-invariants", ()):
        if "holds" in one:
            good = _ok(one["holds"], after)
        elif "unique" in one:
            paths = one["unique"] if isinstance(one["unique"], list) else [one["unique"]]
            values = [json.dumps(value) for path in paths for _, value in at(after, path)]
            good = len(values) == len(set(values))
        elif "refers" in one:
            named = {json.dumps(value): place for place, value in at(after, one["to"])}
            good = all(
                json.dumps(value) in named
                and ("with" not in one or _ok(one["with"], _in(after, named[json.dumps(value)])))
                for _, value in at(after, one["refers"])
            )
        else:
            order = _enum(law.charter.schema.plain, one["monotone"])
            now = dict(at(after, one["monotone"]))
            good = all(
                (place in now and _rank(now[place], order) >= _rank(old, order))
                or (place not in now and "*" in one["monotone"])
                for place, old in at(before, one["monotone"])
            )
        if not good:
            yield f"invariant {one['name']}"


def at(state: Json, path: str) -> list[tuple[str, Json]]:
    """(JSON pointer, value) of what stands at a path of an invariant."""
    found = [("", state)]
    for word in path[1:].split("/"):
        if word == "#":
            return [
                (f"{place}/{key}", key) for place, node in found if isinstance(node, dict) for key in node
            ]
        step = []
        for place, node in found:
            if isinstance(node, dict):
                keys = list(node) if word == "*" else [word] if word in node else []
                step += [(f"{place}/{key}", node[key]) for key in keys]
        found = step
    flat = []
    for place, node in found:
        flat += (
            [(f"{place}/{n}", each) for n, each in enumerate(node)]
            if isinstance(node, list)
            else [(place, node)]
        )
    return flat


def _enum(node: Json, path: str) -> list[Json]:
    for word in path[1:].split("/"):
        node = _child(node, word)
    return list(node.get("enum", ()))


def _rank(value: Json, order: list[Json]) -> float:
    return order.index(value) if order else value


def _in(node: Json, place: str) -> Json:
    for key in place[1:].split("/"):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def merged(state: Json, patch: Json) -> Json:
    """RFC 7396, once more."""
    if not isinstance(patch, dict):
        return patch
    found = dict(state) if isinstance(state, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def _protected(
    node: Json, before: Json, after: Json, path: tuple[str, ...], asked: tuple[str, ...], gone: set[str]
) -> Iterator[str]:
    """What is not the agent's is as it was, but where a person agreed to a change; what only grows lost nothing but
    what the controller let go of."""
    if asked and path == asked:
        return
    locked = node.get("x-owner", "agent") != "agent" or node.get("x-change-policy") == "locked"
    if locked and before != after and asked[: len(path)] != path:
        yield f"/{'/'.join(path)} is protected and was changed"
    if not isinstance(before, dict):
        return
    inside = after if isinstance(after, dict) else {}
    if node.get("x-change-policy") in ("append-only", "ask"):
        lost = {f"/{'/'.join((*path, key))}" for key in before.keys() - inside.keys()} - gone
        yield from (f"{name} is in what only grows, and is lost" for name in lost)
    for key in dict.fromkeys([*before, *inside]):
        yield from _protected(_child(node, key), before.get(key), inside.get(key), (*path, key), asked, gone)


def _overwritten(node: Json, before: Json, after: Json, patch: Json) -> Iterator[str]:
    """A fact whose value is another now, and the patch does not say that it comes from the same source."""
    for name, inner in node["properties"].items():
        if inner.get("x-change-policy") == "ask":
            for key, old in before.get(name, {}).items():
                new, said = after.get(name, {}).get(key), patch.get(name, {}).get(key) or {}
                other = new is not None and old.get("value") is not None and new.get("value") != old["value"]
                if other and ("source" not in said or said["source"] != old.get("source")):
                    yield f"/{name}/{key} is overwritten from another source"


def _asked(entry: Entry) -> tuple[str, ...]:
    """The field of the state that an approved change is about."""
    said = entry.transition["action"]["args"].get("at", "") if entry.kind == "change" else ""
    return tuple(said.split("/")[2:]) if said.startswith("/state/") else ()


# ---- the action -----------------------------------------------------------------------------------------------
def form(transition: Json) -> Iterator[str]:
    """What is wrong with the outside of a reply."""
    if set(transition) != {"state_patch", "action"} or set(transition["action"]) != {"tool", "args"}:
        yield "envelope: other keys than the two"
    try:
        told = json.dumps(transition, ensure_ascii=False, separators=(",", ":")).encode()
        if len(told) > 256 * 1024 or _depth(transition) > 32:
            yield "envelope: too large or too deep"
    except (UnicodeEncodeError, RecursionError):
        yield "envelope: not JSON, or far too deep"


def _depth(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((_depth(each) for each in inner), default=0)


def _inner(tool: str, args: Json) -> list[tuple[str, Json]]:
    return [(each["tool"], each["args"]) for each in args["actions"]] if tool == "batch" else [(tool, args)]


def _written(tool: str, args: Json) -> Iterator[str]:
    for name, given in _inner(tool, args):
        if name == "edit_files":
            for edit in given["edits"]:
                yield from (
                    edit[key]
                    for key in ("path", "source")
                    if key in edit and (key == "path" or edit.get("move"))
                )
        elif name == "apply_patch":
            for line in re.findall(r"^(?:---|\+\+\+) (\S+)", given["patch"], re.MULTILINE):
                if line != "/dev/null":
                    yield line[2:]
        elif name == "submit":
            yield from (each["path"] for each in given["files"])


def _action(tool: str, args: Json, seen: Readings, fresh: Readings, law: Law) -> Iterator[str]:
    specs = {spec.name: spec for spec in law.charter.specs}
    if tool not in specs:
        yield f"there is no tool {tool}"
        return
    if not _ok(specs[tool].args, args):
        yield f"the arguments of {tool} are wrong"
        return
    if any(secret in json.dumps(args) for secret in PLANTED):
        yield "a credential in the arguments"
    names = [name for name, _ in _inner(tool, args)]
    ranks = [0 if name in ("edit_files", "apply_patch") else 1 if name == "run" else 2 for name in names]
    if tool == "batch" and (ranks != sorted(ranks) or ranks.count(1) > 1 or len(names) > 8):
        yield "a batch in another order"
    texts = [
        text
        for name, given in _inner(tool, args)
        if name == "edit_files"
        for e in given["edits"]
        for text in e.values()
    ]
    texts += [given["patch"] for name, given in _inner(tool, args) if name == "apply_patch"]
    if sum(len(text.encode()) for text in texts if isinstance(text, str)) > 64 * 1024:
        yield "edits of more than 64 KiB"
    git = fresh.git
    for path in _written(tool, args):
        links = git.links if git else {}
        yield from (f"{path!r} is out of reach" for each in (path, _followed(path, links)) if _closed(each))
    acts = tool in ("finish", "edit_files", "apply_patch", "batch", "run", "submit")
    if acts and (git is None or seen.git is None or (seen.git.head, seen.git.tree) != (git.head, git.tree)):
        yield "it rests on what moved meanwhile"


def _followed(path: str, links: dict[str, str]) -> str:
    for link, target in links.items():
        if path == link or path.startswith(f"{link}/"):
            return posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])
    return path


def _closed(path: str) -> bool:
    clean = posixpath.normpath(path)
    if path.startswith(("/", "~")) or "\\" in path or not path.isprintable() or not clean.startswith("src/"):
        return True
    return any(fnmatchcase(clean.lower(), glob) for glob in CLOSED)


def _deed(tool: str, fresh: Readings) -> Iterator[str]:
    """What must be so on the forge for what is done there, as a person would check it before."""
    now = fresh.items.get("forge")
    if tool not in ("git_push", "git_pull", "pr_open", "pr_update", "pr_merge", "pr_comment", "ci_rerun"):
        return
    if not isinstance(now, ForgeReading):
        yield "the forge could not be read, and something is done there"
        return
    request, pushed = now.request, now.tip == now.sha
    is_open = request is not None and request.state == "open"
    closed = now.opens is not None and tool in ("git_push", "pr_open", "pr_merge")
    lately = [each for each in now.recent or () if each > fresh.at - 3600]
    must = {
        "git_push": now.tip is None or now.holds or (request is not None and request.state == "merged"),
        "git_pull": now.tip is not None and not now.holds,
        "pr_open": pushed and not is_open and now.opened in (0, 1) and not lately,
        "pr_update": is_open,
        "pr_merge": is_open and request is not None and request.head == now.sha and not request.draft
        and all(each.state == "passed" for each in fresh.items.values() if isinstance(each, CiReading)),
        "pr_comment": is_open,
        "ci_rerun": pushed and any(run.failed and run.attempt <= 1 for run in now.runs),
    }  # fmt: skip
    if closed or not must[tool]:
        yield f"{tool} is not to be done as the forge stands"


def _person(
    record: RunRecord, fresh: Readings, staged: Staged, entry: Entry | None, law: Law
) -> Iterator[str]:
    tool, args = staged.tool, staged.args
    if entry is None:
        if tool in ("ask", "request_change") or any(
            _beyond(each, tool, args) for each in law.charter.task.approvals.boundaries
        ):
            yield "it needs a person, and nobody was asked"
        plain, patch = law.charter.schema.plain, staged.transition["state_patch"]
        yield from _overwritten(plain, record.state, staged.candidate, patch)
        if staged.intent is not None or staged.changed is not None:
            yield "what is the user's changes without them"
        return
    since = {"hash", "status", "answer", "decider", "decided", "via"}
    said = entry.model_dump(mode="json", exclude=since)
    patch = _shown(law.charter.schema.plain, staged.transition["state_patch"])
    said["transition"] = staged.transition | {"state_patch": patch}
    if hashlib.sha256(json.dumps(said, **COMPACT).encode()).hexdigest() != entry.hash:
        yield "another action, or patch, than the approved one"
    if entry.status != "approved" or (entry.who and entry.decider not in entry.who):
        yield "nobody who may said yes"
    if entry.expires is not None and fresh.at > entry.expires:
        yield "the approval is out of date"
    for name, then in entry.basis.items():
        git = fresh.git
        if name in ("intent", "unproven criteria"):
            same = (
                True  # the walk never changes what the user wants, or what proves it, while something waits
            )
        elif name.startswith("command "):
            command = law.charter.task.actions.commands.get(name[8:])
            told = json.dumps(command and command.model_dump(mode="json"), **COMPACT)
            same = hashlib.sha256(told.encode()).hexdigest() == then
        elif name == "head":
            same = git is not None and git.head == then
        elif name == "forge request":  # of a merge, the only deed that waits for a person here
            same = isinstance(now := fresh.items.get("forge"), ForgeReading) and now.request is not None
            same = same and then == f"{now.request.number} at {now.request.head}"
        else:
            same = git is not None and name[5:] not in git.changed.get(then, (name[5:],))
        if not same:
            yield f"its basis moved: {name}"


def _beyond(boundary: Any, tool: str, args: Json) -> bool:
    inner, paths = _inner(tool, args), list(_written(tool, args))
    globs = [e for name, given in inner if name == "edit_files" for e in given["edits"] if "glob" in e]
    deleted = sum(
        e["op"] == "delete" for name, given in inner if name == "edit_files" for e in given["edits"]
    ) + sum(each["mode"] == "000000" for each in (args["files"] if tool == "submit" else ()))
    return bool(
        (boundary.tool and boundary.tool in (tool, *(name for name, _ in inner)))
        or (
            boundary.run
            and any(name == "run" and fnmatchcase(given["command"], boundary.run) for name, given in inner)
        )
        or (
            boundary.paths
            and (globs or any(fnmatchcase(posixpath.normpath(p), g) for p in paths for g in boundary.paths))
        )
        or (boundary.deletes is not None and deleted > boundary.deletes)
    )
