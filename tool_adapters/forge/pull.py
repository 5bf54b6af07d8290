"""git_pull: what others pushed to the run's branch, taken over into the run: as it is where the run did not go on,
else by a merge. Files that both changed are for a person."""

from __future__ import annotations

import time

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block, Probed
from contracts.deed_rules import BRANCH, HEAD
from contracts.errors import ConfigError, Lost, Permanent, Temporary
from contracts.tools import SPECS
from tool_adapters.forge.client import AGAIN
from tool_adapters.forge.deed import Deed
from tool_adapters.git import GitFailed, Repo

KEY, STEP = "Skill-State-Key", "Skill-State-Step"
SHOWN = 20


class GitPull(Deed):
    spec = SPECS["git_pull"]

    def lasting(self, call: ActionCall) -> bool:
        """It changes the worktree alone, and is put back like any other step."""
        return False

    async def run(self, call: ActionCall) -> ActionResult:
        return await anyio.to_thread.run_sync(self._pull, call)

    def _pull(self, call: ActionCall) -> ActionResult:
        forum, repo = self.forum, Repo(self.forum.engine.root)
        head, tip = call.basis[HEAD], call.basis[BRANCH]
        try:
            theirs = forum.remote().beyond(forum.ref, tip, head)
            to = tip if repo.merge_base(head, tip) == head else self._merged(repo, call, head, tip)
        except Temporary as error:
            return ActionResult(ok=False, code="pull.later", say=str(error), not_before=time.time() + AGAIN)
        except (Permanent, ConfigError) as error:
            return ActionResult(ok=False, code="pull.refused", say=str(error))
        if isinstance(to, ActionResult):
            return to
        try:
            repo.update_ref(f"refs/heads/{forum.branch}", to, head, "taken over")
        except Lost as error:
            return ActionResult(ok=False, code="pull.moved", say=str(error))
        repo.engine.run("read-tree", "-m", "-u", head, to)
        return self._told(repo, head, to, theirs)

    def _merged(self, repo: Repo, call: ActionCall, head: str, tip: str) -> str | ActionResult:
        """The merge of both as a commit, or why there is none. No file of the worktree is touched yet."""
        try:
            out = repo.engine.run(
                "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", head, tip, ok=(0, 1)
            )
        except GitFailed as error:
            say = (
                f"the two sides can't be merged here: {error.message} (git 2.38 or newer merges them). `ask`"
            )
            return ActionResult(ok=False, code="pull.refused", say=say)
        tree, *conflicts = out.decode("utf-8", "replace").rstrip("\0").split("\0")
        if conflicts:
            say = f"both sides changed {', '.join(conflicts[:8])}: a person has to bring them together; `ask`"
            return ActionResult(ok=False, code="pull.conflict", say=say)
        trailers = f"{STEP}: {call.step}\n{KEY}: {call.key}\n"
        message = f"step {call.step}: git_pull\n\n{trailers}"
        return repo.commit_tree(tree, [head, tip], message, self.forum.author)

    def _told(self, repo: Repo, head: str, to: str, theirs: tuple[str, ...]) -> ActionResult:
        files = [f"{each.path} +{each.added} -{each.removed}" for each in repo.diffstat(head, to)]
        rows = [*theirs[:SHOWN], "", *files[:SHOWN]] if files else list(theirs[:SHOWN])
        rows += [f"… and {len(files) - SHOWN} files more"] if len(files) > SHOWN else []
        block = Block(title=f"taken over: {len(theirs)} commits, {len(files)} files", text="\n".join(rows))
        return ActionResult(say=f"{self.forum.branch} is at {to[:12]}", blocks=(block,), committed=to)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(self._probe, call)

    def _probe(self, call: ActionCall) -> Probed:
        repo, head, tip = Repo(self.forum.engine.root), call.basis[HEAD], call.basis[BRANCH]
        here = repo.rev(f"refs/heads/{self.forum.branch}")
        if here is None or here == head or repo.rev(tip) is None or repo.merge_base(tip, here) != tip:
            return Probed(kind="not_yet", why="the branch does not hold it yet")
        return Probed(kind="happened", result=self._told(repo, head, here, ()))
