"""A repository that nightly jobs work on: a bare remote on disk, a GitHub around it with a CI that runs what stands in
the repository, people, and runners of which nothing is left when a job is over."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from contracts.record import AuditRow, RunRecord
from controller.record_store import open_store
from controller.taskfile import read_task
from tests.ci.actions import Job, Step, clean_env, with_controller
from tests.controller.world import git
from tests.forge.hub import Hub
from tests.suites.scheduled.barrier import Barrier
from tests.surfaces.shell import ROOT

NAME, ISSUE = "tidy", 12
BRANCH = f"skill-state/{NAME}"
TOKEN = "ghs_" + "n" * 36
AGENT = Path(__file__).with_name("agent.py")


@dataclass(frozen=True)
class Night:
    """One job: what it told, and what was seen of it."""

    number: int
    code: int
    outputs: dict[str, str]
    step: Step

    @property
    def outcome(self) -> str:
        return self.outputs["outcome"]


@dataclass(frozen=True)
class Pair:
    """Two jobs: `met` says whether the first had the lease all the time that the second was there, `during` how many
    agents were launched in that time."""

    first: Night
    second: Night
    met: bool
    during: int


@dataclass
class Nights:
    """`folder` is all that lasts: the remote in it, the GitHub, and what the agent's processes leave to be counted."""

    folder: Path
    hub: Hub
    nights: list[Night] = field(default_factory=list)  # of two, the one that worked
    pairs: list[Pair] = field(default_factory=list)
    flaky: str = ""  # the commit whose first attempt failed for nothing: the first one that is well
    ci: list[tuple[str, int, str]] = field(
        default_factory=list
    )  # (commit, attempt, conclusion), as they ended

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    @property
    def launches(self) -> int:
        """How many processes of the agent there were, by their own word."""
        path = self.folder / "launches"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def tip(self, branch: str = BRANCH) -> str | None:
        return self.hub.tip(branch)

    # ---- jobs -------------------------------------------------------------------------------------------------
    def night(self, **inputs: str) -> Night:
        """A job on a runner of its own."""
        made = self._job(len(self.nights) + 1, "", inputs)
        self.nights.append(made)
        return made

    def overlapping(self, **inputs: str) -> Pair:
        """Two jobs, the second while the first has the lease; where the first takes none, one after the other."""
        number, barrier = len(self.nights) + 1, Barrier(self.remote, NAME)
        with ThreadPoolExecutor(1) as pool, barrier.up():
            going = pool.submit(self._job, number, "a", inputs)
            while not barrier.holds and not going.done():
                time.sleep(0.05)
            met, before = barrier.holds, self.launches
            if not met:
                barrier.lift()
            second = self._job(number, "b", inputs)
            during = self.launches - before
            barrier.lift()
            first = going.result()
        self.pairs.append(Pair(first, second, met, during))
        self.nights.append(first)
        return self.pairs[-1]

    def _job(self, number: int, letter: str, inputs: dict[str, str]) -> Night:
        runner = self.folder / f"runner-{number}{letter}"
        home, temp = runner / "home", runner / "temp"
        for each in (home, temp):
            each.mkdir(parents=True)
        git(self.folder, "clone", "-q", f"file://{self.remote}", str(runner / "checkout"))
        path = with_controller(runner / "bin")
        job = Job(runner / "checkout", temp, clean_env(home, path=path), TOKEN)
        code, outputs = job.action(ROOT, {"install": "false", **inputs})
        shutil.rmtree(runner)
        return Night(number, code, outputs, job.ran[-1])

    # ---- CI ---------------------------------------------------------------------------------------------------
    def ci_begins(self) -> bool:
        """A workflow run for the branch's commit, where there is none yet."""
        tip = self.tip()
        if tip is None or any(run["head_sha"] == tip for run in self.hub.runs):
            return False
        self.hub.when = _now()
        self.hub.check(tip, "test", "in_progress", run=self.hub.run(tip, "in_progress"))
        return True

    def ci_ends(self) -> str:
        """What is still at work ends as `ci.sh` of its commit says; the first attempt on the flaky one fails."""
        self.hub.when = _now()
        for run in self.hub.runs:
            if run["status"] == "completed":
                continue
            sha, again = run["head_sha"], run["run_attempt"] > 1
            said = self._judged(sha)
            if not said and not again and not self.flaky:
                self.flaky, said = sha, "the network was down"
            conclusion = "failure" if said else "success"
            run |= {"status": "completed", "conclusion": conclusion, "updated_at": self.hub.when}
            checks = [each for each in self.hub.checks if each["head_sha"] == sha]
            if again:
                check = self.hub.check(sha, "test", conclusion, run=run, attempt=run["run_attempt"])
            else:
                (check,) = checks
                check |= {"status": "completed", "conclusion": conclusion, "completed_at": self.hub.when}
            check["output"] |= {"title": said or "all is well", "summary": said}
            self.hub.logs[check["id"]] = f"test\n{said}\n".encode()
            self.ci.append((sha, run["run_attempt"], conclusion))
            return conclusion
        return ""

    def _judged(self, sha: str) -> str:
        """What `ci.sh` complains of in a checkout of the commit; empty when nothing."""
        place = self.folder / f"ci-{sha[:12]}"
        if not place.exists():
            git(self.folder, "clone", "-q", str(self.remote), str(place))
        git(place, "checkout", "-q", sha)
        done = subprocess.run(
            ["sh", "ci.sh"],
            cwd=place,
            env=clean_env(self.folder),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode else ""

    # ---- people -----------------------------------------------------------------------------------------------
    def pushed_by_hand(self, path: str, text: str) -> str:
        """A person's commit on the run's branch."""
        place = self.folder / "person"
        git(self.folder, "clone", "-q", "-b", BRANCH, str(self.remote), str(place))
        (place / path).write_text(text)
        git(place, "add", path)
        git(place, "commit", "-q", "-m", f"{path} by hand")
        git(place, "push", "-q")
        return git(place, "rev-parse", "HEAD").strip()

    def asked(self) -> tuple[str, str] | None:
        """(id, hash) of what was put before people on the issue last, as they read it there; None when nothing is."""
        said = [each["body"] for each in self.hub.comments.get(ISSUE, []) if each["user"]["login"] == "bot"]
        found = re.search(r"approve (\w+) ([0-9a-f]{8,})", said[-1]) if said else None
        return (found[1], found[2]) if found else None

    def says(self, who: str, text: str) -> None:
        """A comment on the issue."""
        self.hub.comment(ISSUE, who, text)

    # ---- the record -------------------------------------------------------------------------------------------
    def store(self) -> Any:
        """The record's store, from a clone of its own."""
        place = self.folder / "look"
        if not place.exists():
            git(self.folder, "clone", "-q", f"file://{self.remote}", str(place))
        return open_store(read_task(place / "task.yaml"))

    def record(self) -> RunRecord:
        found = anyio.run(self.store().load, NAME)
        assert found is not None
        return found

    def rows(self) -> list[AuditRow]:
        run = self.record().run

        async def read() -> list[AuditRow]:
            return [row async for *_, row in self.store().log(run)]

        return anyio.run(read)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
