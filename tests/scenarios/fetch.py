"""The scenarios' repository, which nobody here wrote: a source distribution, fetched by name, version and hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "scenarios"
PINS = Path(__file__).with_name("requirements.txt")
NAME, VERSION = "python-dateutil", "2.9.0.post0"
SHA256 = "37dd54208da7e1cd875388217d5e00ebd4179249f90fb72437e91a35459a0ad3"
AUTHOR = {"NAME": "upstream", "EMAIL": "upstream@localhost", "DATE": "2024-03-01T00:00:00+00:00"}


class Unreachable(RuntimeError):
    """The package index gave nothing, or something else than was asked for."""


@cache
def sdist() -> Path:
    """The archive, its hash verified. Downloaded once, with pip. Raises Unreachable."""
    kept = CACHE / f"{NAME}-{VERSION}.tar.gz"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=_cache()) as folder:
            wanted = Path(folder) / "wanted.txt"
            wanted.write_text(f"{NAME}=={VERSION} --hash=sha256:{SHA256}\n")
            _pip("--no-binary", NAME, "--require-hashes", "-r", str(wanted), "-d", folder)
            next(Path(folder).glob("*.tar.gz")).rename(kept)
    found = hashlib.sha256(kept.read_bytes()).hexdigest()
    if found != SHA256:
        raise Unreachable(f"{kept} has the hash {found}, not {SHA256}: remove it")
    return kept


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


# The archive is pinned by its hash; the filter is one more belt, where this Python has it (3.11.4).
_SAFE: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def checkout(folder: Path) -> Path:
    """A Git repository of the archive's content in `folder`: one commit on `main`, the same bytes every time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place, tarfile.open(sdist()) as archive:
        archive.extractall(place, **_SAFE)
        (Path(place) / f"{NAME}-{VERSION}").rename(folder)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", f"{NAME} {VERSION}")
    git(folder, "tag", VERSION)  # the version that its build works out
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
