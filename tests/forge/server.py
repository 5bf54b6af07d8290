"""A loopback HTTP server with ETags, pages and faults; a forge's stub says what stands at each path."""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit


@dataclass(frozen=True)
class Reply:
    """One answer. `body` is JSON, or bytes sent as they are. `cut`: the connection ends after so many bytes, 0: at
    once, with a reset."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    status: int
    method: str = "GET"
    body: Any = None


class Forge:
    """`with Forge() as forge:` listens until the block ends. A subclass answers `at`, `act` what is no GET. `faults`
    are sent first, in order, to the requests whose `METHOD PATH` holds the given word; a fault that is callable is
    asked each time. What `lost` names, by such a word, is done once, and its answer is cut off."""

    page = 100  # items a page has at most
    dated = ""  # what the Date header says, where it is not now

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.faults: list[tuple[str, Reply]] = []
        self.always: dict[str, Callable[[], Reply] | Reply] = {}
        self.lost: list[str] = []
        self.wrong: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.forge = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        assert not self.wrong, self.wrong[:3]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        """What stands at a path. Lists are cut into pages afterwards."""
        raise NotImplementedError

    def act(self, method: str, path: str, body: Any) -> Reply:
        """What a request comes to that is no GET."""
        return Reply(405, {"message": "Method Not Allowed"})

    def fail(self, word: str, *replies: Reply) -> None:
        """The next requests whose `METHOD PATH` holds `word` get these."""
        self.faults += [(word, reply) for reply in replies]

    def take(
        self,
        path: str,
        query: dict[str, list[str]],
        headers: dict[str, str],
        method: str = "GET",
        body: Any = None,
    ) -> Reply:
        line = f"{method} {path}"
        with self._lock:
            for number, (word, fault) in enumerate(self.faults):
                if word in line:
                    del self.faults[number]
                    return fault
            for word, each in self.always.items():
                if word in line:
                    return each() if callable(each) else each
            if method != "GET":
                reply = self.act(method, path, body)
                if gone := next((word for word in self.lost if word in line), None):
                    self.lost.remove(gone)
                    return Reply(reply.status, reply.body, cut=0)
                return reply
            reply = self.at(path, query)
        return self._conditional(self._paged(path, query, reply), headers)

    def _paged(self, path: str, query: dict[str, list[str]], reply: Reply) -> Reply:
        """A list, or the one list in an object, a page of it, with the Link to the next."""
        body = reply.body
        key = next(
            (key for key in ("check_runs", "workflow_runs", "statuses", "jobs") if _has(body, key)), None
        )
        items = body[key] if key else body
        if reply.status != 200 or not isinstance(items, list):
            return reply
        number = int(query.get("page", ["1"])[0])
        size = min(int(query.get("per_page", ["30"])[0]), self.page)
        part = items[(number - 1) * size : number * size]
        headers = dict(reply.headers)
        if number * size < len(items):
            more = urlencode({**query, "page": [str(number + 1)]}, doseq=True)
            headers["Link"] = f'<{self.url}{path}?{more}>; rel="next", <{self.url}{path}>; rel="last"'
        return Reply(200, {**body, key: part} if key else part, headers)

    def _conditional(self, reply: Reply, headers: dict[str, str]) -> Reply:
        if reply.status != 200 or isinstance(reply.body, bytes):
            return reply
        tag = f'W/"{hashlib.sha256(json.dumps([reply.body, reply.headers]).encode()).hexdigest()[:16]}"'
        if headers.get("if-none-match") == tag:
            return Reply(304, b"", {"ETag": tag})
        return Reply(200, reply.body, {**reply.headers, "ETag": tag})


def _has(body: Any, key: str) -> bool:
    return isinstance(body, dict) and isinstance(body.get(key), list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        forge: Forge = self.server.forge  # type: ignore[attr-defined]
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query, length = parse_qs(parts.query), int(headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        reply = forge.take(parts.path, query, headers, self.command, body)
        forge.seen.append(Seen(parts.path, query, headers, reply.status, self.command, body))
        raw = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        if reply.cut == 0:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response_only(reply.status)
        self.send_header("Date", forge.dated or self.date_time_string())
        for name, value in {"Content-Type": "application/json; charset=utf-8", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if reply.status != 304:
            try:
                self.wfile.write(raw if reply.cut is None else raw[: reply.cut])
            except OSError:
                pass  # the client had enough

    do_POST = do_PATCH = do_PUT = do_GET

    def log_message(self, *_: object) -> None:
        pass
