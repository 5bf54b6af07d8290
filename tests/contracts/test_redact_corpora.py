"""Redaction on two corpora, the second not used for tuning; on what no secret is; at every split; on hostile data."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contracts.redact import Redactor
from contracts.secret_shapes import REACH, TOKENS
from tests.data.secrets import holdout, hostile, tuning
from tests.data.secrets.corpus import Corpus, score

# Of bytes and places of the second corpus, taken before the shapes were written: it can't be changed to fit.
HOLDOUT = "3337c65abe0481de048dfca36b0c250ffab84fae578c2a126d0d6d1f201f4342"


def test_the_second_corpus_is_the_one_that_was_laid_down() -> None:
    corpus = holdout.build()
    assert hashlib.sha256(corpus.data + repr(corpus.secrets).encode()).hexdigest() == HOLDOUT


@pytest.mark.parametrize("build", [tuning.build, holdout.build])
def test_recall_without_a_false_positive(build: type[Corpus]) -> None:
    corpus = build()  # type: ignore[call-arg]
    found = score(corpus, list(Redactor().spans(corpus.data)))
    assert found.planted > 800
    assert found.recall >= 0.94
    assert found.false == 0


def test_a_score_counts_what_is_missed_and_what_is_wrong() -> None:
    corpus = Corpus.of("a " + "\ue000k\ue001secret\ue002" + " b\n")
    assert corpus.data == b"a secret b\n" and corpus.secrets == ((2, 8, "k"),)
    assert score(corpus, []).recall == 0

    class Part:
        start, end = 2, 7

    class Beside:
        start, end = 9, 10

    part = score(corpus, [Part(), Beside()])
    assert (part.found, part.false, part.over) == (0, 1, 1)


def test_what_is_no_secret_stays() -> None:
    dice = random.Random(11)
    lines: list[str] = []
    for _ in range(2000):
        raw = dice.randbytes(64)
        b64 = base64.b64encode(raw).decode()
        lines += [
            *(hashlib.new(name, raw).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")),
            hashlib.sha256(raw).hexdigest().upper(),
            str(uuid.UUID(bytes=raw[:16])),
            f"sha512-{b64}",
            f"sha256:{hashlib.sha256(raw).hexdigest()}",
            f"data:image/png;base64,iVBORw0KGgo{b64}{b64}",
            f"tree {hashlib.sha1(raw).hexdigest()}\nparent {hashlib.sha1(b64.encode()).hexdigest()}",
            f'"integrity": "sha512-{b64}",',
            f"module v1.2.3 h1:{b64[:43]}=",
        ]
    text = "\n".join(lines)
    assert Redactor().redact_text(text) == text


@pytest.mark.parametrize(
    "line",
    [
        "password = getpass.getpass()",
        "def login(user: str, password: str = DEFAULT_PASSWORD1) -> Token2:",
        "token = self.tokens[index1]",
        'password: "The password must have 8 characters"',
        "  password: ${{ secrets.DEPLOY_PASSWORD1 }}",
        'API_KEY = os.environ["API_KEY_1"]',
        "API_KEY=your-api-key-1",
        "secretName: billing-tls-2024",
        "token: Uint8Array, key: Base64Url2",
        "max_tokens=4096, prompt_tokens: 51200",
        "primary_key=4f9a1c0b77de4b1b8a6f0f8b2f3a9c11",
        "cache_key: deps-" + "0a1b2c3d" * 8,
        "PWD=/srv/app2/releases/20260301",
        "postgres://user:password@localhost:5432/app",
        "redis://:$REDIS_PASSWORD@cache:6379/0",
        "https://example.org:8443/a@2x.png",
        "git clone ssh://git@host:2222/a/b.git",
        "PASS: TestLogin2 (0.1s)",
        "docker run -p 8080:80 -u 1000:1000 web2",
        "key_id = 'AKIAIOSFODNN7EXAMPLE'",
        "'-----BEGIN RSA PRIVATE KEY-----' and '-----END RSA PRIVATE KEY-----' are its marks",
        '"AWS::IAM::AccessKey": "62d91b17309e76c8"',
        "password=[redacted:password] token: '[redacted:github_token]'",
    ],
)
def test_code_templates_and_placeholders_stay(line: str) -> None:
    assert Redactor().redact_text(line) == line


ARMOUR = "\n".join(
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        *["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE"] * 3,
        "-----END OPENSSH PRIVATE KEY-----",
    ]
)
FIVE = {
    "known": "correct-horse-battery",
    "github_token": "ghp_" + "a1B2" * 9,
    "password": "hunter2Xyz9",
    "url_password": "s3cr0tPw88",
    "private_key": ARMOUR,
}
AROUND = {
    "password": ("db_password = '", "'\n"),
    "url_password": ("postgres://app:", "@db.internal/app "),
    "private_key": ("\n", "\nend"),
}


@pytest.mark.parametrize("name", FIVE)
def test_every_split_of_five_secrets(name: str) -> None:
    """The stream is cut at every byte of the secret: by the border of its chunks, and by the place up to which
    the stream has let go of what it holds."""
    secret = FIVE[name].encode()
    front, back = (each.encode() for each in AROUND.get(name, ("x ", " y")))
    redactor = Redactor({"known": FIVE["known"]})
    mark = f"[redacted:{name}]".encode()
    filler = b"filling text\n" * (3 * redactor.overlap // 13)
    for offset in range(-len(front), len(secret) + 2):
        # What is held is let go of as far as `overlap` before the end of the first chunk.
        lead = filler[len(filler) - (2 * redactor.overlap - offset - len(front)) :]
        data = lead + front + secret + back + filler[: redactor.overlap + 64]
        whole = lead + front + mark + back + filler[: redactor.overlap + 64]
        border = len(lead) + len(front) + offset
        for cuts in ((border,), (border + redactor.overlap,)):
            chunks = [data[a:b] for a, b in zip((0, *cuts), (*cuts, len(data)), strict=True)]
            assert b"".join(redactor.stream(chunks)) == whole, (offset, cuts)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40_000))
@example(143, 9402)
def test_a_stream_equals_the_whole(seed: int, size: int) -> None:
    dice = random.Random(seed)
    parts = [
        *FIVE.values(),
        "password=",
        "token: ",
        "://a:",
        "-----END PRIVATE KEY-----",
        "eyJ",
        "\n",
        " ",
        "'",
        "Basic ",
    ]
    data = b"".join(
        dice.choice(parts).encode()
        if dice.random() < 0.4
        else dice.randbytes(dice.randrange(300)).hex().encode()
        for _ in range(400)
    )
    redactor = Redactor({"known": FIVE["known"]})
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert b"".join(redactor.stream(chunks)) == redactor.redact(data)


def test_a_second_time_changes_nothing() -> None:
    for corpus in (tuning.build(3, 200_000), holdout.build(3, 200_000)):
        once = Redactor().redact(corpus.data)
        assert once != corpus.data
        assert Redactor().redact(once) == once


def test_lines_are_kept_when_asked_for() -> None:
    corpus = tuning.build(5, 200_000)
    safe = Redactor().redact(corpus.data, keep_lines=True)
    assert safe.count(b"\n") == corpus.data.count(b"\n") and b"PRIVATE KEY" not in safe
    before, after = corpus.data.split(b"\n"), safe.split(b"\n")
    same = [a == b for a, b in zip(before, after, strict=True)]
    assert sum(same) > len(same) * 0.8


def test_no_data_makes_it_try_for_ever() -> None:
    """Beginnings of secrets without their ends, 60 KB of each: what is quadratic does not come to its end here."""
    redactor = Redactor({"known": FIVE["known"]})
    count = 0
    for _, data in hostile.inputs(60_000):
        redactor.spans(data)
        count += 1
    assert count > len(TOKENS)


def test_every_pattern_is_bounded() -> None:
    """No shape reaches further than a stream remembers or holds back."""
    for shape in TOKENS:
        assert max(shape.back) < REACH
        text = shape.pattern.pattern.decode("latin-1")
        assert "*" not in text.replace("*|", "").replace("\\*", "") and "{1,}" not in text, shape


@pytest.mark.parametrize(
    "text",
    [
        '{"stdout": "first\\nghp_' + "a1B2" * 9 + '\\n"}',
        "x%3Dghp_" + "a1B2" * 9,
        "\x1b[32mghp_" + "a1B2" * 9 + "\x1b[0m",
        json.dumps(json.dumps({"token": "ghp_" + "a1B2" * 9})),
    ],
)
def test_a_token_after_an_escape(text: str) -> None:
    assert "a1B2" not in Redactor().redact_text(text)


def test_a_key_without_its_beginning() -> None:
    tail = "\n".join(ARMOUR.split("\n")[2:])
    assert Redactor().redact_text("last lines:\n" + tail) == "last lines:\n[redacted:private_key]"


def test_known_values_in_other_forms() -> None:
    value = "correct\nhorse/battery+staple=with-a-second-line"
    redactor = Redactor({"K": value})
    for form in (
        json.dumps(json.dumps(value)),
        value.encode().hex(),
        value.split("\n")[1],
        value.replace("\n", "\n  "),
    ):
        assert "staple" not in redactor.redact_text(
            form
        ) and value.encode().hex() not in redactor.redact_text(form)
