"""The commands that look after a task between its runs; `cli` takes them in."""

from __future__ import annotations

from typing import Annotated

import typer

from controller.surfaces.arguments import Json, Run, Task, TaskOption


def add(app: typer.Typer, state: typer.Typer) -> None:
    """Puts the commands into `app`, and those of the state into `state`."""
    app.command()(tell)
    app.command()(replay)
    app.command()(clean)
    app.command()(unlock)
    app.command()(doctor)
    app.command()(schema)
    state.command("recover")(recover)
    state.command("migrate")(migrate)


def tell(
    text: Annotated[
        str | None, typer.Argument(help="the note; without one the notes are listed", show_default=False)
    ] = None,
    withdraw: Annotated[
        str | None, typer.Option("--withdraw", metavar="ID", help="take a note back", show_default=False)
    ] = None,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Leave a note for the agent, also while it is at work."""
    from controller.surfaces.tell import tell

    return tell(task, text, withdraw, as_json)


def replay(
    run: Run = None,
    to: Annotated[int | None, typer.Option("--to", min=0, help="up to this step", show_default=False)] = None,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Rebuild a run from its audit and gate its replies again, without agent or action."""
    from controller.surfaces.repair import replayed

    return replayed(task, run, to, as_json)


def clean(
    task: Task = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be removed")] = False,
    keep_runs: Annotated[
        int, typer.Option("--keep-runs", min=1, help="newest runs of each task whose outputs are kept")
    ] = 3,
    as_json: Json = False,
) -> int:
    """Remove what finished tasks left behind."""
    from controller.surfaces.clean import clean

    return clean(task, dry_run=dry_run, keep_runs=keep_runs, as_json=as_json)


def unlock(
    lease: Annotated[str, typer.Argument(help="id of the lease, as `status` shows it", metavar="ID")],
    task: TaskOption = None,
) -> int:
    """Take the lease away from an owner that is gone."""
    from controller.surfaces.repair import unlock

    return unlock(task, lease)


def recover(task: Task = None, as_json: Json = False) -> int:
    """Rebuild a damaged store from its audit."""
    from controller.surfaces.repair import recovered

    return recovered(task, as_json)


def migrate(
    task: Task = None,
    to: Annotated[
        int | None,
        typer.Option(
            "--to", min=1, help="version; that of the schema in use when absent", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the change, make none")] = False,
    as_json: Json = False,
) -> int:
    """Bring the state to another version of its schema, or back."""
    from controller.surfaces.migrate import migrate

    return migrate(task, to, dry_run=dry_run, as_json=as_json)


def doctor(task: Task = None, as_json: Json = False) -> int:
    """What this machine has: git, Python, agents, credentials, space."""
    from controller.surfaces.doctor import doctor

    return doctor(task, as_json)


def schema(
    kind: Annotated[str, typer.Argument(help="task, intent, state, transition or event")],
    task: TaskOption = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="of a transition: as this agent is asked for it", show_default=False),
    ] = None,
) -> int:
    """Print a JSON Schema."""
    from controller.surfaces.schema import schema

    return schema(kind, task, agent)
