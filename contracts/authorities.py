"""What a task may say of its authorities."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from contracts.base import Frozen, JsonObject
from contracts.forge import PLACES, EnvName, IssuesOptions, PullsOptions, Url
from contracts.live import DeploymentOptions, ValueOptions
from contracts.units import CommandLine, Duration, Inside, Many, Name, Size, Text, invalid

Exit = Annotated[int, Field(ge=0, le=255)]


class CiOptions(Frozen):
    """`options` of `use: ci`."""

    provider: Literal["github", "gitlab", "buildbot", "command"] = Field(description="who is asked")
    url: Url | None = Field(
        default=None,
        description="address of the API; absent: that of github.com or gitlab.com. The token goes only there",
    )
    repository: Text | None = Field(
        default=None, description="owner/name (GitHub), group/project or number (GitLab)"
    )
    token_env: EnvName | None = Field(
        default=None, description="variable of the controller that holds the token; commands never get it"
    )
    required: Many[Text] = Field(
        default=(),
        description="names or globs of checks that must pass, beside those that the branch rules require; "
        "neither given: every check that is seen counts",
    )
    ignore: Many[Text] = Field(
        default=(),
        description="names or globs of checks that are not looked at, such as the job that the controller runs in",
    )
    accept: Many[Literal["neutral", "skipped"]] = Field(
        default=(), description="what a required check may say without counting either way"
    )
    branch: Text | None = Field(
        default=None,
        description="the branch whose rules hold; absent: the pull request's, else workspace.base",
    )
    reviews: bool = Field(default=True, description="whether a missing review blocks")
    grace: Duration = Field(default=300.0, description="how long checks may take to appear after a push")
    give_up: Duration = Field(default=86400.0, description="how long nothing may move while something runs")
    poll: Duration = Field(default=60.0, description="when to look again while something is pending")

    @model_validator(mode="after")
    def _complete(self) -> CiOptions:
        if self.provider in PLACES and not self.repository:
            raise invalid(f"provider {self.provider} needs `repository`")
        if self.provider == "github" and self.repository and self.repository.count("/") != 1:
            raise invalid("`repository` of provider github is owner/name")
        if self.provider == "buildbot" and not self.url:
            raise invalid("provider buildbot needs `url`, such as https://ci.example.org/")
        if self.provider == "command" and (self.url or self.token_env or self.repository):
            raise invalid("provider command takes no `url`, `repository` or `token_env`")
        return self

    @property
    def place(self) -> str:
        """The address that is asked, without a slash at its end."""
        return (self.url or PLACES.get(self.provider, "")).rstrip("/")


class AdrOptions(Frozen):
    """`options` of `use: adr`: a folder of decision records in Markdown."""

    path: Inside = Field(description="the folder, relative to the task file's; with those in it")
    at: Literal["base", "worktree"] = Field(
        default="base",
        description="base: as they are where workspace.base stands now; worktree: as the run's own work left them",
    )
    status: Many[Text] = Field(
        default=(),
        description="only those with one of these; absent: all but superseded, rejected, deprecated",
    )


OPTIONS: dict[str, type[Frozen]] = {
    "ci": CiOptions,
    "issues": IssuesOptions,
    "pulls": PullsOptions,
    "adr": AdrOptions,
    "deployment": DeploymentOptions,
    "http_json": ValueOptions,
}
DECIDING = ("ci", "deployment", "http_json")  # of those that are built in, what a check may rest on


class Authority(Frozen):
    """A reading shown each step. It informs; it never passes or fails, but a check may rest on it."""

    use: Name = Field(
        description="reconciler: command, git, ci, issues, pulls, adr, deployment, http_json, or an installed one's "
        "name (docs/authorities.md)"
    )
    run: CommandLine | None = Field(
        default=None, description="the command of `use: command`, or of one with provider command"
    )
    ok_exit: Annotated[Many[Exit], Field(min_length=1)] = Field(
        default=(0,), description="exit codes of a good reading; any other makes it unknown"
    )
    max_bytes: Size = Field(default=4096, description="longest excerpt that is shown")
    worklist: bool = Field(
        default=False,
        description="each line of a command, or each issue, is an item that is left to do; the count is progress",
    )
    timeout: Duration = Field(default=60.0, description="longest time of one reading")
    network: bool = Field(default=False, description="whether the command may use the network")
    options: JsonObject = Field(
        default_factory=dict, description="settings of what `use` names (docs/authorities.md)"
    )

    @model_validator(mode="after")
    def _complete(self) -> Authority:
        asked = self.settings
        if self.use == "command" and self.run is None:
            raise invalid("`use: command` needs `run`")
        if self.run is not None and self.use != "command" and getattr(asked, "provider", "") != "command":
            raise invalid("only `use: command` and `provider: command` take `run`")
        if self.run is None and getattr(asked, "provider", "") == "command":
            raise invalid("`provider: command` needs `run`")
        if self.worklist and self.use in OPTIONS and self.use != "issues":
            raise invalid("`worklist` is for `use: command` and `use: issues`")
        return self

    @property
    def decides(self) -> bool:
        """Whether a check may rest on it; of an installed one its reading tells."""
        return self.use in DECIDING or self.use not in ("command", "git", *OPTIONS)

    @property
    def settings(self) -> Frozen | None:
        """The options as the type that `use` has for them; None for one that is not built in. Raises an error that
        reaches the user as it is."""
        kind = OPTIONS.get(self.use)
        if kind is None:
            return None
        try:
            return kind.model_validate(self.options)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            at = ".".join(["options", *(str(part) for part in first["loc"])])
            raise invalid(f"{at}: {first['msg']}") from None
