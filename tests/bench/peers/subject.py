"""What is measured, as the bench sees it, and the process that it lives in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from tests.bench.peers.work import State


class Subject(Protocol):
    """A loop over a stored state, made with the folder that it is stored in.

    begin  opens what is stored there, or stores the state before the first step; returns the number of the next step.
    turns  does so many steps; returns when they are as durable as this subject makes them.
    state  the state as it is stored.
    """

    def begin(self) -> int: ...
    def turns(self, count: int) -> None: ...
    def state(self) -> State: ...


class Answer(NamedTuple):
    """What a subject was asked for, and the seconds that it took: by the clock, and of CPU."""

    took: float
    cpu: float
    value: Any


class Process:
    """A subject (`module:Class`) in a process of its own, run by `python`: what others import and run in the background
    does not weigh on it, and it can be killed."""

    def __init__(self, python: Path | str, subject: str, folder: Path) -> None:
        argv = [str(python), "-m", "tests.bench.peers.subject", subject, str(folder)]
        self._child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._subject = subject

    def ask(self, *what: Any) -> Answer:
        """What the subject answers to `begin`, `turns COUNT` or `state`."""
        self.tell(*what)
        return self.hear()

    def tell(self, *what: Any) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(what) + "\n")
        self._child.stdin.flush()

    def hear(self) -> Answer:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"{self._subject} ended with exit code {self._child.wait()}; see above")
        return Answer(*json.loads(line))

    def kill(self) -> None:
        """SIGKILL: nothing is put in order."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()


def serve(subject: Subject, answers: Any) -> None:
    """Do as the lines on stdin say. Each answer is an Answer's fields."""
    for line in sys.stdin:
        verb, *args = json.loads(line)
        began, worked = time.perf_counter(), time.process_time()
        value = getattr(subject, verb)(*args)
        answer = Answer(time.perf_counter() - began, time.process_time() - worked, value)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    where, _, name = sys.argv[1].partition(":")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    made = cast(Subject, getattr(import_module(where), name)(Path(sys.argv[2])))
    serve(made, answers)


if __name__ == "__main__":
    main()
