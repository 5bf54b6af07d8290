"""What a worktree held, kept under a ref before it is put back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from contracts.repository import Status
from tool_adapters.git import Repo
from tool_adapters.gitdir import GitDir

NAMESPACE = "refs/skill-state/"


def kept_tree(
    work: Repo, status: Status, head: str, keep_as: str, author: str, also: Sequence[str] = ()
) -> str:
    """The tree of a worktree as `status` says it is, as a commit under a ref of its own; returns that ref. Its parents
    are HEAD and the commits `also`."""
    place = work.engine.place()
    ref = free_ref(keep_as, place)
    index = place.own / "skill-state-index"
    # The lock is of a git that was killed: only we use it.
    index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
    if (place.own / "index").exists():
        # With its time: Git looks into a file that was changed in the very moment in which its index was written.
        shutil.copy2(place.own / "index", index)
    run, env = work.engine.run, {"GIT_INDEX_FILE": str(index)}
    fed = b"\0".join(path.encode("utf-8", "surrogateescape") for path in _outermost(status.dirty))
    try:
        run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=fed, env=env)
        tree = run("write-tree", env=env).decode().strip()
    finally:
        index.unlink(missing_ok=True)
    message = f"undone: {ref.removeprefix(NAMESPACE)}\n\nThe worktree before it was put back to {head}.\n"
    oid = work.commit_tree(tree, [status.head or head, *also], message, author)
    work.update_ref(ref, oid, "", "kept before an undo")
    return ref


def _outermost(dirty: Sequence[str]) -> Iterator[str]:
    """Without nested repositories, and without the files of a folder in whose place something else stands now: Git
    drops them itself as it takes that up, and stops at them by name."""
    known = set(dirty)
    for path in dirty:
        if path[-1] != "/" and not any(str(each) in known for each in PurePosixPath(path).parents):
            yield path


def free_ref(keep_as: str, place: GitDir) -> str:
    """A ref of that name that is not taken, with a number behind it where it must be."""
    name = ref = full_ref(keep_as)
    number = 1
    while place.ref(ref):
        number += 1
        ref = f"{name}-{number}"
    return ref


def full_ref(name: str) -> str:
    """`name` as a full ref, below our namespace unless it is one; what Git does not allow in a ref is replaced."""
    if name.startswith("refs/"):
        return name
    parts = (re.sub(r"[^A-Za-z0-9@#+=_.-]|\.\.|@\{", "-", part).strip(".") or "-" for part in name.split("/"))
    return NAMESPACE + "/".join(part.removesuffix(".lock") for part in parts if part)
