"""The contract folder: each fault is named with its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError
from controller.contract_folder import contract_of, read_contract
from controller.taskfile import read_task

TASK = """\
# a task
version: 1
name: drop-six
goal: no six
agent: {use: claude}
checks:
  - {name: red, role: goal, run: [make, test]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / ".agent-contract"
    found.mkdir()
    (found / "intent-contract.json").write_text('{"goal": "from the folder", "constraints": ["c"]}')
    (found / "state.schema.json").write_text('{"type": "object"}')
    (found / "skill-spec.md").write_text("# Skill\n")
    return found


def test_a_contract_folder_is_read_whole(folder: Path) -> None:
    found = read_contract(folder)
    assert found.intent is not None
    assert found.intent.goal == "from the folder"
    assert (found.state_schema, found.skill) == ({"type": "object"}, "# Skill\n")
    assert set(found.digests) == {"intent-contract.json", "state.schema.json", "skill-spec.md"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("intent-contract.json", None, "has no intent-contract.json"),
        ("state.schema.json", None, "has no state.schema.json"),
        ("skill-spec.md", None, "has no skill-spec.md"),
        ("skill-spec.md", b" \n", "the file is empty"),
        ("state.schema.json", b"", "the file is empty"),
        ("state.schema.json", b"\x00" * 100, "a control character"),
        ("state.schema.json", b'{"a": 1, "a": 2}', "'a' stands twice"),
        ("state.schema.json", b"[1]", "expected a JSON object"),
        ("state.schema.json", b'{"a": NaN}', "NaN is not JSON"),
        ("state.schema.json", b'{"a":' * 50_000, "can't be read"),
        ("state.schema.json", b'{"a": ' + b"9" * 5000 + b"}", "can't be read"),
        ("intent-contract.json", b'{"goal": ', "this is no JSON"),
        ("intent-contract.json", b'{"gaol": "x"}', "gaol"),
        ("intent-contract.json", b'{"goal": "x", "constraints": [1]}', "constraints.0"),
        ("skill-spec.md", b"\xff", "not UTF-8"),
        ("skill-spec.md", b"x" * (256 * 1024 + 1), "larger than 256 KiB"),
    ],
)
def test_a_damaged_contract_is_named(folder: Path, name: str, content: bytes | None, said: str) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_contract(folder)
    assert said in str(caught.value)
    assert name in caught.value.where


def test_a_missing_folder_and_a_dangling_link_are_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no contract folder"):
        read_contract(folder / "gone")
    (folder / "skill-spec.md").unlink()
    (folder / "skill-spec.md").symlink_to("gone")
    with pytest.raises(ConfigError, match="there is no file"):
        read_contract(folder, required=())


def test_the_goal_has_one_home(tmp_path: Path, folder: Path) -> None:
    def contract(head: str) -> Any:
        path = tmp_path / "task.yaml"
        path.write_text(TASK.replace("goal: no six", head))
        return contract_of(read_task(path)).intent

    assert contract("goal: no six").goal == "no six"
    assert contract("contract: .agent-contract").goal == "from the folder"
    with pytest.raises(ConfigError, match="the goal stands here and in") as caught:
        contract("goal: no six\ncontract: .agent-contract")
    assert caught.value.where == "task.yaml:4:7"
    (folder / "intent-contract.json").unlink()
    assert contract("goal: no six\ncontract: .agent-contract").goal == "no six"
    with pytest.raises(ConfigError, match="has no intent-contract"):
        contract("contract: .agent-contract")
