"""What continuous integration says of one commit, judged by tables. docs/ci-truth-table.md is made from them.

Three tables, each row tested: what a provider's word means, what one check's conclusion says, and what all that is
known says together. `passed` needs positive evidence for this very commit; whatever is not in a table is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from contracts.base import Frozen

CiState = Literal["passed", "failed", "pending", "unknown", "blocked"]
Conclusion = Literal[
    "success", "failure", "timed_out", "startup_failure", "cancelled", "action_required", "neutral", "skipped",
    "stale", "queued", "running", "unrecognised",
]  # fmt: skip
# yes, no: a list of required checks is known (from the task or the forge), and it decides. assumed: none is, so all
# of them count; where the provider says that a check may fail, `no`.
Required = Literal["yes", "assumed", "no"]

# ---- what a provider's word means -------------------------------------------------------------------------
WORDS: dict[str, dict[str, Conclusion]] = {
    "github check run": {
        "success": "success",
        "failure": "failure",
        "timed_out": "timed_out",
        "startup_failure": "startup_failure",
        "cancelled": "cancelled",
        "action_required": "action_required",
        "neutral": "neutral",
        "skipped": "skipped",
        "stale": "stale",
        "queued": "queued",
        "requested": "queued",
        "waiting": "queued",
        "pending": "queued",
        "in_progress": "running",
    },
    "github status": {
        "success": "success",
        "failure": "failure",
        "error": "failure",
        "pending": "running",
    },
    "gitlab": {
        "success": "success",
        "failed": "failure",
        "canceled": "cancelled",
        "canceling": "cancelled",
        "skipped": "skipped",
        "manual": "action_required",
        "created": "queued",
        "waiting_for_resource": "queued",
        "waiting_for_callback": "queued",
        "preparing": "queued",
        "pending": "queued",
        "scheduled": "queued",
        "running": "running",
    },
    "buildbot": {
        "0": "success",  # SUCCESS
        "1": "success",  # WARNINGS
        "2": "failure",  # FAILURE
        "3": "skipped",  # SKIPPED
        "4": "startup_failure",  # EXCEPTION
        "5": "queued",  # RETRY: another build of the same request follows
        "6": "cancelled",  # CANCELLED
        "queued": "queued",
        "running": "running",
    },
    "command": {
        word: word
        for word in (
            "success", "failure", "timed_out", "startup_failure", "cancelled", "action_required", "neutral",
            "skipped", "stale", "queued", "running",
        )
    },
}  # fmt: skip


def conclusion(source: str, word: object) -> Conclusion:
    """What a provider's word means; `unrecognised` for one that the table does not know."""
    return WORDS[source].get(str(word), "unrecognised")


# ---- what one check says ----------------------------------------------------------------------------------
# (conclusion, required) -> its state; None: it counts for nothing, neither way.
CHECK: dict[Conclusion, dict[Required, CiState | None]] = {
    "success": {"yes": "passed", "assumed": "passed", "no": None},
    "failure": {"yes": "failed", "assumed": "failed", "no": None},
    "timed_out": {"yes": "failed", "assumed": "failed", "no": None},
    "startup_failure": {"yes": "failed", "assumed": "failed", "no": None},
    "cancelled": {"yes": "unknown", "assumed": "unknown", "no": None},
    "action_required": {"yes": "blocked", "assumed": "blocked", "no": None},
    "neutral": {"yes": "unknown", "assumed": None, "no": None},
    "skipped": {"yes": "unknown", "assumed": None, "no": None},
    "stale": {"yes": "unknown", "assumed": "unknown", "no": None},
    "queued": {"yes": "pending", "assumed": "pending", "no": None},
    "running": {"yes": "pending", "assumed": "pending", "no": None},
    "unrecognised": {"yes": "unknown", "assumed": "unknown", "no": None},
}
WHY: dict[Conclusion, str] = {
    "success": "",
    "failure": "it failed",
    "timed_out": "it ran out of time",
    "startup_failure": "it could not be started",
    "cancelled": "it was cancelled: that says nothing of the commit; run it again",
    "action_required": "a person must act before it runs or counts",
    "neutral": "it says neither; `accept: [neutral]` lets it be",
    "skipped": "it was skipped; `accept: [skipped]` lets it be",
    "stale": "the forge gave up on it; run it again",
    "queued": "it has not begun",
    "running": "it is running",
    "unrecognised": "its conclusion is a word that this version does not know",
}

# Which of the checks are looked at by the table above at all.
Counts = Literal["counts", "replaced", "other commit"]
COUNTS: dict[tuple[bool, bool], Counts] = {  # (same commit, newest attempt)
    (True, True): "counts",
    (True, False): "replaced",
    (False, True): "other commit",
    (False, False): "other commit",
}


class CiCheck(Frozen):
    """One check as it was read. `attempt` counts from 1 among those of the same `key` on the same commit; a check
    of a lower attempt was replaced, and so is one whose whole run was (`replaced`). `why` is the provider's or our
    word on it, one line."""

    name: str
    key: str = ""
    conclusion: Conclusion
    required: Required = "assumed"
    attempt: int = 1
    sha: str
    url: str = ""
    why: str = ""
    replaced: bool = False
    state: CiState | None = None
    counts: Counts = "counts"

    @property
    def said(self) -> str:
        """One line for people and models."""
        facts: list[str] = [self.conclusion]
        facts += {"yes": ["required"], "no": ["not required"], "assumed": []}[self.required]
        facts += [f"attempt {self.attempt}"] if self.attempt > 1 else []
        facts += [] if self.counts == "counts" else [self.counts]
        why = f": {self.why}" if self.why and self.conclusion != "success" else ""
        url = f" {self.url}" if self.url and self.conclusion != "success" else ""
        return f"{self.name}: {', '.join(facts)}{why}{url}"


# ---- what all of it says ----------------------------------------------------------------------------------
Sight = Literal["same", "moved on", "not pushed"]  # where the remote's branch stands, seen from this commit
Conflict = Literal["none", "yes", "not computed"]
Review = Literal["not needed", "given", "missing"]
Request = Literal["none", "open", "merged", "closed"]


@dataclass(frozen=True)
class Facts:
    """What a provider read, for `judge`.

    sha       the commit that is asked about; `checks` may hold those of others.
    required  names or globs of the checks that must pass (from the task and the forge); None: no list is known.
    accept    `neutral`, `skipped`: what a required check may say without counting either way.
    quiet     seconds since the push or the last thing that any check did, whichever is later; None: not known.
    grace     how long checks may take to appear; give_up: how long nothing may move while something is pending.
    whole     whether everything that there is was read. note: the forge's words on where it stands, one line.
    """

    sha: str
    checks: Sequence[CiCheck] = ()
    required: tuple[str, ...] | None = None
    accept: tuple[str, ...] = ()
    sight: Sight = "same"
    request: Request = "none"
    conflict: Conflict = "none"
    review: Review = "not needed"
    quiet: float | None = None
    grace: float = 300.0
    give_up: float = 86400.0
    whole: bool = True
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One row of the whole: the first whose `when` holds decides. `again`: looking later may tell more, without
    anybody's doing."""

    when: str
    state: CiState
    why: str
    again: bool = False


TOKEN = (
    "pushes made with a CI job's own default token start no workflow: push with an app's or a person's token; "
    "or the workflow does not run on this branch"
)
WHOLE: tuple[Row, ...] = (
    Row(
        "the commit is not on the remote", "pending", "this commit is not pushed: nothing can have run on it"
    ),
    Row("a check that counts has failed", "failed", "checks failed on this commit"),
    Row("a check that counts needs a person", "blocked", "a check waits for a person"),
    Row("the pull request was closed unmerged", "blocked", "the pull request was closed without a merge"),
    Row(
        "the pull request conflicts with its base",
        "blocked",
        "the pull request conflicts with its base branch",
    ),
    Row("the branch stands at another commit", "unknown", "superseded: the branch stands at another commit"),
    Row("not everything could be read", "unknown", "there is more than could be read"),
    Row(
        "a check that counts says nothing usable", "unknown", "a check that is needed says neither yes nor no"
    ),
    Row(
        "a check that counts runs, and nothing moved for too long",
        "blocked",
        "nothing has moved for too long",
    ),
    Row("a check that counts is queued or running", "pending", "checks are still to end", again=True),
    Row(
        "a required check is missing, within the grace",
        "pending",
        "required checks are still to appear",
        again=True,
    ),
    Row(
        "a required check is missing, after the grace", "blocked", f"required checks never appeared ({TOKEN})"
    ),
    Row(
        "no check at all, within the grace",
        "unknown",
        "no check has appeared yet: that is no pass",
        again=True,
    ),
    Row("no check at all, after the grace", "blocked", f"no check ever appeared ({TOKEN})"),
    Row(
        "the conflict is not computed yet",
        "pending",
        "whether it can be merged is still computed",
        again=True,
    ),
    Row("a needed review is missing", "blocked", "a review is missing"),
    Row("a check that counts passed", "passed", "every check that counts passed on this commit"),
    Row("anything else", "unknown", "nothing passed on this commit"),
)


@dataclass(frozen=True)
class Judged:
    """The row that decided, and the checks with what each of them counts for."""

    row: Row
    checks: tuple[CiCheck, ...]
    missing: tuple[str, ...] = ()


def judge(facts: Facts) -> Judged:
    """What all of it says of the commit. Pure."""
    checks = tuple(_placed(check, facts) for check in facts.checks)
    checks = _numbered(checks, facts.sha)
    checks = tuple(_stated(check, facts) for check in checks)
    told = {check.state for check in checks if check.counts == "counts"}
    names = [check.name for check in checks if check.counts == "counts"]
    missing = tuple(each for each in facts.required or () if not any(matching(name, each) for name in names))
    late = facts.quiet is not None and facts.quiet > facts.grace
    stuck = facts.quiet is not None and facts.quiet > facts.give_up
    holds: Mapping[str, bool] = {
        "the commit is not on the remote": facts.sight == "not pushed",
        "a check that counts has failed": "failed" in told,
        "a check that counts needs a person": "blocked" in told,
        "the pull request was closed unmerged": facts.request == "closed",
        "the pull request conflicts with its base": facts.conflict == "yes",
        "the branch stands at another commit": facts.sight == "moved on",
        "not everything could be read": not facts.whole,
        "a check that counts says nothing usable": "unknown" in told,
        "a check that counts runs, and nothing moved for too long": "pending" in told and stuck,
        "a check that counts is queued or running": "pending" in told,
        "a required check is missing, within the grace": bool(missing) and not late,
        "a required check is missing, after the grace": bool(missing),
        "no check at all, within the grace": not names and not late,
        "no check at all, after the grace": not names,
        "the conflict is not computed yet": facts.conflict == "not computed",
        "a needed review is missing": facts.review == "missing",
        "a check that counts passed": "passed" in told,
        "anything else": True,
    }
    return Judged(next(row for row in WHOLE if holds[row.when]), checks, missing)


def matching(name: str, wanted: str) -> bool:
    """Whether a check's name is the wanted one: the same, or matched by it as a glob (`test (*)`)."""
    return name == wanted or fnmatchcase(name, wanted)


def flaky(checks: Sequence[CiCheck]) -> tuple[str, ...]:
    """Names of checks that failed in one attempt and passed in a later one, on the same commit. Nothing else is
    evidence of flakiness."""
    red = {_key(check) for check in checks if check.counts == "replaced" and _red(check)}
    green = [check for check in checks if check.counts == "counts" and check.conclusion == "success"]
    return tuple(check.name for check in green if _key(check) in red)


def _red(check: CiCheck) -> bool:
    return check.conclusion in ("failure", "timed_out", "startup_failure")


def _placed(check: CiCheck, facts: Facts) -> CiCheck:
    if facts.required is None:
        return check
    needed = any(matching(check.name, each) for each in facts.required)
    return check.model_copy(update={"required": "yes" if needed else "no"})


def _numbered(checks: Sequence[CiCheck], sha: str) -> tuple[CiCheck, ...]:
    """Each with whether it counts: not what a newer attempt replaced, not what ran on another commit."""
    newest: dict[str, int] = {}
    for check in checks:
        if check.sha == sha:
            newest[_key(check)] = max(newest.get(_key(check), 0), check.attempt)

    def counts(check: CiCheck) -> Counts:
        current = check.attempt >= newest.get(_key(check), 0) and not check.replaced
        return COUNTS[check.sha == sha, current]

    return tuple(check.model_copy(update={"counts": counts(check)}) for check in checks)


def _stated(check: CiCheck, facts: Facts) -> CiCheck:
    """Each with the state that the table gives it, and why it is no pass."""
    state = CHECK[check.conclusion][check.required] if check.counts == "counts" else None
    if check.required == "yes" and check.conclusion in facts.accept and state == "unknown":
        state = None
    why = check.why or WHY[check.conclusion]
    return check.model_copy(update={"state": state, "why": why})


def _key(check: CiCheck) -> str:
    return check.key or check.name
