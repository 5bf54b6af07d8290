"""launch: one fresh agent process, and its answer in canonical form."""

from __future__ import annotations

from contracts.dialects import Dialect, DialectError
from contracts.ports import Agent
from contracts.reply import Prompt, Reply, ReplyClass
from contracts.submitted import handed_in


async def launch(prompt: Prompt, agent: Agent) -> Reply:
    """Ask the agent and decode its dialect. Never raises for what the agent did: see `Reply.raw.cls` and
    `Reply.problems`."""
    raw = await agent.ask(prompt)
    dialect: Dialect = agent.dialect
    if raw.cls is not ReplyClass.OK or raw.value is None:
        return Reply(agent=agent.profile, raw=raw)
    try:
        transition = dialect.decode(raw.value)
    except DialectError as error:
        return Reply(agent=agent.profile, raw=raw, problems=tuple(error.messages[:5]))
    return Reply(agent=agent.profile, raw=raw, transition=handed_in(transition, raw.submitted))
