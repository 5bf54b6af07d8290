"""conceal: what the agent wrote into a field marked secret, before anything but the record takes it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from contracts.base import JsonObject
from contracts.merge import Path
from contracts.redact import Redactor
from contracts.secret_scan import redact_json
from contracts.veil import cleared, cleared_in, hidden, veiled, without_echo
from contracts.verdicts import Allow, Confirm, Gated, Reject

Secrets = tuple[Path, ...]


def heard(transition: JsonObject | None, secrets: Secrets) -> JsonObject | None:
    """A reply less the stand-ins that it only repeats."""
    if not secrets or not isinstance(transition, dict) or not isinstance(transition.get("state_patch"), dict):
        return transition
    return transition | {"state_patch": without_echo(transition["state_patch"], secrets)}


def conceal(gated: Gated, state: JsonObject, secrets: Secrets, redactor: Redactor) -> Gated:
    """The verdict with its reply and what it quotes of it without the values of secret fields, and without every other
    secret where the layers that refuse those did not let it pass. A transition that was allowed keeps the values: they
    become Σ."""
    if not isinstance(gated.verdict, Allow | Confirm):
        gated = gated.model_copy(update={"transition": redact_json(gated.transition, redactor)})
    if isinstance(gated.verdict, Reject):
        gated = gated.model_copy(update={"verdict": _quoting(gated.verdict, redactor.redact_text)})
    if not secrets or gated.transition is None:
        return gated
    patch, verdict = gated.transition.get("state_patch"), gated.verdict
    values = (*hidden(patch, secrets), *hidden(state, secrets))
    shown = {**gated.transition, "state_patch": veiled(patch, secrets) if isinstance(patch, dict) else patch}
    if not isinstance(verdict, Allow | Confirm):  # an action that passed holds none of them
        shown = cleared_in(shown, values)
    if isinstance(verdict, Reject):
        verdict = _quoting(verdict, lambda text: cleared(text, values))
    told = {"verdict": verdict, "transition": shown, "reply_text": cleared(gated.reply_text, values)}
    return gated.model_copy(update=told)


def _quoting(verdict: Reject, clear: Callable[[str], str]) -> Reject:
    """What a rejection says and quotes, cleared."""
    return verdict.model_copy(update={"say": clear(verdict.say), "excerpt": clear(verdict.excerpt)})
