"""Whatever is done to the refs of a task on its remote: `run` goes on, or says what mends it, and that does mend it.

Record, lease and branch, each left alone, deleted, set to a foreign commit, or set back by one write or by ten; looked
at from a fresh clone, and from the one that made the run. Functions are called, and no processes but git's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import anyio
import pytest

from contracts.errors import ConfigError, Unavailable
from contracts.record import RunRecord
from controller.restore import restore
from controller.stores import git_writing
from tests.controller.store_suite import record, row
from tests.controller.two_clones import LEASE, RECORD, WORK, Two
from tests.tool_adapters.repositories import ENV, git
from tool_adapters import remote_refs

pytestmark = pytest.mark.long

REFS = {"record": RECORD, "lease": LEASE, "work": WORK}
WRITES = 12
# What was done to a ref; up to which write what stands there tells.
DEEDS = {"left": WRITES, "set back 1": WRITES - 1, "set back 10": WRITES - 10, "deleted": 0, "foreign": 0}
COMMAND = re.compile(r"git (?:fetch|push) [^()`;]*")


class Harmed(Two):
    """A run of `WRITES` writes, every second of them with a step's commit; `stood[n]` are the refs after the n-th."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.stood: list[dict[str, str]] = [{}]
        self.last = anyio.run(self._made)
        tree = git(self.root, "rev-parse", f"{self.base}^{{tree}}")
        self.foreign = git(self.root, "commit-tree", tree, "-p", self.base, "-m", "theirs")
        git(self.root, "push", "-q", "origin", f"{self.foreign}:refs/heads/theirs")
        self.cache, self.kept = self.root / ".agent-runtime", folder / "kept"
        shutil.copytree(self.cache, self.kept)

    async def _made(self) -> RunRecord:
        store = self.store()
        lease = await store.lease("tidy", 60)
        stored = await store.swap(record(1, self.base), row(0), lease)
        self.stood.append(self.refs())
        for step in range(1, WRITES):
            said = f"step {step}\n\nSkill-State-Key: k{step}\n"
            head = self.commit(said, stored.head) if step % 3 else stored.head
            stored = await store.swap(
                stored.model_copy(update={"head": head, "step": step}), row(step), lease
            )
            self.stood.append(self.refs())
        await store.release(lease)
        self.stood[-1] = self.refs()
        return stored

    def harm(self, deeds: dict[str, str]) -> None:
        """The refs of the whole run, changed by `deeds`; a clone that saw it and one that saw nothing."""
        for ref in self.refs():
            git(self.bare, "update-ref", "-d", ref)
        for name, deed in deeds.items():
            to = self.foreign if deed == "foreign" else self.stood[DEEDS[deed]].get(REFS[name])
            if to is not None:
                git(self.bare, "update-ref", REFS[name], to)
        for clone, kept in (("repo", self.kept), ("other", None), ("later", None)):
            shutil.rmtree(self.folder / clone / ".agent-runtime", ignore_errors=True)
            if kept:
                shutil.copytree(kept, self.cache)

    async def found(self, clone: str) -> RunRecord | str | None:
        """What `run` finds; the words that it is refused with."""
        try:
            return await self.store(clone).load("tidy")
        except Unavailable as error:
            return str(error)

    async def followed(self, clone: str, said: str) -> None:
        """Does what a refusal names: `state recover`, and what that names where it can't."""
        assert "`controller state recover`" in said or COMMAND.search(said), said
        try:
            await restore(self.store(clone, trusting=True), "tidy")
        except Unavailable as error:
            command = COMMAND.search(str(error))
            assert command, error
            subprocess.run(command[0], shell=True, cwd=self.folder / clone, env=ENV, check=True)

    def holds(self, commit: str) -> bool:
        """Whether some ref of the task reaches a commit."""
        return bool(git(self.bare, "for-each-ref", f"--contains={commit}", "refs/skill-state/tidy"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Harmed:
    made = Harmed(tmp_path_factory.mktemp("harmed"))
    git(made.folder, "clone", "-q", str(made.bare), "later")
    return made


EACH = [dict(zip(REFS, deeds, strict=True)) for deeds in product(DEEDS, repeat=3)]


@pytest.mark.parametrize("clone", ["repo", "other"])
@pytest.mark.parametrize("deeds", EACH, ids=lambda deeds: ", ".join(deeds.values()))
def test_what_was_harmed_is_noticed_and_mended(
    run: Harmed, deeds: dict[str, str], clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_refs, "PAUSES", (0.0,))
    monkeypatch.setattr(git_writing, "TORN", (0.0,))
    run.harm(deeds)
    of_record, of_lease = DEEDS[deeds["record"]], DEEDS[deeds["lease"]]
    known = max(of_record, of_lease, WRITES if clone == "repo" else 0)
    standing = run.refs()

    async def story() -> None:
        found = await run.found(clone)
        if isinstance(found, RunRecord):
            assert of_record == of_lease == known == found.version, "anything else is refused"
        elif found is None:
            assert clone == "other" and set(deeds.values()) == {"deleted"}
        for _ in range(3):  # no more than what is said, and what that says
            if not isinstance(found, str):
                break
            await run.followed(clone, found)
            found = await run.found(clone)
        if known == 0:
            assert found is None, found
        else:
            assert isinstance(found, RunRecord), found
            assert found.rows >= known and found.head == run.stood[known][WORK]
            await _goes_on(found)
        if deeds["work"] not in ("deleted", "foreign"):
            assert standing[WORK] == run.stood[0].get(WORK) or run.holds(standing[WORK]) or known == 0

    async def _goes_on(found: RunRecord) -> None:
        """In any clone: the chain holds, a step is written, the branch holds its work, and nothing is to be mended."""
        later = run.store("later")
        assert await later.load("tidy") == found and await later.verify(found.run) == []
        lease = await later.lease("tidy", 60)
        stored = await later.swap(found, row(99), lease)
        await later.release(lease)
        assert (
            run.refs()[WORK] == found.head and git(run.bare, "rev-parse", f"{LEASE}^") == run.refs()[RECORD]
        )
        assert await run.found(clone) == stored
        with pytest.raises(ConfigError, match="is whole"):
            await restore(run.store(clone, trusting=True), "tidy")

    anyio.run(story)
