"""The smallest program for `kind: command`: asks a chat completions API for one reply of the task's schema.

It reads OPENAI_BASE_URL, OPENAI_API_KEY and, optional, OPENAI_MODEL; standard library only. The conformance suite has
it as the program of an agent that names none; it may as well be copied as the beginning of an agent of one's own.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn

TELLING = {
    "insufficient_quota": "limit_permanent",
    "context_length_exceeded": "context_too_long",
    "invalid_json_schema": "schema_refused",
    "model_not_found": "misconfigured",
}
CLASSES = {400: "misconfigured", 401: "auth", 403: "auth", 404: "misconfigured", 413: "context_too_long"}


def main() -> None:
    """Prints the reply, or why there is none."""
    schema = json.loads(Path(os.environ["SKILL_STATE_SCHEMA"]).read_text("utf-8"))
    body = {
        "model": os.environ.get("OPENAI_MODEL", "default"),
        "messages": [{"role": "user", "content": sys.stdin.read()}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "transition", "schema": schema}},
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
        json.dumps(body).encode(),
        {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            completion = json.load(response)
    except urllib.error.HTTPError as error:
        refused(error.code, error.headers, error.read())
    except (OSError, ValueError, HTTPException) as error:
        fail("unavailable", f"the model can't be reached: {error}")
    choice = completion["choices"][0]
    if choice["message"].get("refusal"):
        fail("refusal", choice["message"]["refusal"])
    if choice["finish_reason"] != "stop":
        fail("invalid_reply", f"the reply ends early: {choice['finish_reason']}")
    print(choice["message"].get("content") or "")
    used = completion["usage"]
    tokens = {"input": used["prompt_tokens"], "output": used["completion_tokens"]}
    print("usage: " + json.dumps(tokens), file=sys.stderr)


def refused(status: int, headers: Message, body: bytes) -> NoReturn:
    """The class of an HTTP error: its code decides, then its status."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        error = {}
    after = headers.get("retry-after", "")
    cls = TELLING.get(str(error.get("code"))) or CLASSES.get(status) or "unknown"
    if cls == "unknown" and (status == 429 or status >= 500):
        cls = "limit_with_reset" if status == 429 and after.isdigit() else "transient"
    until = time.time() + int(after) if cls == "limit_with_reset" else None
    fail(cls, f"HTTP {status}: {error.get('message') or 'no reason given'}", until)


def fail(cls: str, message: str, not_before: float | None = None) -> NoReturn:
    """Prints a typed error and ends."""
    error: dict[str, Any] = {"class": cls, "message": message}
    if not_before is not None:
        error["not_before"] = not_before
    print(json.dumps({"error": error}))
    sys.exit(1)


if __name__ == "__main__":
    main()
