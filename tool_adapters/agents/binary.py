"""Finds the program of an agent, the native one where npm put a shim before it."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from pathlib import Path

from contracts.errors import ConfigError
from tool_adapters.agents.settings import AgentSettings

# ELF, Mach-O of both byte orders, Mach-O for several machines.
_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
# The npm packages of agents, and of the native binaries behind them.
_PACKAGES = (
    "@anthropic-ai/",
    "@openai/",
    "@earendil-works/",
    "@google/gemini-cli",
    "@qwen-code/",
    "opencode-",
)
_SCRIPTS = (".js", ".mjs", ".cjs")  # an adapter starts Node with them
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def find_binary(settings: AgentSettings, program: str, install: str) -> Path:
    """The program of this agent: `settings.cli`, the task's `options: {cli: …}`, or on the caller's PATH.

    Raises ConfigError with `install`, the command that mends it, when there is none.
    """
    named = settings.cli or settings.config.options.get("cli")
    if named is not None:
        path = settings.base_dir / Path(str(named)).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return _startable(settings, path.resolve(), install)
        raise ConfigError(f"agent {settings.name}: {path} is no program", hint="mend `options: {cli: …}`")
    found = shutil.which(program, path=settings.environ.get("PATH") or os.defpath)
    if found is None:
        raise ConfigError(
            f"agent {settings.name}: `{program}` is not on the PATH", hint=f"install it: {install}"
        )
    # A name on the PATH may be a link into the package; a launcher that looks at its own name is left alone.
    return _startable(settings, Path(found).resolve(), install)


def _startable(settings: AgentSettings, path: Path, install: str) -> Path:
    """`path`. Raises ConfigError where it is text that names no interpreter, which the system can't start: npm leaves
    it where the package's install script did not run."""
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except PermissionError:  # it can be started all the same
        return path
    if path.suffix in _SCRIPTS or start.startswith((b"#!", *_NATIVE)) or b"\0" in start:
        return path
    raise ConfigError(
        f"agent {settings.name}: {path} can't be started: it is the placeholder of a package whose install script did "
        "not run, or no program",
        hint=f"install it again with scripts allowed (without --ignore-scripts and --omit=optional): {install}",
    )


def is_native(path: Path) -> bool:
    """Whether this is machine code and not a script."""
    with path.open("rb") as file:
        return file.read(4) in _NATIVE


def native_codex(shim: Path) -> Path:
    """The native codex behind npm's node shim, or `shim` itself where none is found.

    A killed shim orphans the native binary, which then finishes its turn, paid for, on its own.
    """
    if is_native(shim):
        return shim
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = _MACHINES.get(platform.machine().lower(), "*")
    wanted = f"codex-{system}-{machine}"
    for folder in shim.parents:
        for vendor in (
            folder / "@openai" / wanted,
            folder / "node_modules/@openai" / wanted,
            folder.parent / wanted,
            folder,
        ):
            for path in sorted(vendor.glob("vendor/*/bin/codex")) + sorted(
                vendor.glob("vendor/*/codex/codex")
            ):
                if os.access(path, os.X_OK) and is_native(path) and system in str(path):
                    return path
        if folder.name == "node_modules":
            break
    return shim


def version_beside(path: Path) -> str:
    """The version of an agent's program, from its npm package or, where an installer keeps one file per version,
    from its name; "" when neither says it."""
    if re.fullmatch(r"\d+\.\d+\.\d+\S*", path.name):
        return path.name
    for folder in list(path.parents)[:5]:
        try:
            manifest = json.loads((folder / "package.json").read_text("utf-8"))
            if str(manifest["name"]).startswith(_PACKAGES):
                return str(manifest["version"]).split("-", 1)[0]
        except (ValueError, OSError, KeyError, TypeError):
            continue
    return ""
