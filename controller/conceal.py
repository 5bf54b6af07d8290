"""conceal: what the agent wrote into a field marked secret, before anything but the record takes it. Pure."""

from __future__ import annotations

from contracts.base import JsonObject
from contracts.fields import places
from contracts.merge import Path
from contracts.veil import cleared, hidden, veiled, without_echo
from contracts.verdicts import Gated, Reject

Secrets = tuple[Path, ...]


def heard(transition: JsonObject | None, secrets: Secrets) -> JsonObject | None:
    """A reply less the stand-ins that it only repeats."""
    if not secrets or not isinstance(transition, dict) or not isinstance(transition.get("state_patch"), dict):
        return transition
    return transition | {"state_patch": without_echo(transition["state_patch"], secrets)}


def conceal(gated: Gated, secrets: Secrets) -> Gated:
    """The verdict with its reply and what it quotes of it without the values of secret fields. A transition that
    was allowed keeps them: they become Σ."""
    patch = gated.transition.get("state_patch") if gated.transition else None
    if not isinstance(patch, dict) or not any(place for path in secrets for place in places(patch, path)):
        return gated
    values, verdict = hidden(patch, secrets), gated.verdict
    if isinstance(verdict, Reject):
        said = {"say": cleared(verdict.say, values), "excerpt": cleared(verdict.excerpt, values)}
        verdict = verdict.model_copy(update=said)
    return gated.model_copy(
        update={
            "verdict": verdict,
            "transition": {**(gated.transition or {}), "state_patch": veiled(patch, secrets)},
            "reply_text": cleared(gated.reply_text, values),
        }
    )
