"""DBOS: one workflow that loops over steps, each of which returns the state, on SQLite."""

from __future__ import annotations

import queue
import sqlite3
import threading
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from tests.bench.peers.work import State, merged, patch, start

STEPS = 1_000_000


class Workflow:
    """SQLite set to WAL, synchronous=FULL: one write to the disk a transaction, as the others."""

    journal = "WAL"

    def __init__(self, folder: Path) -> None:
        self._file = folder / "dbos.db"
        self._go, self._ran = threading.Semaphore(0), 0
        self._done: queue.Queue[State] = queue.Queue()

    def begin(self) -> int:
        new = not self._file.exists()
        with sqlite3.connect(self._file) as db:
            db.execute(f"PRAGMA journal_mode={self.journal}")
        db.close()
        DBOS(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{self._file}",
                "application_version": "1",
                "log_level": "ERROR",
                "run_admin_server": False,
            }
        )

        @DBOS.step()
        def turn(state: State) -> State:
            return merged(state, patch(state["done"] + 1))

        @DBOS.workflow(name="loop")
        def loop() -> None:
            state = start()
            self._at(state)
            while state["done"] < STEPS:
                state = turn(state)
                self._at(state)

        self._replayed = 0 if new else self._recorded()
        DBOS.launch()  # goes on with what a killed process left
        if new:
            with SetWorkflowID("1"):
                DBOS.start_workflow(loop)
        self._state = self._done.get()
        return int(self._state["done"]) + 1

    def _recorded(self) -> int:
        with sqlite3.connect(self._file) as db:
            (count,) = db.execute("SELECT count(*) FROM operation_outputs").fetchone()
        db.close()
        return int(count)

    def _at(self, state: State) -> None:
        """In the workflow's thread: the state is there; whether to go on is said by `turns`. Recorded steps are passed
        over, as DBOS itself does."""
        if state["done"] >= self._replayed:
            self._done.put(state)
            self._go.acquire()

    def turns(self, count: int) -> None:
        for _ in range(count):
            self._go.release()
            self._state = self._done.get()

    def state(self) -> State:
        return self._state


class Default(Workflow):
    """SQLite as DBOS leaves it: a rollback journal, synchronous=FULL."""

    journal = "DELETE"
