"""`init`: a task.yaml for the repository around, from what can be seen of it. Overwrites nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from contracts.base import JsonObject
from contracts.errors import ConfigError, ControllerError
from contracts.state import BUILTIN, StateSchema
from controller.assemble import builtin_skill
from controller.contract_folder import INTENT, SKILL, STATE_SCHEMA
from controller.surfaces.detect import Line, Payer, Project, payers, project
from controller.surfaces.locate import TASK_FILE, load
from controller.surfaces.outlook import TEMPLATE, test_globs, untouched
from controller.surfaces.prove import prove_checks
from controller.surfaces.validate import inspect
from controller.surfaces.words import plain
from tool_adapters.git import Repo
from tool_adapters.gitdir import GitDir
from tool_adapters.sandbox_box import Found, Refused
from tool_adapters.sandbox_probe import find_sandbox

CONTRACT = ".agent-contract"
TEMPLATES = BUILTIN
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "pi": "@earendil-works/pi-coding-agent",
}
LAYOUTS = ("full", "compact", "paper")
NO_GOAL = "Say here what shall be reached, in your own words."
# Said where pinned tests that are proved to notice a broken file hold whatever an agent does.
DELEGATE = "  # it may edit by itself with tests like these: explore: delegate here, when: edit below (docs/agents.md)"
NOT_DONE = "echo 'task.yaml: check `done` needs a command that exits 0 when the goal is reached'; exit 1"
_BARE = re.compile(r"[A-Za-z./-][A-Za-z0-9_./-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null", "-", ".", "---", "...")
WORKLIST = "echo 'task.yaml: a command that prints one line for each item that is left'"


@dataclass(frozen=True)
class Wishes:
    """What the user said on the command line; None: find out."""

    name: str | None
    goal: str
    template: str
    layout: str
    agent: str | None
    test: str | None
    done: str | None
    contract: bool
    prove: bool


def init(wishes: Wishes) -> int:
    """Write task.yaml (and the contract folder), look at it, prove its checks, name the next command. 0, or 3
    when the checks could not be proven. Raises ConfigError where nothing can be written."""
    here = Path.cwd()
    base, top = _preflight(wishes, here)
    seen = project(here)
    payer = _payer(wishes.agent)
    with_contract = wishes.contract or wishes.template != "coding"
    inner = here.resolve().relative_to(top.resolve()).as_posix()
    listed = Repo(top).reader().files()
    files = [
        path.removeprefix(f"{inner}/") for path in listed if inner == "." or path.startswith(f"{inner}/")
    ]
    repo = os.path.relpath(top, here.resolve())
    box = find_sandbox(os.environ)
    boxed = not isinstance(box, Refused)
    text = task_text(wishes, seen, payer, base, with_contract, repo, test_globs(files), boxed)
    written = [TASK_FILE]
    if with_contract:
        written += _write_contract(wishes)
    Path(TASK_FILE).write_text(text, "utf-8")
    print(f"wrote {', '.join(written)}: {seen.language} project, base {base}, agent {payer.agent}")
    print(_said_of(box))
    if payer.missing:
        print(f"agent {payer.agent} lacks a credential: {payer.missing}")
    if seen.test is None and not wishes.test:
        print("no test command was recognised: add a check with role: guard")
    return _proven(wishes)


def _said_of(box: Found | Refused) -> str:
    if isinstance(box, Refused):
        return f"sandbox: none: commands and checks run with your rights ({box.reason}; {box.install})"
    return f"sandbox: {box}: commands and checks see the worktree and the system's programs, and write nowhere else"


def _preflight(wishes: Wishes, here: Path) -> tuple[str, Path]:
    """The branch to start from and the top of the checkout. Raises ConfigError."""
    if wishes.template not in TEMPLATES:
        raise ConfigError(
            f"there is no template {wishes.template!r}", hint=f"there are {', '.join(TEMPLATES)}"
        )
    if wishes.layout not in LAYOUTS:
        raise ConfigError(f"there is no layout {wishes.layout!r}", hint=f"there are {', '.join(LAYOUTS)}")
    if wishes.name is not None and not re.fullmatch(r"[a-z0-9-]{1,40}", wishes.name):
        raise ConfigError(f"{wishes.name!r} is no name for a task", hint="a-z, 0-9 and -, at most 40")
    for path in (TASK_FILE, CONTRACT) if wishes.contract or wishes.template != "coding" else (TASK_FILE,):
        if Path(path).exists() or Path(path).is_symlink():
            raise ConfigError(
                f"{path} is there already: nothing was written", hint="edit it, or remove it first"
            )
    place = GitDir.around(here.resolve())
    if place is None or place.root is None:
        raise ConfigError(
            "this is not a Git checkout", hint="run `git init` and commit something", where=str(here)
        )
    head = place.ref("HEAD")
    if head is None:
        raise ConfigError(
            "the repository has no commits", hint="commit something first", where=str(place.root)
        )
    return place.branch() or head, place.root


def _payer(wanted: str | None) -> Payer:
    if wanted == "command":
        return Payer("mine", {"kind": "command", "run": ["python3", "agent.py"]}, "none")
    found = list(payers(os.environ))
    for payer in found:
        if wanted in (None, payer.agent):
            return payer
    if wanted is not None and wanted not in PACKAGES:
        raise ConfigError(f"there is no agent {wanted!r}", hint=f"{', '.join(PACKAGES)}, or command")
    name = wanted or "claude"
    settings = {"auth": "subscription"} if name == "claude" else {"auth": "api-key"}
    return Payer(name, settings, "", f"`{name}` is not on the PATH: npm install -g {PACKAGES[name]}")


def _proven(wishes: Wishes) -> int:
    loaded = load(None)
    report = inspect(loaded)
    problems = [each for each in report.problems if TEMPLATE not in each]  # the goal is what comes next
    for problem in problems:
        print(plain(f"problem: {problem}"))
    if problems:
        print(f"next: mend {TASK_FILE}, then `controller validate`")
        return 3
    if wishes.prove:
        try:
            for name, noticed in prove_checks(loaded).noticed.items():
                print(f"check {name}: " + ("proven to see the worktree" if noticed else "can be read"))
        except ControllerError as error:
            print(plain(f"the checks are not proven: {error}"))
            print(f"next: mend {TASK_FILE}, then `controller validate --prove-checks`")
            return 3
    lists = [f"list `{where[1]}`" for where, _ in untouched(loaded) if where[0] == "authorities"]
    asked = [("goal", wishes.goal), ("check `done`", wishes.done), *((each, "") for each in lists)]
    missing = [word for word, given in asked if not given]
    if missing:
        print(f"next: write the {' and the '.join(missing)} in {TASK_FILE}, then `controller run`")
    else:
        print("next: controller run")
    return 0


# ---- the file ---------------------------------------------------------------------------------------------
def task_text(
    wishes: Wishes,
    seen: Project,
    payer: Payer,
    base: str,
    with_contract: bool,
    repo: str = ".",
    pins: Sequence[str] = (),
    boxed: bool = True,
) -> str:
    """The text of task.yaml. Read back at once by `init`."""
    test: Line | None = wishes.test or seen.test
    goal = f"contract: {CONTRACT}" if with_contract else f"goal: {_value(wishes.goal or NO_GOAL)}"
    parts = [
        "# A maintenance task. `controller validate` looks at it, `controller run` carries it through.",
        "# What may stand here: `controller schema task`.",
        "version: 1",
        f"name: {wishes.name or _name(Path.cwd().name)}",
        goal,
        f"agent: {{use: {payer.agent}}}          # `controller run --agent NAME` takes another one",
        "agents:",
        f"  {payer.agent}: {_value(payer.settings)}",
        *([DELEGATE] if boxed and test and seen.vital and pins else []),
        "workspace:",
        *([f"  repo: {_value(repo)}"] if repo != "." else []),
        f"  base: {_value(base)}",
        '  scope: ["**"]               # what may be changed',
        *_setup(seen),
        "sandbox: {mode: required}     # commands and checks see the worktree, write nowhere else, have no network"
        if boxed
        else "sandbox: {mode: none}         # commands and checks run with your rights",
    ]
    if wishes.template in ("batch", "warehouse", "repository"):
        parts += [
            "authorities:",
            f"  remaining: {_value({'use': 'command', 'run': WORKLIST, 'worklist': True})}",
        ]
    if test is not None:
        parts += [
            "actions:",
            "  commands:                   # what the agent may run",
            f"    test: {_value({'run': test, 'timeout': '15m'})}",
        ]
    parts += _checks(wishes.done, test, seen.vital, pins)
    if wishes.layout != "full":
        parts.append(f"layout: {wishes.layout}")
    parts.append("budgets: {steps: 50, tokens: 1500000, usd: 10, wall: 4h, rejections: 5}")
    return "\n".join(parts) + "\n"


def _checks(done: str | None, test: Line | None, vital: str | None, pins: Sequence[str]) -> list[str]:
    lines = [
        "checks:                       # the only way to be done",
        "  - name: done                # a goal: red now, green when done",
        "    role: goal",
        f"    run: {_value(done or NOT_DONE)}",
    ]
    if test is None:
        return lines
    lines += [
        "  - name: tests               # a guard: green now, must stay green",
        "    role: guard",
        f"    run: {_value(test)}",
    ]
    if vital:
        lines.append(f"    must_notice: {_value(vital)}   # broken on purpose once: the check must see it")
    if pins:
        lines.append(f"    pins: {_value(pins)}   # may_edit: [...] releases tests that have to change")
    return lines


def _setup(seen: Project) -> list[str]:
    if not seen.setup:
        return []
    lines = [
        "  setup:                      # makes a fresh worktree usable; nothing of your checkout is linked in"
    ]
    lines.append("    run:")
    lines += [f"      - {_value(line)}" for line in seen.setup]
    if seen.when:
        lines.append(f"    when: {_value(list(seen.when))}")
    lines.append("    network: true")
    return lines


def _value(value: object) -> str:
    """YAML in flow style; text is left bare only where YAML can't take it for anything else."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _name(text: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:40] or "task"


def _write_contract(wishes: Wishes) -> list[str]:
    """The contract folder of a template: intent, skill, state schema."""
    folder = Path(CONTRACT)
    folder.mkdir()
    intent: JsonObject = {
        "version": 1,
        "goal": wishes.goal or NO_GOAL,
        "success_criteria": [],
        "constraints": [],
    }
    texts = {
        INTENT: json.dumps(intent, indent=2, ensure_ascii=False) + "\n",
        SKILL: _skill(wishes.template, wishes.layout),
        STATE_SCHEMA: json.dumps(StateSchema.builtin(wishes.template).source, indent=2, ensure_ascii=False)
        + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    return [f"{CONTRACT}/{name}" for name in texts]


def _skill(template: str, layout: str) -> str:
    if template in ("coding", "batch"):
        return builtin_skill(template, layout)
    return resources.files("controller").joinpath("templates", template, SKILL).read_text("utf-8")
