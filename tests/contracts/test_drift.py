"""The snapshot of the outside: what is unread stays, what is the same is no change, all is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bounds import worst_case_bytes
from contracts.charter import Charter
from contracts.deployed import DeploymentReading
from contracts.documents import Document, DocumentsReading
from contracts.drift import LINE, MOST, SHOWN, Drift, Mark, merged, noticed, told
from contracts.forge_reading import ForgeReading, Request
from contracts.marks import bound, marks, moved
from contracts.readings import Readings, UnknownReading
from contracts.telemetry import ValueReading
from controller.assemble import charter
from controller.render import render, worst_case
from controller.taskfile import read_task
from tests.controller.test_render import GIT, NASTY, a_record, headings
from tests.controller.world import TASK

IDS = st.sampled_from(["1", "2", "3"])


def document(id: str, status: str, digest: str, revision: str) -> Document:
    return Document(id=id, status=status, title=f"Title {id}", digest=digest * 64, revision=revision)


STATUS = st.sampled_from(["open", "closed", "accepted on"])
DOCUMENTS = st.dictionaries(
    IDS, st.tuples(STATUS, st.sampled_from("ab"), st.sampled_from(["", "c" * 40]))
).map(lambda found: tuple(document(id, *rest) for id, rest in found.items()))  # fmt: skip
READINGS = st.one_of(
    st.just(UnknownReading(name="x", why="away")),
    st.builds(
        lambda items, more: DocumentsReading(name="x", what="issue", place="p", items=items, total=len(items) + more),
        DOCUMENTS, st.integers(0, 1),
    ),
    st.builds(
        lambda revision, health, read: DeploymentReading(
            name="x", provider="http", sha="s", state="unknown", why="", revision=revision, health=health, read=read
        ),
        st.sampled_from(["a", "b"]), st.sampled_from(["healthy", "unhealthy"]), st.booleans(),
    ),
    st.builds(
        lambda state, value: ValueReading(name="x", state=state, why="", wanted="", value=value),
        st.sampled_from(["passed", "failed", "pending", "unknown"]), st.sampled_from([None, 1.0]),
    ),
)  # fmt: skip


def seen(item: Any, at: float) -> Readings:
    return Readings(at=at, items={"git": GIT, "x": item.model_copy(update={"name": "x"})})


@given(st.lists(READINGS, min_size=1, max_size=6))
def test_a_walk_over_readings(items: list[Any]) -> None:
    snapshot: dict[str, Mark] = {}
    for at, item in enumerate(items, 1):
        after, drift = noticed(snapshot, seen(item, at), at)
        if not marks(item) and not isinstance(item, DocumentsReading):
            assert (after, drift) == (snapshot, ()), "nothing was read"
        else:
            held = {name: mark.said for name, mark in after.items() if mark.said}
            whole = not isinstance(item, DocumentsReading) or len(item.items) == item.total
            assert held.items() >= marks(item).items() and (
                not whole or held == marks(item) or type(item) is not DocumentsReading
            )
            assert all(each.was != each.now for each in drift) and (snapshot or not drift)
            again, nothing = noticed(after, seen(item, at + 0.5), at)
            assert nothing == () and {n: m.said for n, m in again.items()} == {
                n: m.said for n, m in after.items()
            }
            assert all(again[name].since == mark.since for name, mark in after.items() if mark.said)
        snapshot = after


@given(DOCUMENTS, DOCUMENTS)
def test_what_a_reply_rests_on(before: tuple[Document, ...], after: tuple[Document, ...]) -> None:
    one = DocumentsReading(name="x", what="issue", place="p", items=before, total=len(before), whole=False)
    two = one.model_copy(update={"items": after, "total": len(after)})
    named = bound(seen(one, 1), {"state_patch": {"notes": {"a": "see issue:2"}}, "action": {}})
    assert set(named) == {f"x/{each.id}" for each in before if each.id == "2"}
    changed, unknown = moved(named, seen(two, 2))
    same = {each.id: each.mark for each in before}.get("2") == {each.id: each.mark for each in after}.get("2")
    assert unknown == [] and (not named or bool(changed) != same)
    assert moved(named, seen(UnknownReading(name="x", why=""), 2)) == ([], list(named))


@pytest.mark.parametrize(
    ("text", "found"),
    [("issue:12", True), ("12.", True), ("112", False), ("12a", False), ("1.12", False), ("#12", True)],
)
def test_a_number_is_named_as_a_word(text: str, found: bool) -> None:
    one = DocumentsReading(
        name="x", what="issue", place="p", items=(document("12", "open", "a", ""),), total=1, whole=False
    )
    assert bool(bound(seen(one, 1), {"say": text})) is found


def test_the_runs_own_branch_and_pull_request() -> None:
    def forge(tip: str | None, state: Any = None) -> ForgeReading:
        request = (
            None if state is None else Request(number=7, state=state, title="t", head=str(tip), base="main")
        )
        return ForgeReading(
            provider="github", place="p", branch="b", base="main", sha="s", tip=tip, request=request
        )

    def told_of(before: ForgeReading, after: ForgeReading) -> list[str]:
        snapshot, _ = noticed({}, Readings(at=1, items={"forge": before}), 1)
        return told(noticed(snapshot, Readings(at=2, items={"forge": after}), 2)[1])

    assert told_of(forge("a" * 40, "open"), forge("a" * 40, "closed")) == [
        "forge/request was open, is closed"
    ]
    assert told_of(forge(None), forge("b" * 40)) == [f"forge/branch is new: {'b' * 12}"]
    assert told_of(forge("a" * 40), forge("a" * 40)) == []


def test_what_was_not_seen_yet_is_said_once_as_it_is_now() -> None:
    def change(name: str, was: str, now: str, since: int = 1) -> Drift:
        return Drift(name=name, what=f"{name} {now}", was=was, now=now, since=since)

    both = merged([change("a", "1", "2"), change("b", "1", "2")], [change("a", "2", "3", 4)])
    assert [(each.name, each.was, each.now, each.since) for each in both] == [
        ("b", "1", "2", 1),
        ("a", "1", "3", 1),
    ]
    many = merged([], [change(str(number), "1", "2") for number in range(99)])
    assert len(many) == MOST and many[-1].name == "98" and len(told(many)) == SHOWN + 1


TEXT = st.one_of(st.text(max_size=300), st.just(NASTY), st.just("é" * 300))


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    file: Path = tmp_path_factory.mktemp("drift") / "task.yaml"
    file.write_text(TASK)
    return charter(read_task(file))


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=MOST))
def test_it_keeps_its_proved_bound(law: Charter, texts: list[str]) -> None:
    drift = tuple(
        Drift(name=str(at), what=text, was=text, now=text, since=3) for at, text in enumerate(texts)
    )
    prompt = render(a_record(law, drift=drift), Readings(at=1.0, items={"git": GIT}), law)
    bounds = worst_case(law, worst_case_bytes(law.schema.plain))
    assert all(size <= bounds[name] for name, size in prompt.sections)
    assert headings(prompt.text).count("STATE") == 1 and all(len(row.encode()) <= LINE for row in told(drift))
