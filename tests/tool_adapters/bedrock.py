"""A stand-in for Amazon Bedrock on the loopback: what Claude Code asks it, and one structured reply."""

from __future__ import annotations

import base64
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request. `headers` in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Bedrock:
    """`reply` is what the model answers by the tool StructuredOutput; None: 403, as for a wrong key."""

    reply: Json | None
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    @property
    def streamed(self) -> list[Asked]:
        """The requests that ask the model for an answer."""
        return [each for each in self.asked if each.path.endswith("/invoke-with-response-stream")]

    def answer(self, asked: Asked) -> tuple[int, str, bytes]:
        """(status, content type, body)."""
        if "/inference-profiles" in asked.path:
            return 200, "application/json", b'{"inferenceProfileSummaries":[]}'
        if self.reply is None:
            return (
                403,
                "application/json",
                b'{"message":"The security token included in the request is invalid."}',
            )
        if asked.path.endswith("/invoke"):
            return 200, "application/json", json.dumps(_message([], "end_turn")).encode()
        frames = b"".join(frame(event) for event in _events(self.reply))
        return 200, "application/vnd.amazon.eventstream", frames


@contextmanager
def bedrock(reply: Json | None) -> Iterator[Bedrock]:
    """The stand-in while the body lasts."""
    made = Bedrock(reply)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            made.asked.append(asked)
            status, kind, data = made.answer(asked)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_HEAD = _serve

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def frame(event: Json) -> bytes:
    """One message of the binary event stream: prelude with its checksum, headers, payload, checksum of all."""
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    named = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in named.items()
    )
    prelude = struct.pack("!II", 12 + len(headers) + len(payload) + 4, len(headers))
    whole = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack("!I", zlib.crc32(whole))


def _message(content: list[Json], stop: str | None) -> Json:
    usage = {
        "input_tokens": 1200,
        "output_tokens": 7,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _events(reply: Json) -> list[Json]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(reply)}
    return [
        {"type": "message_start", "message": _message([], None)},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
