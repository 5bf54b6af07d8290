"""GitHub's published OpenAPI description, pinned, cut down to what is used here, and a validator of answers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, VERSION = "@octokit/openapi", "23.0.2"
INTEGRITY = "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
FORM = 2  # of what is kept of it: the next number when `_cut` changes
MEMBER = "package/generated/api.github.com.json"
REPO = "/repos/{owner}/{repo}"
PATHS = (  # of GET
    f"{REPO}/commits/{{ref}}",
    f"{REPO}/commits/{{ref}}/check-runs",
    f"{REPO}/commits/{{ref}}/status",
    f"{REPO}/commits/{{commit_sha}}/pulls",
    f"{REPO}/commits/{{commit_sha}}/branches-where-head",
    f"{REPO}/actions/runs",
    f"{REPO}/actions/runs/{{run_id}}/jobs",
    f"{REPO}/pulls/{{pull_number}}",
    f"{REPO}/pulls/{{pull_number}}/reviews",
    f"{REPO}/rules/branches/{{branch}}",
    f"{REPO}/branches/{{branch}}",
    f"{REPO}/activity",
    f"{REPO}/issues",
    f"{REPO}/issues/{{issue_number}}",
    f"{REPO}/issues/{{issue_number}}/comments",
    f"{REPO}/pulls",
    f"{REPO}/deployments",
    f"{REPO}/deployments/{{deployment_id}}/statuses",
)


WRITES = (
    f"POST {REPO}/pulls",
    f"PATCH {REPO}/pulls/{{pull_number}}",
    f"PUT {REPO}/pulls/{{pull_number}}/merge",
    f"POST {REPO}/issues/{{issue_number}}/comments",
    f"POST {REPO}/actions/runs/{{run_id}}/rerun-failed-jobs",
)


class DescriptionMissing(RuntimeError):
    """The pinned description could not be fetched; the text says what was tried."""


def mismatch(path: str, status: int, body: Any) -> str | None:
    """Why an answer is not what GitHub's description says of GET `path` (or `METHOD path`); None when it is."""
    validator = _validators().get((path, str(status)))
    if validator is None:
        return f"the description has no answer {status} of {path}"
    error = next(iter(validator.iter_errors(body)), None)
    return (
        None
        if error is None
        else f"{path} {status}: {'/'.join(map(str, error.instance_path))}: {error.message}"[:600]
    )


def unasked(path: str, body: Any) -> str | None:
    """Why the body of a request is not what the description says of `METHOD path`; None when it is. What it does not
    know of is not let pass either."""
    schema = _description()["bodies"][path]
    schema = next((each for each in schema.get("anyOf", ()) if "properties" in each), schema)
    components = _description()["components"]
    if alien := set(body or {}) - set(schema.get("properties", ())):
        return f"{path} takes no {sorted(alien)}"
    validator = jsonschema_rs.Draft4Validator({**schema, "components": components})
    error = next(iter(validator.iter_errors(body or {})), None)
    return (
        None if error is None else f"{path}: {'/'.join(map(str, error.instance_path))}: {error.message}"[:600]
    )


def parameters(path: str) -> set[str]:
    """The names of the query parameters that GET `path` has."""
    return set(_description()["parameters"][path])


@cache
def _validators() -> dict[tuple[str, str], Any]:
    described = _description()
    components = described["components"]
    return {
        (path, status): jsonschema_rs.Draft4Validator({**schema, "components": components})
        for path, answers in described["answers"].items()
        for status, schema in answers.items()
    }


@cache
def _description() -> dict[str, Any]:
    """What is used of it: answers (path -> status -> schema), bodies of requests, parameters, and the schemas that they
    name."""
    stamp = hashlib.sha256(json.dumps([INTEGRITY, PATHS, WRITES, FORM]).encode()).hexdigest()[:16]
    kept = ROOT / ".cache" / "forge" / f"github-{stamp}.json"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        data = orjson.dumps(_cut(orjson.loads(_fetched())))
        with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as new:
            new.write(data)
        Path(new.name).replace(kept)
    found: dict[str, Any] = orjson.loads(kept.read_bytes())
    return found


def _fetched() -> bytes:
    """The description's bytes, from the package registry, its integrity verified."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["npm", "pack", f"{PACKAGE}@{VERSION}", "--ignore-scripts", "--silent"],
            cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(found) != 1:
            raise DescriptionMissing(
                f"npm pack {PACKAGE}@{VERSION} (needs npm and a registry): {done.stderr}"
            )
        digest = base64.b64encode(hashlib.sha512(found[0].read_bytes()).digest()).decode()
        if f"sha512-{digest}" != INTEGRITY:
            raise DescriptionMissing(f"{PACKAGE}@{VERSION} is not the pinned one: sha512-{digest}")
        with tarfile.open(found[0]) as archive:
            member = archive.extractfile(MEMBER)
            assert member is not None
            return member.read()


def _cut(whole: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    named: dict[str, Any] = {}
    bodies: dict[str, Any] = {}
    for path in (*PATHS, *WRITES):
        method, _, place = path.rpartition(" ")
        described = whole["paths"][place][method.lower() or "get"]
        answers[path] = {}
        if "requestBody" in described:
            bodies[path] = _plain(described["requestBody"]["content"]["application/json"]["schema"])
        for status, answer in described["responses"].items():
            answer = _resolved(whole, answer)
            if "application/json" in answer.get("content", {}):
                answers[path][status] = _plain(answer["content"]["application/json"]["schema"])
        named[path] = [_resolved(whole, each)["name"] for each in described["parameters"]]
    schemas: dict[str, Any] = {}
    left = _refs([answers, bodies])
    while left:
        name = left.pop()
        if name not in schemas:
            schemas[name] = _plain(whole["components"]["schemas"][name])
            left |= _refs(schemas[name])
    return {"answers": answers, "bodies": bodies, "parameters": named, "components": {"schemas": schemas}}


def _resolved(whole: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = whole
    for part in node["$ref"].split("/")[1:]:
        found = found[part]
    return dict(found)


def _plain(node: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: `nullable` becomes a null; what only documents is dropped."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {
        key: _plain(value)
        for key, value in node.items()
        if key not in ("example", "examples", "discriminator", "xml", "externalDocs", "nullable")
        or (key in ("example", "examples") and isinstance(value, dict) and "type" in value)
    }
    if node.get("nullable") is True:
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        made = {"anyOf": [made, {"type": "null"}, {"enum": [None]}]}
    return made


def _refs(node: Any) -> set[str]:
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(node)))


def shaped(name: str, /, **values: Any) -> dict[str, Any]:
    """An object of schema `name` with `values` laid over the least that the description asks for."""
    schemas = _description()["components"]["schemas"]
    schema = schemas[name]
    options = schema.get("anyOf", [])  # of one that may be null, the other
    schema = options[0] if {"type": "null"} in options else schema
    made: dict[str, Any] = _over(_least(schema, schemas), values)
    return made


def _least(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _least(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return None if {"type": "null"} in options else _least(options[0], schemas)
    if "allOf" in schema:
        made: dict[str, Any] = {}
        for each in schema["allOf"]:
            made |= _least(each, schemas)
        return made
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        described = schema.get("properties", {})
        return {key: _least(described.get(key, {}), schemas) for key in schema.get("required", ())}
    formats = {"date-time": "2026-01-01T00:00:00Z", "uri": "https://example.org/", "email": "a@example.org"}
    text = formats.get(schema.get("format", ""), "x" * max(1, schema.get("minLength", 1)))
    return {"array": [], "string": text, "integer": 1, "number": 1.0, "boolean": False}[kind]


def _over(least: Any, values: Any) -> Any:
    if not isinstance(least, dict) or not isinstance(values, dict):
        return values
    return least | {key: _over(least.get(key), value) for key, value in values.items()}
