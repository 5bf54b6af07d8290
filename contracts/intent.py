"""The User Intent Contract: what the user wants and what nobody else may change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import count
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from contracts.base import Frozen, JsonObject
from contracts.units import Many, Name, invalid

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
    proof: Annotated[Many[Name], Field(max_length=16)] = Field(
        default=(), description="of a success criterion: the checks that prove it"
    )

    def line(self) -> str:
        """The item as it is shown: its id, its value, what else is known of it."""
        notes = [
            f"{name.replace('_', ' ')}: {value}"
            for name in ("owner", "change_policy", "retention", "freshness", "source")
            if (value := getattr(self, name)) is not None
        ]
        notes += [f"proof: {', '.join(self.proof)}"] if self.proof else []
        label = f"[{self.id}] " if self.id else ""
        return label + self.value + (f" ({'; '.join(notes)})" if notes else "")


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
            if item.proof and not any(item is each for each in self.success_criteria):
                raise invalid(f"only success_criteria have a proof: {item.value[:60]!r} is none")
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

    def shown(self, section: str) -> tuple[Item, ...]:
        """The items of a section that are in force: without what was superseded."""
        superseded = {item.supersedes for item in self.items()} - {None}
        items: tuple[Item, ...] = getattr(self, section)
        return tuple(item for item in items if item.id is None or item.id not in superseded)

    def document(self) -> JsonObject:
        """The contract as its file says it: only what is said, an item of nothing but its value as a text."""
        found: JsonObject = {"version": self.version, "goal": self.goal}
        for section in SECTIONS:
            items = [item.model_dump(mode="json", exclude_defaults=True) for item in getattr(self, section)]
            if items:
                found[section] = [item["value"] if set(item) == {"value"} else item for item in items]
        return found

    def render(self) -> str:
        """Compact text for the prompt: the goal, then each section that has items. Ends with a newline; equal
        contracts give equal text."""
        lines = [f"Goal: {_indented(self.goal)}"]
        for section in SECTIONS:
            if items := self.shown(section):
                lines.append(f"{section.replace('_', ' ').capitalize()}:")
                lines.extend(f"- {_indented(item.line())}" for item in items)
        return "\n".join(lines) + "\n"


def replaced(old: Item, new: Item, section: str, taken: Collection[str | None]) -> tuple[Item, Item]:
    """`old` as it stays on record, under an id made of its own that is not `taken`, and `new` in its place: under the
    id by which others refer to it."""
    name = (old.id or section)[:35]
    aside = next(each for n in count(1) if (each := f"{name}.{n}") not in taken)
    return old.model_copy(update={"id": aside}), new.model_copy(update={"id": old.id, "supersedes": aside})


def lineage(items: Iterable[Item], item: Item) -> list[Item]:
    """An item and what it superseded, back to the first."""
    found, by_id = [item], {each.id: each for each in items if each.id}
    while (older := by_id.get(found[-1].supersedes or "")) is not None:
        found.append(older)
    return found


def removed(items: Iterable[Item], item: Item) -> list[Item]:
    """`items` without one of them and without what it superseded: that does not come back."""
    items = list(items)
    gone = lineage(items, item)
    return [each for each in items if all(each is not one for one in gone)]


def in_force(amended: JsonObject | None, contract: IntentContract) -> IntentContract:
    """The contract as changes that the user approved in this run left it, else as the task has it."""
    return contract if amended is None else IntentContract.model_validate(amended)


def _indented(text: str) -> str:
    # A line break inside an item must not look like the start of another item or section.
    return "\n  ".join(text.splitlines())
