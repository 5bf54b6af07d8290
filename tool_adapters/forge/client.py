"""The HTTP client that acts on a forge. One request, one try: what would be done twice by a second try is never sent
again. What came of it is told: done, refused for good, to be tried later, or nobody knows.

The token goes to the configured host alone, only over TLS or to this machine, and no redirect is followed with it."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any, Literal
from urllib.parse import urlencode, urljoin, urlsplit

from contracts import answers
from contracts.errors import ConfigError
from contracts.forge_api import Call
from contracts.text import line

SECONDS = 30.0  # of one request
CAP = 8 * 1024 * 1024  # bytes of one answer
PAGES = 20
AGAIN = 60.0  # seconds until what can't be reached is tried again
HOPS = 3
UNSENT, CUT = 0, -1  # in place of a status


@dataclass(frozen=True)
class Sent:
    """What came of a request.

    done     the forge did it, or told it: `body`, and `next` the address of the next page.
    refused  not as things stand; sent again it would be refused again. `status` is the forge's.
    later    it was not done, for a reason that passes: `not_before` (UTC seconds).
    maybe    nobody knows whether it was done: look before anything else. `not_before` as above.
    """

    kind: Literal["done", "refused", "later", "maybe"]
    status: int = 0
    body: Any = None
    why: str = ""
    not_before: float = 0.0
    next: str | None = None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Redirects are answers."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class Client:
    """Acts below `base` (https://host/path). `headers` go with every request; `secret`: a token is among them. Blocks.
    Raises ConfigError where the token would go out in the clear."""

    def __init__(self, base: str, headers: Mapping[str, str], *, secret: bool) -> None:
        if unsafe := answers.spoken(base, secret):
            raise ConfigError(unsafe, hint="write https://…")
        self._base, self._headers = base.rstrip("/"), {"User-Agent": "skill-state-controller", **headers}
        # To this machine never by way of a proxy of the environment.
        direct = [urllib.request.ProxyHandler({})] if urlsplit(base).hostname in answers.LOOPBACK else []
        self._opener = urllib.request.build_opener(_Stay(), *direct)

    def send(self, call: Call) -> Sent:
        """One request. Raises nothing for what the forge or the way to it does."""
        query = f"?{urlencode(call.query)}" if call.query else ""
        return self._send(call.method, f"{self._base}{call.path}{query}", call.body)

    def all(self, call: Call) -> Sent:
        """The items of all pages as `body`: all of them, or no `done`."""
        found: list[Any] = []
        sent = self.send(call)
        for _ in range(PAGES):
            if sent.kind != "done":
                return sent
            items = sent.body.get(call.key) if call.key and isinstance(sent.body, dict) else sent.body
            if not isinstance(items, list):
                return Sent("refused", sent.status, why=f"{call.path}: the answer holds no list")
            found += items
            if sent.next is None:
                return Sent("done", sent.status, found)
            sent = self._send("GET", sent.next, None)
        return Sent("refused", why=f"{call.path}: more than {PAGES} pages")

    def text(self, call: Call) -> Sent:
        """A text that the forge may keep elsewhere: it is fetched from there without the token. `body` is bytes."""
        url, headers = f"{self._base}{call.path}", self._headers
        for _ in range(HOPS):
            status, told, data = self._once("GET", url, None, headers)
            if status in (301, 302, 303, 307, 308) and (to := told.get("Location")):
                url, headers = urljoin(url, to), {"User-Agent": self._headers["User-Agent"]}
                parts = urlsplit(url)
                if parts.scheme != "https" and parts.hostname not in answers.LOOPBACK:
                    return Sent("refused", status, why=f"it is kept at {line(parts.netloc, 80)}, without TLS")
                continue
            return (
                Sent("done", status, data) if status == 200 else self._judged("GET", url, status, told, data)
            )
        return Sent("refused", why="too many redirects")

    def _send(self, method: str, url: str, body: Any) -> Sent:
        if not url.startswith(f"{self._base}/"):
            return Sent("refused", why=f"it leads elsewhere: {line(urlsplit(url).netloc, 80)}")
        data = None if body is None else json.dumps(body).encode()
        status, headers, told = self._once(method, url, data, self._headers)
        return self._judged(method, url, status, headers, told)

    def _once(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Message, bytes]:
        """(status, headers, body). UNSENT: it was not reached; CUT: the connection ended while the forge was at work;
        the body is then why."""
        request = urllib.request.Request(url, data=data, headers=dict(headers), method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            try:
                response = self._opener.open(request, timeout=SECONDS)
            except urllib.error.HTTPError as error:
                response = error
            with closing(response):
                return int(response.status), response.headers, b"".join(_chunks(response))
        except urllib.error.URLError as error:  # as it was connected or sent to: never received whole
            return UNSENT, Message(), _reason(error.reason).encode()
        except (OSError, http.client.HTTPException, ValueError) as error:
            return CUT, Message(), _reason(error).encode()

    def _judged(self, method: str, url: str, status: int, headers: Message, data: bytes) -> Sent:
        now, place = time.time(), line(urlsplit(url).netloc + urlsplit(url).path, 160)
        unknown: Literal["later", "maybe"] = "later" if method == "GET" else "maybe"
        if status in (UNSENT, CUT):
            why = f"{place}: {data.decode()}"
            return Sent("later" if status == UNSENT else unknown, why=why, not_before=now + AGAIN)
        body = _json(data)
        if answers.limited(status, headers, body):
            why = f"{place}: limited ({answers.refusal(status, body)})"
            return Sent("later", status, body, why, answers.due(headers, now))
        if status >= 500:
            return Sent(unknown, status, body, f"{place}: status {status}", answers.due(headers, now))
        if status in range(200, 300):
            return Sent("done", status, body, next=answers.next_page(url, headers))
        if status in range(300, 400):
            to = line(headers.get("Location", ""), 160)
            return Sent("refused", status, body, f"{place} has moved to {to}: write its new name in the task")
        return Sent("refused", status, body, answers.refusal(status, body))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _chunks(response: Any) -> Iterator[bytes]:
    """The body, to its end. Raises when it is too long or cut short."""
    size = 0
    while chunk := response.read1(65536):
        size += len(chunk)
        if size > CAP:
            raise ValueError(f"the answer is longer than {CAP >> 20} MiB")
        yield chunk
    if getattr(response, "length", None):  # bytes that were promised and did not come
        raise http.client.IncompleteRead(b"")


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "too slow"
    return f"no answer ({line(str(error) or type(error).__name__, 80)})"
