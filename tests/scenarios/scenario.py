"""One scenario: a checkout with its task file, worked on by the real controller, and what is there afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from tests.agents.binaries import claude_binary, codex_binary, node_binary, pi_script
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL, DUMMY_KEY, PI_MODEL
from tests.scenarios import fetch

Json = dict[str, Any]
HERE = Path(__file__).resolve().parent
POLICY = HERE / "policy"
PYTHON2 = r"^from __future__|class .*\(.*object\):|sys\.version_info|\bPY2\b"


@dataclass(frozen=True)
class Call:
    """A call of the controller that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Json]:
        """Standard output as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def outcome(self) -> str | None:
        """The outcome that the last line tells."""
        found: str | None = self.lines[-1]["outcome"]
        return found


class Scenario:
    """`task` is drop-six or drop-python2, `folder` an empty folder for it, `url` a model gateway's, `environ` what the
    controller finds in its environment beside the usual."""

    def __init__(
        self, task: str, folder: Path, url: str = "", agents: Json | None = None, environ: Json | None = None
    ) -> None:
        self.task, self.folder, self.environ = task, folder, environ or {}
        self.branch = f"skill-state/{task}"
        self.root = fetch.checkout(folder / "checkout")
        self.home = folder / "home"
        self.home.mkdir()
        self.prompts = folder / "prompts"
        self.prompts.mkdir()
        mine = {"command": by_command(POLICY, str(self.prompts))}
        values = {
            "AGENTS": json.dumps(agents or mine | (real_agents(url) if url else {})),
            "PYTHON": sys.executable,
            "WHEELS": str(fetch.wheels()),
            "PINS": str(fetch.PINS),
            "PYTHON2": json.dumps(PYTHON2),
        }
        text = Template((HERE / f"{task}.yaml").read_text()).safe_substitute(values)
        (self.root / "task.yaml").write_text(text)
        if "contract:" in text:
            schema = (HERE / "contract" / "state.schema.json").read_text()
            (self.root / ".agent-contract").mkdir()
            (self.root / ".agent-contract" / "state.schema.json").write_text(schema)

    def controller(self, *words: str) -> Call:
        """`controller WORDS` in the checkout."""
        return call_controller(self.root, self.home, *words, environ=self.environ)

    def git(self, *words: str) -> str:
        """What git prints in the checkout."""
        return fetch.git(self.root, *words).strip()

    def hits(self, revision: str, pattern: str, *paths: str) -> list[str]:
        """The lines of a revision that match an extended regular expression."""
        words = ("grep", "-E", pattern, revision, "--", *paths)
        return fetch.git(self.root, *words, may_fail=True).splitlines()

    @property
    def tree(self) -> str:
        """The tree of the run's branch."""
        return self.git("rev-parse", f"{self.branch}^{{tree}}")

    @property
    def state(self) -> Json:
        """Σ as it stands."""
        call = self.controller("state", "export")
        assert call.code == 0, call.err
        found: Json = json.loads(call.out)["state"]
        return found

    @property
    def bounds(self) -> dict[str, int]:
        """The largest request of each agent, in bytes, as `validate` prints it."""
        return {
            each["agent"]: each["request_bytes"]
            for each in self.controller("validate", "--json").lines[-1]["agents"]
        }

    @property
    def audit(self) -> list[Json]:
        """The rows of the audit."""
        return self.controller("log", "--json").lines


def call_controller(folder: Path, home: Path, *words: str, environ: Json | None = None) -> Call:
    """`controller WORDS` in a folder, with nothing of this machine's environment but the PATH, and `environ`."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    env |= {"ANTHROPIC_API_KEY": DUMMY_KEY, "CODEX_API_KEY": DUMMY_KEY, **(environ or {})}
    done = subprocess.run(
        [sys.executable, "-m", "controller", *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,  # far more than any of them needs: a hang is a failure with a name
    )
    return Call(done.returncode, done.stdout, done.stderr)


def by_command(script: Path = POLICY, *words: str) -> Json:
    """The entry of an agent that is a program: a fresh process for each step."""
    return {"kind": "command", "run": [sys.executable, "-I", str(script), *words]}


def real_agents(url: str) -> Json:
    """The entries of the real binaries, whose model is the gateway at `url`."""
    price = {"input": 1, "cached": 0.1, "output": 5}
    claude = {"model": CLAUDE_MODEL, "base_url": url, "options": {"cli": str(claude_binary())}}
    codex = {
        "model": CODEX_MODEL,
        "base_url": f"{url}/v1",
        "price": price,
        "options": {"cli": str(codex_binary())},
    }
    local = {"kind": "openai-compatible", "model": "small", "base_url": f"{url}/v1", "price": price}
    pi = {
        "model": PI_MODEL,
        "base_url": f"{url}/v1",
        "api_key_env": "CODEX_API_KEY",
        "price": price,
        "options": {"api": "openai-completions", "cli": str(pi_script()), "node": str(node_binary())},
    }
    entries = {"claude": claude, "codex": codex, "pi": pi, "local": local}
    return {name: {"auth": "api-key", **entry} for name, entry in entries.items()}
