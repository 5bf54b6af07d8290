"""`status` of a task whose record is kept on a remote: what is there now, told as it is of a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from controller.stores.git import GitStore
from controller.surfaces.locate import open_existing, wait_for
from controller.surfaces.status import Json, summary, text
from controller.surfaces.words import plain
from controller.taskfile import LoadedTask


def show(loaded: LoadedTask, path: Path, as_json: bool) -> int:
    """Print the status. Raises Unavailable where the remote can't be asked."""
    store = open_existing(loaded)
    assert isinstance(store, GitStore), "the other stores are files"
    told = summary(loaded.task.name, wait_for(lambda: _seen(store, loaded.task.name)), path)
    print(json.dumps(told, ensure_ascii=False) if as_json else plain(text(told)))
    return 0


async def _seen(store: GitStore, task: str) -> Json:
    """What `status.read` makes of a file."""
    holder = await store.holder(task)
    record, posts, held = await store.standing(task)
    lease = asdict(held.owner) | {"expires": held.expires, "id": held.id} if held else None
    seen: Json = {"lease": lease | {"working": holder is not None} if lease else None}
    if record is not None:
        seen["record"] = record.model_dump(mode="json")
        seen["inbox"] = [post.body.model_dump(mode="json") for post in posts]
    return seen
