"""One launch with the task's own credential, at its vendor: the schema round trip that a loopback can't show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import anyio

from contracts.codec import DialectError
from contracts.explain import Checker
from contracts.reply import AgentReply, Prompt, ReplyClass
from controller.conformance.subject import Subject
from controller.conformance.suite import Row, bench
from tool_adapters.agents.settings import AgentSettings

REPLY_TOKENS = 1_000  # most that the reply to this prompt takes, thinking included as a rule
ENVELOPE = 6 * 1024  # bytes of a request that are neither prompt nor schema, as the known agents send
PROMPT = Prompt(
    1,
    "You try out a connection. Reply with exactly the transition that is asked for.\n\n",
    "Set phase to finish and done to 3. The action is finish, its summary: done\n",
)


def tokens(subject: Subject) -> tuple[int, int]:
    """(input, output) tokens that the launch takes at most, as bytes/2 say it."""
    schema = len(str(subject.dialect.schema))
    return (PROMPT.bytes + schema + ENVELOPE) // 2, REPLY_TOKENS


def most_usd(subject: Subject) -> float | None:
    """What they cost by the task's price; None without one."""
    price = subject.config.price
    if price is None:
        return None
    read, written = tokens(subject)
    return (read * price.input + written * price.output) / 1e6


def run_live(subject: Subject, environ: Mapping[str, str], patience: float) -> Row:
    """Launches once, for real. Raises ConfigError when the agent can't be started."""
    with bench() as (place, runner):
        agent = subject.kind(
            AgentSettings(
                name=subject.name,
                config=subject.config.model_copy(update={"timeout": patience}),
                dialect=subject.dialect,
                runner=runner,
                home=place.home,
                cwd=place.cwd,
                environ=environ,
                cli=subject.cli,
                base_dir=subject.base_dir,
            )
        )
        agent.preflight()

        async def once() -> AgentReply:
            reply: AgentReply = await agent.ask(PROMPT)
            await agent.close()
            return reply

        reply = anyio.run(once)
    broken = tuple(_broken(subject, reply))
    used = reply.usage
    facts = {
        "class": reply.cls.value,
        "input": used.input,
        "output": used.output,
        "usd_micro": used.usd_micro,
    }
    about = "one reply by the task's own credential"
    return Row("live", about, "bad" if broken else "good", None, facts, broken)


def _broken(subject: Subject, reply: AgentReply) -> Iterator[str]:
    if reply.cls is not ReplyClass.OK or reply.value is None:
        yield f"{reply.cls}: {reply.message or 'no reason given'}"
        return
    errors = Checker(subject.dialect.schema).errors(reply.value)
    if errors:
        yield f"the reply does not hold to the schema: {errors[0]}"
        return
    try:
        action = subject.dialect.decode(reply.value).get("action")
    except DialectError as error:
        yield f"the reply can't be decoded: {error}"
        return
    if not isinstance(action, dict) or action.get("tool") != "finish":
        yield f"another action came back: {action}"
