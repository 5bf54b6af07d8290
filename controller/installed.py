"""The installed parts, by entry point: only what a task names is loaded."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from contracts.errors import ConfigError


def found(group: str, name: str) -> Any:
    """The class that entry-point group `skill_state.<group>` has under `name`. Raises ConfigError."""
    known = {point.name: point for point in entry_points(group=f"skill_state.{group}")}
    point: EntryPoint | None = known.get(name)
    if point is None:
        raise ConfigError(
            f"there is no {group.rstrip('s')} {name!r}", hint=f"installed: {', '.join(sorted(known))}"
        )
    try:
        return point.load()
    except ImportError as error:
        raise ConfigError(f"{group.rstrip('s')} {name!r} can't be loaded: {error}") from error
