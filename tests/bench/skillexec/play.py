"""Plays an episode: a rival runtime, a reader in the model's place, an environment."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.skillexec.episode import Fed, Outcome, Turn, World, observed
from tests.bench.skillexec.readers import Reader
from tests.bench.skillexec.runtimes import Runtime

RETRIES = 2


def play(
    world: World, runtime: Runtime, reader: Reader, noise: Callable[[int], list[str]] = lambda at: []
) -> Outcome:
    """T events, one action each. A reply that can't be used is asked for again, at most twice: more calls, same T."""
    outcome, fed = Outcome(world), None
    for at, event in enumerate(world.events):
        world.happen(at)
        while True:
            turn = _asked(runtime, reader, observed(fed, event, noise(at)), outcome)
            if turn.action:
                turn.fed = world.act(at, turn.action)
            else:
                world.act(at, "Wait")  # the rules' own world goes on
            fed = turn.fed or Fed(f"Error: {turn.problem}", False)
            if not fed.again:
                break
            outcome.retried += 1
        outcome.took(at, turn)
    return outcome


def _asked(runtime: Runtime, reader: Reader, said: str, outcome: Outcome) -> Turn:
    problem = ""
    for attempt in range(1 + RETRIES):
        prompt = runtime.prompt(f"Error: {problem}\n{said}" if problem else said)
        turn = Turn(prompt, reader.reply(prompt))
        outcome.turns.append(turn)
        outcome.retried += attempt > 0
        try:
            turn.action = runtime.take(turn)
            return turn
        except ValueError as error:
            problem = turn.problem = str(error)
    return turn
