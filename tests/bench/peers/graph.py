"""LangGraph: one node that loops, driven superstep by superstep within one invocation, with its SQLite checkpointer."""

from __future__ import annotations

import operator
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from tests.bench.peers.work import State, merged, patch, start, text

LATE = 60  # seconds
THREAD = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000_000}


class Constant(TypedDict):
    """The node returns its patch, which a reducer merges."""

    state: Annotated[State, merged]


class History(TypedDict):
    """The same, and the text of every step is kept."""

    state: Annotated[State, merged]
    texts: Annotated[list[str], operator.add]


def joined(texts: list[str], batches: list[list[str]]) -> list[str]:
    return [*texts, *(each for batch in batches for each in batch)]


class Deltas(TypedDict):
    """The same in a channel that stores what is new (beta in this version)."""

    state: Annotated[State, merged]
    texts: Annotated[list[str], DeltaChannel(joined)]


class Counting(SqliteSaver):
    """Knows how much it has written: in `async` that happens behind the loop's back. A superstep gives one `put_writes`
    and one `put`; so does the input, and its checkpoint is a `put` more."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.puts: list[None] = []  # appended to by several threads
        self.writes: list[None] = []

    def put(self, *args: Any, **options: Any) -> Any:
        done = super().put(*args, **options)
        self.puts.append(None)
        return done

    def put_writes(self, *args: Any, **options: Any) -> None:
        super().put_writes(*args, **options)
        self.writes.append(None)


class Graph:
    """Each step on disk before the next begins (`durability="sync"`); WAL, which the checkpointer sets, and
    synchronous=FULL, SQLite's default."""

    durability, form = "sync", Constant

    def __init__(self, folder: Path) -> None:
        self._file = folder / "graph.db"

    def begin(self) -> int:
        new = not self._file.exists()
        self._saver = Counting(sqlite3.connect(self._file, check_same_thread=False))
        builder = StateGraph(self.form)
        builder.add_node("work", self._work)
        builder.add_edge(START, "work")
        builder.add_edge("work", "work")
        self._graph = builder.compile(checkpointer=self._saver)
        first = {key: start() if key == "state" else [] for key in self.form.__annotations__} if new else None
        done = 0 if new else int(self.state()["done"])
        self._steps: Iterator[Any] = self._graph.stream(
            first, THREAD, stream_mode="updates", durability=self.durability
        )
        self._new = int(new)
        self._due = 2 * self._new
        return done + 1

    def _work(self, values: Any) -> dict[str, Any]:
        number = values["state"]["done"] + 1
        kept = {"texts": [text(number)]} if "texts" in values else {}
        return {"state": patch(number), **kept}

    def turns(self, count: int) -> None:
        for _ in range(count):
            next(self._steps)
        self._due += count
        late = time.monotonic() + LATE
        while len(self._saver.writes) < self._due - self._new or len(self._saver.puts) < self._due:
            if time.monotonic() > late:
                raise SystemExit(f"LangGraph had not written its checkpoints after {LATE} s")
            time.sleep(0.0002)

    def state(self) -> State:
        return dict(self._graph.get_state(THREAD).values["state"])


class Async(Graph):
    """LangGraph's default: a checkpoint is written while the next step runs."""

    durability = "async"


class GraphHistory(Graph):
    form = History


class GraphDeltas(Graph):
    form = Deltas
