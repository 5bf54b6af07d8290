"""Each type, status and sentence of a failed launch means what tests.agents.meanings says, and which of them counts."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from contracts.outcomes import Outcome
from contracts.ports import Captured, Ran
from contracts.reply import ReplyClass
from contracts.reply_rules import RULES, Charged, Cooldown, Does, Rule, retried
from tests.agents.meanings import LIFTED, SENTENCES, STATUSES, TYPES, VAGUE_STATUSES, VAGUE_TYPES
from tool_adapters.agents.classify import Failure, Signals, classify, ended_badly

R = ReplyClass
NOW = 1_796_028_000.0
DAY = 86_400.0
EVERY_TYPE = [(kind, cls) for cls, kinds in TYPES.items() for kind in kinds.split()]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def heard(said: str = "", *kinds: str, status: int | None = None, reset: float | None = None) -> Failure:
    return classify(Signals(kinds, status, said, reset), NOW)


@pytest.mark.parametrize(("kind", "cls"), EVERY_TYPE)
def test_a_type_settles_it(kind: str, cls: ReplyClass) -> None:
    said = "Not logged in. Overloaded. You've hit your usage limit"
    for status in (None, 401, 404):
        assert heard(said, "nothing_known", kind, status=status).cls is cls
    assert heard(said, "", kind.upper()).cls is cls, "its letters may be large"


def test_the_first_type_that_is_known_counts() -> None:
    assert heard("", "slow_down", "invalid_api_key").cls is R.TRANSIENT
    assert heard("", "invalid_request_error", "invalid_json_schema").cls is R.SCHEMA_REFUSED


@pytest.mark.parametrize(("status", "cls"), STATUSES.items())
def test_a_status_counts_before_words(status: int, cls: ReplyClass) -> None:
    assert heard("I can't help with this: invalid schema", "api_error", status=status).cls is cls


@pytest.mark.parametrize(("status", "cls"), VAGUE_STATUSES.items())
def test_a_vague_status_is_the_last_word(status: int, cls: ReplyClass) -> None:
    assert heard("what nobody has heard", status=status).cls is cls
    assert heard("Segmentation fault", status=status).cls is R.CRASHED or status == 429
    assert heard("prompt is too long", status=status).cls is R.CONTEXT_TOO_LONG


@pytest.mark.parametrize(("kind", "cls"), VAGUE_TYPES.items())
def test_a_vague_type_is_the_last_but_one(kind: str, cls: ReplyClass) -> None:
    for letters in (kind, kind.upper()):
        assert heard("what nobody has heard", letters, status=418).cls is cls
    assert heard("what nobody has heard", kind, status=402).cls is cls
    assert heard("Segmentation fault", kind).cls is R.CRASHED


def test_what_an_agent_says_is_quoted() -> None:
    assert heard("").message == heard(" \n", "max_turns").message == "no reason given"
    unsaid = "no reason given. Whoever owns the account can lift it"
    assert heard("", "insufficient_quota").message == unsaid
    assert heard("x" * 600).message == "x" * 600
    assert len(heard("x" * 601).message.encode()) <= 600


def test_a_status_that_nobody_knows_is_an_unknown_failure() -> None:
    for status in (None, 200, 418, 499):
        assert heard("what nobody has heard", "teapot_error", status=status).cls is R.UNKNOWN


@pytest.mark.parametrize(
    ("said", "cls"), [(said, cls) for cls, text in SENTENCES.items() for said in lines(text)]
)
def test_a_sentence(said: str, cls: ReplyClass) -> None:
    for spelled in (said, said.upper(), f"\x1b[31m{said.replace(' ', chr(10), 1)}\x1b[0m"):
        found = heard(spelled)
        assert (found.cls, found.not_before) == (cls, None)
    assert heard(said).message == said


@pytest.mark.parametrize(
    ("said", "who"), [(said, who) for who, text in LIFTED.items() for said in lines(text)]
)
def test_a_limit_that_a_person_lifts(said: str, who: str) -> None:
    for spelled in (said, said.upper()):
        found = heard(spelled)
        assert (found.cls, found.not_before) == (R.LIMIT_PERMANENT, None)
        assert found.message == f"{spelled.rstrip('.')}. {who}"
    assert heard(said, "insufficient_quota").message == heard(said).message


# ---- which limit it is -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["rate_limit_error", "rate_limit", "rate_limit_exceeded"])
def test_a_type_of_too_many_requests(kind: str) -> None:
    assert heard("Wait a little", kind).cls is R.TRANSIENT
    found = heard("Wait a little", kind, reset=NOW + 60)
    assert (found.cls, found.not_before) == (R.LIMIT_WITH_RESET, NOW + 60)
    assert heard("Wait a little", kind, reset=NOW + 30 * DAY).cls is R.LIMIT_PERMANENT


def test_a_limit_of_the_plan_ends_by_itself() -> None:
    assert heard("Wait a little", "usage_limit_reached").cls is R.LIMIT_WITH_RESET
    assert heard("Wait a little", status=429, reset=NOW + 60).cls is R.LIMIT_WITH_RESET
    assert heard("Wait a little", reset=NOW + 60).cls is R.UNKNOWN, "nobody spoke of a limit"
    assert heard("Usage limit", status=400).cls is R.LIMIT_WITH_RESET


@pytest.mark.parametrize("said", ["Usage limit", "Too many requests", "You're out of credits"])
def test_a_limit_that_says_when_it_ends_ends_by_itself(said: str) -> None:
    assert heard(f"{said}. Try again in 8 days.").cls is R.LIMIT_WITH_RESET
    late = heard(f"{said}. Try again in 9 days.")
    assert (late.cls, late.not_before) == (R.LIMIT_PERMANENT, NOW + 9 * DAY)
    lifted = "It ends by itself, but late; whoever owns the account can lift it"
    assert late.message == f"{said}. Try again in 9 days. {lifted}"


def test_a_quota_that_says_when_it_ends_ends_by_itself() -> None:
    found = heard("You exceeded your current quota, check your plan. Please retry in 31.2s.", status=429)
    assert (found.cls, found.not_before) == (R.LIMIT_WITH_RESET, NOW + 31.2)


def test_a_date_that_is_no_reset_is_none() -> None:
    found = heard("rate limit exceeded, request abc at 2026-11-30T22:40:10Z", status=429)
    assert (found.cls, found.not_before) == (R.TRANSIENT, None)


def test_a_cap_stays_one_where_a_time_is_said() -> None:
    found = heard("The monthly spend limit. Your weekly limit resets in 3 days.")
    assert (found.cls, found.not_before) == (R.LIMIT_PERMANENT, NOW + 3 * DAY)


def test_a_person_is_not_asked_where_time_helps() -> None:
    for later in ("try again later", "Try Again Later"):
        assert heard(f"Usage limit. Ask your admin, or {later}.").cls is R.LIMIT_WITH_RESET
    assert heard("Usage limit. Ask your admin.").cls is R.LIMIT_PERMANENT
    assert heard("This is not your usage limit. Ask your admin.", status=429).cls is R.TRANSIENT


# ---- what the run does about it --------------------------------------------------------------------------
AGAIN = (Does.RETRY, Outcome.failed, Cooldown.REST, Charged.ASKED, 3)
CORRECTED = (Does.CORRECT, Outcome.stuck, Cooldown.RUN, Charged.ASKED, 1, 0)
MENDED = (Does.STOP, Outcome.config_error, Cooldown.NEVER, Charged.REFUSED, 1, 0)
DONE: dict[ReplyClass, tuple[object, ...]] = {
    R.OK: (Does.JUDGE, None, Cooldown.RUN, Charged.ASKED, 1, 0),
    R.INVALID: CORRECTED,
    R.MISSING: CORRECTED,
    R.REFUSAL: CORRECTED,
    R.SCHEMA_REFUSED: MENDED,
    R.AUTH: MENDED,
    R.LIMIT_WITH_RESET: (Does.WAIT, Outcome.waiting, Cooldown.RESET, Charged.REFUSED, 1, 900),
    R.LIMIT_PERMANENT: (Does.ASK, Outcome.blocked, Cooldown.RUN, Charged.REFUSED, 1, 0),
    R.TRANSIENT: (*AGAIN, 30),
    R.CONTEXT_TOO_LONG: (Does.STOP, Outcome.stuck, Cooldown.RUN, Charged.ASKED, 1, 0),
    R.BUDGET: (Does.STOP, Outcome.budget_exhausted, Cooldown.NEVER, Charged.ASKED, 1, 0),
    R.HANG: (*AGAIN, 0),
    R.KILLED: (*AGAIN, 0),
    R.CRASHED: (*AGAIN, 0),
    R.UNAVAILABLE: (*AGAIN, 30),
    R.MISCONFIGURED: MENDED,
    R.UNKNOWN: (*AGAIN, 0),
}
FORM = 'Reply with one JSON object: {"state_patch": …, "action": {"tool": …, "args": …}} and nothing else'
ADVICE = {
    R.INVALID: FORM,
    R.MISSING: FORM,
    R.REFUSAL: "Do what you can, or `ask`",
    R.SCHEMA_REFUSED: "`controller validate` looks at it offline",
    R.LIMIT_PERMANENT: "waiting does not help; when it is lifted: `controller run --retry`",
    R.CONTEXT_TOO_LONG: "lower `limits:` in the task, or take a model with a larger context",
}


@pytest.mark.parametrize("cls", ReplyClass)
def test_what_the_run_does(cls: ReplyClass) -> None:
    rule: Rule = RULES[cls]
    did = (rule.does, rule.ends, rule.cooldown, rule.charged, rule.tries, rule.pause)
    assert did == DONE[cls]
    assert retried(cls) == (DONE[cls][0] is Does.RETRY)
    assert rule.advice == ADVICE.get(cls, "")


# ---- how its process ended -------------------------------------------------------------------------------
SAID, NOTHING = Captured(b"{}", 2), Captured()
OF_SHELL = {129: "SIGHUP", 130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM"}
BROKEN = {132: "SIGILL", 133: "SIGTRAP", 134: "SIGABRT", 136: "SIGFPE", 139: "SIGSEGV"}
BROKEN |= {128 + signal.SIGBUS: "SIGBUS", 128 + signal.SIGSYS: "SIGSYS"}


def ended(ran: Ran, idle: float | None = 1.5) -> tuple[str, str] | None:
    found = ended_badly(ran, "pi", 600, idle)
    return found and (found.cls.value, found.message)


@pytest.mark.parametrize(("code", "name"), BROKEN.items())
def test_a_process_that_broke_down(code: int, name: str) -> None:
    crashed = ("crashed", f"pi broke down ({name})")
    assert ended(Ran(code, signal=code - 128)) == ended(Ran(code, out=Captured(b" \n", 2))) == crashed
    assert ended(Ran(code, out=SAID, signal=code - 128)) == ended(Ran(None, signal=code - 128)) == crashed
    assert ended(Ran(code, out=SAID)) is None, "it says itself why it left with that code"


@pytest.mark.parametrize(("code", "name"), OF_SHELL.items())
def test_a_process_that_was_ended(code: int, name: str) -> None:
    assert ended(Ran(code)) == ("killed", f"pi was ended by {name}, not sent by the controller")
    assert ended(Ran(code, out=SAID)) is None
    signalled = ("killed", f"pi was ended by signal {code - 128}, which the controller did not send")
    assert ended(Ran(code, signal=code - 128)) == ended(Ran(None, out=SAID, signal=code - 128)) == signalled


def test_a_process_that_ended_without_a_word() -> None:
    assert ended(Ran(1)) == ("crashed", "pi ended with exit code 1 and no output at all")
    assert ended(Ran(128, err=Captured(b" \n", 2))) == (
        "crashed",
        "pi ended with exit code 128 and no output at all",
    )
    for code in (0, None):
        assert ended(Ran(code)) == (
            "missing_reply",
            "pi ended well but printed nothing (is it started inside its own kind?)",
        )
    assert ended(Ran(1, err=Captured(b"why", 3))) is None and ended(Ran(1, out=SAID)) is None


def test_a_process_that_was_given_up() -> None:
    out = "pi gave no reply within 600 s and was ended (agents: timeout)"
    assert ended(Ran(None, out=SAID, timed_out=True)) == ("hang", out)
    assert ended(Ran(None, out=SAID, idle=True)) == (
        "hang",
        "pi was silent for 1.5 s and was ended (agents: idle)",
    )
    assert ended(Ran(None, idle=True), None) == ("hang", "pi was silent for 0 s and was ended (agents: idle)")
    flood = ("crashed", "pi wrote 12,345,678 bytes without end and was ended")
    assert ended(Ran(None, flooded=True, out=Captured(b"x", 12_345_678), err=SAID)) == flood
    assert ended(Ran(None, flooded=True, out=SAID, err=Captured(b"x", 12_345_678))) == flood


def test_a_process_that_never_was() -> None:
    assert ended(Ran(None, missing="/bin/pi")) == ("misconfigured", "pi: program not found: /bin/pi")
    for missing in ("", "/bin/pi"):
        assert ended(Ran(None, missing=missing, refused="too long")) == ("misconfigured", "pi: too long")


def test_a_process_that_had_answered_and_lived_on() -> None:
    for ran in (Ran(143, out=SAID, signal=15), Ran(None, out=SAID, timed_out=True), Ran(0)):
        assert ended(replace(ran, settled=True)) is None
