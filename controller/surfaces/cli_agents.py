"""The commands about the agents themselves; `cli` takes them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controller.surfaces.arguments import Json, TaskOption

BY_HAND = "The model endpoint by hand: `python -m controller.conformance.loopback --help` (docs/agents.md)."

agents = typer.Typer(
    help="Which agents can be used, and still do as known.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@agents.command("list")
def agents_list(task: TaskOption = None, as_json: Json = False) -> int:
    """Which agents can be used here, or why not.

    Of each agent of the task, or each installed kind: its binary and version, who would pay, what keeps it from a step.
    """
    from controller.surfaces.agents import listed

    return listed(task, as_json)


@agents.command("test", epilog=BY_HAND)
def agents_test(
    name: Annotated[str, typer.Argument(metavar="NAME", help="an agent of the task, or an installed kind")],
    live: Annotated[
        bool, typer.Option("--live", help="one reply by the task's own credential, which is paid for")
    ] = False,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", help="only this case; may be repeated", show_default=False),
    ] = None,
    cli: Annotated[
        Path | None, typer.Option("--cli", help="test this binary of it", metavar="PATH", show_default=False)
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", help="write what was seen as what is known", metavar="FILE", show_default=False
        ),
    ] = None,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Whether an installed agent still does as known.

    Holds its version against what its adapter stands on: no account, no vendor, only this machine.
    """
    from controller.surfaces.conform import tested

    return tested(name, task, live=live, only=case or [], cli=cli, record=record, as_json=as_json)
