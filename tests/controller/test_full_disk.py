"""A disk that fills up in mid-write, or takes nothing: the named outcome, nothing lost, and the run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import NoRoom, Unavailable
from contracts.outcomes import Outcome
from contracts.paths import PathPolicy
from contracts.reply import Prompt
from controller.stores.artifacts import FileArtifacts
from controller.stores.room import LEAST_BYTES, need_room
from controller.stores.sqlite import SqliteStore
from tests.controller.store_suite import record, row
from tests.controller.test_step import WORK, go, stored
from tests.controller.world import World, action, finish
from tests.surfaces.shell import POLITE, Shell, new_shell
from tests.tool_adapters.repositories import git
from tests.tool_adapters.worktrees import TRAILERS, do, opened
from tool_adapters.actions.files import Files

MIB = 1024 * 1024


class Disk:
    """A small file system of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.filler = root, root / "filler"

    def fill(self, leave: int = 0) -> None:
        """Until `leave` bytes are free."""
        with self.filler.open("ab") as file:
            found = os.statvfs(self.root)
            free = found.f_bavail * found.f_frsize - leave
            if free > 0:
                os.posix_fallocate(file.fileno(), 0, file.tell() + free)

    def free(self) -> None:
        self.filler.unlink(missing_ok=True)


def mounted(folder: Path, options: str) -> bool:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    return done.returncode == 0


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return new_shell(tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "small"
    folder.mkdir()
    if sys.platform != "linux" or not mounted(folder, "size=96m"):
        pytest.skip(
            "no small file system can be mounted here (it takes root): RLIMIT_FSIZE stands in for it below"
        )
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_an_artifact_that_finds_no_room_leaves_nothing(disk: Disk) -> None:
    shelf = FileArtifacts(disk.root / "artifacts")
    shelf.put(b"first")
    disk.fill(8192)
    with pytest.raises(Unavailable, match="No space left"):
        shelf.put(os.urandom(100_000))
    disk.free()
    assert [path for path in shelf.root.rglob("*") if path.is_file() and path.name.startswith(".")] == []
    id = shelf.put(b"second" * 1000)
    assert shelf.get(id) == b"second" * 1000


def test_a_store_write_that_finds_no_room_changes_nothing(disk: Disk) -> None:
    async def story() -> None:
        store = SqliteStore(disk.root / "state.db")
        lease = await store.lease("tidy", 60)
        before = await store.swap(record(), row(0), lease)
        disk.fill()
        big = before.model_copy(update={"step": 1, "state": {"notes": {"a": "x" * 300_000}}})
        with pytest.raises(Unavailable, match="free space, then run again"):
            await store.swap(big, row(1), lease)
        assert await store.load("tidy") == before
        disk.free()
        assert (await store.swap(big, row(1), lease)).version == 2, "the same store goes on"
        assert await store.verify(before.run) == []
        store.close()

    anyio.run(story)


def test_an_edit_that_finds_no_room_is_no_fault_of_the_agent(disk: Disk) -> None:
    files = Files(disk.root, PathPolicy())
    (disk.root / "a.txt").write_text("one\n")
    found = files.read("a.txt")
    disk.fill()
    with pytest.raises(Unavailable, match="No space left"):
        files.put({"a.txt": b"x" * 100_000}, {"a.txt": found})
    assert (disk.root / "a.txt").read_text() == "one\n" and len(list(disk.root.iterdir())) == 2


def test_a_commit_that_finds_no_room_moves_no_branch(disk: Disk) -> None:
    root = disk.root / "r"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    workspace, at = opened(root)
    (at.root / "a.txt").write_bytes(os.urandom(200_000))
    disk.fill()
    with pytest.raises(Unavailable, match="No space left"):
        do(workspace.keep(["a.txt"], "step", TRAILERS, at.head))
    assert git(root, "rev-parse", "skill-state/t").strip() == at.head
    disk.free()
    assert do(workspace.keep(["a.txt"], "step", TRAILERS, at.head)) != at.head


# ---- a whole run ----------------------------------------------------------------------------------------------
LEVELS = [0, 4096, 12_288, 32_768, 65_536, 98_304, 131_072, 196_608]


def test_a_run_whose_disk_fills_at_any_moment_of_a_step_goes_on_and_ends_alike(disk: Disk) -> None:
    world = World(disk.root / "r")
    go(world, [action("list_files", {}, notes={"a": "b"})], limit=1)
    refused: list[str] = []

    def writing(number: int, leave: int | None) -> Callable[[Prompt], Any]:
        content = f"{number} " + os.urandom(15_000).hex()

        def answer(_: Prompt) -> dict[str, Any]:
            if leave is not None:
                disk.fill(leave)
            write = {"op": "write", "path": f"src/n{number}.txt", "content": content}
            return action("edit_files", {"edits": [write]}, notes={f"n{number}": "written"})

        return answer

    for number, leave in enumerate(LEVELS):
        before = stored(world)
        try:
            go(world, [writing(number, leave)], limit=1)
        except Unavailable as error:
            refused.append(str(error))
        disk.free()
        assert anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").verify, before.run) == []
        kept = stored(world)
        if f"n{number}" not in kept.state["notes"]:
            assert kept.state == before.state
            go(world, [writing(number, None)], limit=1)  # taken up where it stands, or asked again
        assert f"n{number}" in stored(world).state["notes"]
    end = go(world, [*WORK, finish()])
    assert end.outcome is Outcome.completed
    assert len(refused) >= 3, refused
    for number in range(len(LEVELS)):
        once = world.git("log", "--format=%h", "main..skill-state/tidy", "--", f"src/n{number}.txt").split()
        assert len(once) == 1, "each effect is there once"
    assert world.git("status", "--porcelain").split() == ["??", "task.yaml"]


# ---- before anything is begun -----------------------------------------------------------------------------
def test_without_room_nothing_is_begun_and_nothing_is_spent(disk: Disk) -> None:
    world = World(disk.root / "r")
    disk.fill(LEAST_BYTES - MIB)
    with pytest.raises(NoRoom, match=r"only 6\d\.\d MiB are free here, a step needs 64"):
        go(world, [])
    assert not world.worktree.exists()
    disk.free()

    def filling(_: Prompt) -> dict[str, Any]:
        disk.fill(LEAST_BYTES // 2)
        return action("list_files")

    with pytest.raises(NoRoom):
        go(world, [filling])
    assert len(world.prompts) == 1 and stored(world).reserve is None, "no second launch, no charge"
    disk.free()
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed
    disk.fill(MIB)
    assert go(world, []).outcome is Outcome.completed, "a finished run is shown all the same"


def test_what_clean_would_free_is_said(disk: Disk) -> None:
    shell = new_shell(disk.root)
    shell.task(*POLITE)
    assert shell("run").code == 0 and shell("land").code == 0
    traces = shell.repo / ".agent-runtime/errors"
    traces.mkdir()
    (traces / "controller-x.txt").write_bytes(b"x" * MIB)
    disk.fill(2 * MIB)
    refused = shell("run", "--new", "--json")
    assert refused.code == 8 and refused.lines[-1]["outcome"] == "unavailable"
    assert ".agent-runtime" in refused.err and "`controller clean` would free 1.0 MiB" in refused.err
    assert "would free 1.0 MiB" in shell("clean", "--dry-run").out


def test_clean_works_on_a_disk_without_a_byte(disk: Disk) -> None:
    shell = new_shell(disk.root)
    shell.task(*POLITE)
    assert shell("run").code == 0 and shell("land").code == 0
    traces = shell.repo / ".agent-runtime/errors"
    traces.mkdir()
    (traces / "controller-x.txt").write_bytes(b"x" * MIB)
    disk.fill()
    told = shell("clean", "--json")
    assert told.code == 0, told
    assert {"traceback", "worktree"} <= {each["kind"] for each in told.one["removed"]}, told
    assert not (shell.repo / ".agent-runtime/work/greet").exists()


def test_few_inodes_are_too_few(tmp_path: Path) -> None:
    folder = tmp_path / "few"
    folder.mkdir()
    if sys.platform != "linux" or not mounted(folder, "size=96m,nr_inodes=900"):
        pytest.skip("no small file system can be mounted here (it takes root)")
    try:
        with pytest.raises(NoRoom, match="inodes are free here, a step needs 1,000"):
            need_room(folder / "not" / "there" / "yet")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    need_room(folder)


LIMITED = """
import pathlib, resource, sys
import anyio
from contracts.errors import Unavailable
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from tests.controller.store_suite import record, row
folder = pathlib.Path(sys.argv[1])
async def story():
    store = SqliteStore(folder / "state.db")
    lease = await store.lease("tidy", 60)
    before = await store.swap(record(), row(0), lease)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    big = before.model_copy(update={"state": {"notes": {"a": "x" * 300_000}}})
    for work in (lambda: store.swap(big, row(1), lease), lambda: anyio.to_thread.run_sync(put)):
        try:
            await work()
        except Unavailable as error:
            print("refused", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert await store.load("tidy") == before
    assert (await store.swap(big, row(1), lease)).version == 2
def put():
    FileArtifacts(folder / "artifacts").put(b"x" * 100_000)
anyio.run(story)
assert [path for path in (folder / "artifacts").rglob("*") if path.is_file()] == []
"""


def test_a_write_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 2, done.stdout


# ---- a folder that takes nothing ------------------------------------------------------------------------------
def test_a_file_system_that_became_read_only_is_named_and_comes_back(disk: Disk) -> None:
    world = World(disk.root / "r")
    before = go(world, [action("list_files", {}, notes={"a": "b"})], limit=1).record
    root = str(disk.root)
    subprocess.run(["mount", "--bind", root, root], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", root], check=True)
    try:
        with pytest.raises(Unavailable, match=r"state\.db: the store can't be written"):
            go(world, [])
    finally:
        subprocess.run(["umount", "-l", root], check=True)
    assert stored(world).state == before.state
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed


def test_a_folder_without_the_right_to_write_is_refused(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("step").code == 0
    runtime = shell.repo / ".agent-runtime"
    before = shell("state", "show", "--json").one
    plain = _rightless(shell, runtime)
    refused = plain("run")
    assert refused.returncode == 8, refused
    assert ".agent-runtime" in refused.stderr and "check the folder's rights" in refused.stderr, (
        refused.stderr
    )
    assert plain("step").returncode == 8
    seen = plain("status")
    assert (seen.returncode, seen.stdout) == (8, "")
    assert "can't be opened" in seen.stderr and "right to write" in seen.stderr, seen.stderr
    assert "damaged" not in seen.stderr and "recover" not in seen.stderr
    _owned(runtime, os.geteuid(), 0o755)
    assert shell("state", "show", "--json").one == before
    assert shell("run").code == 0


def _owned(folder: Path, uid: int, mode: int) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            os.chown(path, uid, -1)
            if path == folder or path.name.startswith("state.db"):
                path.chmod(mode if path.is_dir() else mode & 0o666)


def _rightless(shell: Shell, runtime: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line of somebody who may read the folder and not write it."""
    argv: list[str] = []
    if os.geteuid() == 0:  # root may do all: it becomes a root without any of its capabilities, not the owner
        if shutil.which("setpriv") is None:
            pytest.skip("root can't give up its rights here: there is no setpriv")
        _owned(runtime, 65534, 0o555)
        argv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    else:
        _owned(runtime, os.geteuid(), 0o555)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*argv, sys.executable, "-m", "controller", *words],
            cwd=shell.repo, env=shell.env, capture_output=True, text=True,
        )  # fmt: skip

    return call
