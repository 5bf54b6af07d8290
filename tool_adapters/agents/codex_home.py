"""The generated CODEX_HOME of a run: configuration, trimmed model catalog, and a lent login.

The user's own CODEX_HOME is never used: its AGENTS.md, hooks, MCP servers and skills would come along.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from contracts.base import JsonObject, digest
from tool_adapters.agents.credentials import CODEX_CHILD_KEY, Credential, has_tokens, read_login
from tool_adapters.agents.launch import Folders

PROVIDER = "controller"
OPENAI_URL = "https://api.openai.com/v1"


def config_toml(
    model: str,
    credential: Credential,
    base_url: str | None,
    idle: float,
    instructions: Path,
    catalog: Path | None,
) -> str:
    """The text of config.toml. `idle`: seconds without an event after which a stream counts as stalled.

    An own provider in every mode: the built-in one tries a WebSocket first, asks for models, and takes its
    retries from elsewhere. With a login and no `base_url` Codex itself chooses the address that goes with it.
    """
    top: dict[str, Any] = {
        "model": model,
        "model_provider": PROVIDER,
        "model_instructions_file": str(instructions),
    }
    if catalog is not None:
        top["model_catalog_json"] = str(catalog)
    if credential.auth_file is not None and base_url:
        top["chatgpt_base_url"] = base_url  # with a login it asks for account and settings, too
    provider: dict[str, Any] = {
        "name": PROVIDER,
        "wire_api": "responses",
        "request_max_retries": 0,
        "stream_max_retries": 0,
        "stream_idle_timeout_ms": round(idle * 1000),
    }
    if credential.auth_file is not None:
        provider["requires_openai_auth"] = True
        if base_url:
            provider["base_url"] = base_url
    else:
        provider |= {"env_key": CODEX_CHILD_KEY, "base_url": base_url or OPENAI_URL}
    lean = files("tool_adapters.agents").joinpath("codex_config.toml").read_text("utf-8")
    return f"{_toml(top)}\n{lean}\n[model_providers.{PROVIDER}]\n{_toml(provider)}"


def trimmed_catalog(models: bytes, model: str) -> str | None:
    """The catalog with only `model`, stripped of every tool that its entry brings along, from the output of
    `codex debug models`; None when the model is not in it or the output is no catalog."""
    try:
        entries = json.loads(models)["models"]
        entry: JsonObject = next(dict(each) for each in entries if each["slug"] == model)
    except (ValueError, KeyError, TypeError, StopIteration):
        return None
    for key in ("tool_mode", "multi_agent_version"):
        entry.pop(key, None)
    entry |= {"experimental_supported_tools": [], "apply_patch_tool_type": None, "use_responses_lite": False}
    return json.dumps({"models": [entry]})


def catalog_name(binary: Path, model: str) -> str:
    """The file name of the trimmed catalog of this very binary and model."""
    stat = binary.stat()
    return f"catalog-{digest([str(binary), stat.st_size, stat.st_mtime_ns, model])[:16]}.json"


class LentLogin:
    """A login file lent to one launch: copied in, and written back when Codex refreshed its tokens.

    Refresh tokens are used up by their use: a refreshed login that is not written back logs the user out.
    """

    def __init__(self, source: Path, home: Path) -> None:
        self.source, self.copy = source.resolve(), home / "auth.json"
        self._lent: Mapping[str, Any] = {}

    def lend(self, folders: Folders) -> None:
        """Copies it. Without the API key that may stand beside the login: Codex would bill that one."""
        with _locked(self.source.parent):
            login = read_login(self.source) or {}
        self._lent = {**login, "OPENAI_API_KEY": None}
        if "auth_mode" in login:
            self._lent = {**self._lent, "auth_mode": "chatgpt"}
        folders.write(f"{self.copy.parent.name}/{self.copy.name}", json.dumps(self._lent))

    def take_back(self) -> bool:
        """Writes refreshed tokens back, if they changed and the source is still older; removes the copy. Whether
        it wrote. A source that is gone (logged out meanwhile) stays gone."""
        returned = read_login(self.copy)
        self.copy.unlink(missing_ok=True)
        if not returned or not has_tokens(returned) or returned.get("tokens") == self._lent.get("tokens"):
            return False
        with _locked(self.source.parent):
            present = read_login(self.source)
            if present is None or _refreshed(present) > _refreshed(self._lent):
                return False
            fresh = {**present, "tokens": returned["tokens"]}
            if "last_refresh" in returned:
                fresh["last_refresh"] = returned["last_refresh"]
            _replace(self.source, json.dumps(fresh, indent=2))
        return True


def _refreshed(login: Mapping[str, Any]) -> str:
    """When the tokens were refreshed: RFC 3339 in UTC, which sorts as text to the second."""
    return str(login.get("last_refresh") or "")[:19]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """An exclusive lock between controllers, on the folder itself: no file of ours is left beside a login."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _toml(values: Mapping[str, Any]) -> str:
    # JSON strings, numbers and booleans are written the same in TOML, except DEL, which no path of ours holds.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
