"""The gateway by hand, until Ctrl-C: `python -m controller.conformance.loopback --script FILE [--port N] [--record-to
DIR]`.

FILE is a JSON list of answers (see answers.answer_from_json); the last one repeats. The two base URLs are
printed on stdout, each request on stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from controller.conformance.loopback.answers import Answer, Script, answer_from_json
from controller.conformance.loopback.recorded import Json, Recorded
from controller.conformance.loopback.server import Gateway


def main() -> None:
    """Serves until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m controller.conformance.loopback", description=__doc__)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record-to", type=Path)
    options = parser.parse_args()
    script = Script([answer_from_json(a) for a in json.loads(options.script.read_text())], repeat_last=True)

    def policy(prompt: str, schema: Json, request: Recorded) -> Answer:
        answer = script(prompt, schema, request)
        print(
            f"{request.number} {request.path} {len(request.body)} bytes -> {answer!r}"[:200], file=sys.stderr
        )
        return answer

    with Gateway(policy, port=options.port, strict=False, record_to=options.record_to) as gateway:
        print(f"ANTHROPIC_BASE_URL={gateway.url_anthropic}\nOPENAI_BASE_URL={gateway.url_openai}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
