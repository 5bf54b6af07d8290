from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid

import pytest

from contracts.redact import Redactor

PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEow+/=\n" * 30 + "-----END RSA PRIVATE KEY-----"
SHAPES = {
    "aws_key": "AKIA" + "ABCDEFGH12345678",
    "github_token": "ghp_" + "a1B2" * 9,
    "gitlab_token": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "api_key": "sk-ant-api03-" + "Ab1_" * 10,
    "slack_token": "xoxb-" + "123456789012-abcdefghij",
    "npm_token": "npm_" + "a1B2" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "c2lnbmF0dXJlLWhlcmU",
    "private_key": PEM,
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape_is_replaced_and_its_surroundings_stay(name: str) -> None:
    secret = SHAPES[name]
    assert Redactor().redact_text(f"before {secret} after") == f"before [redacted:{name}] after"


BASE64 = "q8Zr1Vt0Yb7Kx3Ns" * 6
KUBE = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + BASE64
CERTIFICATE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J" + BASE64


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        (f"    client-key-data: {KUBE}", KUBE),
        ("//registry.test/:_auth=q8Zr1Vt0Yb7Kx3NsQ==", "q8Zr1Vt0Yb7Kx3NsQ=="),
        ("VAULT_TOKEN=s.q8Zr1Vt0Yb7Kx3NsAbCdEfGh", "s.q8Zr1Vt0Yb7Kx3NsAbCdEfGh"),
        (f"    certificate-authority-data: {CERTIFICATE}", None),
        ("auth = oauth_client_factory_for_tests", None),
        ("token = s.tokenForTheFirstOfTheRunsOfIt", None),
    ],
)
def test_what_its_place_gives_away(line: str, hidden: str | None) -> None:
    assert (Redactor().redact_text(line) != line) is bool(hidden)
    assert not hidden or hidden not in Redactor().redact_text(line)


def test_known_value_and_its_forms() -> None:
    secret = 'h"unter/2 +pass-word'
    forms = [
        secret,
        json.dumps(secret),
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"user:{secret}".encode()).decode(),
        base64.b64encode(f"us:{secret}:x".encode()).decode(),
        base64.urlsafe_b64encode(f"u:{secret}".encode()).decode(),
    ]
    for form in forms:
        shown = Redactor({"PASS": secret}).redact_text(f"<{form}>")
        assert "[redacted:PASS]" in shown
        assert secret[:8] not in shown
        # Nothing that decodes to the middle of the secret is left.
        assert base64.b64encode(secret.encode()).decode()[4:16] not in shown


def test_short_values_are_no_secrets() -> None:
    assert Redactor({"FLAG": "true"}).redact_text("it is true") == "it is true"


def test_no_false_positive_on_noise() -> None:
    dice = random.Random(7)
    lines = []
    for _ in range(3000):
        raw = dice.randbytes(32)
        lines += [
            hashlib.sha1(raw).hexdigest(),
            hashlib.sha256(raw).hexdigest(),
            str(uuid.UUID(bytes=raw[:16])),
            "sha512-" + base64.b64encode(hashlib.sha512(raw).digest()).decode(),
            "sha256:" + base64.urlsafe_b64encode(raw).decode(),
        ]
    lines += [
        ".sk-folding-cube-animation-delay-wrapper",
        "task-12345678901234567890ABC",
        "risk-Assessment2025reportfinalversion",
        "the prefix ghp_ and AKIA alone, npm_config_registry, xoxb-",
        "eyJ.eyJ.x",
        "-----BEGIN CERTIFICATE-----",
    ]
    text = "\n".join(lines)
    assert Redactor().redact_text(text) == text


@pytest.mark.parametrize("size", [1, 7, 1000, 40_000])
def test_stream_equals_whole_at_every_border(size: int) -> None:
    dice = random.Random(size)
    known = {"TOKEN": "correct-horse-battery"}
    parts: list[bytes] = []
    for _ in range(60 if size > 1 else 8):
        parts.append(dice.randbytes(dice.randrange(0, 3000)).hex().encode())
        parts.append(b" " + dice.choice([*SHAPES.values(), known["TOKEN"]]).encode() + b"\n")
    data = b"".join(parts)
    redactor = Redactor(known)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    streamed = b"".join(redactor.stream(chunks))
    assert streamed == redactor.redact(data)
    assert b"correct-horse" not in streamed
    assert streamed.count(b"[redacted:") == len(parts) // 2


def test_stream_without_redaction_is_what_went_in() -> None:
    data = random.Random(3).randbytes(200_000)
    assert b"".join(Redactor().stream([data[:100], data[100:99_999], data[99_999:]])) == data


def test_private_key_cut_off_is_still_redacted() -> None:
    assert Redactor().redact_text("x\n" + PEM[:200]) == "x\n[redacted:private_key]"


def test_lone_surrogates_survive() -> None:
    assert Redactor({"A": "secret!"}).redact_text("\ud800 secret!") == "\ud800 [redacted:A]"
