"""task.yaml from disk: every fault is named with its place; nothing is read as what it does not say."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError
from contracts.task import NO_GOAL
from controller.taskfile import LoadedTask, TaskFileError, effective, read_task

GOOD = """\
# yaml-language-server: $schema=./task.schema.json
version: 1
name: drop-six
goal: no six
agent: {use: claude}
workspace: {base: main, setup: {run: [[make, deps]]}}
checks:
  - {name: red, role: goal, run: [make, test]}
"""

# Every key of the grammar, with every form of value that it takes.
FULL = """\
version: 1
name: drop-six
contract: .agent-contract
agent: {use: claude, fallback: [codex]}
agents:
  claude:
    model: claude-x
    auth: subscription
    token_env: CLAUDE_CODE_OAUTH_TOKEN
    explore: none
    timeout: 10m
    idle: 2m
    prespawn: false
  codex:
    model: gpt-x
    auth: subscription
    auth_file: ~/.codex/auth.json
    price: {input: 0, cached: 0, output: 0}
  mine: {kind: command, run: [python3, policy.py]}
  gate: {kind: claude, auth: gateway, base_url: "http://localhost:1", api_key_env: K, options: {a: [1]}}
workspace:
  repo: .
  base: main
  branch: skill-state/{name}
  path: .agent-runtime/work/{name}
  author: "skill-state <noreply@localhost>"
  allow_secrets: []
  scope: ["src/**", "tests/**", setup.cfg]
  protected: [".github/**"]
  setup:
    run:
      - [python3, -m, venv, .venv]
      - make deps
    when: [setup.cfg]
    network: true
    timeout: 10m
  copy: [local.cfg]
sandbox: {mode: required, read: [/usr/lib/go]}
authorities:
  remaining: {use: command, run: [git, grep, six], ok_exit: [0, 1], max_bytes: 2KiB, worklist: true}
  tree: {use: git}
actions:
  allow: [read_files, list_files, search, edit_files, apply_patch, batch, run, ask, finish]
  commands:
    test_file:
      run: [python, -m, pytest, -q, "{path}"]
      params: {path: {pattern: "^tests/[a-z_/]+\\\\.py$"}}
      timeout: 5m
      must: any
      effects: []
      probe: []
      network: false
    lint:
      run: "ruff check {what} && true"
      params: {what: {enum: [src, tests]}}
      must: pass
      effects: [mail]
      probe: [p]
checks:
  - {name: no-six, role: goal, run: [git, grep, -qw, six], pass_exit: [1]}
  - name: tests
    role: guard
    run: [python, -m, pytest, -q]
    min_tests: 2031
    pins: ["tests/**"]
    may_edit: ["tests/test_*.py"]
    must_notice: src/tz.py
    baseline: green
    when: finish
    timeout: 15m
budgets: {steps: 80, tokens: 1500000, usd: 10, wall: 4h, rejections: 5, usd_per_day: 20}
limits: {observation: 24KiB, view: 16KiB, state: 16KiB}
approvals: {boundaries: [git_push, pr_merge], on_blocked: wait, expire: 24h}
commit_mode: staged
layout: full
store: {use: sqlite}
repeat: never
"""


def write(folder: Path, text: str | bytes, name: str = "task.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder: Path, text: str | bytes, **more: Any) -> LoadedTask:
    return read_task(write(folder, text), **more)


def refused(folder: Path, text: str | bytes, **more: Any) -> tuple[str, ...]:
    with pytest.raises(TaskFileError) as caught:
        load(folder, text, **more)
    return caught.value.problems


def test_a_good_file_loads_with_its_places(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD)
    assert found.task.name == "drop-six"
    assert found.base_dir == tmp_path.resolve()
    assert found.where("checks", 0, "role") == "task.yaml:8:23"
    assert found.positions["agent", "use"] == (5, 14)
    assert str(found.error("wrong", "name", hint="mend it")) == "task.yaml:3:7: wrong (mend it)"


def test_every_key_of_the_grammar_loads(tmp_path: Path) -> None:
    task = load(tmp_path, FULL).task
    assert task.actions.commands["test_file"].filled({"path": "tests/a.py"})[-1] == "tests/a.py"
    assert task.actions.commands["lint"].filled({"what": "src"}) == "ruff check src && true"
    assert task.workspace.setup.run == (("python3", "-m", "venv", ".venv"), "make deps")
    assert task.workspace.copy_in == ("local.cfg",)
    assert task.agents["gate"].options == {"a": [1]}
    assert task.checks[1].timeout == 900.0


@pytest.mark.parametrize("text", [GOOD, FULL])
def test_the_effective_task_loads_again_as_the_same(tmp_path: Path, text: str) -> None:
    found = load(tmp_path, text)
    shown = effective(found.task)
    again = load(tmp_path, json.dumps(shown))
    assert effective(again.task) == shown
    assert (again.task.checks, again.task.budgets) == (found.task.checks, found.task.budgets)
    assert shown["workspace"]["branch"] == "skill-state/drop-six"
    assert shown["agents"]["claude"]["kind"] == "claude"


def test_all_faults_are_named_at_once_in_file_order(tmp_path: Path) -> None:
    text = (
        "version: 1\nname: Drop\nagent: {use: claude, fallbck: []}\nmax_step: 3\n"
        "budgets: {steps: '3', wall: soon}\ngoal: no\n"
        "checks:\n  - {name: a, role: gaol, run: [head, -n, 3]}\n"
    )
    expected = (
        "task.yaml:2:7: `name`: 'Drop' does not match ^[a-z0-9-]{1,40}$ (names the run,",
        "task.yaml:3:22: unknown key `agent.fallbck` (did you mean `fallback`?)",
        "task.yaml:4:1: unknown key `max_step` (did you mean `budgets.steps`?)",
        "task.yaml:5:18: `budgets.steps`: expected a whole number (write 3 without quotes)",
        'task.yaml:5:29: `budgets.wall`: expected a duration such as "90s", "10m"',
        "task.yaml:6:7: `no` is text in YAML 1.2 and false in YAML 1.1 (write false if you mean that, or",
        "task.yaml:8:21: `checks[0].role` is `gaol`; expected one of: goal, guard (did you mean `goal`?)",
        'task.yaml:8:32: `checks[0].run`: word 3 of the command is not text: write "3" in quotes',
    )
    found = refused(tmp_path, text)
    assert len(found) == len(expected), found
    for said, start in zip(found, expected, strict=True):
        assert said.startswith(start)


def line(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("goal: no six", "", "say what shall be reached"),
        ("  - {name: red, role: goal, run: [make, test]}", "  []", NO_GOAL),
        ("checks:\n  - {name: red, role: goal, run: [make, test]}", "", NO_GOAL),
        ("role: goal", "role: guard", NO_GOAL),
        (
            "base: main",
            "base: 1.10",
            '6:19: `workspace.base`: expected text, and `1.10` is not text here (write "1.10"',
        ),
        (
            "name: drop-six",
            "name: 12",
            '3:7: `name`: expected text, and `12` is not text here (write "12" in quotes)',
        ),
        ("version: 1", "version: 2", "2:10: `version`: expected 1"),
        ("version: 1", "version: 1.0", "2:10: `version`: expected 1"),
        ("version: 1", "version: true", "2:10: `version`: expected 1"),
        ("run: [make, test]", "run: true", "8:34: `checks[0].run`: expected a command"),
        ("run: [make, test]", "run: [make, off]", "8:41: `off` is text in YAML 1.2 and false in YAML 1.1"),
        ("run: [make, test]", "run: [make, 'off']", ""),
        ("goal: no six", "goal: [a]", "4:7: `goal`: expected text"),
        ("agent: {use: claude}", "agent: claude", "5:8: `agent`: expected a mapping"),
        (
            "agent: {use: claude}",
            "agent: {use: claud}",
            "5:14: there is no agent 'claud' (did you mean 'claude'?)",
        ),
        ("agent: {use: claude}", "agent: {use: codex, fallback: [claude]}", ""),
        (
            "agent: {use: claude}",
            "agent: {use: claude, fallback: [claude]}",
            "5:33: agent 'claude' is in the chain twice: it can't take over from itself (take it out)",
        ),
        (
            "agent: {use: claude}",
            "agent: {use: claude, fallback: [codex, pi, codex]}",
            "5:44: agent 'codex' is in the chain twice",
        ),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nauthorities: {red: {use: command, run: [ls]}}",
            "an authority has the name 'red', too",
        ),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nrepeat: On",
            "6:9: `On` is text in YAML 1.2 and true",
        ),
        ("agent: {use: claude}", "agent: {use: claude}\non: push", "6:1: `on` is text in YAML 1.2 and true"),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nname: b",
            "6:1: the key `name` stands here again; first in line 3",
        ),
        (
            "[[make, deps]]",
            "[[make, deps]], network: yes",
            "6:63: `yes` is text in YAML 1.2 and true in YAML 1.1",
        ),
        ("[[make, deps]]", "[[make, deps]], timeout: 1:30", "`1:30` is read as different values"),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nbudgets: {tokens: 1_000}",
            "6:19: `1_000` is read as different",
        ),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nbudgets: {steps: 010}",
            "6:18: `010` is read as different",
        ),
        ("agent: {use: claude}", "agent: {use: claude}\nbudgets: {steps: 0x10}", ""),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nbudgets: {steps: -1}",
            "6:18: `budgets.steps`: the number is too small",
        ),
        ("agent: {use: claude}", "agent: {use: claude}\nbudgets: {usd: .inf}", "6:16: `budgets.usd`"),
        (
            "agent: {use: claude}",
            "agent: {use: claude}\nbudgets: {steps: " + "9" * 5000 + "}",
            "too long for a number",
        ),
        ("agent: {use: claude}", "agent: {use: claude}\nbudgets:\n\tsteps: 3", "a tab stands here"),
        ("agent: {use: claude}", "agent:\t{use: claude}", "5:7: a tab stands here"),
        ("agent: {use: claude}", "agent: &a {use: claude}", "5:8: anchors (&name) are not read"),
        ("agent: {use: claude}", "agent: *a", "5:8: aliases (*name) are not read"),
        ("agent: {use: claude}", "agent: {<<: {use: claude}}", "5:9: merge keys (<<) are not read"),
        ("agent: {use: claude}", "agent: !!python/object:os.system {use: claude}", "5:8: tags ("),
        ("name: drop-six", "name: !!str drop-six", "3:7: tags ("),
        ("agent: {use: claude}", "agent: {use: claude}\n? {a: b}\n: c", "6:3: a key must be plain text"),
        ("agent: {use: claude}", "agent: {use: claude", "this is no YAML"),
        ("goal: no six", "goal: a: b", "4:8: this is no YAML"),
        ("goal: no six", "goal: @home", "4:7: this is no YAML"),
        ("goal: no six", 'goal: "a\\0b"', "4:7: the text holds a NUL"),
        ("goal: no six", 'goal: "\\ud800"', "4:7: the text holds a NUL or half of a character"),
        ("goal: no six", 'goal: "no"', ""),
        ("goal: no six", "goal: |\n  one\n  \ttwo: three", ""),
        ("version: 1", "version: 1\nagents: {Bad Key: {}}", "3:10: `agents.Bad Key`"),
        (
            "version: 1",
            "version: 1\nactions: {allow: [finish, serach]}",
            "there is no action 'serach' (did you mean 'search'",
        ),
        ("version: 1", "version: 1\nsandbox: {mode: none}", ""),
        (
            "version: 1",
            "version: 1\nlimits: {view: 10}",
            "`limits.view`: the number is too small; at least 1024",
        ),
        (
            "version: 1",
            "version: 1\nactions: {commands: {t: {run: [a, '{p}']}}}",
            "`actions.commands.t`: {p} has no entry",
        ),
        (
            "version: 1",
            "version: 1\nactions: {commands: {t: {rum: [a]}}}",
            "`actions.commands.t.rum` (did you mean `run`?)",
        ),
    ],
)
def test_one_change_one_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = line(GOOD, old, new)
    if not said:
        load(tmp_path, text)
        return
    problems = refused(tmp_path, text, actions={"search", "finish", *load(tmp_path, GOOD).task.actions.allow})
    assert any(said in problem for problem in problems), problems
    assert all(problem.startswith("task.yaml:") for problem in problems)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "1:1: the file is empty"),
        (b"\n# only a comment\n", "1:1: the file is empty"),
        (b"- a\n", "1:1: a task is a mapping"),
        (b"text\n", "1:1: a task is a mapping"),
        (b"null\n", "the file is empty"),
        (GOOD.encode() + b"---\nversion: 1\n", "9:1: a second document"),
        (b"%YAML 1.1\n---\n" + GOOD.encode(), "a % directive"),
        (GOOD.encode("utf-16"), "1:1: this is UTF-16"),
        (GOOD.replace("no six", "n\xf6").encode("latin-1"), "4:8: byte 0xf6 is not UTF-8"),
        (GOOD.encode() + b"x: \x00\n", "9:4: a control character (0x00)"),
        (GOOD.encode() + b"x: \x1b[31m\n", "9:4: a control character (0x1b)"),
        (b"\x00" * 4096, "1:1: a control character"),
        (b"a: " + b"[" * 200 + b"]" * 200, "nested deeper than 32"),
        (b"a: " + b"[" * 100_000, "nested deeper than 32"),
        (b"{" * 100_000, "a key must be plain text"),
        (b"a: [" + b"x," * 30_000 + b"]", "more than 20000 values"),
        (b"a: &a [x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "aliases (*name) are not read"),
    ],
)
def test_files_that_are_no_task(tmp_path: Path, raw: bytes, said: str) -> None:
    assert any(said in problem for problem in refused(tmp_path, raw))


def test_a_byte_order_mark_and_windows_lines_do_no_harm(tmp_path: Path) -> None:
    found = load(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert found.task.goal == "no six"
    assert found.where("goal") == "task.yaml:4:7"


def test_a_huge_file_is_refused_without_being_read(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    os.truncate(path, 100 * 1024 * 1024)
    with pytest.raises(ConfigError, match="larger than 1024 KiB"):
        read_task(path)


def test_one_byte_above_the_cap_is_too_large_and_the_cap_is_not(tmp_path: Path) -> None:
    comment = b"#" * (1024 * 1024 - len(GOOD) - 1) + b"\n"
    assert load(tmp_path, GOOD.encode() + comment).task.name == "drop-six"
    with pytest.raises(ConfigError, match="larger than"):
        load(tmp_path, GOOD.encode() + b"#" + comment)


def test_what_is_not_a_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file") as caught:
        read_task(tmp_path / "task.yaml")
    assert "controller init" in caught.value.hint
    with pytest.raises(ConfigError, match="not a regular file"):
        read_task(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")
    raised: list[ConfigError] = []

    def read() -> None:
        try:
            read_task(tmp_path / "pipe.yaml")
        except ConfigError as error:
            raised.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert "not a regular file" in raised[0].message


def test_the_base_folder_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    write(tmp_path / "real", GOOD)
    (tmp_path / "link").symlink_to("real")
    assert read_task(tmp_path / "link" / "task.yaml").base_dir == (tmp_path / "real").resolve()


def test_many_faults_are_cut_and_counted(tmp_path: Path) -> None:
    text = GOOD + "".join(f"key_number_{n}: 1\n" for n in range(80))
    found = refused(tmp_path, text)
    assert len(found) == 51
    assert "30 more" in found[-1]
