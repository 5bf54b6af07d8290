"""The stage of a trial: a fresh checkout with its task, the runs on it, and what must hold after them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from contracts.ports import Ledger
from contracts.queue import Answer, Decision
from contracts.record import AuditRow, RunRecord
from controller import history
from controller.history import versions
from controller.stores.git import GitStore
from controller.stores.sqlite import SqliteStore
from tool_adapters.remote_refs import GitRemote
from tool_adapters.worktree_home import Home

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
RULES = Path(__file__).with_name("rules.py")
NAME = "tidy"
PROBE = 'probe: [sh, -c, "test -e $HOME/effects && grep -q $SKILL_STATE_KEY $HOME/effects #probe"]'

TASK = """\
version: 1
name: tidy
goal: Replace every `old` by `new` in src.
agent: {use: %(use)s}
agents: %(agents)s
workspace:
  base: main
  scope: ["src/**"]
sandbox: {mode: none}
authorities:
  remaining: {use: command, run: "git grep -n old -- src #remaining", ok_exit: [0, 1], worklist: true}
actions:
  allow: [read_files, edit_files, batch, run, finish]
  commands:
    ship: {run: %(ship)s, effects: [mail], %(probe)s}
    count: {run: "wc -l src/*.txt; echo junk > junk.txt #count"}
    broken: {run: "echo junk >> src/a.txt; exit 1 #broken", must: pass}
checks:
  - {name: no-old, role: goal, run: "git grep -q old -- src #no-old", pass_exit: [1], pins: []}
  - {name: sound, role: guard, run: "sh check.sh #sound", pins: [], must_notice: src/a.txt}
"""
GROWS = ("read_files, edit_files,", "read_files, request_change, edit_files,")  # a change of the task's text
SHIP = "sleep 0.1; echo $SKILL_STATE_KEY >> $HOME/effects #ship"
FILES = {
    "src/a.txt": "one old\ntwo\n",
    "src/b.txt": "an old thing\n",
    "check.sh": 'test "$(LC_ALL=C tr -d -c "\\\\000" < src/a.txt | wc -c)" -eq 0\n',
}


def git(root: Path, *words: str) -> str:
    """What git prints there, without this machine's configuration."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=root, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


@dataclass(frozen=True)
class Template:
    """A prepared world, copied for each trial. `agents` is the task's agents as JSON, `use` the one that works,
    `changes` are replacements in the task's text. `remote`: the record is kept on a bare repository beside it."""

    folder: Path
    agents: Json = field(default_factory=dict)
    use: str = "mine"
    probe: str = PROBE
    ship: str = SHIP
    changes: tuple[tuple[str, str], ...] = ()
    remote: bool = False

    def prepare(self) -> Template:
        repo = self.folder / "repo"
        for name, text in FILES.items():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_text(text)
        (self.folder / "home").mkdir()
        (self.folder / "starts").touch()
        git(repo, "init", "-q", "-b", "main")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "start")
        mine = {"kind": "command", "run": [sys.executable, "-I", "-S", str(RULES), "../starts"]}
        text = TASK % {
            "use": self.use,
            "agents": json.dumps({"mine": mine} | self.agents),
            "probe": self.probe,
            "ship": json.dumps(self.ship),
        }
        for old, new in self.changes:
            assert old in text, old
            text = text.replace(old, new)
        if self.remote:
            git(self.folder, "init", "-q", "--bare", "-b", "main", "remote.git")
            git(repo, "remote", "add", "origin", "../remote.git")
            git(repo, "push", "-q", "origin", "main")
            text += "store: {use: git}\n"
        (repo / "task.yaml").write_text(text)
        return self

    def world(self, folder: Path) -> World:
        shutil.copytree(self.folder, folder, symlinks=True)
        return World(folder)


@dataclass(frozen=True)
class Whole:
    """What an uninterrupted run came to."""

    state: Json
    tree: str
    subjects: list[str]
    rows: int


class World:
    """One trial's checkout (`repo`), home and the log of agent starts."""

    def __init__(self, folder: Path, repo: str = "repo") -> None:
        self.folder, self.repo, self.home = folder, folder / repo, folder / "home"
        self.runtime = self.repo / ".agent-runtime"
        self.places = Home.of(self.runtime / "work" / NAME, self.runtime, NAME)
        self.branch = f"skill-state/{NAME}"

    @property
    def worktree(self) -> Path:
        return self.places.path

    @property
    def env(self) -> dict[str, str]:
        """Everything that a call of the controller knows of this machine."""
        keys = {"ANTHROPIC_API_KEY": "dummy-key", "CODEX_API_KEY": "dummy-key"}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "TZ": "UTC"} | keys

    def call(self, *words: str, **more: Any) -> Json:
        """What a victim is asked."""
        out = self.folder / "said"
        return {"folder": str(self.repo), "env": self.env, "words": words, "out": str(out)} | more

    def said(self) -> str:
        path = self.folder / "said"
        return path.read_text(errors="replace") if path.exists() else ""

    def elsewhere(self, repo: str = "repo") -> World:
        """Another machine, with a fresh clone and the task file. Without a name of its own the first one is gone with
        all that was on it."""
        task = (self.repo / "task.yaml").read_text()
        until = time.monotonic() + 10
        while repo == self.repo.name and self.repo.exists() and time.monotonic() < until:
            # A git that outlived its controller may still write there.
            shutil.rmtree(self.repo, ignore_errors=True)
        git(self.folder, "clone", "-q", "remote.git", repo)
        (self.folder / repo / "task.yaml").write_text(task)
        return World(self.folder, repo)

    # ---- what is there -----------------------------------------------------------------------------------
    @property
    def remote(self) -> Path | None:
        found = self.folder / "remote.git"
        return found if found.exists() else None

    def store(self) -> Ledger:
        if self.remote is None:
            return SqliteStore(self.runtime / "state.db", create=False)
        return GitStore(GitRemote(self.repo, self.runtime / "remotes/origin.git", "origin"))

    def record(self) -> RunRecord | None:
        store = self.store()
        try:
            return anyio.run(store.load, NAME)
        finally:
            store.close()

    def answer(self, text: str) -> None:
        """A person's word on the question that is open."""
        record = self.record()
        assert record is not None
        entry = next(each.id for each in record.queue if each.status == "open")
        store = self.store()
        anyio.run(store.post, NAME, Answer(entry=entry, text=text, by="ana", at=1.0))
        store.close()

    def agree(self) -> None:
        """A person's yes to what waits."""
        record = self.record()
        assert record is not None
        (entry,) = record.queue
        store = self.store()
        word = Decision(entry=entry.id, hash=entry.hash, yes=True, by="ana", at=time.time())
        anyio.run(store.post, NAME, word)
        store.close()

    def rows(self, run: str) -> tuple[list[AuditRow], list[str]]:
        """The audit and what is wrong with its chain."""
        store = self.store()

        async def read() -> tuple[list[AuditRow], list[str]]:
            rows = [row async for _, _, _, row in store.log(run)]
            return rows, await store.verify(run)

        try:
            return anyio.run(read)
        finally:
            store.close()

    def effects(self) -> list[str]:
        path = self.home / "effects"
        return path.read_text().split() if path.exists() else []

    def starts(self) -> int:
        return (self.folder / "starts").read_text().count("start")

    def commits(self) -> list[tuple[str, str]]:
        """(key, subject without the step's number) of every commit of the branch, oldest first."""
        form = "--format=%(trailers:key=Skill-State-Key,valueonly,separator=%x20)%x1f%s"
        lines = git(self.repo, "log", "--reverse", form, f"main..{self.branch}").splitlines()
        pairs = (line.split("\x1f", 1) for line in lines if line)
        return [(key.strip(), re.sub(r"^step \d+: ", "", subject)) for key, subject in pairs]

    def tree(self) -> str:
        return git(self.repo, "rev-parse", f"{self.branch}^{{tree}}").strip()

    def whole(self) -> Whole:
        record = self.record()
        assert record is not None
        rows, _ = self.rows(record.run)
        return Whole(record.state, self.tree(), [subject for _, subject in self.commits()], len(rows))

    # ---- what must hold ----------------------------------------------------------------------------------
    def faults(self, whole: Whole, starts: int | None = None) -> list[str]:
        """Everything that was lost, doubled or left behind, one line each: empty when recovery is whole.
        `starts` are the agent's real starts, where the program itself can't note them."""
        record = self.record()
        assert record is not None
        rows, chain = self.rows(record.run)
        found = [f"audit: {line}" for line in chain]
        found += self._work(record, whole)
        *_, last = versions(rows)
        if not last.sound or (last.state, last.confirmed) != (record.state, record.confirmed):
            found.append(f"lost: the audit gives Σ as {last.state}, {last.confirmed} confirmed")
        if '"delegate"' in (self.repo / "task.yaml").read_text():
            starts = record.spent.launches  # in the sandbox the program can't note its starts
        found += self._charges(record, rows, self.starts() if starts is None else starts)
        found += self._leftovers()
        if self.remote is not None:
            found += self._beside(self.remote)
        return found

    def _beside(self, remote: Path) -> list[str]:
        """What is wrong on the remote: it holds the branch as it is here, and nobody's lease."""
        tip = git(self.repo, "rev-parse", self.branch)
        work = git(remote, "rev-parse", f"refs/skill-state/{NAME}/work")
        held = anyio.run(self.store().holder, NAME)
        found = [] if tip == work else [f"lost: the remote's branch is at {work.strip()}, not {tip.strip()}"]
        return found + ([f"left: the lease of {held.owner}"] if held else [])

    def _work(self, record: RunRecord, whole: Whole) -> list[str]:
        found = []
        effects = self.effects()
        if len(effects) != 1:
            found.append(f"{'lost' if not effects else 'doubled'}: the effect is there {len(effects)} times")
        keys = Counter(key for key, _ in self.commits())
        found += [f"doubled: {count} commits of step {key[:12]}" for key, count in keys.items() if count > 1]
        subjects = [subject for _, subject in self.commits()]
        if subjects != whole.subjects:
            kind = "lost" if len(subjects) < len(whole.subjects) else "doubled"
            found.append(f"{kind}: commits are {subjects}, not {whole.subjects}")
        if (tree := self.tree()) != whole.tree:
            found.append(f"lost: the tree is {tree}, not {whole.tree}")
        if record.state != whole.state:
            found.append(f"lost: Σ is {record.state}, not {whole.state}")
        return found

    def _charges(self, record: RunRecord, rows: list[AuditRow], starts: int) -> list[str]:
        """One charge a launch, and one row with it: that of its verdict, or one that says that its reply was lost."""
        found, spent = [], record.spent
        charged = [row.charged for row in rows if row.charged is not None]
        lost = sum(map(history.lost, rows))
        if spent.launches != len(charged) or not 0 <= spent.launches - starts <= lost:
            told = f"{starts} agents started, {len(charged)} rows with a charge, {lost} of them lost"
            found.append(f"charges: {spent.launches} launches recorded, {told}")
        output = sum(charge.output or 0 for charge in charged)
        if spent.output != output:
            found.append(f"charges: {spent.output} tokens of output charged, not {output}")
        if lost and not spent.estimated:
            found.append("charges: a reserve was charged and nothing says that it is an estimate")
        return found

    def _leftovers(self) -> list[str]:
        found = [f"left: {lock}" for lock in (self.repo / ".git").rglob("*.lock")]
        made = self.worktree.exists()  # not by a call that finds the run finished
        if made and (dirty := git(self.worktree, "status", "--porcelain").strip()):
            found.append(f"left: the worktree is dirty: {dirty}")
        found += [f"left: {path}" for path in (self.runtime / "spool").glob("*")]
        if changed := git(self.repo, "status", "--porcelain", "--", "src", "check.sh").strip():
            found.append(f"the user's checkout was changed: {changed}")
        if git(self.repo, "rev-parse", "--abbrev-ref", "HEAD").strip() != "main":
            found.append("the user's checkout was switched")
        refs = git(self.repo, "for-each-ref", "--format=%(refname)").split()
        own = (f"refs/heads/{self.branch}", "refs/skill-state/", "refs/heads/main", "refs/remotes/origin/")
        found += [f"a foreign ref was made: {ref}" for ref in refs if not ref.startswith(own)]
        return found + [f"left alive: {each}" for each in living(self.folder)]


def living(folder: Path) -> list[str]:
    """The processes whose environment or sandbox names `folder`: what a trial on it left alive (known where there
    is /proc)."""
    found, mark, table = [], str(folder).encode(), Path("/proc")
    for entry in table.iterdir() if table.is_dir() else ():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            if mark in line or mark in (entry / "environ").read_bytes():
                found.append(f"{entry.name}: {line.replace(bytes(1), b' ').decode(errors='replace')[:120]}")
        except OSError:
            continue
    return found


class Victims:
    """A server of victims (see victim.py): one at a time."""

    def __init__(self) -> None:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": os.devnull}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.suites.crash.victim"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, asked: Json) -> int:
        """The pid of the victim."""
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        pid: int = json.loads(self._server.stdout.readline())["pid"]
        return pid

    def wait(self) -> int:
        """Its exit code, negative the signal that ended it."""
        assert self._server.stdout
        status: int = json.loads(self._server.stdout.readline())["status"]
        return status

    def run(self, asked: Json) -> int:
        self.start(asked)
        return self.wait()

    def close(self) -> None:
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait(60)


def agreed(world: World, victims: Victims) -> None:
    """A field more for the state was proposed and agreed to: the next call makes the change."""
    assert victims.run(world.call("run")) == 5, world.said()
    world.agree()


def finish(world: World, victims: Victims, calls: int = 16, **more: Any) -> list[int]:
    """`controller run` again and again until an outcome that calling again does not change; the exit codes. A lock
    that a killed git left is respected for ten seconds: until then they are 6."""
    codes: list[int] = []
    while len(codes) < calls:
        codes.append(victims.run(world.call("run", **more)))
        if codes[-1] not in (6, 7):
            break
        time.sleep(1)
    return codes
