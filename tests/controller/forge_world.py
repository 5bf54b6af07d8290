"""A World whose repository has a bare remote and a forge around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.controller.world import TASK, World, action, git
from tests.tool_adapters.git_http import bare

TOKEN = "tok-0123456789-abcdef"
BRANCH = "skill-state/tidy"
DEEDS = "git_push, git_pull, pr_open, pr_update, pr_merge, pr_comment, issue_comment, ci_rerun"


class ForgeWorld(World):
    """`remote` is the bare repository that `origin` names; `other` a person's clone of it."""

    def __init__(self, root: Path, hub: str, *, tools: str = DEEDS, more: str = "", **forge: Any) -> None:
        said = {
            "provider": "github",
            "repository": "acme/widget",
            "url": hub,
            "token_env": "FORGE_TOKEN",
            **forge,
        }
        said = {name: each for name, each in said.items() if each is not None}
        text = TASK.replace(" ask, finish]", f" ask, wait, {tools}, finish]")
        text = text.replace("authorities:\n", f"forge: {said}\nauthorities:\n") + more
        self.remote = bare(root.parent / f"{root.name}.git")
        super().__init__(root, task=text)
        self.git("remote", "add", "origin", str(self.remote))
        self.git("push", "-q", "origin", "main")

    @property
    def head(self) -> str:
        return self.git("rev-parse", BRANCH).strip()

    def tip(self, branch: str = BRANCH) -> str:
        """Where a branch of the remote stands; empty when it is not there."""
        return git(self.remote, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").strip()

    def by_hand(
        self, path: str = "README", text: str = "by hand\n", *, branch: str = BRANCH, amend: bool = False
    ) -> str:
        """A person's push to the run's branch of the remote; `amend`: over its last commit, by force."""
        other = self.root.parent / f"{self.root.name}-other"
        if not other.exists():
            git(self.root.parent, "clone", "-q", str(self.remote), other.name)
        git(other, "fetch", "-q", "origin")
        git(other, "checkout", "-q", "-B", BRANCH, f"origin/{BRANCH}")
        (other / path).write_text(text)
        git(other, "add", "-A")
        git(other, "commit", "-q", *(["--amend", "--no-edit"] if amend else ["-m", f"{path} by hand"]))
        git(other, "push", "-q", "-f", "origin", BRANCH)
        return git(other, "rev-parse", "HEAD").strip()


PUSH = action("git_push")
PULL = action("git_pull")


def opened(title: str = "Tidy up", body: str = "All `old` is `new`.", **more: Any) -> dict[str, Any]:
    return action("pr_open", {"title": title, "body": body, **more})
