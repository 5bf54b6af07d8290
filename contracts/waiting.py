"""What `wait` waits for: a word that an authority can come to stand for, without anybody's launching an agent. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from contracts.actions import Block, closed, const
from contracts.authorities import Authority
from contracts.base import JsonObject, digest
from contracts.deeds import Forge
from contracts.deployed import DeploymentReading
from contracts.documents import DocumentsReading
from contracts.forge_reading import NAME, ForgeReading
from contracts.readings import CiReading, CommandReading, Reading, Readings, UnknownReading
from contracts.telemetry import ValueReading
from contracts.text import line
from contracts.units import seconds

CHANGED = "changed"  # it says something else than when the wait began
FREE = "free"  # the caps allow another pull request
DECIDED = "decided"  # CI will not come to another word by itself
CI = (DECIDED, "passed", "failed", "blocked", CHANGED)
COMMAND = ("ok", "failed", CHANGED)
DEPLOYMENT = ("passed", "failed", "healthy", "unhealthy", CHANGED)
VALUE = ("passed", "failed")
PULLS = ("merged", "closed", "open", CHANGED)
LONGEST = 7 * 86400.0
POLL = 60.0  # seconds between looks, where the authority does not say

Waits = Mapping[str, tuple[str, ...]]  # authority -> the words that can be waited for, the usual one first


def waits(authorities: Mapping[str, Authority], forge: Forge | None, allowed: Collection[str]) -> Waits:
    """The authorities that can come to say something else while the run does nothing; and the forge."""
    words = {"ci": CI, "command": COMMAND, "pulls": PULLS, "deployment": DEPLOYMENT, "http_json": VALUE}
    words |= {"git": (), "adr": ()}
    found = {
        name: words.get(each.use, (CHANGED,))
        for name, each in authorities.items()
        if each.use != "command" or each.network
    }
    if forge is not None:
        more = () if forge.provider == "git" else ("merged", "closed")
        found[NAME] = (CHANGED, *more, *((FREE,) if "pr_open" in allowed else ()))
    return {name: each for name, each in found.items() if each}


def wait_args(known: Waits) -> JsonObject:
    """The arguments of `wait`, closed over what can be waited for."""
    until = {"type": "string", "pattern": "^[1-9][0-9]{0,4}[smhd]$"}

    def branch(name: str, words: tuple[str, ...]) -> JsonObject:
        named = {
            "type": "array",
            "items": {"type": "string", "enum": list(words)},
            "minItems": 1,
            "maxItems": len(words),
        }
        return closed({"authority": const(name), "is": named, "until": until}, ("authority",))

    return {"anyOf": [branch(name, words) for name, words in known.items()]}


def said(known: Waits) -> list[str]:
    """A line for each authority, as the model reads it."""
    return [
        f'args {{"authority":"{name}","is":["{words[0]}"],"until":"4h"}} is: {"|".join(words)}'
        for name, words in known.items()
    ]


def known_waits(args: JsonObject) -> Waits:
    """The inverse of `wait_args`."""
    branches = [each["properties"] for each in args.get("anyOf", ())]
    return {each["authority"]["const"]: tuple(each["is"]["items"]["enum"]) for each in branches}


def until(args: JsonObject, default: float) -> float:
    """How long it may take, in seconds."""
    asked = args.get("until")
    return min(seconds(asked), LONGEST) if isinstance(asked, str) else default


def begun(args: JsonObject, fresh: Readings, known: Waits) -> dict[str, str]:
    """What a wait rests on: the words that end it, and what the authority says as it begins."""
    reading = fresh.items.get(str(args.get("authority")))
    return {"is": " ".join(wanted(args, known)), "reading": _digest(reading)}


def _digest(reading: Reading | None) -> str:
    """What the reading says, to know a change by."""
    if reading is None or isinstance(reading, UnknownReading):
        return "unread"
    if isinstance(reading, ForgeReading):  # how full the caps are is no news
        return digest(reading.model_dump(mode="json", include={"tip", "others", "request"}))
    return digest(reading.model_dump(mode="json", exclude={"took", "not_before", "artifact", "at"}))


def standing(reading: Reading | None, then: str = "") -> frozenset[str]:
    """The words that a reading stands for; `then` is its digest from when the wait began. None for what can't be
    read: that is no change."""
    words: set[str] = set()
    match reading:
        case (
            None
            | UnknownReading()
            | CommandReading(timed_out=True)
            | CiReading(read=False, not_before=float())
            | DeploymentReading(read=False)
            | ValueReading(read=False)
        ):
            return frozenset()
        case CiReading(state=state, not_before=due) if state != "pending":
            words = {state, DECIDED} if due is None or state != "unknown" else {state}
        case CommandReading(ok=ok):
            words = {"ok" if ok else "failed"}
        case DeploymentReading(state=state, health=health):
            words = {health} | ({state} if state in ("passed", "failed") else set())
        case ValueReading(state=state):
            words = {state}
        case DocumentsReading(what="pull request", items=(one,)):
            words = {one.status}
        case ForgeReading(request=request, free=free):
            words = {request.state} if request is not None else set()
            words |= {FREE} if free else set()
    return frozenset(words | ({CHANGED} if then and _digest(reading) != then else set()))


def wanted(args: JsonObject, known: Waits) -> tuple[str, ...]:
    """The words that end the wait, any of them."""
    asked = args.get("is")
    usual = known.get(str(args.get("authority")), ())[:1]
    return tuple(map(str, asked)) if isinstance(asked, list) else usual


def hopeless(name: str, words: tuple[str, ...], reading: Reading | None) -> str:
    """Why none of the words can come about without somebody's doing; empty when one can."""
    if not isinstance(reading, CiReading) or reading.not_before is not None or CHANGED in words:
        return ""
    if reading.state == "pending":
        return f"{name}: {reading.why}, so waiting brings nothing. Push it first, or `ask`"
    if reading.state in ("failed", "unknown"):
        return (
            f"{name} says {reading.state} ({reading.why}): that will not be {' or '.join(words)} by waiting"
        )
    return ""


def refused(args: JsonObject, words: tuple[str, ...], reading: Reading | None) -> tuple[str, str] | None:
    """Why there is nothing to wait for: (code, what to do instead); None when there is."""
    name = str(args.get("authority"))
    if here := sorted(standing(reading).intersection(words)):
        return "wait_over", f"{name} is {here[0]} already: there is nothing to wait for"
    if say := hopeless(name, words, reading):
        return "wait_nothing", say
    return None


def told(name: str, reading: Reading | None) -> Block:
    """What the authority says, for the observation."""
    match reading:
        case CiReading() | DeploymentReading() | ValueReading():
            return Block(title=line(f"{name}: {reading.said}", 300), text=reading.text)
        case CommandReading():
            head = f"{name}: exit {reading.exit}"
            return Block(title=head, text=reading.text, total=reading.total, artifact=reading.artifact)
        case DocumentsReading():
            return Block(
                title=line(f"{name}: {len(reading.items)} of {reading.place}", 300), text=reading.text
            )
        case ForgeReading():
            return Block(title=reading.head, text=reading.text)
        case UnknownReading():
            return Block(title=line(f"{name}: unknown ({reading.why})", 300))
        case _:
            return Block(title=name)
