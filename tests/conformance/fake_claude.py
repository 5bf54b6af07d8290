"""A program with the command line and the output of Claude Code that keeps every promise, or breaks one.

Started as `fake_claude.py FAULT …` by a script that names the fault; standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

FAULT = sys.argv[1]
ENDLESS = 3600


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def asked(system: str, prompt: str) -> dict[str, Any]:
    """One request; the message. Raises HTTPError, URLError, HTTPException."""
    schema = json.loads(option("--json-schema")) if FAULT != "ignores_schema" else {"type": "object"}
    body = {
        "model": option("--model"),
        "max_tokens": 1000,
        "system": system,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "StructuredOutput", "input_schema": schema}],
    }
    if FAULT == "fatter":
        body["metadata"] = {"more": "x" * 3000}
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(body, ensure_ascii=False).encode(),
        {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        message: dict[str, Any] = json.load(response)
    return message


def said(error: Exception) -> tuple[int | None, str]:
    if isinstance(error, urllib.error.HTTPError):
        return error.code, f"API Error: {error.code} {json.load(error)['error']['message']}"
    return None, f"Connection to the API was lost: {type(error).__name__} (ECONNREFUSED)"


def result(code: int, **fields: Any) -> None:
    told = {"type": "result", "is_error": code != 0, "modelUsage": {"m": {}}, "total_cost_usd": 0, **fields}
    print(json.dumps(told), flush=True)
    sys.exit(code)


def surroundings(prompt: str) -> str:
    """The prompt with what this fault adds to it or takes from it."""
    match FAULT:
        case "sends_memory":
            here = Path.cwd()
            found = [folder / "AGENTS.md" for folder in (here, *here.parents)]
            return "".join(path.read_text() for path in found if path.is_file()) + prompt
        case "tells_environment":
            return f"You work on {os.environ['TMPDIR']} for a user.\n{prompt}"
        case "cuts_prompt":
            return prompt[:50_000]
        case "sends_twice":
            return prompt + prompt
    return prompt


def main() -> None:
    system, prompt = Path(option("--system-prompt-file")).read_text(), surroundings(sys.stdin.read())
    match FAULT:
        case "ignores_term":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "leaves_process":
            subprocess.Popen(["sleep", "300"], start_new_session=True)
        case "leaves_file":
            Path("notes.txt").write_text("I was here")
        case "leaves_temporary":
            folder = Path(os.environ["TMPDIR"], f"fake-{os.getuid()}/1.2.3")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cache").write_text("I was here")
        case "leaves_at_home":
            Path(os.environ["HOME"], ".was-here").write_text("I was here")
        case "phones_home":
            urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/api/hello").read()
    for attempt in range(6):
        try:
            message = asked(system, prompt)
            break
        except (OSError, HTTPException) as error:
            status, text = said(error)
            if FAULT == "retries" and status == 500 and attempt < 5:
                continue
            if FAULT == "ends_well":
                result(0, structured_output={"state_patch": {}, "action": {}})
            if FAULT == "mumbles":
                status, text = None, "Something went wrong."
            result(1, subtype="success", api_error_status=status, result=text)
    if FAULT == "asks_twice":
        asked(system, prompt)
    if FAULT == "hangs":
        time.sleep(ENDLESS)
    if message["stop_reason"] == "refusal":
        result(1, subtype="success", stop_reason="refusal", result="refused")
    calls = [block["input"] for block in message["content"] if block["type"] == "tool_use"]
    if not calls:
        result(1, subtype="error_max_turns", errors=["Reached maximum number of turns (1)"])
    if not isinstance(calls[0], dict) and FAULT == "papers_over":
        calls = [{"state_patch": {}, "action": {"tool": "finish", "args": {"summary": "done"}}}]
    if not isinstance(calls[0], dict):
        result(1, subtype="error_max_structured_output_retries", errors=["no valid output"])
    if FAULT == "makes_up":
        calls[0]["action"] = {"tool": "finish", "args": {"summary": "something else"}}
    result(0, subtype="success", structured_output=calls[0])


if __name__ == "__main__":
    main()
