"""The commands by which people decide on what waits for them."""

from __future__ import annotations

from typing import Annotated

import typer

from controller.surfaces.arguments import AgentName, Json, Task, TaskOption

Id = Annotated[str, typer.Argument(help="id of the entry", metavar="ID")]
Why = Annotated[str, typer.Option("--why", help="the reason, for the agent and the audit")]
Hash = Annotated[
    str | None,
    typer.Option("--hash", help="refuse if the entry is not the one with this hash", show_default=False),
]

intent = typer.Typer(help="What the user wants.", no_args_is_help=True, rich_markup_mode=None)
approvals = typer.Typer(help="What waits for a person.", no_args_is_help=False, rich_markup_mode=None)


def add(app: typer.Typer) -> None:
    """Puts the commands into `app`."""
    app.add_typer(approvals, name="approvals")
    app.add_typer(intent, name="intent")
    app.command()(approve)
    app.command()(reject)
    app.command()(plan)
    app.command()(apply)


@intent.command("show")
def intent_show(task: TaskOption = None, as_json: Json = False) -> int:
    """The contract in force, and what was changed in this run, by whom."""
    from controller.surfaces.intent import show

    return show(task, as_json)


@intent.command("write")
def intent_write(task: TaskOption = None, as_json: Json = False) -> int:
    """Put the contract in force into the contract folder, so that approved changes outlive the run."""
    from controller.surfaces.intent import write

    return write(task, as_json)


@approvals.callback(invoke_without_command=True)
def listed(context: typer.Context, task: TaskOption = None, as_json: Json = False) -> int | None:
    """What waits for a person."""
    if context.invoked_subcommand is not None:
        return None
    from controller.surfaces.approvals import approvals

    return approvals(task, as_json)


@approvals.command()
def show(entry: Id, task: TaskOption = None, as_json: Json = False) -> int:
    """One entry whole: what, why, the exact action, its hash and basis, who may decide, until when."""
    from controller.surfaces.approvals import show

    return show(task, entry, as_json)


def approve(
    entry: Id, why: Why = "", hash: Hash = None, task: TaskOption = None, as_json: Json = False
) -> int:
    """Say yes to an entry of the queue."""
    from controller.surfaces.approvals import decide

    return decide(task, entry, yes=True, why=why, hash=hash, as_json=as_json)


def reject(
    entry: Id,
    why: Why = "",
    hash: Hash = None,
    take_back: Annotated[
        bool, typer.Option("--withdraw", help="take a no to a proposed change back: it may be proposed again")
    ] = False,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Say no to an entry of the queue."""
    from controller.surfaces.approvals import decide, withdraw

    if take_back:
        return withdraw(task, entry, as_json)
    return decide(task, entry, yes=False, why=why, hash=hash, as_json=as_json)


def plan(task: Task = None, agent: AgentName = None, as_json: Json = False) -> int:
    """Ask the agent for its next step and show it; nothing is done."""
    from controller.surfaces.plan import plan

    return plan(task, agent=agent, as_json=as_json)


def apply(
    entry: Annotated[str, typer.Argument(help="id of the plan", metavar="PLAN")],
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Do exactly what a plan says, or nothing when what it rests on moved (7)."""
    from controller.surfaces.plan import apply

    return apply(task, entry, as_json)
