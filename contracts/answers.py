"""How the answer of a forge is read, whatever was asked: a limit, a refusal for good, the next page. Pure."""

from __future__ import annotations

from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from contracts.text import line

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SECONDARY = 60.0  # what a limit that names no time asks for
LONGEST = 24 * 3600.0  # beyond this no server is believed


def spoken(base: str, secret: bool) -> str:
    """Why no token may be sent to `base`; empty when it may, or there is none."""
    parts = urlsplit(base)
    if secret and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        return f"{base}: a token is sent only over https"
    return ""


def limited(status: int, headers: Message, body: Any) -> bool:
    """Whether the server refuses for a limit, primary or secondary: it will do it later."""
    told = str(body.get("message", "")).lower() if isinstance(body, dict) else ""
    said = bool(headers.get("Retry-After")) or used_up(headers) or "rate limit" in told or "abuse" in told
    return status == 429 or (status == 403 and said)


def used_up(headers: Message) -> bool:
    """Whether this was the last request that the hour has."""
    return _either(headers, "Remaining") == "0"


def due(headers: Message, now: float) -> float:
    """When to ask again (UTC seconds), by the server's clock where it tells the time, at most a day from `now`."""
    here = date(headers.get("Date", "")) or now
    delay = SECONDARY
    if after := headers.get("Retry-After"):
        delay = float(after) if after.strip().isdigit() else (date(after) or here + SECONDARY) - here
    elif (reset := _either(headers, "Reset")).isdigit() and _either(headers, "Remaining") in ("0", ""):
        delay = float(reset) - here
    return now + min(max(delay, 1.0), LONGEST)


def _either(headers: Message, what: str) -> str:
    return headers.get(f"X-RateLimit-{what}") or headers.get(f"RateLimit-{what}") or ""


def date(text: str) -> float | None:
    """UTC seconds of a date as headers write it; None for what is none."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError):
        return None


def next_page(url: str, headers: Message) -> str | None:
    """The address of the next page in the Link header."""
    for part in headers.get("Link", "").split(","):
        address, _, rest = part.strip().partition(">")
        if address.startswith("<") and 'rel="next"' in rest:
            return urljoin(url, address[1:])
    return None


def word(body: Any) -> str:
    """The server's own word on a refusal, one line: its message, and what it complains of."""
    if not isinstance(body, dict):
        return ""
    told = body.get("message") or body.get("error") or ""
    more = body.get("errors")
    found = (
        [each.get("message") or each.get("code") for each in more if isinstance(each, dict)]
        if isinstance(more, list)
        else []
    )
    return line("; ".join(str(each) for each in (told, *found) if each), 240)


REFUSALS = {
    401: "the token is refused",
    403: "no access",
    404: "not found, or no access",
    405: "it may not be done as things stand",
    409: "it stands otherwise than expected",
    422: "it is not taken",
}


def refusal(status: int, body: Any) -> str:
    """A status that is no good one, in a sentence."""
    why = f"status {status}" + (f", {REFUSALS[status]}" if status in REFUSALS else "")
    told = word(body)
    return f"{why}: {told}" if told else why
