"""The base of every stored or exchanged type, and the one canonical JSON form."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

JsonObject = dict[str, Any]


class Frozen(BaseModel):
    """Immutable, strict, closed: an unknown key or a value of another type is an error."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", ser_json_bytes="utf8")


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes. Raises TypeError on non-JSON."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(value: bytes | str | Any) -> str:
    """Hex sha256 of bytes, of a text's UTF-8, or of any JSON value's canonical form."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    elif not isinstance(value, bytes):
        value = canonical(value)
    return hashlib.sha256(value).hexdigest()
