"""The lock pins everything, by hash, and names no host."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.size_budgets import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PEERS = (ROOT / "tests/bench/peers/requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(text: str) -> dict[str, str]:
    return {
        canonicalize_name(name): pin for name, pin in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


def unhashed(text: str) -> list[str]:
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    return [
        entry
        for entry in entries
        if not re.fullmatch(r"[\w.-]+==\S+( ; .*)?( *\\\n +--hash=sha256:[0-9a-f]{64})+", entry.strip())
    ]


def declared(extra: str) -> list[Requirement]:
    project = PROJECT["project"]
    texts = [
        *project["dependencies"],
        *project["optional-dependencies"][extra],
        *PROJECT["build-system"]["requires"],
    ]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("lock", [LOCK, PEERS], ids=["project", "peers"])
def test_the_lock_holds_pins_with_hashes_and_nothing_else(lock: str) -> None:
    assert unhashed(lock) == []
    assert "://" not in lock
    assert "--index" not in lock


def test_the_measure_can_fail() -> None:
    assert unhashed("a==1 \\\n    --hash=sha256:" + "0" * 64) == []
    for text in ("a==1", "a>=1 \\\n    --hash=sha256:" + "0" * 64, "--index-url x", "a @ file:///x"):
        assert unhashed(text) == [text]


@pytest.mark.parametrize("requirement", declared("dev"), ids=str)
def test_what_the_project_declares_is_locked(requirement: Requirement) -> None:
    found = pins(LOCK)
    assert canonicalize_name(requirement.name) in found, "run scripts/lock"
    assert requirement.specifier.contains(found[canonicalize_name(requirement.name)]), "run scripts/lock"


def test_the_peers_of_the_benchmark_are_locked_as_they_are_pinned() -> None:
    found = pins(PEERS)
    for requirement in declared("peers"):
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)]), "run scripts/lock"


def test_the_tests_run_on_what_is_locked() -> None:
    assert version("pydantic") == pins(LOCK)["pydantic"]
    assert version("pytest") == pins(LOCK)["pytest"]
