"""The tools that act on a Git remote and on a forge, as data: what each takes and says of itself to the model."""

from __future__ import annotations

from contracts.actions import ActionSpec, closed
from contracts.base import JsonObject


def _deed(name: str, args: JsonObject, summary: str) -> ActionSpec:
    return ActionSpec(name, args, summary, effect="outside", alone=True)


DEED_SPECS = (
    _deed(
        "git_push",
        closed({}),
        "your commits to the run's branch on the remote; never over what others pushed there",
    ),
)

DEED_EXAMPLES: dict[str, str] = {
    "git_push": "{}",
}
