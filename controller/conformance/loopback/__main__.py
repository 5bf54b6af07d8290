"""The model endpoint by hand: it answers from a script, by the APIs of Anthropic (Messages), OpenAI (Responses, chat
completions) and Google (generateContent), on this machine's loopback interface, until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
import textwrap
import threading
from pathlib import Path

from controller.conformance.loopback.answers import Answer, Script
from controller.conformance.loopback.recorded import Json, Recorded
from controller.conformance.loopback.script import described, read_script
from controller.conformance.loopback.server import Gateway

FORM = """\
FILE is a JSON list. Each request gets the next answer, the last one repeats. An answer is
  {…}    an object without "kind": the structured reply itself, as the agent's schema has it
  "…"    prose in its place
  or one of these, whose fields may be left out where they show a value:
"""
EXAMPLE = """
  [{"kind": "ApiError", "status": 429, "headers": {"retry-after": "60"}},
   {"state_patch": {}, "action": {"tool": "finish", "args": {"summary": "done"}}}]

The base URLs are printed on stdout, as the variables that point a CLI there; give it any key. Requests go to stderr."""


def main() -> None:
    """Serves until interrupted."""
    options, answers = _asked()
    script = Script(answers, repeat_last=True)

    def policy(prompt: str, schema: Json, request: Recorded) -> Answer:
        answer = script(prompt, schema, request)
        print(
            f"{request.number} {request.path} {len(request.body)} bytes -> {answer!r}"[:200], file=sys.stderr
        )
        return answer

    with Gateway(policy, port=options.port, strict=False, record_to=options.record_to) as gateway:
        print(f"ANTHROPIC_BASE_URL={gateway.url_anthropic}\nOPENAI_BASE_URL={gateway.url_openai}")
        print(f"GOOGLE_GEMINI_BASE_URL={gateway.url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


def _asked() -> tuple[argparse.Namespace, list[Answer]]:
    parser = argparse.ArgumentParser(
        prog="python -m controller.conformance.loopback",
        description=__doc__,
        epilog=FORM + "".join(_kinds()) + EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--script", type=Path, required=True, metavar="FILE", help="the answers, as below")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen there (default: a free one)")
    parser.add_argument("--record-to", type=Path, metavar="DIR", help="keep each request as a file in DIR")
    options = parser.parse_args()
    try:
        return options, read_script(options.script)
    except ValueError as error:
        parser.exit(2, f"{parser.prog}: {error} (--help says how answers are written)\n")


def _kinds() -> list[str]:
    indent = " " * 6
    return [
        f"  {form}\n{textwrap.fill(about, 100, initial_indent=indent, subsequent_indent=indent)}\n"
        for form, about in described()
    ]


if __name__ == "__main__":
    main()
