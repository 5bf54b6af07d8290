"""The User Intent Contract: what the user wants and what nobody else may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from contracts.base import Frozen, JsonObject
from contracts.units import Many, invalid

_Value = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
_Word = Annotated[str, StringConstraints(max_length=200)]


class Item(Frozen):
    """One entry of a section. A plain text in the file is an item with only a value."""

    value: _Value = Field(description="the entry in the user's words")
    id: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9_.-]{1,40}$", description="name by which others refer to it"
    )
    source: _Word | None = Field(
        default=None, description="where it comes from: an issue, a person, a document"
    )
    owner: _Word | None = Field(default=None, description="who may change it; absent: the user")
    retention: _Word | None = Field(
        default=None, description="how long it holds, for example run, task, forever"
    )
    freshness: _Word | None = Field(default=None, description="when it must be looked at again")
    change_policy: _Word | None = Field(
        default=None, description="how it may be changed, for example locked or ask"
    )
    supersedes: str | None = Field(default=None, description="id of the item that this one replaces")


def _item(value: Any) -> Any:
    return {"value": value} if isinstance(value, str) else value


_Item = Annotated[Item, BeforeValidator(_item, json_schema_input_type=str | Item)]
Items = Annotated[Many[_Item], Field(max_length=64)]

SECTIONS = (
    "success_criteria",
    "locked_requirements",
    "constraints",
    "non_goals",
    "approval_boundaries",
    "must_remember",
    "priority_order",
)


class IntentContract(Frozen):
    """The eight sections. Every item id is unique; a superseded item stays in the file unrendered."""

    json_schema_ref: str | None = Field(
        default=None, alias="$schema", exclude=True, description="for editors only"
    )
    version: Annotated[int, Field(ge=1, le=1)] = 1
    goal: Annotated[str, StringConstraints(min_length=1, max_length=16000, strip_whitespace=True)] = Field(
        description="what shall be reached, in the user's words"
    )
    success_criteria: Items = Field(default=(), description="how the user will recognise success")
    locked_requirements: Items = Field(default=(), description="requirements that only the user changes")
    constraints: Items = Field(default=(), description="limits on how the goal is reached")
    non_goals: Items = Field(default=(), description="what shall not be done")
    approval_boundaries: Items = Field(default=(), description="deeds that need a person's approval first")
    must_remember: Items = Field(default=(), description="facts that must not be forgotten")
    priority_order: Items = Field(default=(), description="what wins when two aims conflict, first wins")

    @model_validator(mode="after")
    def _consistent(self) -> IntentContract:
        by_id: dict[str, Item] = {}
        for item in self.items():
            if item.id is not None and by_id.setdefault(item.id, item) is not item:
                raise invalid(f"two items have the id {item.id!r}")
        for item in self.items():
            seen: set[str] = set()
            following: Item | None = item
            while following is not None and following.supersedes is not None:
                target = following.supersedes
                if target not in by_id:
                    raise invalid(f"supersedes names {target!r}, and no item has that id")
                if target in seen or target == item.id:
                    raise invalid(f"{target!r} is superseded in a circle: nothing of it would be left")
                seen.add(target)
                following = by_id[target]
        return self

    @classmethod
    def from_goal(cls, text: str) -> IntentContract:
        """A contract that knows only its goal. Raises ValidationError on an empty or oversized text."""
        return cls.model_validate({"goal": text})

    def items(self) -> Iterator[Item]:
        """Every item of every section, in file order."""
        for section in SECTIONS:
            yield from getattr(self, section)

    def render(self) -> str:
        """Compact text for the prompt: the goal, then each section that has items. Ends with a newline; equal
        contracts give equal text."""
        superseded = {item.supersedes for item in self.items()} - {None}
        lines = [f"Goal: {_indented(self.goal)}"]
        for section in SECTIONS:
            items = [item for item in getattr(self, section) if item.id is None or item.id not in superseded]
            if items:
                lines.append(f"{section.replace('_', ' ').capitalize()}:")
                lines.extend(f"- {_line(item)}" for item in items)
        return "\n".join(lines) + "\n"


def in_force(amended: JsonObject | None, contract: IntentContract) -> IntentContract:
    """The contract as changes that the user approved in this run left it, else as the task has it."""
    return contract if amended is None else IntentContract.model_validate(amended)


def _line(item: Item) -> str:
    notes = [
        f"{name.replace('_', ' ')}: {value}"
        for name in ("owner", "change_policy", "retention", "freshness", "source")
        if (value := getattr(item, name)) is not None
    ]
    label = f"[{item.id}] " if item.id else ""
    return _indented(label + item.value + (f" ({'; '.join(notes)})" if notes else ""))


def _indented(text: str) -> str:
    # A line break inside an item must not look like the start of another item or section.
    return "\n  ".join(text.splitlines())
