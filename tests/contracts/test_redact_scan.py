"""Secrets in edits and diffs before they are staged or committed; files that keep secrets, by their names."""

from __future__ import annotations

import json

import pytest

from contracts.paths import PathPolicy, is_secret_file
from contracts.redact import Redactor
from contracts.secret_scan import (
    added,
    brought_in,
    edits_adding,
    edits_refused,
    findings,
    labels,
    redact_json,
    say,
    state_refused,
)

TOKEN = "ghp_" + "a1B2" * 9
OTHER = "glpat-" + "a1B2c3D4e5F6g7H8i9J0"
DIFF = f"""\
diff --git a/src/a.py b/src/a.py
index 0a1b2c3..4d5e6f7 100644
--- a/src/a.py
+++ b/src/a.py
@@ -10,4 +10,5 @@ def f():
 one
-old = "{OTHER}"
+moved = "{OTHER}"
+new = "{TOKEN}"
 two
@@ -40,2 +41,3 @@
 x
+db_password = "hunter2Xyz9"
 y
--- a/b.txt
+++ b/b.txt
@@ -1,1 +1,2 @@
 b
+fine = 1
diff --git a/c.txt b/c.txt
new file mode 100644
--- /dev/null
+++ b/c.txt
@@ -0,0 +1,2 @@
+{TOKEN}
+c
"""


def test_findings_have_kind_and_line_and_never_the_value() -> None:
    text = f"a\nb\n{TOKEN}\npassword = 'hunter2Xyz9'\n" + "-----BEGIN PRIVATE KEY-----\n" + "A1b2" * 20
    found = findings(text, path="x")
    assert [(each.kind, each.line, each.sure) for each in found] == [
        ("github_token", 3, True),
        ("password", 4, False),
        ("private_key", 5, True),
    ]
    assert TOKEN not in repr(found) and "hunter2" not in say(found)
    assert findings("nothing here") == [] and findings(b"\xff\xfe\0") == []


def test_known_values_are_findings() -> None:
    (found,) = findings("x = swordfish-and-more", Redactor({"MY_KEY": "swordfish-and-more"}))
    assert (found.kind, found.line, found.sure) == ("MY_KEY", 1, True)


def test_a_diff_is_searched_for_what_it_adds() -> None:
    """Not for what only moves within it, nor for what it removes; with the line in the new file."""
    assert [(each.path, each.line, each.kind) for each in added(DIFF)] == [
        ("src/a.py", 12, "github_token"),
        ("src/a.py", 42, "password"),
        ("c.txt", 1, "github_token"),
    ]
    assert added(f"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-{TOKEN}\n x\n") == []
    assert added("") == [] and added("no diff") == []


def test_a_key_in_a_diff_is_one_finding() -> None:
    key = ["-----BEGIN PRIVATE KEY-----", "A1b2" * 16, "C3d4" * 16, "-----END PRIVATE KEY-----"]
    diff = "--- /dev/null\n+++ b/k.txt\n@@ -0,0 +1,4 @@\n" + "".join(f"+{line}\n" for line in key)
    assert [(each.path, each.line, each.kind) for each in added(diff)] == [("k.txt", 1, "private_key")]


def test_a_file_is_compared_with_what_it_was() -> None:
    new = f"a\n{TOKEN}\n{OTHER}\n".encode()
    assert [each.line for each in brought_in(new, lambda: None)] == [2, 3]
    assert [each.line for each in brought_in(new, lambda: f"x {TOKEN} y".encode())] == [3]

    def never() -> bytes:
        raise AssertionError("asked for without need")

    assert brought_in(b"nothing\n", never) == []


def edit(**fields: object) -> dict[str, object]:
    return {"edits": [fields]}


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("edit_files", edit(op="write", path="a", content=f"x = 1\nt = '{TOKEN}'\n")),
        ("edit_files", edit(op="replace", path="a", old="x", new=f"x = 1\nt = '{TOKEN}'")),
        ("edit_files", edit(op="replace_all", glob="a", old="x", new=f"\n{TOKEN}", expect=3)),
        ("apply_patch", {"patch": f"--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n x\n+{TOKEN}\n"}),
        (
            "batch",
            {"actions": [{"tool": "edit_files", "args": edit(op="write", path="a", content=f"\n{TOKEN}")}]},
        ),
    ],
)
def test_edits_that_bring_a_secret_in(tool: str, args: dict[str, object]) -> None:
    assert [(each.path, each.line, each.kind) for each in edits_adding(tool, args)] == [
        ("a", 2, "github_token")
    ]
    clean = json.loads(json.dumps(args).replace(TOKEN, "example-token"))
    assert edits_adding(tool, clean) == []


def test_a_replacement_may_keep_what_is_there() -> None:
    assert edits_adding("edit_files", edit(op="replace", path="a", old=TOKEN, new=f"# {TOKEN}")) == []
    assert edits_adding("edit_files", edit(op="delete", path="a")) == []
    assert edits_adding("run", {"command": "build"}) == []


def test_refusals_say_what_to_do() -> None:
    args = edit(op="write", path="fixtures/a.env", content=f"t={TOKEN}")
    said = edits_refused("edit_files", args, Redactor())
    assert (
        said is not None and "fixtures/a.env line 1" in said and "environment" in said and TOKEN not in said
    )
    assert edits_refused("edit_files", args, Redactor(), ("fixtures/**",)) is None
    assert edits_refused("edit_files", edit(op="delete", path="a"), Redactor()) is None
    held = state_refused({"notes": {"a": f"use {TOKEN}"}}, Redactor())
    assert held is not None and "github_token" in held and TOKEN not in held
    assert state_refused({"notes": {"a": "password: hunter2Xyz9"}}, Redactor()) is None


def test_json_is_redacted_in_depth() -> None:
    value = {
        "a": [f"x {TOKEN}", 1, None, True],
        "password": "hunter2Xyz9",
        "deep": {TOKEN: ["token"]},
        "n": 'a "b"',
    }
    assert redact_json(value) == {
        "a": ["x [redacted:github_token]", 1, None, True],
        "password": "[redacted:password]",
        "deep": {"[redacted:github_token]": ["token"]},
        "n": 'a "b"',
    }


def test_labels_are_counted() -> None:
    assert labels(b"[redacted:jwt] and [redacted:MY KEY] [redacted: \n] [redacted]") == 2


@pytest.mark.parametrize(
    "path",
    [
        ".env", "a/.env.production", "prod.env", ".ENV", "deploy/Server.PEM", "id_rsa", "id_ed25519.bak", "x.key",
        ".npmrc", ".netrc", "sub/.aws/credentials", ".docker/config.json", "infra/terraform.tfstate",
        "secrets.yaml", "a.jks",
        ".git-credentials", ".envrc", "keys/AuthKey.p8",
    ],
)  # fmt: skip
def test_files_that_keep_secrets(path: str) -> None:
    assert is_secret_file(path)
    policy = PathPolicy()
    assert policy.secret(path)
    refused = policy.write(path)
    assert refused is not None and refused[0] in ("path.secret", "path.protected")
    allowed = PathPolicy(secrets=(path,))
    assert not allowed.secret(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.sample", "a/.env.template", ".env.dist", ".ENV.Example", "id_rsa.pub",
        "secrets.yml.example", "environment.py", "env.py", "config.json", "src/secrets.py", "keys.py",
        "docs/credentials", "tokenizer.json",
        "monkey.keys", "example.env", ".envoy.yaml",
    ],
)  # fmt: skip
def test_files_that_do_not(path: str) -> None:
    assert not is_secret_file(path)
