"""A short question to a program, where waiting for its answer is all there is to do."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio

from contracts.ports import Ran
from tool_adapters.process import ProcessRunner


def ask(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], seconds: float) -> tuple[int | None, str]:
    """(exit code, output of both streams) of a short probe, waited for here and now, within a running event loop
    or without. The code is None when it can't be started or takes longer."""

    async def go() -> Ran:
        return await ProcessRunner(Path(spool)).run(argv, cwd=cwd, env=env, timeout=seconds)

    with tempfile.TemporaryDirectory(prefix="probe-") as spool, ThreadPoolExecutor(1) as own:
        ran = own.submit(anyio.run, go).result()
    return ran.exit, f"{ran.out.text}{ran.err.text}{ran.refused}"
