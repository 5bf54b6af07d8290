"""fallback: which of the task's agents makes the next step, and which is left out since another may do better. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile

from contracts.agents import AgentChoice
from contracts.record import RunRecord
from contracts.reply import ReplyClass
from contracts.reply_rules import RULES, Cooldown

ALIKE = 2  # rejections in a row with the same code


@dataclass(frozen=True)
class LeftOut:
    """An agent is not asked for a while (`until`, UTC seconds; None: for the rest of the run). `heir` is asked."""

    agent: str
    until: float | None
    why: str
    heir: str


def chosen(record: RunRecord | None, agents: AgentChoice, now: float, unusable: Collection[str] = ()) -> str:
    """The first of the task's agents that is neither left out nor unusable; the first that is usable where every one
    is left out."""
    able = [name for name in agents.chain if name not in unusable]
    return next((name for name in able if _asked(record, name, now)), able[0] if able else agents.use)


def left_out(
    before: RunRecord,
    after: RunRecord,
    agents: AgentChoice,
    agent: str,
    now: float,
    unusable: Collection[str] = (),
) -> LeftOut | None:
    """What the step that led from `before` to `after`, made by `agent`, says against asking it again; None where
    nothing does, or nobody is left to ask who can be."""
    others = [name for name in agents.chain if name != agent and name not in unusable]
    heir = next((name for name in others if _asked(after, name, now)), None)
    if heir is None or agent not in agents.chain:
        return None
    halt = after.halt
    if halt is not None:
        if halt.step != after.step or after.staged is not None:
            return None
        rule = RULES.get(halt.cause)
        if rule is None or rule.cooldown is Cooldown.NEVER or halt.outcome is not rule.ends:
            return None
        return LeftOut(agent, rule.left_out_until(now, halt.not_before), halt.say, heir)
    old, new = before.correction, after.correction
    alike = old is not None and new is not None and old.step < new.step and old.code == new.code
    if new is None or not alike or after.rejections < ALIKE or after.rejections <= before.rejections:
        return None
    rule = RULES.get(new.code.removeprefix("reply."), RULES[ReplyClass.OK])
    why = f"the same rejection {ALIKE} times in a row, {new.code}"
    return LeftOut(agent, rule.left_out_until(now, None), why, heir)


def passed(agents: AgentChoice, agent: str, heir: str | None, unusable: Collection[str]) -> list[str]:
    """The unusable ones that would have been asked before `heir` (None: nobody takes over) in the place of `agent`."""
    return [
        name
        for name in takewhile(lambda name: name != heir, agents.chain)
        if name in unusable and name != agent
    ]


def _asked(record: RunRecord | None, name: str, now: float) -> bool:
    if record is None or name not in record.left_out:
        return True
    until = record.left_out[name]
    return until is not None and until <= now
