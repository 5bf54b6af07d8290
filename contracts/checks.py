"""The checks of task.yaml: the only proof of done."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from contracts.authorities import Exit
from contracts.base import Frozen
from contracts.units import CommandLine, Count, Duration, Inside, Many, Name, invalid


class Check(Frozen):
    """A reading with a pass rule: the only proof of done."""

    name: Name = Field(description="unique among the checks")
    role: Literal["goal", "guard"] = Field(
        description="goal: red before, green when done; guard: green before, must stay green"
    )
    run: CommandLine | None = Field(default=None, description="a list is exec, a text is sh -c")
    authority: Name | None = Field(
        default=None,
        description="in place of run: an authority (ci, deployment, http_json); passes when that says `passed`, of the "
        "run's commit where it speaks of one",
    )
    pass_exit: Annotated[Many[Exit], Field(min_length=1)] = Field(
        default=(0,), description="exit codes that pass"
    )
    min_tests: Count | None = Field(
        default=None,
        description="tests that must pass (not only be collected); absent: measured at the start",
    )
    pins: Many[Inside] | None = Field(
        default=None,
        description="edits of these are rejected, and the check runs on the copies from the start; "
        "absent: paths in the argv, the test runner's configuration, CI files",
    )
    may_edit: Many[Inside] = Field(default=(), description="released from the pins")
    must_notice: Inside | None = Field(
        default=None, description="when this file is broken the check must go red"
    )
    baseline: Literal["green", "accept"] = Field(
        default="green", description="accept: this guard may be red at the start"
    )
    report: Inside | None = Field(
        default=None,
        description="JUnit XML that it writes, a path or glob (best one that Git ignores): read beside its output, "
        "the worse counts hold; the check is red when it was not written",
    )
    coverage: Inside | None = Field(
        default=None,
        description="coverage report that it writes, a path or glob (Cobertura, JaCoCo or Clover XML, lcov, a Go cover "
        "profile, JSON of coverage.py, Istanbul or llvm-cov); the check is red when it was not written",
    )
    min_coverage: Annotated[float, Field(gt=0, le=100)] | None = Field(
        default=None,
        description="percent of the lines that must be covered, by the report, or by what it prints where none is "
        "named; absent: with a report, as many as at the start",
    )
    when: Literal["finish", "edit", "step"] = Field(default="finish", description="how often it is read")
    timeout: Duration = Field(default=900.0, description="longest time of one reading")
    idle: Duration = Field(default=600.0, description="longest time without output")

    @model_validator(mode="after")
    def _rests_on_one(self) -> Check:
        if (self.run is None) == (self.authority is None):
            raise invalid("a check has either `run`, its command, or `authority`, a reading that it rests on")
        beside = {"name", "role", "authority", "baseline", "when"}
        if self.authority and (extra := sorted(self.model_fields_set - beside)):
            raise invalid(f"`{extra[0]}` says something of a command; this check rests on an authority")
        return self
