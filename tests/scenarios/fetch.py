"""The scenarios' repositories, which nobody here wrote: published packages, fetched by name, version and hash."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "scenarios"
PINS = Path(__file__).with_name("requirements.txt")
NODE_PINS = Path(__file__).with_name("node")
AUTHOR = {"NAME": "upstream", "EMAIL": "upstream@localhost", "DATE": "2024-03-01T00:00:00+00:00"}


class Unreachable(RuntimeError):
    """The package index gave nothing, or something else than was asked for."""


@dataclass(frozen=True)
class Source:
    """A published package. `pin` is `sha256:` with hex digits as pip takes it, or `sha512-` with base64 as npm does."""

    name: str
    version: str
    pin: str
    index: Literal["pip", "npm"] = "pip"

    def holds(self, archive: Path) -> bool:
        """Whether these are the bytes that the pin names."""
        data = archive.read_bytes()
        if self.index == "pip":
            return self.pin == f"sha256:{hashlib.sha256(data).hexdigest()}"
        return self.pin == f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


DATEUTIL = Source(
    "python-dateutil",
    "2.9.0.post0",
    "sha256:37dd54208da7e1cd875388217d5e00ebd4179249f90fb72437e91a35459a0ad3",
)


@cache
def archive(source: Source = DATEUTIL) -> Path:
    """The archive, its hash verified. Downloaded once, with pip or npm. Raises Unreachable."""
    kept = CACHE / f"{source.name}-{source.version}.{'tar.gz' if source.index == 'pip' else 'tgz'}"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=_cache()) as folder:
            said = _packed(source, folder) if source.index == "npm" else _downloaded(source, folder)
            found = [*Path(folder).glob("*.tar.gz"), *Path(folder).glob("*.tgz")]
            if len(found) != 1:
                raise Unreachable(said)
            found[0].rename(kept)
    if not source.holds(kept):
        raise Unreachable(f"{kept} is not what {source.pin} names: remove it")
    return kept


def _downloaded(source: Source, folder: str) -> str:
    """What pip says. It also runs the package's build for its metadata; whether that works is no matter here."""
    wanted = Path(folder) / "wanted.txt"
    wanted.write_text(f"{source.name}=={source.version} --hash={source.pin}\n")
    try:
        _pip("--no-binary", source.name, "--require-hashes", "-r", str(wanted), "-d", folder)
    except Unreachable as failed:
        return str(failed)
    return "pip brought no archive"


def _packed(source: Source, folder: str) -> str:
    argv = ["npm", "pack", "--silent", "--ignore-scripts", f"{source.name}@{source.version}"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return f"{' '.join(argv)}\n{done.stderr.strip()[-2000:]}"


@cache
def wheels() -> Path:
    """A folder with the pinned wheels for this Python. Downloaded once, with pip. Raises Unreachable."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {sys.platform} {PINS.read_text()}".encode()).hexdigest()
    kept = CACHE / f"wheels-{digest[:12]}"
    if not kept.exists():
        fresh = Path(tempfile.mkdtemp(dir=_cache()))
        _pip("--only-binary", ":all:", "-r", str(PINS), "-d", str(fresh))
        try:
            fresh.rename(kept)
        except OSError:  # another run was faster
            shutil.rmtree(fresh)
    return kept


def _unpacked(packed: tarfile.TarFile, place: str) -> None:
    """The archive is pinned by its hash; the filter, where this Python has it (3.11.4), is one more belt. Without it
    root gets files of the archive's owner, which Git takes for somebody else's."""
    if hasattr(tarfile, "data_filter"):
        packed.extractall(place, filter="data")
        return
    for member in packed:
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    packed.extractall(place)


@cache
def environment() -> Path:
    """The Python of a virtual environment with the pinned wheels, made once: `setup` of the short tasks."""
    kept = CACHE / wheels().name.replace("wheels", "venv")
    python = kept / "bin" / "python"
    if not (kept / "made").exists():
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--find-links",
            str(wheels()),
        ]
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(kept)], check=True, capture_output=True)
        subprocess.run([str(python), *install, "-r", str(PINS)], check=True, capture_output=True)
        (kept / "made").touch()
    return python


@cache
def modules() -> Path:
    """A folder of Node modules for the tests of the JavaScript repositories, as pinned. Raises Unreachable."""
    lock = NODE_PINS / "package-lock.json"
    kept = CACHE / f"node-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    if not kept.exists():
        fresh = Path(tempfile.mkdtemp(dir=_cache()))
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE_PINS / name, fresh / name)
        argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(argv, cwd=fresh, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Unreachable(f"{' '.join(argv)}\n{done.stderr.strip()[-2000:]}")
        try:
            fresh.rename(kept)
        except OSError:  # another run was faster
            shutil.rmtree(fresh)
    return kept / "node_modules"


def checkout(folder: Path, source: Source = DATEUTIL) -> Path:
    """A Git repository of the archive's content in `folder`: one commit on `main`, the same bytes every time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place, tarfile.open(archive(source)) as packed:
        _unpacked(packed, place)
        (content,) = Path(place).iterdir()
        content.rename(folder)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", f"{source.name} {source.version}")
    git(folder, "tag", source.version)  # the version that its build works out
    return folder


def git(folder: Path, *words: str, may_fail: bool = False) -> str:
    """What git prints, in an environment without anybody's settings. With `may_fail` its exit code is no matter."""
    own = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in AUTHOR.items()}
    env = {
        "PATH": os.environ["PATH"],
        "HOME": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C",
        **own,
    }
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env=env,
        check=not may_fail,
        capture_output=True,
        text=True,
        errors="replace",
    ).stdout


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


def _pip(*words: str) -> None:
    argv: Sequence[str] = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *words]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Unreachable(f"{' '.join(argv)}\n{done.stderr.strip()[-2000:]}")
