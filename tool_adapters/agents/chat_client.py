"""One chat completion in a process of its own: `python chat_client.py URL FILE`, the request's body in FILE.

Prints one line of JSON: `{"status": N, "retry_after": TEXT, "body": TEXT}`, or `{"failed": WHY}` where there was no
answer. The key, if there is one, comes in the environment. Only the standard library: started without the package.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

KEY = "SKILL_STATE_AGENT_KEY"
MOST = 4 * 1024 * 1024  # bytes of an answer; more is no answer


class _Straight(urllib.request.HTTPRedirectHandler):
    """A redirect is followed by no POST: it would send the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def main(url: str, file: str) -> int:
    """Asks once and prints what came."""
    headers = {"content-type": "application/json", "user-agent": "skill-state-controller"}
    if key := os.environ.get(KEY):
        headers["authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, Path(file).read_bytes(), headers)
    told: dict[str, object]
    try:
        with urllib.request.build_opener(_Straight).open(request) as response:
            told = {"status": response.status, "body": _text(response.read(MOST))}
    except urllib.error.HTTPError as error:
        told = {"status": error.code, "body": _text(error.read(MOST))}
        told["retry_after"] = error.headers.get("retry-after", "")
    except OSError as error:
        told = {"failed": f"connection failed: {getattr(error, 'reason', None) or error}"}
    except HTTPException as error:
        told = {"failed": f"stream disconnected: {error!r}"}
    print(json.dumps(told))
    return 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
