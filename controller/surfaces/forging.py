"""What `validate` finds of a task's forge, without asking it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from contracts.deeds import DEEDS
from contracts.errors import ControllerError
from controller.surfaces.changes import repository
from controller.taskfile import LoadedTask
from reconcilers.schedule import zone_of
from tool_adapters.gitremote import Remote


def problems(loaded: LoadedTask) -> Iterator[str]:
    """What would keep every deed from being done."""
    forge = loaded.task.forge
    if forge is None:
        return
    try:
        zone_of(forge.caps.timezone)
        Remote(repository(loaded).engine, forge.remote)
    except ControllerError as error:
        yield f"{loaded.where('forge')}: {error}"


def warnings(loaded: LoadedTask) -> Iterator[str]:
    """What is better known before a run."""
    task, forge = loaded.task, loaded.task.forge
    if forge is None:
        return
    allowed = [tool for tool in task.actions.allow if tool in DEEDS]
    where = loaded.where("forge")
    if not allowed:
        yield f"{where}: no action that is allowed uses the forge: add git_push or others to actions.allow"
    if forge.token_env and not os.environ.get(forge.token_env):
        yield f"{where}: the variable {forge.token_env} is not set here; a run needs it"
    if "pr_merge" in allowed and all(each.tool != "pr_merge" for each in task.approvals.boundaries):
        yield (
            f"{loaded.where('actions', 'allow')}: pr_merge is allowed and nobody need agree: "
            "approvals.boundaries: [pr_merge] asks a person first"
        )
    for who in task.approvals.who:
        kind, colon, _ = who.partition(":")
        if colon and kind != forge.provider:
            yield f"{loaded.where('approvals', 'who')}: {who} is nobody on {forge.provider}, the task's forge"
