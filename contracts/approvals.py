"""What a person must say yes to, as a task writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from contracts.base import Frozen
from contracts.paths import matches
from contracts.units import Duration, Many, Name, Text, invalid


class Boundary(Frozen):
    """One boundary; exactly one of its fields. A bare word is a tool."""

    tool: Name | None = Field(default=None, description="every use of an action, for example git_push")
    run: Text | None = Field(default=None, description="named commands, as a glob: deploy-*")
    paths: Many[Text] | None = Field(default=None, description="edits of files under these globs")
    deletes: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="deleting more files than this in one step"
    )
    usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="a step that may cost more than this"
    )

    @model_validator(mode="after")
    def _one(self) -> Boundary:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise invalid("a boundary is one of: an action's name, run, paths, deletes, usd")
        return self

    def __str__(self) -> str:
        if self.tool:
            return self.tool
        ((name, value),) = self.model_dump(exclude_none=True).items()
        return f"{name}: {', '.join(value) if isinstance(value, tuple) else value}"


def _boundary(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


_Boundary = Annotated[Boundary, BeforeValidator(_boundary, json_schema_input_type=Name | Boundary)]


def overstepped(boundaries: Iterable[Boundary], changed: Mapping[str, str | None]) -> str:
    """What a deed went beyond without a person's yes, by what it changed (path -> digest, None: gone); or empty."""
    gone = [path for path, sha in changed.items() if sha is None]
    for boundary in boundaries:
        if boundary.deletes is not None and len(gone) > boundary.deletes:
            return f"{len(gone)} files were deleted; more than {boundary.deletes} need a person's yes"
        touched = [path for path in changed if boundary.paths and matches(path, boundary.paths)]
        if touched:
            return f"{touched[0]} was changed, which needs a person's yes ({', '.join(boundary.paths or ())})"
    return ""


class Approvals(Frozen):
    """What a person must say yes to, and what happens meanwhile."""

    boundaries: Many[_Boundary] = Field(default=(), description="what needs an approval first")
    on_blocked: Literal["wait", "continue"] = Field(
        default="wait", description="end, or go on with other work"
    )
    expire: Duration = Field(default=86400.0, description="how long something may wait to be approved")
    who: Many[Text] = Field(
        default=(),
        description="who may decide: user names of this machine, `github:NAME` or `gitlab:NAME` for people of the "
        "forge (docs/forge.md); empty: whoever can run it, and nobody there",
    )

    @property
    def usd_per_step(self) -> float | None:
        """What a step may cost without a person's yes; None: no boundary."""
        return min((each.usd for each in self.boundaries if each.usd is not None), default=None)
