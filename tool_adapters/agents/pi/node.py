"""The Node that Pi runs on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from contracts.errors import ConfigError
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.probe import ask

NEEDED = (22, 19)


def find_node(settings: AgentSettings) -> Path:
    """`options: {node: PATH}`, or the `node` on the caller's PATH. Raises ConfigError, also for one that is too old;
    asks the program itself."""
    named = settings.config.options.get("node")
    if named is not None:
        path = settings.base_dir / Path(str(named)).expanduser()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise ConfigError(
                f"agent {settings.name}: {path} is no program", hint="mend `options: {node: …}`"
            )
    else:
        found = shutil.which("node", path=settings.environ.get("PATH") or os.defpath)
        if found is None:
            raise ConfigError(f"agent {settings.name}: `node` is not on the PATH", hint=_MEND)
        path = Path(found)
    told = node_version(path)
    if told is None:
        raise ConfigError(f"agent {settings.name}: {path} does not say a Node version", hint=_MEND)
    if told[:2] < NEEDED:
        version = ".".join(map(str, told))
        raise ConfigError(
            f"agent {settings.name}: Pi needs Node {_NEEDED} or newer, and {path} is {version}", hint=_MEND
        )
    return path


def node_trouble(environ: Mapping[str, str]) -> str:
    """Why Pi can't run on the `node` of the PATH; empty when it can."""
    found = shutil.which("node", path=environ.get("PATH") or os.defpath)
    told = node_version(Path(found)) if found else None
    if told is not None and told[:2] >= NEEDED:
        return ""
    version = ".".join(map(str, told)) if told else "of unknown version" if found else "not on the PATH"
    return f"pi needs Node {_NEEDED} or newer, and `node` is {version}: {_MEND}"


def node_version(path: Path) -> tuple[int, ...] | None:
    """What `node --version` says, such as (24, 21, 0); None when it says no version."""
    _, said = ask([str(path), "--version"], cwd=Path("/"), env={"PATH": os.defpath}, seconds=20)
    version = re.search(r"v(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, version.groups())) if version else None


_NEEDED = ".".join(map(str, NEEDED))
_MEND = f"install Node.js {_NEEDED} or newer, or name one by `options: {{node: PATH}}`"
