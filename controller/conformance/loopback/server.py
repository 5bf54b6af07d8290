"""The loopback model gateway: an HTTP server that asks a policy and answers in the client's own API."""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controller.conformance.loopback import anthropic, google, openai
from controller.conformance.loopback.answers import (
    Answer,
    ApiError,
    Call,
    Calls,
    Cut,
    Hang,
    Invalid,
    NoCall,
    Policy,
    Refusal,
    SlowStream,
    StreamError,
    Text,
    Truncated,
)
from controller.conformance.loopback.recorded import Json, Recorded, record


class PolicyFailed(AssertionError):
    """The policy raised, or the script had no answer left."""


def tokens(size: int) -> int:
    """The token count reported for `size` bytes: a quarter, at least 1."""
    return max(1, size // 4)


class Gateway:
    """`with Gateway(policy) as gw:` listens on a free loopback port until the block ends.

    Reported usage is `tokens(len(request body))` in, `tokens(len(the answer's text))` out. If the policy
    raises, the client gets an HTTP 500 with the reason, the reason is kept in `errors`, and (unless
    `strict=False`) leaving the block raises PolicyFailed. `routes` answers other paths (a token endpoint).
    """

    def __init__(
        self,
        policy: Policy,
        *,
        port: int = 0,
        strict: bool = True,
        record_to: Path | None = None,
        routes: Mapping[str, Json | ApiError] | None = None,
    ) -> None:
        self.routes = dict(routes or {})
        self.policy = policy
        self.strict = strict
        self.requests: list[Recorded] = []
        self.errors: list[str] = []
        self.closing = threading.Event()
        self._folder = record_to
        self._unsaved: set[int] = set()
        self._recording = threading.Lock()
        self._asking = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.gateway = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, trace: TracebackType | None) -> None:
        self.close()
        if kind is None and self.strict and self.errors:
            raise PolicyFailed("; ".join(self.errors))

    def close(self) -> None:
        """Ends every held request and stops listening."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        until = time.monotonic() + 5
        while self._unsaved and time.monotonic() < until:  # who was answered may be quicker than our own file
            time.sleep(0.01)

    @property
    def port(self) -> int:
        """The loopback port."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The server, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url_anthropic(self) -> str:
        """For ANTHROPIC_BASE_URL."""
        return self.url

    @property
    def url_openai(self) -> str:
        """For an OpenAI-like `base_url`; `/responses` and `/chat/completions` are below it."""
        return f"{self.url}/v1"

    @property
    def asked(self) -> list[Recorded]:
        """The requests that ask the model. `requests` holds every other one too."""
        return [request for request in self.requests if request.api != "other"]

    def record_to(self, folder: Path) -> None:
        """From now on saves each request in `folder` (see Recorded.save)."""
        self._folder = folder

    def take(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Recorded:
        """Notes a request; called by the handler."""
        with self._recording:
            request = record(len(self.requests) + 1, method, path, headers, body)
            self.requests.append(request)
            self._unsaved.add(request.number)
        return request

    def decide(self, request: Recorded) -> Answer:
        """The policy's answer, noted in the request with the usage that will be reported."""
        with self._asking:
            try:
                answer = self.policy(request.prompt_text, request.schema, request)
            except Exception as error:
                request.error = f"request {request.number}: policy failed: {type(error).__name__}: {error}"
                self.errors.append(request.error)
                headers = {"x-should-retry": "false"}
                answer = ApiError(500, "gateway_error", request.error, "gateway_error", headers)
        request.answer = answer
        request.usage = {"input_tokens": tokens(len(request.body)), "output_tokens": tokens(_size(answer))}
        return answer

    def save(self, request: Recorded) -> None:
        """Writes the request if recording is on."""
        if self._folder is not None:
            request.save(self._folder)
        self._unsaved.discard(request.number)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    gateway: Gateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error here; anything else is kept for the test."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self.gateway.errors.append(f"gateway: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: requests are recorded instead."""

    def do_POST(self) -> None:
        body = self._body()
        gateway = self.server.gateway
        request = gateway.take("POST", self.path, dict(self.headers.items()), body)
        try:
            if request.api == "other":
                self._other(request)
            else:
                self._answer(request, gateway.decide(request))
        finally:
            gateway.save(request)

    def do_GET(self) -> None:
        request = self.server.gateway.take(self.command, self.path, dict(self.headers.items()), b"")
        self._other(request)
        self.server.gateway.save(request)

    do_HEAD = do_GET
    do_CONNECT = do_GET  # with the gateway as HTTPS_PROXY: which other hosts a client wants to reach

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _other(self, request: Recorded) -> None:
        """Everything that does not ask the model: a list of models, a count of tokens, otherwise 404."""
        where = request.path.split("?")[0]
        known = self.server.gateway.routes.get(where)
        if isinstance(known, ApiError):
            body = known.raw if known.raw is not None else openai.error_body(known, request.number)
            self._send(request, known.status, body, known.headers)
        elif known is not None:
            self._send(request, 200, known)
        elif where.endswith("/models") and request.method == "GET":
            self._send(request, 200, {"object": "list", "data": [], "models": [], "has_more": False})
        elif where.endswith("/count_tokens"):
            self._send(request, 200, {"input_tokens": tokens(len(request.body))})
        elif where in ("", "/", "/api/hello"):
            self._send(request, 200, {})
        else:
            request.error = f"unknown path {request.method} {where}"
            self._send(request, 404, {"error": {"type": "not_found_error", "message": request.error}})

    def _answer(self, request: Recorded, answer: Answer) -> None:
        match answer:
            case ApiError():
                api = {"anthropic": anthropic, "google": google}.get(request.api, openai)
                body = answer.raw if answer.raw is not None else api.error_body(answer, request.number)
                self._send(request, answer.status, body, answer.headers)
            case Hang("before_headers"):
                self._hold()
            case Hang():
                self._begin(request, "text/event-stream")
                self._chunk(_stream(request, {})[0])
                self._hold()
            case Cut():
                self._begin(request, "text/event-stream")
                self._chunk(b"".join(_stream(request, answer.answer))[: answer.after])
                self._drop(answer.reset)
            case SlowStream() if request.streaming:
                self._begin(request, "text/event-stream")
                data = b"".join(_stream(request, answer.answer))
                for at in range(0, len(data), answer.chunk):
                    self._chunk(data[at : at + answer.chunk])
                    self.server.gateway.closing.wait(answer.delay)
                self._chunk(b"")
            case _:
                plain = answer.answer if isinstance(answer, SlowStream) else answer
                if request.streaming:
                    self._begin(request, "text/event-stream")
                    self._chunk(b"".join(_stream(request, plain)))
                    self._chunk(b"")
                else:
                    self._send(request, 200, _whole(request, plain))

    def _send(
        self, request: Recorded, status: int, body: Json | bytes, headers: dict[str, str] | None = None
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.status = status
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", f"req_{request.number:04}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _begin(self, request: Recorded, content_type: str) -> None:
        request.status = 200
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("request-id", f"req_{request.number:04}")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        """One chunk; the empty one ends the body, and without it the client sees a cut."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _hold(self) -> None:
        """Silent until the client leaves or the gateway closes."""
        self.close_connection = True
        while not self.server.gateway.closing.is_set():
            ready, _, _ = select.select([self.connection], [], [], 0.05)
            if ready and not self.connection.recv(1, socket.MSG_PEEK):
                return

    def _drop(self, reset: bool) -> None:
        """Ends the connection, after the client had time to take in what came before."""
        self.close_connection = True
        self.server.gateway.closing.wait(0.05)
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def _stream(request: Recorded, answer: Answer) -> list[bytes]:
    if request.api == "anthropic":
        return anthropic.stream(request, answer)
    if request.api == "chat":
        return openai.completion_stream(request, answer)
    if request.api == "google":
        return google.generated_stream(request, answer)
    return openai.response_stream(request, answer)


def _whole(request: Recorded, answer: Answer) -> Json:
    if request.api == "anthropic":
        return anthropic.message(request, answer)
    if request.api == "chat":
        return openai.completion(request, answer)
    if request.api == "google":
        return google.generated(request, answer)
    return openai.response(request, answer)


def _size(answer: Answer) -> int:
    """Bytes of what the model is said to have written."""
    match answer:
        case dict():
            return len(json.dumps(answer, ensure_ascii=False).encode())
        case Cut(answer=inner) | SlowStream(answer=inner):
            return len(json.dumps(inner, ensure_ascii=False).encode())
        case Call(_, args):
            return len(json.dumps(args).encode())
        case Calls(calls):
            return sum(map(_size, calls))
        case Text(text) | NoCall(text) | Refusal(text) | Truncated(text) | Invalid(text):
            return len(text.encode())
        case StreamError() | ApiError() | Hang():
            return 0
