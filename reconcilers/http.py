"""A small HTTP client for reading forges: conditional requests, pages, limits, bounded retries. It only ever GETs.

The token goes to the configured origin alone, and only over TLS or to this machine; a redirect to another origin is
not followed. What may pass by itself is Later (with the time to ask again), the rest is Permanent: neither says
anything of what was asked for.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from typing import IO, Any
from urllib.parse import urlencode, urljoin, urlsplit

from contracts import answers
from contracts.errors import ConfigError, Permanent, Temporary
from contracts.text import line

CAP = 8 * 1024 * 1024  # bytes of one answer
PAGES = 20
PAUSES = (0.5, 1.0)  # seconds between the three tries
SILENCE = 15.0  # seconds without a byte
KEPT = 256  # answers kept for conditional requests


class Later(Temporary):
    """It can't be read now. `not_before` (UTC seconds) is when to ask again."""

    def __init__(self, message: str, not_before: float) -> None:
        super().__init__(message)
        self.not_before = not_before


@dataclass(frozen=True)
class Answer:
    """`status` is 200, or one of 400 to 499 that is no limit. `body` is the JSON value, None where there is none."""

    status: int
    body: Any
    next: str | None = None

    @property
    def said(self) -> str:
        """The server's own word on a refusal, one line."""
        return answers.word(self.body)


class _Broken(Exception):
    """One try failed in a way that another may not."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Redirects are answers: the client decides whether to go there."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class Client:
    """Reads below `base` (https://host/path). `headers` go with every request; `secret`: a token is among them."""

    def __init__(self, base: str, headers: Mapping[str, str], *, secret: bool = False) -> None:
        parts = urlsplit(base)
        if unsafe := answers.spoken(base, secret):
            raise ConfigError(unsafe, hint="write https://…")
        self._base, self._origin = base.rstrip("/"), (parts.scheme, parts.netloc)
        self._headers = {"User-Agent": "skill-state-controller", **headers}
        # To this machine never by way of a proxy of the environment.
        direct = [urllib.request.ProxyHandler({})] if parts.hostname in answers.LOOPBACK else []
        self._opener = urllib.request.build_opener(_Stay(), *direct)
        self._kept: OrderedDict[str, tuple[str, Answer]] = OrderedDict()
        self._quiet = (0.0, "")  # until when the server asked for silence, and why

    def get(self, path: str, query: Mapping[str, Any] | None = None, *, deadline: float) -> Answer:
        """One answer. `deadline` is of time.monotonic. Raises Later, Permanent."""
        url = f"{self._base}{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        return self._get(url, deadline)

    def status(self, path: str, *, deadline: float) -> int:
        """The status of an answer, whatever is in it; redirects are not followed. One of 500 and above is asked three
        times. Raises Later where nothing answers, or for a limit."""
        url, last = f"{self._base}{path}", 0
        for pause in (*PAUSES, None):
            try:
                last, headers, _ = self._once(url, deadline)
                self._limits(url, last, headers, None)
                why = f"status {last}"
            except _Broken as error:
                last, why = 0, str(error)
            if 0 < last < 500 or pause is None or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        if not last:
            raise Later(f"{self._shown(url)}: {why}", time.time() + answers.SECONDARY)
        return last

    def read(self, path: str, query: Mapping[str, Any] | None = None, *, deadline: float) -> Any:
        """The body of a good answer. Raises Later, and Permanent for any other."""
        return good(self.get(path, query, deadline=deadline), path).body

    def pages(
        self, path: str, query: Mapping[str, Any] | None = None, *, key: str = "", deadline: float
    ) -> list[Any]:
        """All items of all pages; `key` names the list in an object. Raises Later, Permanent: never a part."""
        found: list[Any] = []
        answer = good(self.get(path, query, deadline=deadline), path)
        seen: set[str] = set()
        while True:
            told = answer.body if key and isinstance(answer.body, dict) else {}
            items = told.get(key) if key else answer.body
            if not isinstance(items, list):
                raise Permanent(f"{path}: the answer holds no list {key}".rstrip())
            found += items
            if answer.next is None:
                if isinstance(total := told.get("total_count"), int) and total > len(found):
                    raise Later(f"{path}: {len(found)} of {total} were sent", time.time() + answers.SECONDARY)
                return found
            if answer.next in seen or len(seen) + 1 >= PAGES:
                why = "the pages lead in a circle" if answer.next in seen else f"more than {PAGES} pages"
                raise Permanent(f"{path}: {why}")
            seen.add(answer.next)
            answer = good(self._get(answer.next, deadline), path)

    def _get(self, url: str, deadline: float) -> Answer:
        until, why = self._quiet
        if time.time() < until:
            raise Later(why, until)
        last = ""
        for pause in (*PAUSES, None):
            try:
                return self._hops(url, deadline)
            except _Broken as error:
                last = str(error)
            if pause is None or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        raise Later(f"{self._shown(url)}: {last}", time.time() + answers.SECONDARY)

    def _hops(self, url: str, deadline: float) -> Answer:
        at = url
        for _ in range(4):
            if (urlsplit(at).scheme, urlsplit(at).netloc) != self._origin:
                raise Permanent(f"{self._shown(url)} leads to another host, {line(urlsplit(at).netloc, 80)}")
            status, headers, data = self._once(at, deadline)
            if status in (301, 302, 303, 307, 308) and (to := headers.get("Location")):
                at = urljoin(at, to)
                continue
            return self._taken(url, status, headers, data)
        raise Permanent(f"{self._shown(url)}: too many redirects")

    def _once(self, url: str, deadline: float) -> tuple[int, Message, bytes]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Later(f"{self._shown(url)}: no time left", time.time() + answers.SECONDARY)
        request = urllib.request.Request(url, headers=self._headers, method="GET")
        if kept := self._kept.get(url):
            request.add_header("If-None-Match", kept[0])
        try:
            try:
                response = self._opener.open(request, timeout=min(SILENCE, left))
            except urllib.error.HTTPError as error:
                response = error
            with closing(response):
                return int(response.status), response.headers, b"".join(_chunks(response, deadline))
        except (TimeoutError, urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise _Broken(f"no answer ({_reason(error)})") from None
        except ValueError as error:
            raise Permanent(f"{self._shown(url)}: {line(str(error), 120)}") from None

    def _taken(self, url: str, status: int, headers: Message, data: bytes) -> Answer:
        if status == 304 and url in self._kept:
            self._kept.move_to_end(url)
            return self._kept[url][1]
        body = _json(data)
        self._limits(url, status, headers, body)
        if status >= 500:
            if status == 503 and headers.get("Retry-After"):
                raise Later(f"{self._shown(url)}: {status}", answers.due(headers, time.time()))
            raise _Broken(f"status {status}")
        if status == 200 and (body is _NO_JSON or "json" not in headers.get("Content-Type", "")):
            raise _Broken("the answer is no JSON")
        if status not in range(400, 500) and status != 200:
            raise Permanent(f"{self._shown(url)}: status {status}")
        answer = Answer(status, None if body is _NO_JSON else body, answers.next_page(url, headers))
        if status == 200 and (tag := headers.get("ETag")):
            self._kept[url] = (tag, answer)
            self._kept.move_to_end(url)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return answer

    def _limits(self, url: str, status: int, headers: Message, body: Any) -> None:
        """Raises Later when the server refuses for a limit, primary or secondary; remembers it, and one that the
        next request would meet."""
        if answers.limited(status, headers, body):
            due = answers.due(headers, time.time())
            self._quiet = (due, f"{self._shown(url)}: limited ({status})")
            raise Later(self._quiet[1], due)
        if answers.used_up(headers):
            self._quiet = (
                answers.due(headers, time.time()),
                f"{self._shown(url)}: the hour's requests are used up",
            )

    def _shown(self, url: str) -> str:
        parts = urlsplit(url)
        return line(f"{parts.netloc}{parts.path}", 160)


def origin(url: str) -> str:
    """Where an address leads, without its path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def good(answer: Answer, path: str) -> Answer:
    """The answer when it is a good one. Raises Permanent with the status and the server's word."""
    if answer.status != 200:
        raise Permanent(f"{path}: {answers.refusal(answer.status, answer.body)}")
    return answer


_NO_JSON = object()


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _NO_JSON


def _chunks(response: Any, deadline: float) -> Iterator[bytes]:
    """The body, to its end. Raises when it is too long, or late, or cut short."""
    size = 0
    while chunk := response.read1(65536):
        size += len(chunk)
        if size > CAP:
            raise ValueError(f"the answer is longer than {CAP >> 20} MiB")
        if time.monotonic() > deadline:
            raise TimeoutError("too slow")
        yield chunk
    if getattr(response, "length", None):  # bytes that were promised and did not come
        raise http.client.IncompleteRead(b"")


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", error)
    if isinstance(inner, TimeoutError | socket.timeout):
        return "too slow"
    return line(str(inner) or type(inner).__name__, 80)


def moment(text: str) -> float | None:
    """UTC seconds of a time as forges write it (2026-01-31T12:00:00Z); None for what is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
