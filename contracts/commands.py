"""A command that the model may name: its argv with placeholders, its parameters, its promises."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from contracts.base import Frozen, JsonObject, digest
from contracts.units import CommandLine, Duration, Inside, Many, Name, OptionalArgv, Text, invalid

# `{name}` is filled in, `{{name}}` stands for the text `{name}`, `${NAME}` is the shell's own.
_PLACE = re.compile(r"\{(\{[a-z][a-z0-9_]*\})\}|(?<![${])\{([a-z][a-z0-9_]*)\}")

_HERE = re.compile(r"(?<!<)<<(?!<).*\n")
_BREAK = re.compile(r"[\r\n]")
_BREAK_NAMED = {"\\n", "\\r", "\n", "\r"}
_TOKEN = re.compile(r"\\?.", re.DOTALL)


class Param(Frozen):
    """What a parameter's value may be; exactly one of the two."""

    pattern: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="regular expression that the whole value must match; a line break only where it names \\n",
    )
    enum: Annotated[Many[Text], Field(min_length=1)] | None = Field(
        default=None, description="the allowed values"
    )

    @model_validator(mode="after")
    def _one(self) -> Param:
        if (self.pattern is None) == (self.enum is None):
            raise invalid("a param has either `pattern` or `enum`")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise invalid(f"the pattern is no regular expression: {error}") from None
        return self

    def objection(self, value: str) -> str | None:
        """Why `value` may not be filled in, or None. The whole value must match; a line break also must be named,
        since `[^;]` and `\\s` match one that nobody thought of. A NUL can be in no argument."""
        if "\0" in value:
            return "an argument can't hold a NUL"
        if self.enum is not None:
            return None if value in self.enum else f"allowed are {', '.join(self.enum)}"
        assert self.pattern is not None
        if not re.fullmatch(self.pattern, value):
            return f"the whole value must match {self.pattern}"
        if _BREAK.search(value) and not _BREAK_NAMED & set(_TOKEN.findall(self.pattern)):
            return f"it holds a line break, and the pattern {self.pattern} names none (\\n)"
        return None


class Command(Frozen):
    """What `run` may name. `{param}` is filled in, `{{x}}` is the text {x}."""

    run: CommandLine = Field(description="a list is exec, a text is sh -c; {param} is filled in")
    params: dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")], Param] = Field(
        default_factory=dict, description="what may be filled in, by name"
    )
    timeout: Duration = Field(default=300.0, description="longest time of one run")
    idle: Duration = Field(default=600.0, description="longest time without output")
    must: Literal["any", "pass"] = Field(
        default="any", description="pass: an exit code other than 0 refutes the step"
    )
    effects: Many[Name] = Field(default=(), description="declared effects outside the worktree")
    probe: OptionalArgv = Field(default=(), description="exit 0: it happened; 1: it did not")
    network: bool = Field(default=False, description="whether it may use the network")
    report: Inside | None = Field(
        default=None, description="JUnit XML that it writes, a path or glob; read beside its output"
    )

    @model_validator(mode="after")
    def _filled(self) -> Command:
        run, probe = set(_names(self.run)), set(_names(self.probe))
        for name in sorted((run | probe) - self.params.keys()):
            raise invalid(f"{{{name}}} has no entry in params; for the text itself write {{{{{name}}}}}")
        for name in sorted(self.params.keys() - run):
            raise invalid(f"param {name!r} is used nowhere in run: write {{{name}}} where it belongs")
        if isinstance(self.run, str) and (quoted := _in_quotes(self.run)):
            # Within quotes the value's own quoting would end them, and the value could become code.
            raise invalid(
                f"{{{quoted}}} stands within quotes; the value is quoted for you: leave the quotes out"
            )
        if isinstance(self.run, str) and (start := _HERE.search(self.run)):
            for inside in _names(self.run[start.end() :]):
                raise invalid(
                    f"{{{inside}}} stands in a here-document or after one; there no quoting keeps a value from being "
                    "run: use it before, as an argument"
                )
        return self

    def filled(self, values: Mapping[str, str]) -> str | tuple[str, ...]:
        """`run` with `values` filled in; in a text each value is quoted for the shell. Raises ValueError
        unless `values` has exactly the params, each accepted."""
        return self._fill(self.run, values)

    def filled_probe(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """`probe` with `values` filled in; empty when there is none. Raises ValueError as `filled`."""
        filled = self._fill(self.probe, values)
        return filled if isinstance(filled, tuple) else ()

    def _fill(self, line: str | tuple[str, ...], values: Mapping[str, str]) -> str | tuple[str, ...]:
        if values.keys() != self.params.keys():
            raise ValueError(f"params are {sorted(self.params)}, given are {sorted(values)}")
        for name, value in values.items():
            why = self.params[name].objection(value)
            if not why and isinstance(line, str) and _BREAK.search(value):
                # In a comment or a here-document no quoting holds it: the next line would be code.
                why = "it holds a line break, which is safe only where `run` is a list"
            if why:
                raise ValueError(f"param {name!r} does not accept {value[:200]!r}: {why[:400]}")
        if isinstance(line, str):
            return _PLACE.sub(lambda m: m[1] or shlex.quote(values[m[2]]), line)
        return tuple(_PLACE.sub(lambda m: m[1] or values[m[2]], word) for word in line)


def run_id(args: JsonObject) -> str:
    """What names a run of a command, its parameters included: `run tests`, `run tests 1a2b3c4d`."""
    params = args.get("params")
    return f"run {str(args.get('command'))[:40]}" + (f" {digest(params)[:8]}" if params else "")


def _names(line: str | tuple[str, ...]) -> Iterator[str]:
    for word in (line,) if isinstance(line, str) else line:
        yield from (match[2] for match in _PLACE.finditer(word) if match[2])


def _in_quotes(text: str) -> str | None:
    """The first placeholder that stands within shell quotes, or right after a backslash."""
    quote, places = "", {match.start(): match[2] for match in _PLACE.finditer(text) if match[2]}
    skip = False
    for at, char in enumerate(text):
        if at in places and (quote or skip):
            return places[at]
        if skip:
            skip = False
        elif char == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return None
