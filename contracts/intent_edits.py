"""What one User Intent Contract has and another has not, item by item, of what is in force. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.base import JsonObject
from contracts.intent import SECTIONS, IntentContract, Item, removed, replaced


@dataclass(frozen=True)
class ItemEdit:
    """`old` gives way to `new`; None: there was, or is, nothing. `at` is a place as `request_change` names it."""

    at: str
    old: Item | None
    new: Item | None

    def lines(self) -> list[str]:
        """The edit as people read it."""
        told = [self.at]
        for sign, item in (("-", self.old), ("+", self.new)):
            told += [f"{sign} {line}" for line in item.line().splitlines()] if item else []
        return told

    def row(self) -> JsonObject:
        """The edit for the audit: the old value is marked as superseded by the new one."""
        old, new = (
            item.model_dump(mode="json", exclude_defaults=True) if item else None
            for item in (self.old, self.new)
        )
        return {"at": self.at, "now": new, "superseded": old}


def item_edits(before: IntentContract, after: IntentContract) -> tuple[ItemEdit, ...]:
    """The edits that lead from what is in force in `before` to what is in `after`. An item is the same when it says
    the same of everything but what it supersedes; another of its id, or one that supersedes it, has changed it; what
    is left over is paired in order."""
    found: list[ItemEdit] = []
    if before.goal != after.goal:
        found.append(ItemEdit("/intent/goal", Item(value=before.goal[:4000]), Item(value=after.goal[:4000])))
    for section in SECTIONS:
        found += _section(section, list(before.shown(section)), list(after.shown(section)))
    return tuple(found)


def alike(one: IntentContract, other: IntentContract) -> bool:
    """Whether the same is in force in both."""
    return not item_edits(one, other)


def lost(base: IntentContract, amended: IntentContract, after: IntentContract) -> tuple[ItemEdit, ...]:
    """Which of the changes that made `amended` of `base` do not hold in `after`."""
    return tuple(edit for edit in item_edits(base, amended) if not _holds(edit, after))


def carried(
    base: IntentContract, amended: IntentContract, into: IntentContract
) -> tuple[IntentContract, list[ItemEdit]]:
    """`into`, which was made of `base` too, with the changes that made `amended` of it; and those that can't be made
    there, since what they change is another thing in it or gone."""
    if alike(base, into):
        return amended, []
    sections = {section: list(getattr(into, section)) for section in SECTIONS}
    goal, left = into.goal, list[ItemEdit]()
    for edit in lost(base, amended, into):
        if edit.at == "/intent/goal":
            goal, fits = (amended.goal, True) if goal == base.goal else (goal, False)
        else:
            fits = _made(edit, sections[edit.at.split("/")[2]], into)
        left += [] if fits else [edit]
    told = {
        name: [item.model_dump(exclude_defaults=True) for item in items] for name, items in sections.items()
    }
    return IntentContract.model_validate({"goal": goal, **told}), left


def _made(edit: ItemEdit, items: list[Item], into: IntentContract) -> bool:
    new = edit.new and edit.new.model_copy(update={"supersedes": None})
    taken = {item.id for item in into.items()}
    if edit.old is None:
        if new:
            items.append(new.model_copy(update={"id": None}) if new.id in taken else new)
        return True
    at = next((n for n, item in enumerate(items) if _said(item) == _said(edit.old)), None)
    if at is None:
        return False
    old = items[at]
    if new is None:
        items[:] = removed(items, old)
    elif old.id:
        items[at : at + 1] = replaced(old, new, edit.at.split("/")[2], taken | {item.id for item in items})
    else:
        items[at] = new
    return True


def _holds(edit: ItemEdit, contract: IntentContract) -> bool:
    if edit.at == "/intent/goal":
        return edit.new is not None and edit.new.value == contract.goal[:4000]
    values = {item.value for item in contract.shown(edit.at.split("/")[2])}
    if edit.new is not None:
        return edit.new.value in values
    return edit.old is not None and edit.old.value not in values


def _section(section: str, before: list[Item], after: list[Item]) -> list[ItemEdit]:
    kept = {_said(item) for item in after}
    gone = [item for item in before if _said(item) not in kept]
    kept = {_said(item) for item in before}
    come = [item for item in after if _said(item) not in kept]
    pairs: list[tuple[Item | None, Item | None]] = []
    for new in list(come):
        old = next((each for each in gone if each.id and each.id in (new.id, new.supersedes)), None)
        if old is not None:
            pairs.append((old, new))
            gone.remove(old)
            come.remove(new)
    both = min(len(gone), len(come))
    pairs += [*zip(gone, come, strict=False)]
    pairs += [(old, None) for old in gone[both:]] + [(None, new) for new in come[both:]]
    return [ItemEdit(_at(section, old, new, before), old, new) for old, new in pairs]


def _at(section: str, old: Item | None, new: Item | None, before: list[Item]) -> str:
    if old is not None:
        return f"/intent/{section}/{old.id or before.index(old) + 1}"
    return f"/intent/{section}/{new.id if new and new.id else '-'}"


def _said(item: Item) -> str:
    return item.model_copy(update={"supersedes": None}).model_dump_json()
