"""What a task may do on its forge and its Git remote, and within which caps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from contracts.base import Frozen
from contracts.forge import PLACES, EnvName, Number, Url
from contracts.units import Many, Text, invalid
from contracts.windows import Window, Zone

REMOTE_TOOLS = ("git_push", "git_pull")  # need the Git remote alone
FORGE_TOOLS = ("pr_open", "pr_update", "pr_merge", "pr_comment", "issue_comment", "ci_rerun")
DEEDS = (*REMOTE_TOOLS, *FORGE_TOOLS)

Cap = Annotated[int, Field(ge=1, le=1000)]


class Caps(Frozen):
    """How much of it there may be. They are looked at before a deed, and said where they refuse it."""

    open: Cap = Field(
        default=5,
        description="pull requests of ours, of all tasks, that may be open at once in the repository",
    )
    hourly: Cap = Field(default=2, description="pull requests of ours that may be opened within an hour")
    reruns: Annotated[int, Field(ge=0, le=20)] = Field(
        default=1, description="how often CI may be run again for one commit"
    )
    schedule: Many[Window] = Field(
        default=(),
        description="when there may be pushes, pull requests and merges: `mon-fri 22:00-06:00`; absent: always",
    )
    timezone: Zone = Field(default="UTC", description="the zone of these hours")


class Forge(Frozen):
    """Where the run's work is brought before people: a Git remote, and the forge around it."""

    provider: Literal["github", "gitlab", "git"] = Field(
        description="the forge; `git` for a remote that has none: it can be pushed to, and that is all"
    )
    repository: Text | None = Field(
        default=None, description="owner/name (GitHub), group/project or number (GitLab)"
    )
    url: Url | None = Field(
        default=None, description="address of the API; absent: that of github.com or gitlab.com"
    )
    token_env: EnvName | None = Field(
        default=None,
        description="variable of the controller that holds the token, for the API and the pushes; no agent and no "
        "command gets it",
    )
    remote: Text = Field(default="origin", description="the Git remote: its name, or its address")
    base: Text | None = Field(
        default=None, description="the branch that a pull request is for; absent: workspace.base"
    )
    merge: Literal["merge", "squash", "rebase"] = Field(
        default="merge", description="how pr_merge merges; GitLab: as the project says, or squash"
    )
    issue: Number | None = Field(
        default=None,
        description="the issue where what waits for a person is posted; absent: the run's pull request",
    )
    caps: Caps = Field(default_factory=Caps, description="how much of it there may be")

    @model_validator(mode="after")
    def _complete(self) -> Forge:
        if self.provider == "git":
            if extra := sorted(self.model_fields_set & {"repository", "url", "issue", "merge"}):
                raise invalid(f"provider git is a remote alone, it takes no `{extra[0]}`")
        elif not self.repository:
            raise invalid(f"provider {self.provider} needs `repository`")
        if self.provider == "github" and self.repository and self.repository.count("/") != 1:
            raise invalid("`repository` of provider github is owner/name")
        return self

    @property
    def place(self) -> str:
        """The address of the API, without a slash at its end; empty for a remote alone."""
        return (self.url or PLACES.get(self.provider, "")).rstrip("/")

    @property
    def git_host(self) -> str:
        """The host whose git the token is for."""
        host = urlsplit(self.place).netloc
        return "github.com" if host == "api.github.com" else host


def unmet(allowed: Iterable[str], forge: Forge | None) -> str:
    """What is missing for the allowed actions, in a sentence; empty when nothing is."""
    asked = [tool for tool in dict.fromkeys(allowed) if tool in DEEDS]
    if asked and forge is None:
        return f"`{asked[0]}` is allowed: say in `forge:` where, with provider, repository and token_env"
    more = [tool for tool in asked if tool in FORGE_TOOLS]
    if more and forge is not None and forge.provider == "git":
        return f"`{more[0]}` is allowed, which a Git remote alone can't do: name the forge's provider"
    return ""
