"""Claude by Amazon Bedrock and by Google Vertex AI: which account of the cloud pays, and nothing beside it.

The SDKs of both clouds look in many places and take the first that answers: an instance's own role would pay in
silence. So the child is told one credential, and the last resort, the machine's metadata service, is off.
"""

from __future__ import annotations

import configparser
import json
from collections.abc import Mapping
from pathlib import Path

from contracts.errors import ConfigError
from tool_adapters.agents.settings import AgentSettings

KEY, SECRET, SESSION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
Variables = dict[str, str]


def bedrock(settings: AgentSettings) -> tuple[Variables, Variables]:
    """(secrets, other variables) of the child for `auth: bedrock`. Raises ConfigError with what mends it."""
    environ = settings.environ
    region = _first(environ, "AWS_REGION", "AWS_DEFAULT_REGION")
    if not region:
        raise _refused(settings, "AWS_REGION is not set", "export AWS_REGION=REGION")
    more = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true"}
    profile, key = _first(environ, "AWS_PROFILE"), _first(environ, KEY)
    if profile and key:
        raise _refused(settings, f"AWS_PROFILE and {KEY} are both set: who pays?", "`unset` one of them")
    if profile:
        return {}, more | _profile(settings, profile)
    if not key:
        raise _refused(settings, f"neither AWS_PROFILE nor {KEY} is set", "export AWS_PROFILE=NAME")
    secret, session = _first(environ, SECRET), _first(environ, SESSION)
    if not secret:
        raise _refused(settings, f"{SECRET} is not set beside {KEY}", f"export {SECRET}=SECRET")
    if key.startswith("sk-"):
        raise _refused(settings, f"{KEY} holds a key of another vendor", f"export {KEY}=KEY with an AWS key")
    if key.startswith("ASIA") and not session:
        raise _refused(
            settings, f"{KEY} is a temporary key, and {SESSION} is not set", f"export {SESSION}=TOKEN"
        )
    return {KEY: key, SECRET: secret} | ({SESSION: session} if session else {}), more


def _profile(settings: AgentSettings, name: str) -> Variables:
    """The profile and its files: the child has a HOME of its own."""
    home = Path(settings.environ.get("HOME", ""), ".aws")
    config = Path(_first(settings.environ, "AWS_CONFIG_FILE") or home / "config").absolute()
    keys = Path(_first(settings.environ, "AWS_SHARED_CREDENTIALS_FILE") or home / "credentials").absolute()
    found, in_keys = (
        _section(config, "default" if name == "default" else f"profile {name}"),
        _section(keys, name),
    )
    if found is None and in_keys is None:
        raise _refused(
            settings, f"there is no profile {name!r} in {config} or {keys}", f"aws configure --profile {name}"
        )
    if any(option.startswith("sso_") for option in found or ()) and not in_keys:
        mend = f'eval "$(aws configure export-credentials --profile {name} --format env)"; unset AWS_PROFILE'
        raise _refused(settings, f"profile {name!r} signs in by SSO, whose login stays in your HOME", mend)
    return {"AWS_PROFILE": name, "AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(keys)}


def _section(path: Path, name: str) -> tuple[str, ...] | None:
    """The options of a section; None when it is not there."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="")
    try:
        parser.read_string(path.read_text("utf-8"))
        return tuple(parser.options(name))
    except (OSError, ValueError, configparser.Error):
        return None


def vertex(settings: AgentSettings) -> Variables:
    """The variables of the child for `auth: vertex`; the credential itself is a file. Raises ConfigError."""
    told = {"CLAUDE_CODE_USE_VERTEX": "1"}
    for name, value in {"CLOUD_ML_REGION": "REGION", "ANTHROPIC_VERTEX_PROJECT_ID": "PROJECT"}.items():
        told[name] = _first(settings.environ, name)
        if not told[name]:
            raise _refused(settings, f"{name} is not set", f"export {name}={value}")
    usual = Path(settings.environ.get("HOME", ""), ".config/gcloud/application_default_credentials.json")
    file = Path(_first(settings.environ, "GOOGLE_APPLICATION_CREDENTIALS") or usual).absolute()
    try:
        kind = json.loads(file.read_text("utf-8"))["type"]
    except (OSError, ValueError, KeyError, TypeError):
        kind = None
    if not isinstance(kind, str):
        raise _refused(
            settings, f"{file} holds no Google credential", "gcloud auth application-default login"
        )
    return told | {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}


def _first(environ: Mapping[str, str], *names: str) -> str:
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def _refused(settings: AgentSettings, what: str, mend: str) -> ConfigError:
    return ConfigError(f"agent {settings.name}: auth is {settings.config.auth}, but {what}", hint=mend)
