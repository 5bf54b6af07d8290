"""Thirty nights of one task, each on a runner of its own that keeps nothing: only the remote and the forge last. Every
fifth night two jobs begin together; CI is red, then flaky, then green; a person pushes; a pull request needs a yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from tests.controller.world import git
from tests.forge.hub import Hub
from tests.suites.scheduled.nights import AGENT, BRANCH, ISSUE, NAME, Night, Nights
from tests.tool_adapters.git_http import bare

NIGHTS = 30
TASK = """\
version: 1
name: tidy
goal: No file below src says `old`.
agent: {use: rules}
agents:
  rules: {kind: command, run: [python3, @AGENT@, @LAUNCHES@]}
workspace: {base: main, scope: ["src/**"]}
sandbox: {mode: none}
store: {use: git, remote: origin}
forge: {provider: github, url: "@HUB@", repository: acme/widget, token_env: GITHUB_TOKEN, issue: @ISSUE@}
authorities:
  remaining: {use: command, run: [git, grep, -n, old, --, src], ok_exit: [0, 1], worklist: true}
  remote:
    use: ci
    options: {provider: github, url: "@HUB@", repository: acme/widget, token_env: GITHUB_TOKEN, poll: 200ms}
actions:
  allow: [read_files, search, edit_files, git_push, git_pull, pr_open, ci_rerun, wait, ask, finish]
checks:
  - {name: no-old, role: goal, run: "! git grep -q old -- src"}
  - {name: sound, role: guard, run: [sh, check.sh], must_notice: src/a.txt}
  - {name: ci, role: goal, authority: remote}
approvals: {boundaries: [pr_open], who: ["github:ana"]}
budgets: {steps: 60}
"""
FILES = {f"src/{name}.txt": f"an old {name}\nits end\n" for name in "abcdefghijkl"} | {
    "check.sh": 'test "$(LC_ALL=C tr -d -c "\\000" < src/a.txt | wc -c)" -eq 0\n',
    # What only CI looks at.
    "ci.sh": 'grep -q "^checked$" src/b.txt || { echo "no line \\"checked\\" in src/b.txt"; exit 1; }\n',
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """The thirty nights, and what happened between them."""
    with place(tmp_path_factory.mktemp("nights"), TASK) as nights:
        for number in range(1, NIGHTS + 1):
            nights.overlapping(steps="1") if number % 5 == 0 else nights.night(steps="1")
            day(nights)
        yield nights


@contextmanager
def place(folder: Path, task: str) -> Iterator[Nights]:
    """The repository as its owner has it, and the forge around it."""
    with Hub(bare(folder / "remote.git"), "bot") as hub:
        assert hub.issue("What the nightly job asks")["number"] == ISSUE
        begun(folder, hub, task)
        yield Nights(folder, hub)


def begun(folder: Path, hub: Hub, task: str) -> None:
    seed = folder / "seed"
    named = {"AGENT": str(AGENT), "LAUNCHES": str(folder / "launches"), "HUB": hub.url, "ISSUE": str(ISSUE)}
    for name, value in named.items():
        task = task.replace(f"@{name}@", value)
    for name, text in (FILES | {"task.yaml": task}).items():
        path = seed / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(seed, "init", "-q", "-b", "main")
    git(seed, "add", "-A")
    git(seed, "commit", "-q", "-m", "start")
    git(seed, "push", "-q", str(folder / "remote.git"), "main")


def day(nights: Nights) -> None:
    """What happens until the next night."""
    if not nights.ci_begins():
        nights.ci_ends()
    if nights.nights[-1].outcome == "blocked" and (asked := nights.asked()):
        entry, hash = asked
        spoke = speakers(nights)
        if "mallory" not in spoke:  # nobody whom the task names
            nights.says("mallory", f"approve {entry} {hash}")
        elif "ana" not in spoke:
            nights.says("ana", f"approve {entry} {hash}")
    if nights.hub.pulls and not (nights.folder / "person").exists():
        nights.pushed_by_hand("NOTES", "by hand\n")


def speakers(nights: Nights) -> list[str]:
    return [each["user"]["login"] for each in nights.hub.comments[ISSUE]]


def told(nights: list[Night]) -> list[tuple[int, str]]:
    return [(each.number, each.outcome) for each in nights]


def test_it_ends_completed_with_one_pull_request(played: Nights) -> None:
    last = played.nights[-1]
    assert (len(played.nights), last.outcome, last.code) == (NIGHTS, "completed", 0), told(played.nights)
    (pull,) = played.hub.pulls
    record, tip = played.record(), played.tip()
    assert pull["state"] == "open" and pull["head"]["sha"] == tip == record.head == last.outputs["revision"]
    assert played.hub.wrong == []
    assert last.outputs["pr-url"] == pull["html_url"]
    files = git(played.remote, "ls-tree", "-r", "--name-only", str(tip)).split()
    assert "NOTES" in files, "what a person pushed is in it"
    for name in files:
        text = git(played.remote, "show", f"{tip}:{name}")
        assert not name.startswith("src/") or "old" not in text


def test_it_is_one_run_that_was_begun_once(played: Nights) -> None:
    rows = played.rows()
    assert [row.kind for row in rows].count("opened") == 1
    runs = {each.outputs["run"] for each in played.nights}
    assert runs == {played.record().run}, "no night started from nothing"
    steps = [int(each.outputs["steps"]) for each in played.nights]
    assert steps == sorted(steps) and steps[0] == 1
    assert anyio.run(played.store().verify, played.record().run) == []


def test_of_two_at_once_exactly_one_works_and_the_other_spends_nothing(played: Nights) -> None:
    assert len(played.pairs) == NIGHTS // 5
    done = next(place for place, each in enumerate(played.nights, 1) if each.outcome == "completed")
    for pair in played.pairs:
        codes = pair.first.outputs["exit-code"], pair.second.outputs["exit-code"]
        assert pair.first.code == pair.second.code == 0, "busy is no fault of the job"
        assert pair.during == 0, "the second launched nothing"
        if pair.met:
            assert codes[0] != "7" and codes[1] == "7", pair
            assert pair.second.outputs["run"] == "" and pair.first.outputs["run"]
        else:  # nobody needs the lease of a run that is finished: both are shown it
            assert codes == ("0", "0") and pair.first.number > done, pair
    assert [pair.met for pair in played.pairs] == [pair.first.number <= done for pair in played.pairs]
    assert sum(pair.met for pair in played.pairs) >= 4


def test_every_launch_was_paid_for_once_and_none_was_lost(played: Nights) -> None:
    spent = played.record().spent
    assert played.launches == spent.launches
    done = next(place for place, each in enumerate(played.nights) if each.outcome == "completed")
    assert {each.outputs["steps"] for each in played.nights[done:]} == {played.nights[done].outputs["steps"]}
    assert len(played.nights[done:]) > 1, "a finished run is shown again"


def test_ci_was_red_then_flaky_then_green(played: Nights) -> None:
    assert [said for *_, said in played.ci] == ["failure", "failure", "success", "success"]
    assert played.ci[1][:2] == (played.flaky, 1) and played.ci[2][:2] == (played.flaky, 2)
    rows = [row for row in played.rows() if (row.action or {}).get("tool") == "ci_rerun"]
    assert len([row for row in rows if row.tool_result == "ok"]) == 1


def test_a_person_said_yes_and_only_that_person_counted(played: Nights) -> None:
    said = [event for row in played.rows() for event in row.human_events if event.startswith("approve")]
    assert said == [f"approve {played.asked()[0]} by github:ana"]  # type: ignore[index]
    assert speakers(played) == ["bot", "mallory", "ana"]
    blocked = [each.number for each in played.nights if each.outcome == "blocked"]
    assert len(blocked) == 2, "asked, and a stranger answered; the night after the answer goes on"
    asked = [each for each in played.hub.comments[ISSUE] if each["user"]["login"] == "bot"]
    assert len(asked) == 1, "it was asked once"


def test_a_wait_costs_no_launch(played: Nights) -> None:
    waiting = [each for each in played.nights if each.outcome == "waiting"]
    assert len(waiting) >= 3 and all(each.outputs["exit-code"] == "6" for each in waiting)
    assert all(each.outputs["not-before"] for each in waiting)


def test_with_a_record_on_the_runner_each_night_would_begin_from_nothing(tmp_path: Path) -> None:
    """The control: what the assertions on the run and its launches are worth."""
    with place(tmp_path, TASK.replace("store: {use: git, remote: origin}", "store: {use: sqlite}")) as nights:
        assert [nights.night(steps="1").outputs["steps"] for _ in range(2)] == ["1", "1"]
        assert nights.launches == 2


def test_nothing_but_the_remote_was_left(played: Nights) -> None:
    assert not [each for each in played.folder.glob("runner-*") if each.exists()]
    refs = git(played.remote, "for-each-ref", "--format=%(refname)").split()
    assert set(refs) >= {"refs/heads/main", f"refs/heads/{BRANCH}", f"refs/skill-state/{NAME}/work"}
