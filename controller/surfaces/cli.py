"""The command line: names, arguments and help. Each command imports its own module when it is called."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from controller.surfaces import cli_agents, cli_deciding, cli_keeping, cli_running
from controller.surfaces.arguments import Json, Run, RunOption, Task, TaskOption
from controller.surfaces.call import call

app = typer.Typer(
    name="controller",
    help="Carries a long maintenance task through with a coding agent that forgets everything between steps.",
    epilog="Begin with `controller init`, then `controller run`. Exit codes: 0 done, 2 configuration, 3 failed or "
    "stuck, 4 budget, 5 a person is needed, 6 waiting, 7 busy, 8 store or authority unavailable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
state = typer.Typer(help="The structured state of the run.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(state, name="state")
app.add_typer(cli_agents.agents, name="agents")
cli_running.add(app)
cli_keeping.add(app, state)
cli_deciding.add(app)


READERS = (
    "status",
    "log",
    "explain",
    "recall",
    "state",
    "diff",
    "schema",
    "replay",
    "approvals",
    "intent",
)  # they hold nothing that must be put back


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        code = app(prog_name="controller", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except typer.Abort:
        sys.exit(130)
    except (KeyboardInterrupt, Exception) as error:
        _fail(error)


def _fail(error: BaseException) -> None:
    if hasattr(error, "show") and hasattr(error, "exit_code"):  # usage, as the parser says it: exit 2
        error.show()
        sys.exit(error.exit_code)
    from controller.surfaces.failures import explained
    from controller.surfaces.words import plain

    runtime = Path(".agent-runtime")
    outcome, said = explained(error, runtime, call.debug)
    print(plain(f"controller: {said}"), file=sys.stderr)
    if call.json_lines:
        from controller.surfaces.events import failed_line

        print(failed_line(outcome, said, call.exit_code(outcome)))
    sys.exit(call.exit_code(outcome))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"controller {version('skill-state-controller')}")
        raise typer.Exit


@app.callback()
def globally(
    context: typer.Context,
    directory: Annotated[
        Path | None, typer.Option("-C", help="change to this folder first", metavar="DIR", show_default=False)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="show tracebacks")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="say the version")
    ] = False,
) -> None:
    call.debug = debug
    if context.invoked_subcommand in READERS:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `controller log | head` ends as any program does
    if directory is not None:
        try:
            os.chdir(directory)
        except OSError as error:
            raise typer.BadParameter(f"{directory}: {error.strerror}", param_hint="-C") from None


@app.command()
def status(task: Task = None, as_json: Json = False) -> int:
    """Where the newest run stands, from the store alone."""
    from controller.surfaces.locate import load, task_path
    from controller.surfaces.status import RUNTIME, STORE, show

    loaded, path = load(task), task_path(task)
    if loaded.task.store.use != "sqlite":
        from controller.surfaces.status_remote import show as asked

        return asked(loaded, path, as_json)
    return show(loaded.base_dir / RUNTIME / STORE, loaded.task.name, path, as_json)


@app.command()
def log(
    run: Run = None,
    task: TaskOption = None,
    as_json: Json = False,
    verify: Annotated[bool, typer.Option("--verify", help="check the hash chain")] = False,
) -> int:
    """The audit of a run, one row a step or decision."""
    from controller.surfaces.log import log

    return log(task, run, as_json=as_json, verify=verify)


@app.command()
def explain(
    step: Annotated[
        int | None, typer.Argument(help="number of the step; the last when absent", show_default=False)
    ] = None,
    run: RunOption = None,
    source: Annotated[
        str | None,
        typer.Option("--source", help="a pointer, /FIELD or /intent/SECTION/ITEM", show_default=False),
    ] = None,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Everything kept of one step: sizes of the prompt, reply, verdict, action, evidence, diff. With --source: where
    something comes from."""
    if source is not None:
        from controller.surfaces.source import source as shown

        return shown(task, source, run, as_json)
    from controller.surfaces.explain import explain

    return explain(task, step, run, as_json)


@app.command()
def recall(
    query: Annotated[str, typer.Argument(help="words; a word's beginning is enough")],
    run: RunOption = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="state, action, output or decision; may be repeated", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="hits at most")] = 10,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """Find by words what a run knew, did and saw."""
    from controller.surfaces.recall import recall

    return recall(task, query, run, kind or [], limit, as_json)


@app.command()
def prompt(
    step: Annotated[
        int | None, typer.Argument(help="number of the step; the last when absent", show_default=False)
    ] = None,
    sections: Annotated[bool, typer.Option("--sections", help="a table of its sections' sizes")] = False,
    run: RunOption = None,
    task: TaskOption = None,
    as_json: Json = False,
) -> int:
    """What the agent saw in one step."""
    from controller.surfaces.prompt import prompt

    return prompt(task, step, run, sections, as_json)


@state.command("show")
def state_show(run: Run = None, task: TaskOption = None, as_json: Json = False) -> int:
    """The state now."""
    from controller.surfaces.state import show

    return show(task, run, as_json)


@state.command("history")
def state_history(run: Run = None, task: TaskOption = None, as_json: Json = False) -> int:
    """What each committed step changed in it."""
    from controller.surfaces.state import history

    return history(task, run, as_json)


@state.command("diff")
def state_diff(
    old: Annotated[int, typer.Argument(help="step")] = 0,
    new: Annotated[int | None, typer.Argument(help="step; now when absent", show_default=False)] = None,
    run: RunOption = None,
    task: TaskOption = None,
) -> int:
    """What differs between two steps."""
    from controller.surfaces.state import diff

    return diff(task, run, old, new)


@state.command("export")
def state_export(run: Run = None, task: TaskOption = None) -> int:
    """The state as one JSON document."""
    from controller.surfaces.state import export

    return export(task, run)


@app.command()
def checks(task: Task = None, as_json: Json = False) -> int:
    """Run every check now."""
    from controller.surfaces.checks import checks

    return checks(task, as_json)


@app.command()
def diff(
    run: Run = None,
    task: TaskOption = None,
    stat: Annotated[bool, typer.Option("--stat", help="only files and counts")] = False,
) -> int:
    """What the run changed."""
    from controller.surfaces.changes import diff

    return diff(task, run, stat)


@app.command()
def land(
    task: Task = None,
    squash: Annotated[bool, typer.Option("--squash", help="one commit of everything")] = False,
    ff: Annotated[bool, typer.Option("--ff", help="fast-forward to the run's commits")] = False,
    onto: Annotated[
        str | None,
        typer.Option(
            "--onto", metavar="BRANCH", help="the branch; workspace.base when absent", show_default=False
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", help="commit message of --squash", show_default=False)
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="also where the branch went on: no check has seen the result")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show message and files, move nothing")] = False,
) -> int:
    """Put a completed run's work onto a branch."""
    from controller.surfaces.land import land

    how: Literal["squash", "ff", "merge"] = "merge" if merge else "ff" if ff else "squash"
    if squash + ff + merge > 1:
        raise typer.BadParameter("--squash, --ff and --merge exclude each other")
    return land(task, how=how, onto=onto, message=message, dry_run=dry_run)
