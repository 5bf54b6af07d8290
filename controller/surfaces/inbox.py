"""`answer` and `stop`: a person's word, put into the run's inbox; it never changes the record's version."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from contracts.errors import ConfigError
from contracts.queue import DID_NOT, HAPPENED, Answer, StopRequest
from controller.stores.owner import alive
from controller.surfaces.approvals import heard
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.who import who
from controller.surfaces.words import command

MAX_ANSWER = 4000  # characters


def answer(task: Path | None, entry: str, text: str) -> int:
    """Answer the question `entry` of the newest run. Raises ConfigError when it has none of that id."""
    loaded = load(task)
    store, name = open_existing(loaded), loaded.task.name
    if not text.strip() or len(text) > MAX_ANSWER:
        raise ConfigError(f"an answer has 1 to {MAX_ANSWER:,} characters")
    record = wait_for(lambda: newest(store, name))
    waiting = {each.id: each for each in record.queue if each.status == "open"}
    if entry not in waiting:
        hint = f"open: {', '.join(waiting)}" if waiting else "nothing waits for an answer"
        raise ConfigError(f"run {record.run} has no open question {entry!r}", hint=hint)
    if waiting[entry].kind not in ("ask", "unknown"):
        raise ConfigError(
            f"{entry} is no question: it waits for a yes or a no",
            hint=f"`controller approve {entry}` or `controller reject {entry}`",
        )
    if waiting[entry].kind == "unknown":
        text = text.strip()
        if text not in (HAPPENED, DID_NOT):
            raise ConfigError(
                f"{entry} asks whether a deed happened: the answer is `{HAPPENED}` or `{DID_NOT}`",
                hint=waiting[entry].why[:300],
            )
    by, now = who(), time.time()
    if refused := waiting[entry].refuses(by, waiting[entry].hash, now):
        raise ConfigError(refused)
    posted = wait_for(lambda: store.post(name, Answer(entry=entry, text=text, by=by, at=now)))
    if waiting[entry].kind == "ask":
        heard(wait_for(lambda: newest(store, name)), posted, entry, "approved", text)
    print(f"answered {entry}; `{command('run', task)}` goes on")
    return 0


def stop(task: Path | None, now: bool, why: str) -> int:
    """Ask the run at work to end after its step, or with `now` at once. Raises ConfigError when none works."""
    loaded = load(task)
    store, name = open_existing(loaded), loaded.task.name
    holder = wait_for(lambda: store.holder(name))
    if holder is None:
        raise ConfigError(
            f"nobody works on task {name!r}: there is nothing to stop", hint=f"`{command('status', task)}`"
        )
    if now:
        owner = holder.owner
        if owner.host != socket.gethostname() or not alive(owner):
            raise ConfigError(f"the run is worked on by pid {owner.pid} on {owner.host}: stop it there")
        os.kill(owner.pid, signal.SIGINT)
        print(f"told pid {owner.pid} to end now; nothing of what is committed is lost")
        return 0
    wait_for(lambda: store.post(name, StopRequest(by=who(), at=time.time(), why=why)))
    print(
        f"pid {holder.owner.pid} on {holder.owner.host} will end after its step; `{command('run', task)}` goes on later"
    )
    return 0
