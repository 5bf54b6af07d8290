"""The cases: what an adapter and its CLI promise, each with what breaks it and which facts of a version it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.base import JsonObject
from contracts.codec import DialectError
from contracts.reply import Prompt, ReplyClass
from controller.conformance.failures import ALLOWED
from controller.conformance.launches import ENDING, MOST_REQUESTS, Ask, Fault, Seen, same_json
from controller.conformance.loopback import Answer, Hang, Invalid, Refusal, Text
from controller.conformance.subject import KEY, LEAK, SECRET, TRANSITION, Subject

R = ReplyClass
NO_REPLY = (R.INVALID, R.MISSING)
SHORT = 8  # characters: a value of the environment that is no longer says nothing when it is found in a text
# Each part says where it ends: what a CLI appends to it is then told apart.
END = "=== END ===\n"
STABLE = (
    f"=== SKILL ===\nReply with the transition that is asked for. “Quotes”, \\backslashes, <tags>.\n{END}\n"
)
VOLATILE = f"=== STATE ===\n/help @/etc/hostname `x` $HOME !ls #note\n\ttabbed\n{END}"
PROMPT = Prompt(1, STABLE, VOLATILE)
# More than the 128 KiB that one argument may have, and less than every CLI's own limit.
LONG = Prompt(
    1,
    STABLE + "é rule of many; keep it.\n" * 6_000,
    VOLATILE + "a line of a file\n" * 20_000 + "THE LAST LINE\n",
)

Broken = Iterator[str]


@dataclass(frozen=True)
class Case:
    """One row of the table. `ask` is the launch that it looks at (equal ones are launched once), `broken` says what of
    the promise is not kept, `facts` what the version is known by. `offline`: it needs no model's side."""

    name: str
    about: str
    ask: Ask
    broken: Callable[[Seen], Broken]
    facts: Callable[[Seen], JsonObject]
    offline: bool = False


def cases_of(subject: Subject) -> list[Case]:
    """All cases of an agent, in the order of the table; the first one must be good for the others to say anything."""
    return [*_on_one_reply(subject), *_bad_replies(), *_endings(), *_failures()]


def _on_one_reply(subject: Subject) -> list[Case]:
    good = Ask(subject.reply, PROMPT)
    nothing: Callable[[Seen], JsonObject] = lambda seen: {}  # noqa: E731 - a row of a table
    return [
        Case("round_trip", "a right reply comes back as the same transition", good, _round_trip, _ending),
        Case("one_request", "one launch is one request", good, _one_request, _asked),
        Case("schema", "the model is held to the reply schema", good, _schema, _how_held),
        Case("prompt", "the prompt arrives whole, once, and not by the command line", good, _prompt, nothing),
        Case("wire_size", "what is sent beside prompt and schema", good, _keeps, _size),
        Case(
            "environment", "no credential or marker but its own reaches it", good, _environment, _names, True
        ),
        Case(
            "surroundings",
            "no memory file, and nothing of the environment, is sent",
            good,
            _surroundings,
            nothing,
        ),
        Case("leftovers", "nothing stays behind", good, _leftovers, lambda seen: {"files": seen.files}, True),
        Case(
            "big_prompt",
            "150 KB of rules and 340 KB of volatile text",
            Ask(subject.reply, LONG),
            _big,
            _ending,
        ),
    ]


def _bad_replies() -> list[Case]:
    limits = "The log says: 429 rate limit, usage limit reached, context window exceeded, please run /login."
    answers: list[tuple[str, str, Answer, tuple[ReplyClass, ...]]] = [
        ("invalid_reply", "an object that the schema does not allow", {"nonsense": True}, NO_REPLY),
        ("broken_reply", "a reply that is no JSON", Invalid('{"state_patch": {"phase":'), NO_REPLY),
        ("prose", "prose about limits in place of a reply", Text(limits), NO_REPLY),
        ("refusal", "the model refuses", Refusal(), (R.REFUSAL, *NO_REPLY)),
    ]
    return [
        Case(name, about, Ask(answer, PROMPT), _classed(allowed), _ending)
        for name, about, answer, allowed in answers
    ]


def _endings() -> list[Case]:
    silent, stalled = Hang("before_headers"), Hang("mid_stream")
    return [
        Case("hang", "silence is ended at the deadline", Ask(silent, PROMPT, "deadline"), _hang, _ending),
        Case("stall", "so is a stream that stalls", Ask(stalled, PROMPT, "deadline"), _hang, _ending),
        Case(
            "interrupt",
            "an interrupted launch leaves no process",
            Ask(silent, PROMPT, "interrupt"),
            _gone,
            _asked,
            True,
        ),
        Case("terminate", "it ends on TERM", Ask(silent, PROMPT, "TERM"), _terminated, _ending),
        Case("kill", "one that was killed is known to be", Ask(silent, PROMPT, "KILL"), _killed, _ending),
    ]


def _failures() -> Iterator[Case]:
    for name, (about, allowed) in ALLOWED.items():
        yield Case(name, about, Ask(Fault(name), PROMPT), _classed(allowed), _ending)


# ---- promises -----------------------------------------------------------------------------------------------
def _round_trip(seen: Seen) -> Broken:
    if seen.reply is None or seen.reply.cls is not R.OK or seen.reply.value is None:
        yield f"the right reply was taken as {seen.cls or seen.raised or 'nothing'}: {_said(seen)}"
        return
    try:
        decoded = seen.subject.dialect.decode(seen.reply.value)
    except DialectError as error:
        yield f"the reply can't be decoded: {error}"
        return
    if decoded != TRANSITION:
        yield f"another transition came back: {decoded}"


def _one_request(seen: Seen) -> Broken:
    if len(seen.requests) != 1:
        yield f"{len(seen.requests)} requests to the model"
    if seen.others:
        yield f"beside it: {', '.join(sorted(set(seen.others)))}"


def _schema(seen: Seen) -> Broken:
    sent = seen.first.schema if seen.first else {}
    if not sent:
        if getattr(seen.subject.kind, "holds_to_schema", True):
            yield "the request holds no schema"
    elif not same_json(sent, seen.subject.dialect.schema):
        yield "the request holds another schema than was given"


def _prompt(seen: Seen) -> Broken:
    yield from _whole(seen, seen.ask.prompt)
    text = seen.first.everything if seen.first else ""
    for name, part in (("rules", "=== SKILL ==="), ("state", "=== STATE ===")):
        if text.count(part) > 1:
            yield f"the {name} were sent {text.count(part)} times"
    words = [word for started in seen.started for word in started.argv]
    if any("=== SKILL ===" in word or "=== STATE ===" in word for word in words):
        yield "the prompt is in the command line: 128 KiB at most, and every user of the machine can read it"
    if any(KEY in word for word in words):
        yield "the key is in the command line, where every user of the machine can read it"


def _whole(seen: Seen, prompt: Prompt) -> Broken:
    text = seen.first.everything if seen.first else ""
    for name, part in (("stable", prompt.stable), ("volatile", prompt.volatile)):
        if part.strip() not in text:
            yield f"the {name} part of the prompt did not arrive whole"


def _keeps(seen: Seen) -> Broken:
    if seen.first is None:
        yield "no request was made"


def _environment(seen: Seen) -> Broken:
    for started in seen.started:
        passed = sorted(name for name, value in started.env.items() if SECRET in value)
        if passed:
            yield f"passed on to the process: {', '.join(passed)}"
            return


def _surroundings(seen: Seen) -> Broken:
    bodies = b"".join(request.body for request in seen.requests).decode("utf-8", "replace")
    if LEAK in bodies:
        yield "a memory file of a folder above, of a home, or the branch's name was sent"
    env = {name: value for started in seen.started for name, value in started.env.items()}
    folders = [str(started.cwd) for started in seen.started]
    told = "\n".join(request.everything for request in seen.requests)
    for folder in folders:  # where it works, an agent may say
        told = told.replace(folder, "")
    known = seen.ask.prompt.text
    sent = sorted(n for n, v in env.items() if len(v) >= SHORT and v in told and v not in known)
    if sent:
        yield f"the model was told the value of {', '.join(sent)}"
    if SECRET in bodies:
        yield "a credential of the caller's shell was sent"


def _leftovers(seen: Seen) -> Broken:
    survivors = [*(seen.reply.survivors if seen.reply else ()), *seen.left]
    if survivors:
        yield f"processes that outlived it: {', '.join(sorted(set(survivors)))}"
    work = {path.name for started in seen.started if started.cwd.is_dir() for path in started.cwd.iterdir()}
    if work:
        yield f"files in its empty folder: {', '.join(sorted(work))}"


def _big(seen: Seen) -> Broken:
    yield from _whole(seen, seen.ask.prompt)
    yield from _round_trip(seen)


def _classed(allowed: tuple[ReplyClass, ...]) -> Callable[[Seen], Broken]:
    def broken(seen: Seen) -> Broken:
        yield from _calm(seen)
        value = seen.reply.value if seen.reply else None
        # An adapter may leave it to the controller to hold the reply against the schema.
        handed_on = R.INVALID in allowed and value is not None and value == seen.ask.answer
        if seen.reply is not None and seen.reply.cls not in allowed and not handed_on:
            yield f"taken as {seen.cls}, not {' or '.join(allowed)}: {_said(seen)}"
        if seen.cls == R.LIMIT_WITH_RESET and seen.reply and seen.reply.not_before is None:
            yield "it does not say when the limit ends"

    return broken


def _hang(seen: Seen) -> Broken:
    yield from _calm(seen)
    if seen.cls != R.HANG:
        yield f"taken as {seen.cls or 'nothing'}, not hang: {_said(seen)}"
    yield from _gone(seen)


def _gone(seen: Seen) -> Broken:
    if seen.left:
        yield f"still alive: {', '.join(seen.left)}"


def _terminated(seen: Seen) -> Broken:
    yield from _killed(seen)
    if seen.ended is None:
        yield f"its process lived on for {ENDING:g} s after TERM"


def _killed(seen: Seen) -> Broken:
    yield from _calm(seen)
    if seen.reply is not None and seen.cls not in (R.KILLED, R.CRASHED):
        yield f"taken as {seen.cls}, not killed: {_said(seen)}"
    yield from _gone(seen)


def _calm(seen: Seen) -> Broken:
    """What holds for every launch."""
    if seen.raised:
        yield f"the adapter raised {seen.raised}"
    if len(seen.requests) > MOST_REQUESTS:
        yield f"more than {MOST_REQUESTS} requests to the model in one launch, which was ended"


def _said(seen: Seen) -> str:
    said = seen.reply.message if seen.reply else ""
    return said or "no reason given"


# ---- facts --------------------------------------------------------------------------------------------------
def _ending(seen: Seen) -> JsonObject:
    most = min(len(seen.requests), MOST_REQUESTS + 1)  # how many more there would have been says nothing
    return {"class": seen.cls, "exit": seen.exit, "requests": most}


def _asked(seen: Seen) -> JsonObject:
    return {"requests": len(seen.requests), "others": sorted(set(seen.others))}


def _how_held(seen: Seen) -> JsonObject:
    first = seen.first
    if first is None or not first.schema:
        return {"by": "nothing"}
    return {"by": f"tool {first.answer_tool}" if first.answer_tool else "format"}


def _size(seen: Seen) -> JsonObject:
    first = seen.first
    tools: list[Any] = first.tools if first else []
    names = [str((tool.get("function") or tool).get("name") or tool.get("type")) for tool in tools]
    return {
        "overhead": seen.overhead,
        "tools": sorted(names),
        "added": sum(len(text.encode()) for text in first.added) if first else None,
    }


def _names(seen: Seen) -> JsonObject:
    env: Mapping[str, str] = seen.started[-1].env if seen.started else {}
    return {"names": sorted(env)}
