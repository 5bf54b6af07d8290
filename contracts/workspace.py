"""The workspace of task.yaml: the Git worktree in which a task is done."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from contracts.base import Frozen
from contracts.units import CommandLines, Duration, Inside, Many, Text, invalid


class Setup(Frozen):
    """Makes a fresh worktree usable; run by the controller, never by the model."""

    run: CommandLines = Field(default=(), description="commands in order; a list is exec, a text is sh -c")
    when: Many[Inside] = Field(default=(), description="run again when one of these files changes")
    network: bool = Field(default=False, description="whether the commands may use the network")
    timeout: Duration = Field(default=600.0, description="longest time of all commands together")


def _branch(value: str) -> str:
    plain = value.replace("{name}", "x")
    bad = re.search(r"[\s~^:?*\[\\{}\x00-\x1f\x7f]|\.\.|//|@\{|\.lock(/|$)|(^|/)\.", plain)
    if bad or plain.startswith(("-", "/")) or plain.endswith(("/", ".")):
        raise invalid(f"{value!r} is no name for a Git branch; only {{name}} is filled in")
    return value


def _worktree(value: str) -> str:
    if re.search(r"[{}]", value.replace("{name}", "")):
        raise invalid(f"{value!r}: only {{name}} is filled in here")
    if "\x00" in value or value.strip("/.") == "":
        raise invalid(f"{value!r} is no folder of its own for the worktree")
    return value


class Workspace(Frozen):
    """The Git worktree in which the task is done; the user's checkout is never touched."""

    model_config = ConfigDict(serialize_by_alias=True)

    repo: Text = Field(default=".", description="the repository, relative to the task file")
    base: Text = Field(default="main", description="branch, tag or commit to start from")
    branch: Annotated[Text, AfterValidator(_branch)] = Field(
        default="skill-state/{name}", description="the run's own branch; {name} is the task's name"
    )
    path: Annotated[Text, AfterValidator(_worktree)] = Field(
        default=".agent-runtime/work/{name}", description="folder of the worktree, relative to the task file"
    )
    author: Annotated[str, StringConstraints(pattern=r"^[^<>\n]+ <[^<>\s]+>$", max_length=200)] = Field(
        default="skill-state <noreply@localhost>", description="author of the step commits: NAME <MAIL>"
    )
    allow_secrets: Many[Inside] = Field(
        default=(), description="files of the .env kind that may be read or committed"
    )
    scope: Annotated[Many[Inside], Field(min_length=1)] = Field(
        default=("**",), description="what may be changed"
    )
    protected: Many[Inside] = Field(
        default=(), description="what may never be changed, beside what always is"
    )
    setup: Setup = Field(default_factory=Setup, description="makes a fresh worktree usable")
    copy_in: Many[Inside] = Field(
        default=(), alias="copy", description="ignored files to copy into the worktree"
    )
