"""Five repositories that nobody here wrote, each with a maintenance task and its own tests as the guard."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.scenarios import fetch
from tests.scenarios.fetch import Source
from tests.scenarios.scenario import HERE, Call, by_command, call_controller

Json = dict[str, Any]
UPKEEP = HERE / "upkeep"
RUFF = [
    "check",
    "--isolated",
    "--no-cache",
    "--quiet",
    "--target-version",
    "py310",
    "--output-format",
    "concise",
]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]


@dataclass(frozen=True)
class Repository:
    """`lint` are ruff's arguments, or `grep` a pattern and its pathspecs: what they find is the worklist, and the
    goal is that they find nothing. `python` or `node` is how its own tests are run."""

    source: Source
    goal: str
    scope: tuple[str, ...]
    must_notice: str
    pins: tuple[str, ...]
    lint: tuple[str, ...] = ()
    grep: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    node: str = ""
    may_edit: tuple[str, ...] = ()

    @property
    def finds(self) -> list[str]:
        """The argv whose output is the worklist; exit 1 or 0 tells whether there is any."""
        if self.lint:
            return [sys.executable, "-m", "ruff", *RUFF, *self.lint]
        return ["git", "grep", "-nE", self.grep[0], "--", *self.grep[1:]]

    @property
    def guard(self) -> list[str] | str:
        """Its own tests. No bytecode: a source distribution has no .gitignore."""
        if self.node:
            return f"NODE_PATH='{fetch.modules()}' node --test {self.node}"
        return ["env", "PYTHONDONTWRITEBYTECODE=1", str(fetch.environment()), *self.python]

    def task(self, agent: Json) -> Json:
        """The task file, as JSON."""
        goal = {"pass_exit": [0] if self.lint else [1]}
        return {
            "version": 1,
            "name": self.source.name,
            "goal": self.goal,
            "constraints": ["One item of the worklist a step.", "The behaviour stays as it is."],
            "contract": ".agent-contract",
            "agent": {"use": "command"},
            "agents": {"command": agent},
            "workspace": {"scope": list(self.scope)},
            "sandbox": {"mode": "none"},
            "authorities": {
                "remaining": {
                    "use": "command",
                    "run": self.finds,
                    "ok_exit": [0, 1],
                    "max_bytes": "8KiB",
                    "worklist": True,
                }
            },
            "checks": [
                {"name": "nothing-left", "role": "goal", "run": self.finds, **goal},
                {
                    "name": "tests",
                    "role": "guard",
                    "run": self.guard,
                    "pins": list(self.pins),
                    "may_edit": list(self.may_edit),
                    "must_notice": self.must_notice,
                },
            ],
            "budgets": {"steps": 400, "tokens": 100_000_000, "usd": None},
        }


REPOSITORIES = {
    each.source.name: each
    for each in (
        Repository(
            Source(
                "tinydb", "4.8.2", "sha256:f7dfc39b8d7fda7a1ca62a8dbb449ffd340a117c1206b68c50b1a481fb95181d"
            ),
            goal="The package needs no names of typing that Python 3.10 has itself: list[int], X | None, "
            "collections.abc.",
            scope=("tinydb/**",),
            must_notice="tinydb/table.py",
            pins=("tests/**",),
            lint=(
                *("--select", "UP006,UP007,UP035,UP045,F401", "--per-file-ignores", "__init__.py:F401"),
                "tinydb",
            ),
            python=(*PYTEST, "tests"),
        ),
        Repository(
            Source(
                "pyasn1", "0.4.8", "sha256:aef77c9fb94a3ac588e87841208bdec464471d9871bd5050a287cc9a475cd0ba"
            ),
            goal="An error that is raised while another one is handled names it as its cause: raise … from.",
            scope=("pyasn1/**",),
            must_notice="pyasn1/type/univ.py",
            pins=("tests/**",),
            lint=("--select", "B904", "pyasn1"),
            python=("-m", "unittest", "discover", "-s", "tests", "-t", "."),
        ),
        Repository(
            Source(
                "pyparsing",
                "2.4.7",
                "sha256:c203ec8783bf771a155b207279b9bccb8dea02d8f0c9e5f8ead507bc3246ecc1",
            ),
            goal="Python 3 only: super() is called without arguments.",
            scope=("pyparsing.py",),
            must_notice="pyparsing.py",
            pins=("unitTests.py", "test/**", "examples/**"),
            grep=(r"super\(\w+, ?(self|cls)\)", "pyparsing.py"),
            python=("unitTests.py",),
        ),
        Repository(
            Source(
                "path-browserify",
                "1.0.1",
                "sha512-b7uo2UCUOYZcnF/3ID0lulOJi/bafxa1xPe7ZPsammBSpjSWQkjNxlt635YGS2MiR9GjvuXCtz2emr3jbsz98g==",
                "npm",
            ),
            goal="Variables are declared by let and const.",
            scope=("index.js",),
            must_notice="index.js",
            pins=("test/**", "package.json"),
            grep=(r"\bvar\b", "index.js"),
            node="test/test-*.js",
        ),
        Repository(
            Source(
                "bl",
                "1.1.2",
                "sha512-uVVYHEQk+OuWvCi5U+iquVXvvGCWXKawjwELIR2XMLsqfV/e2sGDClVBs8OlGIgGsStPRY/Es311YKYIlYCWAg==",
                "npm",
            ),
            goal="Nothing calls new Buffer, which Node has deprecated: Buffer.from and Buffer.alloc say what is meant.",
            scope=("*.js", "test/**"),
            must_notice="bl.js",
            pins=("package.json",),
            may_edit=("test/**",),
            grep=(r"new Buffer\(", "*.js"),
            node="test/test.js",
        ),
    )
}


Working = Literal[
    "view", "none", "noted"
]  # what keeps the agent's working set: views, nothing, or its own notes


class Upkeep:
    """One task in a folder of its own; `blind` is the control."""

    def __init__(
        self, repository: Repository, folder: Path, working: Working = "view", blind: bool = False
    ) -> None:
        self.repository = repository
        self.root = fetch.checkout(folder / "checkout", repository.source)
        self.home, self.prompts = folder / "home", folder / "prompts"
        self.home.mkdir()
        self.prompts.mkdir()
        agent = by_command(UPKEEP, str(self.prompts), *(["blind"] if blind else []))
        (self.root / "task.yaml").write_text(json.dumps(repository.task(agent)))
        (self.root / ".agent-contract").mkdir()
        (self.root / ".agent-contract" / "state.schema.json").write_text(json.dumps(_schema(working)))
        self.branch = f"skill-state/{repository.source.name}"

    def controller(self, *words: str) -> Call:
        """`controller WORDS` in the checkout."""
        return call_controller(self.root, self.home, *words)

    def git(self, *words: str) -> str:
        """What git prints in the checkout."""
        return fetch.git(self.root, *words).strip()

    def items(self) -> list[str]:
        """What there is to do at the start: `path:line`, each once."""
        done = subprocess.run(self.repository.finds, cwd=self.root, capture_output=True, text=True)
        places = [re.match(r"(\S+?:\d+):", line) for line in done.stdout.splitlines()]
        return list(dict.fromkeys(place[1] for place in places if place))


def _schema(working: Working) -> Json:
    schema: Json = json.loads((UPKEEP / "state.schema.json").read_text())
    if working != "view":
        field = schema["properties"].pop("view")
        schema["required"].remove("view")
    if working == "noted":
        schema["properties"]["ranges"] = field | {"description": "File ranges that are needed again."}
        schema["required"].append("ranges")
    return schema
