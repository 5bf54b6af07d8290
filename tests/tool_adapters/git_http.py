"""Git over HTTP on loopback: the real `git http-backend` behind a small server that asks for a token and can fail."""

from __future__ import annotations

import base64
import os
import socket
import struct
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.tool_adapters.repositories import ENV, git


class GitHttp:
    """Serves the bare repositories below `root`. Whoever does not say `token` gets 401.

    fail      statuses that the next requests get, in order.
    swallow   the next push is done, and its answer cut off.
    seen      (method, path, authorization) of each request.
    carried   (path, bytes of the request's body, of the answer's) of each request that was answered.
    """

    def __init__(self, root: Path, token: str = "") -> None:
        self.root, self.token = root, token
        self.fail: list[tuple[int, dict[str, str]]] = []
        self.swallow = False
        self.seen: list[tuple[str, str, str]] = []
        self.carried: list[tuple[str, int, int]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.git = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def says(self, authorization: str) -> bool:
        kind, _, pair = authorization.partition(" ")
        return not self.token or (
            kind == "Basic" and base64.b64decode(pair).decode().partition(":")[2] == self.token
        )


def bare(path: Path) -> Path:
    """An empty bare repository that takes pushes over HTTP."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main")
    git(path, "config", "http.receivepack", "true")
    return path


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve(body)

    def _serve(self, body: bytes) -> None:
        served: GitHttp = self.server.git  # type: ignore[attr-defined]
        said, parts = self.headers.get("Authorization", ""), urlsplit(self.path)
        served.seen.append((self.command, self.path, said))
        if served.fail:
            status, headers = served.fail.pop(0)
            return self._answer(status, headers, b"")
        if not served.says(said):
            return self._answer(401, {"WWW-Authenticate": "Basic"}, b"")
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=False,
            env={
                **ENV,
                "GIT_PROJECT_ROOT": str(served.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "somebody",
                "PATH": os.environ["PATH"],
            },
        )
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        rows = dict(row.split(": ", 1) for row in head.decode().split("\r\n") if ": " in row)
        if served.swallow and parts.path.endswith("/git-receive-pack"):
            served.swallow = False
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return None
        served.carried.append((parts.path, len(body), len(data)))
        return self._answer(int(rows.pop("Status", "200").split()[0]), rows, data)

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
