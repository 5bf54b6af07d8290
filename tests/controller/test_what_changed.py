"""What commands and checks printed last is part of the record: the next prompt says what changed since."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from contracts.record import MAX_PRINTED
from controller.standstill import latest
from tests.controller.test_step import go, stored
from tests.controller.world import TASK, World, action, edit, finish, part

FAILS = "if grep -q {word} src/{name}; then echo 'FAILED t::{name} - no'; n=$((n+1)); fi\n"
TESTS = (
    "n=0\n"
    + "".join(FAILS.format(word="old", name=name) for name in ("a.txt", "b.txt"))
    + 'test $n -eq 0 && { echo "2 passed in 0.$$s"; exit 0; }\necho "$n failed, $((2-n)) passed in 0.$$s"\nexit 1\n'
)
CHANGED_TASK = TASK.replace(
    'mess: {run: "echo junk > junk.txt; echo more >> src/a.txt"}',
    'tests: {run: [sh, tests.sh]}\n    bad: {run: "echo 1 failed in 0.1s; exit 1", must: pass}',
).replace(
    "  - {name: sound,",
    "  - {name: tests, role: goal, run: [sh, tests.sh], when: edit}\n  - {name: sound,",
)
TESTED = action("run", {"command": "tests"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    files = {"src/a.txt": "one old\n", "src/b.txt": "an old thing\n", "tests.sh": TESTS}
    return World(tmp_path / "r", task=CHANGED_TASK, files=files | {"check.sh": "! grep -q two src/a.txt\n"})


def told(prompt: str) -> str:
    return part(prompt, "observation")


def test_the_next_prompt_says_what_changed_and_what_did_not(world: World) -> None:
    # The guard notices a spoilt file by its own rule: it is no part of this test.
    world.file.write_text(world.file.read_text().replace(", must_notice: src/a.txt", ""))
    steps = [
        TESTED,
        TESTED,
        edit("src/a.txt", "old", "new"),
        TESTED,
        edit("src/b.txt", "old", "new"),
        finish(),
    ]
    end = go(world, steps)
    assert end.outcome is Outcome.completed
    first, again, edited, after, last = (told(prompt) for prompt in world.prompts[1:])
    ran, _, checked = first.partition("--- check tests: red")
    assert "counts: 0 passed, 2 failed (pytest)\n" in ran and "unchanged" not in ran
    assert "output unchanged since the start (times aside)" in checked and "t::a.txt" in checked
    assert "output unchanged since step 1 (times aside)" in again and "t::a.txt" in again
    assert "(was 0 passed, 2 failed: 1 no longer fail, 0 new)" in edited  # the check, since the opening
    assert "--- check tests: red: exit 1: 1 passed, 1 failed" in edited
    assert "counts: 1 passed, 1 failed (pytest) (was 0 passed, 2 failed: 1 no longer fail, 0 new)" in after
    assert "--- check tests: green: 2 passed (pytest) (was 1 passed, 1 failed: 1 no longer fail" in last
    printed = stored(world).printed
    assert printed["run tests"].step == 4 and set(printed) == {"run tests", *(f"check {c}" for c in
        ("no-old", "tests", "sound"))}  # fmt: skip


def test_what_was_put_back_is_not_compared_with(world: World) -> None:
    world.file.write_text(world.file.read_text().replace(", must_notice: src/a.txt", ""))
    both = action(
        "batch",
        {
            "actions": [
                {"tool": "edit_files", "args": edit("src/a.txt", "old", "new")["action"]["args"]},
                {"tool": "run", "args": {"command": "bad"}},
            ]
        },
    )
    go(world, [TESTED, both, TESTED, TESTED], limit=4)
    assert "run bad" not in stored(world).printed
    assert "output unchanged since step 1" in told(world.prompts[3])


def test_a_secret_is_not_copied_into_another_file(world: World) -> None:
    world.file.write_text(world.file.read_text().replace(", must_notice: src/a.txt", ""))
    key = "AKIA" + "Q4RSTUVWXYZ2345A"
    (world.root / "src/k.txt").write_text(f"aws_access_key_id = {key}\n")
    world.git("add", "-A", "src")
    world.git("commit", "-qm", "key")
    stolen = action("edit_files", {"edits": [{"op": "copy", "path": "src/c.txt", "source": "src/k.txt"}]})
    go(world, [stolen, TESTED], limit=2)
    assert "secret" in part(world.prompts[1], "correction")
    assert "src/c.txt" not in world.git("ls-tree", "-r", "--name-only", "skill-state/tidy")


def test_what_was_printed_is_bounded(world: World) -> None:
    world.file.write_text(world.file.read_text().replace(", must_notice: src/a.txt", ""))
    go(world, [TESTED], limit=1)
    one = stored(world).printed["run tests"]
    many = latest({f"run {n}": one for n in range(MAX_PRINTED)}, {"run 0": one, "run x": one})
    assert len(many) == MAX_PRINTED and "run 1" not in many and list(many)[-2:] == ["run 0", "run x"]
