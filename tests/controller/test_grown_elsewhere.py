"""A field that was agreed to in one clone, as the commands of another one know it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import Moved
from contracts.queue import Decision
from controller.record_store import open_store
from controller.surfaces.grown import brought, taken_over
from controller.surfaces.migrate import migrate
from controller.surfaces.repair import replayed
from controller.surfaces.schema import schema
from controller.surfaces.state import export
from tests.controller.clones import ON_REMOTE, Clone, Remote, record
from tests.controller.test_queue import change
from tests.controller.test_step import go
from tests.controller.world import action

pytestmark = pytest.mark.long

FIELD = {"type": "string", "maxLength": 40}
LOOK = action("list_files", {"depth": 1})


def agreed(clone: Clone, name: str) -> None:
    """One field more, proposed and agreed to, as `run` carries it over."""
    brought(clone.loaded)
    go(clone, [change(f"/schema/{name}", json.dumps(FIELD))], limit=1)
    store, (entry,) = open_store(clone.loaded), record(clone).queue
    yes = Decision(entry=entry.id, hash=entry.hash, yes=True, by="ana", at=time.time())
    anyio.run(store.post, "tidy", yes)
    with pytest.raises(Moved):
        go(clone, [], limit=1)
    assert anyio.run(taken_over, clone.loaded, store, "ana")
    go(clone, [LOOK | {"state_patch": {name: "here"}}], limit=1)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path, task=ON_REMOTE.replace("batch,", "batch, request_change,"))


def read(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_every_command_of_a_fresh_clone_knows_the_field(
    remote: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    agreed(remote.clone("one"), "risks")
    capsys.readouterr()
    assert schema("state", remote.clone("a").file) == 0
    assert read(capsys)["properties"]["risks"] == FIELD
    assert schema("transition", remote.clone("b").file) == 0
    assert '"risks"' in capsys.readouterr().out
    assert replayed(remote.clone("c").file, None, None, True) == 0
    told = read(capsys)
    assert told["same"] and not told["skipped"]
    assert export(remote.clone("d").file, None) == 0
    assert "risks" in read(capsys)["schema"]["properties"]
    back = remote.clone("e")
    assert migrate(back.file, 1, dry_run=False, as_json=True) == 0
    assert read(capsys)["to"] == 1 and record(back).state_version == 1


def test_a_second_field_is_known_where_the_first_was_agreed_to(
    remote: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    one = remote.clone("one")
    agreed(one, "risks")
    agreed(remote.clone("two"), "owner")
    capsys.readouterr()
    assert schema("state", one.file) == 0
    assert {"risks", "owner"} <= set(read(capsys)["properties"])
    go(one, [LOOK | {"state_patch": {"owner": "ana"}}], limit=1)
    assert record(one).state["owner"] == "ana"
