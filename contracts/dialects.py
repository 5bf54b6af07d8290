"""One canonical transition, compiled for each agent: what its vendor takes as a schema, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from contracts.actions import ActionSpec
from contracts.base import JsonObject
from contracts.codec import DialectError
from contracts.dialect_merge import (
    MAX_REASONING,
    action_node,
    envelope,
    patch_schema,
    plain,
    transition_schema,
)
from contracts.dialect_strict import OpsCodec, strict_action
from contracts.state import StateSchema

__all__ = ["Dialect", "DialectError", "DialectName", "compile_dialect", "transition_schema"]

DialectName = Literal["merge", "strict"]
_THINK = "Think here, briefly, before you decide; it is not kept."


@dataclass(frozen=True)
class Dialect:
    """How one kind of agent is asked for a transition. Made by `compile_dialect`."""

    name: DialectName
    schema: JsonObject = field(hash=False)
    reasoning: bool
    _encode: Callable[[JsonObject], JsonObject] = field(repr=False, compare=False)
    _decode: Callable[[JsonObject], JsonObject] = field(repr=False, compare=False)

    def encode(self, transition: JsonObject) -> JsonObject:
        """A canonical transition in this dialect. Raises DialectError where it touches a locked field."""
        encoded = self._encode(transition)
        return {"reasoning": "", **encoded} if self.reasoning else encoded

    def decode(self, reply: Any) -> JsonObject:
        """The canonical transition of a reply, `reasoning` dropped; its values are not validated here.

        What is not of this dialect (unknown keys, an unknown tool) stays as it is, for the gate to name.
        Raises DialectError with sentences for the model where there is no canonical form.
        """
        if not isinstance(reply, dict):
            raise DialectError(["/: the reply must be one JSON object with state_patch and action"])
        kept = {key: value for key, value in reply.items() if not (self.reasoning and key == "reasoning")}
        return self._decode(kept)


def compile_dialect(
    kind: DialectName,
    state_schema: StateSchema,
    actions: Sequence[ActionSpec],
    reasoning: bool = False,
    action_pattern: str | None = None,
) -> Dialect:
    """The dialect for a state schema and the allowed actions.

    `reasoning` adds a leading text (≤ 4 KB) for agents without thinking of their own. With `action_pattern`
    the action is a text of that regular expression. Raises BadSchema for what the dialect cannot express.
    """
    if not actions and action_pattern is None:
        raise ValueError("no actions: a transition needs at least one tool, or a pattern for its text form")
    node = action_node(actions, action_pattern)
    if kind == "merge":
        think = {"type": "string", "maxLength": MAX_REASONING, "description": _THINK} if reasoning else None
        schema = envelope(patch_schema(state_schema), plain(node), reasoning=think)
        return Dialect("merge", schema, reasoning, dict, dict)
    ops, action = OpsCodec(state_schema), strict_action(node)
    think = {"type": "string", "description": _THINK} if reasoning else None
    schema = envelope(ops.schema, action.schema, reasoning=think)
    return Dialect(
        "strict",
        schema,
        reasoning,
        lambda transition: _apply(transition, ops.encode, action.encode),
        lambda reply: _apply(reply, ops.decode, action.decode),
    )


def _apply(transition: JsonObject, patch: Callable[[Any], Any], action: Callable[[Any], Any]) -> JsonObject:
    convert = {"state_patch": patch, "action": action}
    return {key: convert[key](value) if key in convert else value for key, value in transition.items()}
