"""Who pays: exactly the credential that the task names goes to the agent, and a wrong one fails before a launch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError
from contracts.reply import ReplyClass
from tests.agents import claude_binary
from tests.surfaces.shell import READ, Shell, new_shell
from tests.tool_adapters.agent_world import EVERY_CHILD, FINISH, HOSTILE, PROMPT, Player, ask, login, settings
from tests.tool_adapters.bedrock import bedrock
from tool_adapters.agents.claude import ENVIRONMENT, Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.agents.pi.adapter import Pi

AKIA, ASIA = "AKIAABCDEFGHIJKLMNOP", "ASIAABCDEFGHIJKLMNOP"
KEYS = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": AKIA, "AWS_SECRET_ACCESS_KEY": "the-secret"}
VERTEX = {"CLOUD_ML_REGION": "europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID": "mine"}
# Every variable by which one of the programs would find somebody to bill.
EVERYTHING = {
    **HOSTILE,
    "ANTHROPIC_API_KEY": "sk-ant-api03-x",
    "ANTHROPIC_AUTH_TOKEN": "the-bearer",
    "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_VERTEX_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_MODEL": "another",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "CLAUDE_CODE_USE_VERTEX": "1",
    "CLAUDE_CODE_USE_FOUNDRY": "1",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1",
    **KEYS,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_BEARER_TOKEN_BEDROCK": "a-bearer",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere",
    "AWS_ROLE_ARN": "arn:aws:iam::1:role/x",
    **VERTEX,
    "GOOGLE_CLOUD_PROJECT": "other",
    "GCLOUD_PROJECT": "other",
    "OPENAI_API_KEY": "sk-proj-x",
    "CODEX_API_KEY": "sk-codex",
    "OPENAI_BASE_URL": "http://127.0.0.1:1",
    "OPENAI_ORG_ID": "org-x",
    "AZURE_OPENAI_API_KEY": "azure",
}
OTHER_SIZES = {"ANTHROPIC_DEFAULT_OPUS_MODEL": "unused", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "unused"}
URL = "https://models.example"


def google(folder: Path) -> str:
    path = folder / "adc.json"
    path.write_text(json.dumps({"type": "authorized_user"}))
    return str(path)


def aws(folder: Path, config: str = "[profile work]\nregion = eu-west-1\n", keys: str = "") -> dict[str, str]:
    (folder / ".aws").mkdir()
    (folder / ".aws/config").write_text(config)
    (folder / ".aws/credentials").write_text(keys)
    return {"HOME": str(folder)}


def started(folder: Path, agent: Any, environ: dict[str, str], **config: Any) -> tuple[Player, list[str]]:
    player = Player(folder)
    made = agent(settings(folder, agent.kind, environ, cli=player.path, **config))
    notices = made.preflight()
    ask(made)
    return player, notices


def paid_with(player: Player) -> dict[str, str]:
    """What the child got beside that which every launch gets."""
    usual = {*EVERY_CHILD, *ENVIRONMENT, "HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"}
    usual |= {"GIT_CEILING_DIRECTORIES", "API_TIMEOUT_MS", "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS"}
    return {name: value for name, value in player.env.items() if name not in usual}


BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_EC2_METADATA_DISABLED": "true", **KEYS, **OTHER_SIZES}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, {"ANTHROPIC_API_KEY": "sk-ant-api03-x"}),
        ({"auth": "subscription"}, {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}),
        (
            {"auth": "gateway", "base_url": URL},
            {"ANTHROPIC_AUTH_TOKEN": "the-bearer", "ANTHROPIC_BASE_URL": URL},
        ),
        (
            {"auth": "gateway", "base_url": URL, "api_key_env": "OPENAI_API_KEY"},
            {"ANTHROPIC_API_KEY": "sk-proj-x", "ANTHROPIC_BASE_URL": URL},
        ),
        ({"auth": "bedrock"}, BEDROCK),
        ({"auth": "bedrock", "base_url": URL}, BEDROCK | {"ANTHROPIC_BEDROCK_BASE_URL": URL}),
    ],
)
def test_claude_gets_one_credential_and_nothing_of_another(
    config: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    player, notices = started(tmp_path, Claude, EVERYTHING, **config)
    assert paid_with(player) == expected
    assert "--max-budget-usd" not in player.argv, "it throws a valid answer away"
    assert any("is set but not passed on" in notice for notice in notices)


@pytest.mark.parametrize("base_url", [None, URL])
def test_claude_by_vertex(base_url: str | None, tmp_path: Path) -> None:
    environ = EVERYTHING | {"GOOGLE_APPLICATION_CREDENTIALS": google(tmp_path)}
    player, _ = started(tmp_path, Claude, environ, auth="vertex", base_url=base_url)
    expected = {"CLAUDE_CODE_USE_VERTEX": "1", **VERTEX, **OTHER_SIZES}
    expected["GOOGLE_APPLICATION_CREDENTIALS"] = str(tmp_path / "adc.json")
    assert paid_with(player) == expected | ({"ANTHROPIC_VERTEX_BASE_URL": URL} if base_url else {})
    assert "--max-budget-usd" not in player.argv


def test_claude_by_a_profile_of_aws(tmp_path: Path) -> None:
    environ = {**EVERYTHING, **aws(tmp_path), "AWS_PROFILE": "work"}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION"):
        del environ[name]
    player, _ = started(tmp_path, Claude, environ, auth="bedrock", model="eu.anthropic.claude-opus-5-5")
    assert paid_with(player) == {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-east-1",
        "AWS_PROFILE": "work",
        "AWS_CONFIG_FILE": str(tmp_path / ".aws/config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / ".aws/credentials"),
        "ANTHROPIC_DEFAULT_SONNET_MODEL": "unused",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "unused",
    }


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, {"SKILL_STATE_CODEX_KEY": "sk-codex"}),
        ({"auth": "gateway", "base_url": URL, "api_key_env": "K"}, {"SKILL_STATE_CODEX_KEY": "gateway-key"}),
        ({"auth": "subscription", "auth_file": "auth.json"}, {}),
    ],
)
def test_codex_gets_one_credential_and_nothing_of_another(
    config: dict[str, str], expected: dict[str, str], tmp_path: Path
) -> None:
    login(tmp_path / "auth.json")
    player, _ = started(tmp_path, Codex, EVERYTHING | {"K": "gateway-key"}, base_dir=tmp_path, **config)
    assert paid_with(player) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "sk-ant-api03-x"),
        ({"model": "m", "options": {"provider": "openai"}}, "sk-proj-x"),
        ({"model": "m", "options": {"provider": "groq"}, "api_key_env": "K"}, "gateway-key"),
        ({"auth": "gateway", "base_url": URL, "token_env": "K"}, "gateway-key"),
    ],
)
def test_pi_gets_one_credential_and_nothing_of_another(
    config: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    player, notices = started(tmp_path, Pi, EVERYTHING | {"K": "gateway-key"}, **config)
    paid = paid_with(player)
    assert paid.pop("SKILL_STATE_PI_KEY") == expected
    assert set(paid) == {"PI_OFFLINE", "SKILL_STATE_SCHEMA", "SKILL_STATE_SYSTEM"}
    assert any("is set but not passed on" in notice for notice in notices)


SSO = "[profile sso]\nsso_session = work\n"
KEY = {"ANTHROPIC_API_KEY": "sk-ant-x"}
NO_KEY = {"AWS_REGION": "eu-west-1"}


@pytest.mark.parametrize(
    ("agent", "environ", "config", "said", "mend"),
    [
        (Claude, {"ANTHROPIC_API_KEY": "k"}, {"auth": "subscription"}, "ANTHROPIC_API_KEY is, which", "setup-token"),
        (Claude, {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, {}, "CLAUDE_CODE_OAUTH_TOKEN is, which", "subscription"),
        (Claude, {"ANTHROPIC_API_KEY": "sk-proj-x"}, {}, "another vendor", "Anthropic key"),
        (Claude, {"ANTHROPIC_API_KEY": AKIA}, {}, "another vendor", "Anthropic key"),
        (Claude, {"CLAUDE_CODE_OAUTH_TOKEN": "ghp_x"}, {"auth": "subscription"}, "another vendor", "setup-token"),
        (Claude, {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-api03-x"}, {"auth": "subscription"}, "an API key", "setup-token"),
        (
            Claude,
            {},
            {"auth": "gateway", "base_url": URL, "api_key_env": "K", "token_env": "T"},
            "both named",
            "the one",
        ),
        (Claude, {}, {"auth": "bedrock"}, "AWS_REGION is not set", "export AWS_REGION"),
        (Claude, NO_KEY, {"auth": "bedrock"}, "neither AWS_PROFILE nor", "export AWS_PROFILE"),
        (Claude, KEYS | {"AWS_PROFILE": "p"}, {"auth": "bedrock"}, "both set", "`unset`"),
        (Claude, NO_KEY | {"AWS_ACCESS_KEY_ID": AKIA}, {"auth": "bedrock"}, "AWS_SECRET_ACCESS_KEY is not", "export"),
        (Claude, KEYS | {"AWS_ACCESS_KEY_ID": ASIA}, {"auth": "bedrock"}, "temporary key", "AWS_SESSION_TOKEN"),
        (Claude, KEYS | {"AWS_ACCESS_KEY_ID": "sk-ant-x"}, {"auth": "bedrock"}, "another vendor", "AWS key"),
        (Claude, NO_KEY | {"AWS_PROFILE": "none"}, {"auth": "bedrock"}, "no profile 'none'", "aws configure"),
        (Claude, NO_KEY | {"AWS_PROFILE": "sso"}, {"auth": "bedrock"}, "signs in by SSO", "export-credentials"),
        (Claude, KEYS, {"auth": "bedrock", "api_key_env": "K"}, "`api_key_env` does not go", "remove"),
        (Claude, {}, {"auth": "vertex"}, "CLOUD_ML_REGION is not set", "export CLOUD_ML_REGION"),
        (Claude, {"CLOUD_ML_REGION": "r"}, {"auth": "vertex"}, "PROJECT_ID is not set", "export ANTHROPIC_VERTEX"),
        (Claude, VERTEX, {"auth": "vertex"}, "holds no Google credential", "gcloud auth application-default login"),
        (Claude, VERTEX, {"auth": "vertex", "token_env": "T"}, "`token_env` does not go", "remove"),
        (Codex, {}, {"auth": "bedrock"}, "codex has no", "api-key"),
        (Codex, {}, {"auth": "vertex"}, "codex has no", "api-key"),
        (Codex, {"OPENAI_API_KEY": "sk-ant-api03-x"}, {}, "another vendor", "OpenAI key"),
        (Codex, {"OPENAI_API_KEY": AKIA}, {}, "another vendor", "OpenAI key"),
        (Pi, {"OPENAI_API_KEY": "k"}, {}, "OPENAI_API_KEY is, which", "export ANTHROPIC_API_KEY"),
        (Pi, {"ANTHROPIC_API_KEY": "sk-proj-x"}, {}, "another vendor", "Anthropic key"),
        (Pi, {}, {"auth": "subscription"}, "pi has no", "api-key"),
        (Pi, {"K": "k"}, {"api_key_env": "K", "token_env": "K"}, "`token_env` does not go", "remove"),
        (Pi, {}, {"auth": "gateway"}, "needs `base_url:`", "address"),
        (Pi, {}, {"model": "m", "options": {"provider": "groq"}}, "which variable", "api_key_env"),
        (Pi, {"K": "k"}, {"options": {"provider": "groq"}, "api_key_env": "K"}, "no model", "`model:`"),
        (Pi, {"K": "k"}, {"options": {"api": "openai-completions"}, "api_key_env": "K"}, "no model", "`model:`"),
        (Pi, {"K": "k"}, {"model": "m", "options": {"api": "grpc"}, "base_url": URL}, "no api 'grpc'", "one of"),
        (Pi, {"K": "k"}, {"model": "m", "options": {"api": "openai-responses"}}, "needs `base_url:`", "address"),
        (Pi, KEY, {"options": {"api": "openai-responses", "provider": "x"}}, "both named", "`provider` for"),
        (Pi, KEY, {"options": {"nod": "x"}}, "unknown option 'nod'", "node"),
        (Pi, KEY, {"options": {"node": "nowhere/node"}}, "is no program", "node: …"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_any_launch(
    agent: Any, environ: dict[str, str], config: dict[str, str], said: str, mend: str, tmp_path: Path
) -> None:
    player = Player(tmp_path)
    environ = environ | aws(tmp_path, SSO)
    made = agent(settings(tmp_path, agent.kind, environ, cli=player.path, **config))
    with pytest.raises(ConfigError) as error:
        made.preflight()
    assert said in error.value.message and mend in error.value.hint, error.value
    assert all(
        value not in str(error.value) for value in environ.values() if value.startswith(("sk-", "A", "ghp"))
    )
    reply = ask(made)
    assert reply.cls is ReplyClass.MISCONFIGURED and not (player.folder / "argv").exists()


def test_a_temporary_key_with_its_session_goes_on(tmp_path: Path) -> None:
    environ = KEYS | {"AWS_ACCESS_KEY_ID": ASIA, "AWS_SESSION_TOKEN": "the-session"}
    player, notices = started(tmp_path, Claude, environ, auth="bedrock")
    assert (player.env["AWS_SESSION_TOKEN"], notices) == ("the-session", [])


# ---- the real binary -------------------------------------------------------------------------------------------
def test_the_real_claude_asks_bedrock_and_nobody_else(tmp_path: Path) -> None:
    with bedrock(FINISH) as cloud:
        environ = {**EVERYTHING, "HOME": str(tmp_path)}
        made = settings(tmp_path, "claude", environ, cli=claude_binary(), auth="bedrock", base_url=cloud.url)
        agent = Claude(made)
        agent.preflight()
        reply = ask(agent)
    assert reply.cls is ReplyClass.OK and reply.value == FINISH, reply
    assert (reply.usage.input, reply.usage.output) == (1200, 7) and (reply.usage.usd_micro or 0) > 0
    for asked in cloud.asked:
        signed = asked.headers["authorization"]
        assert signed.startswith(f"AWS4-HMAC-SHA256 Credential={AKIA}/") and "/eu-west-1/bedrock/" in signed
        assert "x-api-key" not in asked.headers and b"sk-ant" not in asked.body
    paths = [asked.path.partition("?")[0] for asked in cloud.asked]
    assert paths == [
        "/inference-profiles",
        "/model/eu.anthropic.claude-sonnet-5-5/invoke-with-response-stream",
    ], "one request that costs, and no probe of other models"
    assert PROMPT.volatile.strip().encode()[:12] in cloud.streamed[0].body


def test_a_credential_that_aws_refuses_is_a_matter_of_the_login(tmp_path: Path) -> None:
    with bedrock(None) as cloud:
        made = settings(tmp_path, "claude", KEYS, cli=claude_binary(), auth="bedrock", base_url=cloud.url)
        reply = ask(Claude(made))
    assert reply.cls is ReplyClass.AUTH and "get-caller-identity" in reply.message, reply
    assert "the-secret" not in reply.message + reply.text


# ---- what is said of it ----------------------------------------------------------------------------------------
def test_doctor_and_the_first_audit_row_say_who_pays(tmp_path: Path) -> None:
    shell: Shell = new_shell(tmp_path)
    player = Player(tmp_path, stderr="broken\n", end="exit 1")
    entry = f"  cloudy: {{kind: claude, auth: bedrock, options: {{cli: {player.path}}}}}"
    shell.task(READ, agent="agent: {use: cloudy}", **{"  script": entry})
    missing = shell("run")
    assert missing.code == 2 and "export AWS_REGION" in missing.err
    assert shell("doctor", "--json").code == 3 and not (shell.repo / ".agent-runtime/work").exists()
    shell.extra |= KEYS
    doctor = shell("doctor", "--json").one
    assert doctor["task"] == {"name": "greet", "agent": "cloudy", "pays": "bedrock"}
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= set(doctor["credentials"]["claude"])
    ran = shell("run", "--json")
    assert ran.lines[0]["credential"] == "bedrock"
    rows = shell("log", "--json").lines
    assert (rows[0]["kind"], rows[0]["extra"]["credential"]) == ("opened", "bedrock")
    assert {row["credential"] for row in rows[1:]} >= {"bedrock"}
    files = [path for path in (shell.repo / ".agent-runtime").rglob("*") if path.is_file()]
    kept = "".join(path.read_text(errors="replace") for path in files)
    assert "the-secret" not in kept, "no trace of the secret is kept"
