"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Task = Annotated[
    Path | None, typer.Argument(help="task file or its folder; ./task.yaml when absent", show_default=False)
]
TaskOption = Annotated[
    Path | None,
    typer.Option("--task", help="task file or its folder; ./task.yaml when absent", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output on stdout")]
Run = Annotated[str | None, typer.Argument(help="run id or #N; the newest when absent", show_default=False)]
AgentName = Annotated[
    str | None, typer.Option("--agent", help="use this agent instead of agent.use", show_default=False)
]
RunOption = Annotated[str | None, typer.Option("--run", help="run id or #N", show_default=False)]
WaitLimit = Annotated[
    str | None,
    typer.Option(
        "--wait-limit",
        metavar="DURATION",
        help="sleep through waits of at most so long; when absent 6h at a terminal, none elsewhere",
        show_default=False,
    ),
]
