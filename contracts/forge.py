"""What a task may say of a place on the network that is read with a token, and of the texts that people write there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from contracts.base import Frozen
from contracts.units import Many, Text, invalid

EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s@/?#]+(/[^\s@?#]*)?$", max_length=2048)]
Number = Annotated[int, Field(ge=1, le=2**53)]
PLACES = {"github": "https://api.github.com", "gitlab": "https://gitlab.com/api/v4"}


class Repository(Frozen):
    """One repository on a forge, and how it is read."""

    provider: Literal["github", "gitlab"] = Field(description="who is asked")
    url: Url | None = Field(
        default=None,
        description="address of the API; absent: that of github.com or gitlab.com. The token goes only there",
    )
    repository: Text = Field(description="owner/name (GitHub), group/project or number (GitLab)")
    token_env: EnvName | None = Field(
        default=None, description="variable of the controller that holds the token; commands never get it"
    )

    @model_validator(mode="after")
    def _owned(self) -> Repository:
        if self.provider == "github" and self.repository.count("/") != 1:
            raise invalid("`repository` of provider github is owner/name")
        return self

    @property
    def place(self) -> str:
        """The address that is asked, without a slash at its end."""
        return (self.url or PLACES[self.provider]).rstrip("/")


class Thread(Repository):
    """What of a text with comments is read."""

    number: Number | None = Field(default=None, description="the one that is read whole")
    comments: Annotated[int, Field(ge=0, le=50)] = Field(
        default=0, description="how many of the newest comments are read beside the text of the one"
    )
    comments_by: Many[Text] = Field(default=(), description="whose comments; absent: everybody's")


class IssuesOptions(Thread):
    """`options` of `use: issues`: one issue, or those that a query finds."""

    state: Literal["open", "closed", "all"] = Field(default="open", description="of a query: which")
    labels: Many[Text] = Field(default=(), description="of a query: with all of these labels")
    assignee: Text | None = Field(default=None, description="of a query: assigned to")
    author: Text | None = Field(default=None, description="of a query: opened by")

    @model_validator(mode="after")
    def _one_or_many(self) -> IssuesOptions:
        asked = self.model_fields_set & {"state", "labels", "assignee", "author"}
        if self.number is not None and asked:
            raise invalid(f"`number` names one issue, `{min(asked)}` looks for some: give one of the two")
        if self.number is None and self.comments:
            raise invalid("`comments` are read of one issue: give its `number`")
        return self


class PullsOptions(Thread):
    """`options` of `use: pulls`: one pull request (GitLab: merge request)."""

    branch: Text | None = Field(
        default=None, description="the branch that it would merge; absent: the run's own branch"
    )

    @model_validator(mode="after")
    def _one(self) -> PullsOptions:
        if self.number is not None and self.branch is not None:
            raise invalid("`number` and `branch` both name the pull request: give one of the two")
        return self
