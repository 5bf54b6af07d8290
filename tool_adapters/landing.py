"""Landing: the run's branch onto a branch of the user's repository, or a sentence that says why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contracts.errors import ConfigError, Permanent
from contracts.repository import FileStat
from tool_adapters.git import GitFailed, Repo
from tool_adapters.gitdir import GitDir

AUTHOR = "skill-state <noreply@localhost>"


@dataclass(frozen=True)
class Landed:
    """`onto` moved from `old` to `new`; `checkout` is where its files were updated too, if it was checked out."""

    onto: str
    old: str
    new: str
    checkout: Path | None
    files: tuple[FileStat, ...]


def land(
    repo: Path, branch: str, onto: str, mode: Literal["squash", "ff"], message: str, *, author: str = AUTHOR
) -> Landed:
    """Moves `onto` forward to hold what `branch` has: `ff` the commits as they are, `squash` one commit with
    `message`. Where `onto` is checked out that checkout must be clean and is updated. A base that went on is
    merged by `squash` when that goes without conflict. Blocks. Raises ConfigError or Permanent, with
    everything as it was; Lost when `onto` moved meanwhile."""
    place = GitDir.around(repo.resolve())
    if place is None:
        raise ConfigError("not a Git repository", where=str(repo))
    git = Repo(place.root or place.own)
    old, tip = git.rev(f"refs/heads/{onto}"), git.rev(f"refs/heads/{branch}")
    if old is None or tip is None:
        missing = onto if old is None else branch
        hint = (
            f"`git branch NAME {onto}`, then `land --onto NAME`"
            if old is None and git.rev(onto)
            else "see `git branch`"
        )
        raise ConfigError(f"there is no branch {missing!r} here", hint=hint)
    common = git.merge_base(old, tip)
    if common is None:
        raise Permanent(f"{branch} and {onto} have no common history")
    if common == tip:
        raise Permanent(f"{onto} holds everything of {branch} already: nothing to land")
    checkout = _checkout(place, onto)
    if checkout is not None:
        _refuse_dirty(checkout, onto)
    if mode == "ff":
        if common != old:
            raise Permanent(
                f"{onto} has gone on since {branch} began: it can't be fast-forwarded",
                hint="land with --squash, or merge by hand",
            )
        new = tip
    else:
        tree = f"{tip}^{{tree}}" if common == old else _merged(git, old, tip, onto, branch)
        tree = git.engine.run("rev-parse", "--verify", tree).decode().strip()
        new = git.commit_tree(tree, [old], message.rstrip("\n") + "\n", author)
    if checkout is None:
        git.update_ref(f"refs/heads/{onto}", new, old, f"land {branch}")
    else:
        _forward(checkout, new)
    return Landed(onto, old, new, checkout, git.diffstat(old, new))


def _checkout(place: GitDir, onto: str) -> Path | None:
    common = place.common.resolve()
    main = GitDir.of(common.parent) if common.name == ".git" else None
    if main is not None and main.root is not None and main.branch() == onto:
        return main.root
    linked = GitDir(place.root, place.own, common).linked()
    return next((each.root for each in linked if each.branch == onto and each.root.exists()), None)


def _refuse_dirty(checkout: Path, onto: str) -> None:
    there = Repo(checkout)
    if (under_way := there.operation()) is not None:
        raise ConfigError(f"{checkout} is in the middle of a {under_way}", hint="finish it first")
    status = there.status()
    changed = sorted({*status.staged, *status.unstaged, *status.unmerged})
    if changed:
        raise ConfigError(
            f"{onto} is checked out in {checkout} with uncommitted changes: {', '.join(changed[:5])}",
            hint="commit or stash them first, or land onto another branch",
        )


def _merged(git: Repo, old: str, tip: str, onto: str, branch: str) -> str:
    """The tree of a merge without conflict (git 2.38 or newer)."""
    try:
        return git.engine.run("merge-tree", "--write-tree", "--no-messages", old, tip).decode().split("\n")[0]
    except GitFailed as error:
        why = "they change the same lines" if error.status == 1 else error.message
        raise Permanent(
            f"{onto} has gone on since {branch} began and the two can't be merged: {why}",
            hint=f"merge by hand: git merge {branch}",
        ) from error


def _forward(checkout: Path, new: str) -> None:
    try:
        Repo(checkout).engine.run("merge", "--ff-only", "--quiet", "--no-verify", new)
    except GitFailed as error:
        raise Permanent(
            f"{checkout} could not be brought forward: {error.message}", hint="nothing was changed"
        ) from error
