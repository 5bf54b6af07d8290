"""A Buildbot master with its worker on loopback, which builds every pushed branch of one repository."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[3]
PINS = Path(__file__).with_name("requirements.txt")
CONFIG = """\
from buildbot.plugins import changes, schedulers, steps, util, worker

factory = util.BuildFactory([
    steps.Git(repourl={repo!r}, mode="full", method="fresh"),
    steps.ShellCommand(command=["sh", "check.sh"], name="check"),
])
BuildmasterConfig = {{
    "workers": [worker.LocalWorker("here")],
    "change_source": [changes.GitPoller(repourl={repo!r}, branches=True, pollInterval=1, pollAtLaunch=True)],
    "schedulers": [schedulers.AnyBranchScheduler(name="all", builderNames=["check"], treeStableTimer=None)],
    "builders": [util.BuilderConfig(name="check", workernames=["here"], factory=factory)],
    "www": {{"port": "tcp:{port}:interface=127.0.0.1"}},
    "protocols": {{"null": {{}}}},
    "db": {{"db_url": "sqlite:///state.sqlite"}},
    "buildbotNetUsageData": None,
}}
"""


def installed() -> Path:
    """The folder of the pinned Buildbot's programs; made on first use."""
    stamp = hashlib.sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = ROOT / ".cache" / "buildbot" / stamp
    if not (home / "done").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(home / "bin/pip"), "install", "-q", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(PINS)], check=True)
        (home / "done").touch()
    return home / "bin"


class Master:
    """`with Master(folder, repository):` runs until the block ends. The repository must hold a branch by then."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self._folder, self._repository = folder, repository
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        programs, folder = installed(), self._folder
        env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        folder.mkdir(parents=True)
        buildbot = [str(programs / "buildbot")]
        subprocess.run(
            [*buildbot, "create-master", "-q", "-r", "-c", "master.cfg", "."], cwd=folder, env=env, check=True
        )
        (folder / "master.cfg").write_text(CONFIG.format(repo=str(self._repository), port=self._port))
        log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [*buildbot, "start", "--nodaemon", "."], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True,
        )  # fmt: skip
        log.close()
        for _ in range(600):
            if self._process.poll() is not None:
                break
            if self._polled() and self._answers():
                return self
            time.sleep(0.1)
        self.__exit__(None, None, None)
        raise RuntimeError(f"Buildbot did not start:\n{(folder / 'twistd.log').read_text()[-3000:]}")

    def _polled(self) -> bool:
        """Whether the branches that are there were looked at: only what comes later is built."""
        log = self._folder / "twistd.log"
        return log.is_file() and log.read_text().count("gitpoller: processing changes") >= 2

    def _answers(self) -> bool:
        try:
            # Read to its end: a client that leaves early breaks this Buildbot's reactor.
            with urllib.request.urlopen(f"{self.url}/api/v2/builders", timeout=5) as answer:
                return bool(answer.read())
        except OSError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
