"""`python -m tests.agents.record [CASE ...]`: runs the pinned binaries through the cases, writes fixtures."""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.agents.binaries import pinned_version
from tests.agents.cases import CASES, Case
from tests.agents.lean import Finished, run_claude, run_codex, run_pi
from tests.agents.recordings import Recording, normalise
from tests.gateway import Gateway, Script


def record(case: Case, folder: Path) -> Recording:
    """Runs `case` in the empty `folder`."""
    if case.answer is None:
        finished, requests = _run(case, folder, f"http://127.0.0.1:{closed_port()}"), 0
    else:
        with Gateway(Script([case.answer], repeat_last=True), routes=case.routes) as gateway:
            finished = _run(case, folder, gateway.url)
            requests = len(gateway.asked)
    return Recording(
        case=case.name,
        agent=case.agent,
        version=pinned_version(case.agent),
        auth=case.auth,
        code=finished.code,
        killed=finished.killed,
        requests=requests,
        stdout=normalise(finished.stdout.decode(), folder),
        stderr=normalise(finished.stderr.decode(), folder),
    )


def _run(case: Case, folder: Path, url: str) -> Finished:
    if case.agent == "claude":
        return run_claude(
            folder,
            url,
            case.prompt,
            case.schema,
            auth=case.auth,
            env={"TZ": "UTC", **({} if case.credential else {"ANTHROPIC_API_KEY": ""}), **case.env},
            more=case.more,
            timeout=case.kill_after,
        )
    env = {"TZ": "UTC", **({} if case.credential else {"GATEWAY_KEY": ""}), **case.env}
    if case.agent == "pi":
        return run_pi(folder, url, case.prompt, case.schema, api=case.api, env=env, timeout=case.kill_after)
    return run_codex(
        folder,
        url,
        case.prompt,
        case.schema,
        auth=case.auth,
        login=case.login,
        env=env,
        timeout=case.kill_after,
    )


def closed_port() -> int:
    """A loopback port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> None:
    """Writes one fixture per case, printing what came of it."""
    wanted = set(sys.argv[1:])
    chosen = [case for case in CASES if not wanted or case.name in wanted or case.agent in wanted]

    def one(case: Case) -> str:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            recording = record(case, Path(folder))
            took = time.monotonic() - began
        recording.save()
        ended = f"{'killed, ' if recording.killed else ''}exit {recording.code}"
        return f"{case.agent:6} {case.name:32} {ended}, {recording.requests} requests, {took:.1f} s"

    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(one, chosen):
            print(line, flush=True)


if __name__ == "__main__":
    main()
