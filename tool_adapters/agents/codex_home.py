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
from tool_adapters.durable import replace

PROVIDER = "controller"
OPENAI_URL = "https://api.openai.com/v1"


def config_toml(
    top: Mapping[str, Any], credential: Credential, base_url: str | None, idle: float, hands: bool = False
) -> str:
    """The text of config.toml: the lean configuration, the keys `top`, and the provider. `idle`: seconds without
    an event after which a stream counts as stalled. `hands`: with the shell, whose commands get no credential.

    An own provider in every mode: the built-in one tries a WebSocket first, asks for models, and takes its
    retries from elsewhere. With a login and no `base_url` Codex itself chooses the address that goes with it.
    """
    top = {**top, "model_provider": PROVIDER}
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
    lean += _toml({"shell_tool": hands, "unified_exec": hands})  # its last table is that of the features
    shell = _toml({"inherit": "core"})
    return f"{_toml(top)}\n{lean}\n[shell_environment_policy]\n{shell}\n[model_providers.{PROVIDER}]\n{_toml(provider)}"


def trimmed_catalog(models: bytes, model: str, hands: bool = False) -> str | None:
    """The catalog with only `model`, stripped of every tool that its entry brings along (with `hands`: but that for
    patches), from the output of `codex debug models`; None when the model is not in it or the output is no catalog."""
    try:
        entries = json.loads(models)["models"]
        entry: JsonObject = next(dict(each) for each in entries if each["slug"] == model)
    except (ValueError, KeyError, TypeError, StopIteration):
        return None
    for key in ("tool_mode", "multi_agent_version"):
        entry.pop(key, None)
    entry |= {"experimental_supported_tools": [], "use_responses_lite": False}
    if not hands:
        entry["apply_patch_tool_type"] = None
    return json.dumps({"models": [entry]})


def catalog_name(binary: Path, model: str, hands: bool = False) -> str:
    """The file name of the trimmed catalog of this very binary and model."""
    stat = binary.stat()
    return f"catalog-{digest([str(binary), stat.st_size, stat.st_mtime_ns, model, hands])[:16]}.json"


class LentLogin:
    """A login file lent to one launch: copied in, and written back when Codex refreshed its tokens.

    Refresh tokens are used up by their use: a refreshed login that is not written back logs the user out. So a
    copy that a killed controller left behind is looked at before it is replaced, and one that can't be written
    back (a read-only secret) is kept and lent again.
    """

    def __init__(self, source: Path, home: Path) -> None:
        self.source, self.copy, self.kept = source.resolve(), home / "auth.json", home.parent / "login.json"

    def lend(self, folders: Folders) -> None:
        """Copies the newest. Without the API key that may stand beside the login: Codex would bill that one."""
        self.take_back()
        with _locked(self.source.parent):
            login = read_login(self.source) or {}
        kept = read_login(self.kept)
        if kept is not None and _newer(kept, login):
            login = kept
        lent = {**login, "OPENAI_API_KEY": None}
        if "auth_mode" in login:
            lent["auth_mode"] = "chatgpt"
        folders.write(f"{self.copy.parent.name}/{self.copy.name}", json.dumps(lent))

    def take_back(self) -> None:
        """Writes refreshed tokens back where the source still is the older, of the same account; removes the
        copy. A source that is gone (logged out meanwhile) stays gone."""
        returned = read_login(self.copy)
        if returned is None or not has_tokens(returned):
            self.copy.unlink(missing_ok=True)
            return
        with _locked(self.source.parent):
            present = read_login(self.source)
            if present is not None and _newer(returned, present):
                fresh = {**present, "tokens": returned["tokens"], "last_refresh": returned["last_refresh"]}
                try:
                    replace(self.source, json.dumps(fresh, indent=2).encode(), 0o600)
                except OSError:
                    replace(self.kept, json.dumps(fresh, indent=2).encode(), 0o600)
        self.copy.unlink(missing_ok=True)


def _newer(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether `one` holds the tokens of a later refresh of the same login as `other`."""
    mine, theirs = one.get("tokens"), other.get("tokens")
    if not isinstance(mine, dict) or not isinstance(theirs, dict) or mine == theirs:
        return False
    # RFC 3339 in UTC sorts as text once the Z is off: `…:00` before `…:00.5`.
    later = str(one.get("last_refresh") or "").rstrip("Z") > str(other.get("last_refresh") or "").rstrip("Z")
    return later and mine.get("account_id") == theirs.get("account_id")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """An exclusive lock between controllers, on the folder itself: no file of ours is left beside a login."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _toml(values: Mapping[str, Any]) -> str:
    # JSON strings, numbers and booleans are written the same in TOML, except DEL, which no path of ours holds.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
