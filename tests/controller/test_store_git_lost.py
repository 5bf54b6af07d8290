"""Refs of a remote that somebody deleted or put back: what is noticed, by whom, and what mends it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from contracts.errors import ConfigError, Unavailable
from contracts.refs import Draft
from controller.restore import restore
from controller.stores import git_writing
from tests.controller.store_suite import row
from tests.controller.two_clones import LEASE, RECORD, WORK, Two
from tests.tool_adapters.repositories import ENV, git
from tool_adapters import remote_refs
from tool_adapters.remote_refs import GitRemote

Harm = Callable[[Two, dict[str, str]], None]


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    monkeypatch.setattr(remote_refs, "PAUSES", (0.0, 0.05))
    monkeypatch.setattr(git_writing, "TORN", (0.0,))
    return Two(tmp_path)


def put(*names: str) -> Harm:
    """Somebody sets refs to where they stood earlier, or deletes those that were not there."""

    def harm(two: Two, old: dict[str, str]) -> None:
        for ref in names:
            git(two.bare, "update-ref", *((ref, old[ref]) if ref in old else ("-d", ref)))

    return harm


def replaced(two: Two, old: dict[str, str]) -> None:
    """What stood in an older record is committed once more, on top."""
    tree, now = git(two.bare, "rev-parse", f"{old[RECORD]}^{{tree}}"), two.refs()[RECORD]
    again = git(two.bare, "commit-tree", tree, "-p", now, "-m", "as it was")
    git(two.bare, "update-ref", RECORD, again)


# What was done to the refs; what it says to a clone that saw the newest record, and to one that saw none.
HARMS: dict[str, tuple[Harm, str, str]] = {
    "gone": (
        lambda two, old: git(two.bare, "update-ref", "-d", RECORD),
        "this clone saw it there",
        "its lease names it",
    ),
    "rewound": (put(RECORD), "this clone saw version 4", "its lease names version 4"),
    "set to an older tree": (replaced, "its lease names version 4", "its lease names version 4"),
    "all but the lease gone": (put(RECORD, WORK), "put back, or is another one", "its lease names version 4"),
    "the lease gone": (
        lambda two, old: git(two.bare, "update-ref", "-d", LEASE),
        "nothing tells whether",
        "nothing tells whether",
    ),
    "the lease set to what is none": (
        lambda two, old: git(two.bare, "update-ref", LEASE, two.base),
        "names no record",
        "names no record",
    ),
    "the lease rewound": (put(LEASE), "the lease .* was put back", "the lease .* was put back"),
    "record and lease gone": (
        lambda two, old: [git(two.bare, "update-ref", "-d", ref) for ref in (RECORD, LEASE)],  # type: ignore[func-returns-value]
        "this clone saw it there",
        "nothing there names it: its branch is there",
    ),
    "all gone": (
        lambda two, old: [git(two.bare, "update-ref", "-d", ref) for ref in two.refs()],  # type: ignore[func-returns-value]
        "this clone saw it there",
        "",
    ),
    # Whoever sets both to what stood together once is noticed by those alone who saw more.
    "record and lease rewound": (put(RECORD, LEASE), "this clone saw version 4", ""),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_record_that_was_lost_is_refused_by_every_clone_that_can_know(two: Two, harm: str) -> None:
    async def story() -> None:
        stored, lease = await two.begun(two.store(), 2)
        old = two.refs()
        stored = await two.store().swap(stored, None, lease)  # a launch is reserved: no row, no commit
        stored = await two.store().swap(stored, row(2), lease)
        change, to_one_that_saw, to_any = HARMS[harm]
        change(two, old)
        harmed = two.refs()
        for clone, told in (("repo", to_one_that_saw), ("other", to_any)):
            if not told:
                assert (await two.store(clone).load("tidy")) != stored, "the bound of what can be known"
                continue
            store = two.store(clone)
            for asked in (store.load("tidy"), store.lease("tidy", 60), store.swap(stored, row(3), lease)):
                with pytest.raises(Unavailable, match=told):
                    await asked
        assert two.refs() == harmed, "refused, and nothing was written"

    anyio.run(story)


@pytest.mark.parametrize(
    "harm",
    [
        "gone",
        "rewound",
        "set to an older tree",
        "the lease gone",
        "the lease set to what is none",
        "the lease rewound",
    ],
)
def test_what_the_lease_names_is_put_back_in_any_clone(two: Two, harm: str) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store, 2)
        old = two.refs()
        stored = await store.swap(stored, row(2), lease)
        await store.release(lease)
        HARMS[harm][0](two, old)
        back = await restore(two.store("other", trusting=True), "tidy")
        assert (back.record.version, back.record.rows) == (stored.version + 1, stored.rows + 1)
        for clone in ("repo", "other"):
            assert (await two.store(clone).load("tidy")) == back.record
            assert await two.store(clone).verify(stored.run) == []
        with pytest.raises(ConfigError, match="is whole"):
            await restore(two.store("other", trusting=True), "tidy")

    anyio.run(story)


def test_a_longer_record_whose_work_nobody_has_gives_way_to_the_one_that_the_lease_names(two: Two) -> None:
    """Somebody pushes what a run on another remote became, without its commits."""

    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store, 2)
        await store.release(lease)
        shutil.copytree(two.bare, two.folder / "elsewhere.git")
        git(two.folder, "clone", "-q", "elsewhere.git", "third")
        third = two.store("third")
        lease = await third.lease("tidy", 60)
        tree = git(two.bare, "rev-parse", f"{two.base}^{{tree}}")
        head = git(two.folder / "third", "commit-tree", tree, "-p", two.base, "-m", "work")
        longer = await third.swap(stored.model_copy(update={"head": head}), row(2), lease)
        git(two.folder / "elsewhere.git", "push", "-q", "-f", str(two.bare), RECORD)
        pushed = two.refs()[RECORD]
        with pytest.raises(Unavailable):
            await two.store("other").load("tidy")
        back = await restore(two.store("other", trusting=True), "tidy")
        assert longer.rows > stored.rows and (back.record.head, back.record.rows) == (
            stored.head,
            stored.rows + 1,
        )
        kept = {ref: at for ref, at in two.refs().items() if "/was-" in ref}
        assert list(kept.values()) == [pushed] and all(ref in back.how for ref in kept)
        assert (await two.store("other").load("tidy")) == back.record

    anyio.run(story)


def test_a_record_that_somebody_set_is_thrown_out_by_the_command_of_the_refusal(two: Two) -> None:
    async def story() -> None:
        stored, lease = await two.begun(two.store(), 2)
        old = two.refs()
        await two.store().swap(stored, row(2), lease)
        put(LEASE)(two, old)
        with pytest.raises(Unavailable) as refused:
            await two.store("other").load("tidy")
        command = str(refused.value.hint).partition("instead: ")[2]
        assert command.startswith("git fetch ") and " git push --force " in command
        subprocess.run(
            command, shell=True, check=True, capture_output=True, cwd=two.folder / "other", env=ENV
        )
        assert (await two.store("other").load("tidy")) == stored

    anyio.run(story)


def test_a_recovery_that_was_killed_leaves_what_it_needs(two: Two) -> None:
    """It takes the lease before it puts anything back: the lease must go on naming what is lost."""

    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store, 2)
        old = two.refs()
        await store.swap(stored, row(2), lease)
        await store.release(lease)
        put(RECORD)(two, old)
        await two.store("other", trusting=True).lease("tidy", -1)
        with pytest.raises(Unavailable, match="its lease names version 3"):
            await two.store("other").load("tidy")

    anyio.run(story)


def test_a_push_that_is_seen_half_way_is_looked_at_again(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server moves one ref after the other: a reader may see the new lease beside the old record."""

    async def story() -> None:
        stored, lease = await two.begun(two.store(), 2)
        old = two.refs()
        stored = await two.store().swap(stored, row(2), lease)
        whole = two.refs()
        put(RECORD)(two, old)
        asked = 0

        def mended(pause: float) -> None:
            nonlocal asked
            asked += 1
            put(RECORD)(two, whole)

        monkeypatch.setattr(git_writing, "time", SimpleNamespace(sleep=mended))
        assert (await two.store("other").load("tidy")) == stored and asked == 1

    anyio.run(story)


def test_a_record_whose_leases_never_named_it_goes_on_and_is_named_from_then_on(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        unnamed = git(
            two.bare, "commit-tree", f"{LEASE}^{{tree}}", "-m", "as version 1 of the layout wrote it"
        )
        git(two.bare, "update-ref", LEASE, unnamed)
        refs = GitRemote(two.root, two.folder / "older.git", "origin")
        old = refs.fetch("refs/skill-state/tidy/")[RECORD]
        (older,) = refs.make([Draft("layout 1", {"format": b"1\n"}, old, old)])
        git(two.root, "fetch", "-q", str(two.folder / "older.git"), older)
        git(two.root, "push", "-q", "origin", f"{older}:{RECORD}")
        stored = await two.store("other").swap(stored, row(1), lease)
        assert git(two.bare, "show", f"{RECORD}:format") == "2"
        assert git(two.bare, "rev-parse", f"{LEASE}^") == two.refs()[RECORD]
        put(RECORD)(two, {RECORD: older})
        with pytest.raises(Unavailable, match="its lease names version 2"):
            await two.store().load("tidy")

    anyio.run(story)


def test_a_record_that_went_on_without_what_a_clone_saw_is_another_one(two: Two) -> None:
    async def story() -> None:
        stored, lease = await two.begun(two.store(), 2)
        old = two.refs()
        await two.store().swap(stored, row(2), lease)
        put(RECORD, LEASE)(two, old)
        other = two.store("other")
        for step in (7, 8, 9):
            stored = await other.swap(stored, row(step), lease)
        assert stored.version > 3
        with pytest.raises(Unavailable, match="version 3"):
            await two.store().load("tidy")
        assert (await two.store("other").load("tidy")) == stored

    anyio.run(story)


def test_a_branch_that_lost_the_work_or_knows_more_is_refused(two: Two) -> None:
    async def story() -> None:
        stored, lease = await two.begun(two.store())
        one = two.commit("one")
        stored = await two.store().swap(stored.model_copy(update={"head": one}), row(1), lease)
        git(two.bare, "update-ref", WORK, two.base)
        with pytest.raises(Unavailable, match="does not hold the run's work"):
            await two.store().load("tidy")
        body = "step 2\n\nSkill-State-Key: k2\n"
        tree = git(two.root, "rev-parse", f"{one}^{{tree}}")
        more = git(two.root, "commit-tree", tree, "-p", one, "-m", body)
        git(two.root, "push", "-q", "-f", "origin", f"{more}:{WORK}")
        with pytest.raises(Unavailable, match="steps that its record does not know"):
            await two.store().lease("tidy", 60)
        git(two.bare, "update-ref", "-d", WORK)
        assert (await two.store().load("tidy")) == stored, "this clone has the commit"
        assert (await two.store("other").load("tidy")) == stored, "the remote has it still, under no ref"
        git(two.bare, "gc", "-q", "--prune=now")
        git(two.folder, "clone", "-q", str(two.bare), "later")
        with pytest.raises(Unavailable, match="neither the remote nor this clone has its work"):
            await two.store("later").load("tidy")
        await two.store().swap(stored, row(2), lease)
        assert two.refs()[WORK] == one, "put back"

    anyio.run(story)


@pytest.mark.parametrize("to", [None, "base", "theirs"])
def test_a_branch_that_lost_the_work_is_set_again_by_a_clone_that_never_had_it(
    two: Two, to: str | None
) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        head, theirs = two.commit("one"), two.commit("theirs")
        stored = await store.swap(stored.model_copy(update={"head": head}), row(1), lease)
        await store.release(lease)
        git(two.root, "push", "-q", "-f", "origin", f"{theirs}:{WORK}")
        if to is None:
            git(two.bare, "update-ref", "-d", WORK)
        elif to == "base":
            git(two.bare, "update-ref", WORK, two.base)
        back = await restore(two.store("other", trusting=True), "tidy")
        assert "its branch is set again" in back.how and two.refs()[WORK] == head
        kept = {ref: at for ref, at in two.refs().items() if "/was-" in ref}
        assert list(kept.values()) == ([theirs] if to == "theirs" else [])
        assert all(ref in back.how for ref in kept)
        assert (await two.store("other").load("tidy")) == back.record
        with pytest.raises(ConfigError, match="is whole"):
            await restore(two.store("other", trusting=True), "tidy")

    anyio.run(story)


def test_where_nothing_is_left_the_refusal_says_how_to_begin_afresh(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        head = two.commit("one")
        await store.swap(stored.model_copy(update={"head": head}), row(1), lease)
        await store.release(lease)
        for ref in (RECORD, LEASE):
            git(two.bare, "update-ref", "-d", ref)
        with pytest.raises(Unavailable) as refused:
            await two.store("other").load("tidy")
        with pytest.raises(Unavailable) as again:
            await restore(two.store("other", trusting=True), "tidy")
        said = [str(each.value).partition("git fetch")[2].rstrip(")") for each in (refused, again)]
        assert said[0] and said[0] in said[1]
        subprocess.run(f"git fetch {said[1]}", shell=True, check=True, cwd=two.folder / "other", env=ENV)
        assert await two.store("other").load("tidy") is None
        assert head in two.refs().values(), "its commits are kept"
        back = await restore(two.store(trusting=True), "tidy")
        assert back.record.rows == 3 and two.refs()[WORK] == head, "the clone that saw it still can"

    anyio.run(story)
