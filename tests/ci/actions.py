"""A small runner of GitHub Actions: what it takes for commands in a log, its files, and the steps of a composite action
or a job, each with bash as GitHub starts it. The parsers follow the published runner's, the lenient parts too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

COMMANDS = (
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice",
    "remove-matcher", "save-state", "set-env", "set-output", "stop-commands", "warning",
)  # fmt: skip
SUMMARY = 1024 * 1024
ROOT = Path(__file__).resolve().parents[2]
# What a culture-sensitive search, which the runner's is, does not see.
IGNORED = re.compile("[\u00ad\u034f\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


@dataclass(frozen=True)
class Command:
    """A workflow command as the runner understood it."""

    name: str
    properties: dict[str, str]
    data: str


def commands(log: str) -> list[Command]:
    """Every command that the runner finds in a log."""
    return [found for line in log.split("\n") if (found := _newer(line) or _older(line))]


def _newer(line: str) -> Command | None:
    """`::name key=value::data`, after any blanks."""
    line = IGNORED.sub("", line).lstrip()
    if not line.startswith("::") or (end := line.find("::", 2)) < 0:
        return None
    name, _, said = line[2:end].partition(" ")
    pairs = [pair.split("=", 1) for pair in said.strip().split(",") if pair]
    properties = {
        pair[0]: _unescaped(pair[1], ("%3A", ":"), ("%2C", ",")) for pair in pairs if len(pair) == 2
    }
    return Command(name, properties, _unescaped(line[end + 2 :])) if name in COMMANDS else None


def _older(line: str) -> Command | None:
    """`##[name key=value;]data`, anywhere in the line."""
    line = IGNORED.sub("", line)
    found = re.search(r"##\[([^\] ]*)([^\]]*)\](.*)", line)
    return Command(found[1], {}, found[3]) if found and found[1] in COMMANDS else None


def _unescaped(text: str, *more: tuple[str, str]) -> str:
    for escape, char in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(escape, char)
    return text


def env_file(text: str) -> dict[str, str]:
    """$GITHUB_OUTPUT and $GITHUB_ENV: `name=value` and `name<<END`. Raises ValueError as the runner fails the step."""
    lines = text.split("\n")
    values: dict[str, str] = {}
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        here, equals = line.find("<<"), line.find("=")
        if equals >= 0 and not 0 <= here < equals:
            name, _, values[line[:equals]] = line.partition("=")
        elif here > 0 and line[here + 2 :]:
            name, end = line[:here], line[here + 2 :]
            if end not in lines:
                raise ValueError(f"the end {end!r} of {name} is missing")
            at = lines.index(end)
            values[name] = "\n".join(lines[:at])
            del lines[: at + 1]
        else:
            raise ValueError(f"not understood: {line!r}")
    return values


@dataclass
class Step:
    """A step that was run."""

    id: str
    code: int
    log: str
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    @property
    def commands(self) -> list[Command]:
        return commands(self.log)


@dataclass
class Job:
    """What is run in `workspace`, the checkout, with `env` as the whole environment. `temp` is $RUNNER_TEMP, `token`
    the job's own."""

    workspace: Path
    temp: Path
    env: Mapping[str, str]
    token: str = ""
    ran: list[Step] = field(default_factory=list)

    def action(self, folder: Path, given: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        """The composite action of `folder` with the inputs `given`: (exit code of the failed step or 0, outputs)."""
        action = load(folder / "action.yml")
        if alien := set(given) - set(action["inputs"]):
            raise ValueError(f"the action has no input {sorted(alien)}")
        known: dict[str, Any] = {"github": {"action_path": str(folder), "token": self.token}, "steps": {}}
        known["inputs"] = {
            name: str(given[name]) if name in given else evaluated(str(said.get("default", "")), known)
            for name, said in action["inputs"].items()
        }
        failed = self.steps(action["runs"]["steps"], known)
        return failed, {name: evaluated(said["value"], known) for name, said in action["outputs"].items()}

    def steps(self, steps: list[dict[str, Any]], known: dict[str, Any]) -> int:
        """The `run:` steps, until one fails."""
        for number, said in enumerate(steps):
            if "if" in said and evaluated("${{ " + said["if"] + " }}", known) != "true":
                continue
            env = {name: evaluated(str(value), known) for name, value in (said.get("env") or {}).items()}
            step = self.run(str(said.get("id", number)), evaluated(said["run"], known), env)
            known["steps"][step.id] = {"outputs": step.outputs}
            if step.code:
                return step.code
        return 0

    def run(self, id: str, script: str, env: Mapping[str, str] | None = None) -> Step:
        """One script, as `shell: bash`."""
        files = {
            name: self.temp / f"{name}_{len(self.ran)}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        for path in files.values():
            path.touch()
        path = self.temp / f"step_{len(self.ran)}.sh"
        path.write_text(script)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(path)],
            cwd=self.workspace,
            env={
                **self.env,
                "CI": "true",
                "GITHUB_ACTIONS": "true",
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temp),
                **{name: str(path) for name, path in files.items()},
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        )
        summary = files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        assert len(summary.encode()) <= SUMMARY, "the runner takes none of it"
        outputs = env_file(files["GITHUB_OUTPUT"].read_text("utf-8"))
        step = Step(id, done.returncode, done.stdout.decode("utf-8", "replace"), outputs, summary)
        self.ran.append(step)
        return step


def load(path: Path) -> Any:
    """A YAML file as plain values. (`on:` stays a word: YAML 1.2.)"""
    return YAML(typ="safe", pure=True).load(path.read_text("utf-8"))


def evaluated(text: str, known: Mapping[str, Any]) -> str:
    """A text with its `${{ }}` filled in: names, texts, `==`, `!=` and `||`. Raises ValueError for more."""

    def value(said: str) -> str:
        if found := re.fullmatch(r"'([^']*)'", said):
            return found[1]
        if not re.fullmatch(r"[\w.-]+", said):
            raise ValueError(f"more than this runner knows: {said}")
        found: Any = known
        for part in said.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return str(found)

    def one(match: re.Match[str]) -> str:
        for said in match[1].split("||"):
            left, how, right = re.fullmatch(r"\s*(.+?)\s*(?:(==|!=)\s*(.+?)\s*)?", said).groups()  # type: ignore[union-attr]
            told = value(left) if not how else str((value(left) == value(right)) == (how == "==")).lower()
            if told not in ("", "false"):
                return told
        return told

    return re.sub(r"\$\{\{(.*?)\}\}", one, text)


def with_controller(folder: Path) -> str:
    """What goes before PATH so that `controller` is the one under test; a program of that name is put into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "controller"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m controller "$@"\n')
    program.chmod(0o755)
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent)])


def clean_env(home: Path, *, path: str = "") -> dict[str, str]:
    """The environment of a runner: nothing of the caller's, an empty home."""
    usual = os.pathsep.join(each for each in (path, "/usr/local/bin", "/usr/bin", "/bin") if each)
    return {"PATH": usual, "HOME": str(home), "LANG": "C.UTF-8"}
