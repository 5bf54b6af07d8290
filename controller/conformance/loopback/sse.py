"""Server-sent events."""

from __future__ import annotations

import json
from typing import Any


def event(data: dict[str, Any] | str, name: str | None = None) -> bytes:
    """One event; a dict becomes one line of JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()
