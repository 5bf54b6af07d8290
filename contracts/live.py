"""What a task may say of what runs: which revision is deployed, how it does, and what is measured of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from contracts.base import Frozen
from contracts.forge import PLACES, EnvName, Url
from contracts.units import Duration, Many, Text, invalid


def _pointer(value: str) -> str:
    if value and not value.startswith("/"):
        raise invalid(
            f"{value!r} is no JSON pointer: write /key/0/key, or an empty text for the whole answer"
        )
    return value


Pointer = Annotated[str, StringConstraints(max_length=400), AfterValidator(_pointer)]
Limit = Annotated[float, Field(allow_inf_nan=False)]


class DeploymentOptions(Frozen):
    """`options` of `use: deployment`."""

    provider: Literal["http", "github", "command"] = Field(description="who is asked")
    url: Url | None = Field(
        default=None,
        description="http: the address that tells the version, as JSON; github: the API, absent: that of github.com. "
        "The token goes only there",
    )
    repository: Text | None = Field(default=None, description="github: owner/name")
    environment: Text | None = Field(default=None, description="github: which environment")
    token_env: EnvName | None = Field(
        default=None, description="variable of the controller that holds the token; commands never get it"
    )
    revision: Pointer = Field(
        default="/revision", description="http: where the answer has the deployed commit or tag"
    )
    health: Pointer | None = Field(default=None, description="http: where the answer says how it does")
    healthy: Annotated[Many[Text], Field(min_length=1)] = Field(
        default=("ok", "healthy", "up", "pass", "true"), description="words that mean well, in any case"
    )
    health_url: Url | None = Field(
        default=None,
        description="an address that answers with 2xx when it does well, and with something else when not",
    )
    stable: Pointer | None = Field(
        default=None, description="http: where the answer has the last good version"
    )
    rollback: Pointer | None = Field(default=None, description="http: where it says what to go back to")
    migration: Pointer | None = Field(
        default=None, description="http: where it has the version of the database"
    )
    expect: Literal["head", "any"] = Field(
        default="head",
        description="what must be deployed for it to pass: the run's commit, or one that holds it; any: "
        "only its health counts",
    )
    expect_migration: Text | None = Field(
        default=None, description="the version at which the database must stand for it to pass"
    )
    automatic: bool = Field(
        default=False,
        description="another revision is replaced without anybody's doing: a finish waits for that",
    )
    poll: Duration = Field(default=60.0, description="when to look again while something is pending")

    @model_validator(mode="after")
    def _complete(self) -> DeploymentOptions:
        only = {
            "http": {"revision", "health", "stable", "rollback", "migration"},
            "github": {"repository", "environment"},
            "command": set[str](),
        }
        if self.provider == "http" and self.url is None:
            raise invalid("provider http needs `url`, the address that tells the version")
        if self.provider == "github" and not (self.repository and self.environment):
            raise invalid("provider github needs `repository` and `environment`")
        if self.provider == "github" and str(self.repository).count("/") != 1:
            raise invalid("`repository` of provider github is owner/name")
        if self.provider == "command" and (self.url or self.token_env):
            raise invalid("provider command takes no `url` or `token_env`")
        for provider, names in only.items():
            if provider != self.provider and (wrong := sorted(names & self.model_fields_set)):
                raise invalid(f"`{wrong[0]}` is for provider {provider}")
        return self

    @property
    def place(self) -> str:
        """The address that is asked, without a slash at its end."""
        return (self.url or PLACES.get(self.provider, "")).rstrip("/")


class ValueOptions(Frozen):
    """`options` of `use: http_json`: one number, and what it must be."""

    url: Url = Field(description="the address; the token goes only there")
    query: dict[Text, Text] = Field(default_factory=dict, description="what is asked of it, by name")
    token_env: EnvName | None = Field(
        default=None, description="variable of the controller that holds the token; commands never get it"
    )
    header: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,60}$")] = Field(
        default="Authorization",
        description="the header that the token is sent in; Authorization: as a bearer's",
    )
    pointer: Pointer = Field(
        description="where the answer has the number, a list of numbers, or a list of [time, number]"
    )
    time: Pointer | None = Field(default=None, description="where it has the time of that one number")
    at_most: Limit | None = Field(default=None, description="it must not be more")
    at_least: Limit | None = Field(default=None, description="it must not be less")
    window: Duration | None = Field(
        default=None,
        description="how long that must hold: for every sample of so long, or, of a lone number, since so long",
    )
    poll: Duration = Field(default=60.0, description="when to look again while something is pending")

    @model_validator(mode="after")
    def _complete(self) -> ValueOptions:
        if self.at_most is None and self.at_least is None:
            raise invalid("say what the number must be: `at_most`, `at_least`, or both")
        if self.at_most is not None and self.at_least is not None and self.at_least > self.at_most:
            raise invalid("`at_least` is more than `at_most`: no number is both")
        return self

    @property
    def wanted(self) -> str:
        """What the number must be, in words."""
        parts = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        return " and ".join(parts) + (f" for {self.window:g} s" if self.window else "")

    def holds(self, value: float) -> bool:
        """Whether a number is what it must be."""
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )
