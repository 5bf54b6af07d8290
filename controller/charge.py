"""charge: what a launch costs, from what the agent reported, the task's price, or the reserve. Pure."""

from __future__ import annotations

from contracts.charter import Charter
from contracts.record import DAY, LaunchFacts, RunRecord, Spend
from contracts.reply import AgentReply, Reply, Usage
from contracts.reply_rules import RULES, Charged

NOTHING = Usage(input=0, cached=0, output=0, usd_micro=0)


def facts(record: RunRecord, reply: Reply, task: Charter) -> LaunchFacts:
    charged, estimated = charge(record, used(reply.raw), task)
    return LaunchFacts(
        agent=reply.agent,
        prompt_digest=record.reserve.prompt_digest if record.reserve else "",
        prompt_bytes=record.reserve.prompt_bytes if record.reserve else 0,
        usage=reply.raw.usage,
        charged=charged,
        estimated=estimated,
    )


def used(raw: AgentReply) -> Usage:
    """What a launch used, as far as it is known. Where the agent asks no further after an answer, and says how often it
    asked, a refused launch was never answered and used nothing."""
    if RULES[raw.cls].charged is Charged.REFUSED and raw.usage == Usage() and raw.requests is not None:
        return NOTHING
    return raw.usage


def charge(record: RunRecord, usage: Usage, task: Charter) -> tuple[Usage, bool]:
    """What a launch is charged, and whether any of it is the reserve because it was not reported. An unknown
    cost is never zero."""
    reserve = record.reserve.usage if record.reserve else Usage()
    tokens_known = usage.input is not None and usage.output is not None
    input = usage.input if usage.input is not None else reserve.input or 0
    cached = usage.cached or 0
    output = usage.output if usage.output is not None else reserve.output or 0
    money, known = usage.usd_micro, usage.usd_micro is not None
    if money is None and task.price is not None and tokens_known:
        fresh_input = max(0, input - cached)
        price = task.price
        money, known = round(fresh_input * price.input + cached * price.cached + output * price.output), True
    if money is None:
        money = reserve.usd_micro or 0
    estimated = not tokens_known or (not known and task.price_known)
    return Usage(input=input, cached=cached, output=output, usd_micro=money), estimated


def onto(spent: Spend, usage: Usage, estimated: bool, now: float) -> Spend:
    """What was spent, with one more charge."""
    return spent.model_copy(
        update={
            "day": int(now // DAY),
            "day_usd_micro": spent.today(now) + (usage.usd_micro or 0),
            "input": spent.input + (usage.input or 0),
            "cached": spent.cached + (usage.cached or 0),
            "output": spent.output + (usage.output or 0),
            "usd_micro": spent.usd_micro + (usage.usd_micro or 0),
            "estimated": spent.estimated or estimated,
        }
    )


def lost(record: RunRecord, now: float) -> Spend:
    """What was spent, with the launch of an earlier call that has no recorded reply, if there is one."""
    return onto(record.spent, record.reserve.usage, True, now) if record.reserve else record.spent
