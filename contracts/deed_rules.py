"""What a deed on the forge rests on, and when it may not be done: as things stand, or for its caps. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contracts.base import JsonObject
from contracts.deeds import Forge
from contracts.forge_marks import short
from contracts.forge_reading import ForgeReading, Request

HEAD = "head"
BRANCH, REQUEST, RUNS = "forge branch", "forge request", "forge runs"  # in a basis
HOUR = 3600.0
NONE = "none"


def basis_of(tool: str, now: ForgeReading) -> dict[str, str]:
    """What the deed acts on, as it is now: another value makes it another deed."""
    request = now.request
    number = str(request.number) if request else NONE
    match tool:
        case "git_push" | "git_pull" | "pr_open":
            return {HEAD: now.sha, BRANCH: now.tip or NONE}
        case "pr_update":
            return {REQUEST: f"{number} text {request.body if request else NONE}"}
        case "pr_merge":
            return {HEAD: now.sha, REQUEST: f"{number} at {request.head if request else NONE}"}
        case "pr_comment":
            return {REQUEST: number}
        case "ci_rerun":
            runs = " ".join(f"{run.id}:{run.attempt}" for run in now.runs if run.failed)
            return {HEAD: now.sha, RUNS: runs or NONE}
        case _:
            return {}


def number_in(basis: Mapping[str, str]) -> int:
    """The pull request that a basis names."""
    return int(basis[REQUEST].split(" ", 1)[0])


def runs_in(basis: Mapping[str, str]) -> dict[int, int]:
    """The runs that a basis names, each with its attempt."""
    named = basis.get(RUNS, NONE)
    pairs = (each.split(":") for each in named.split(" ") if named != NONE)
    return {int(run): int(attempt) for run, attempt in pairs}


@dataclass(frozen=True)
class Case:
    """What is judged: the deed, the reading that it rests on, the task's word, the time (UTC seconds) and the run.
    `red` is what CI says of its commit where that is no pass."""

    args: JsonObject
    now: ForgeReading
    forge: Forge
    at: float
    run: str = ""
    red: str = ""

    @property
    def request(self) -> Request | None:
        """The open pull request of the branch."""
        found = self.now.request
        return found if found is not None and found.state == "open" else None


Wrong = tuple[str, str] | None  # (code, what to do instead)


def refused(tool: str, case: Case) -> Wrong:
    """Why the deed may not be done; None when it may."""
    rule = RULES.get(tool)
    return rule(case) if rule is not None else None


def over(now: ForgeReading) -> bool:
    """Whether what stands on the remote's branch is merged, so that the branch may begin anew."""
    request = now.request
    return request is not None and request.state == "merged" and request.head == now.tip


# ---- the remote -------------------------------------------------------------------------------------------
def _push(case: Case) -> Wrong:
    now = case.now
    if now.tip == now.sha:
        return "push_nothing", f"{now.branch} on the remote is at your commit already"
    if now.tip is not None and not now.holds and not over(now):
        say = (
            f"{now.branch} on the remote holds commits of others that are not yours, and nothing is ever pushed over "
            f"them: {'; '.join(now.foreign[:3])}. `git_pull` takes them over, or `ask`"
        )
        return "push_foreign", say
    return _closed(case, "pushes")


def _pull(case: Case) -> Wrong:
    now = case.now
    if now.tip is None or now.holds:
        return "pull_nothing", f"{now.branch} on the remote holds nothing that you do not have"
    return None


# ---- pull requests ----------------------------------------------------------------------------------------
def _open(case: Case) -> Wrong:
    now, found = case.now, case.now.request
    if found is not None and found.state == "open":
        return "request_open", f"{found.said} is there already: `pr_update` changes it"
    if found is not None and found.state == "closed" and found.run == short(case.run):
        return (
            "request_closed",
            f"somebody closed pull request {found.number} without a merge: `ask` before another",
        )
    if found is not None and found.state == "merged" and found.head == now.sha:
        return "request_merged", f"pull request {found.number} merged this commit: there is nothing to open"
    if now.tip != now.sha:
        return "request_not_pushed", f"{now.branch} {now.pushed}: `git_push` first"
    return _capped(case) or _closed(case, "pull requests")


def _capped(case: Case) -> Wrong:
    caps, now = case.forge.caps, case.now
    if now.opened is None or now.recent is None:
        return "cap_unknown", "how many pull requests are open could not be read: try again later"
    if now.opened >= caps.open:
        say = f"{now.opened} pull requests of ours are open, and the task allows {caps.open}"
        return "cap_open", f"{say}: {_later(case, None)}"
    recent = [each for each in now.recent if each > case.at - HOUR]
    if len(recent) >= caps.hourly:
        say = f"{len(recent)} pull requests of ours were opened within the hour, and the task allows {caps.hourly}"
        return "cap_hourly", f"{say}: {_later(case, min(recent) + HOUR)}"
    return None


def _needs_open(case: Case) -> Wrong:
    if case.request is not None:
        return None
    found = case.now.request
    return (
        "request_none",
        f"{found.said}" if found else f"there is no pull request of {case.now.branch}: `pr_open`",
    )


def _update(case: Case) -> Wrong:
    if case.args.get("title") is None and case.args.get("body") is None:
        return "update_nothing", "say a new title, a new body, or both"
    return _needs_open(case)


def _merge(case: Case) -> Wrong:
    request = case.request
    if request is None:
        return _needs_open(case)
    if request.head != case.now.sha:
        say = f"pull request {request.number} stands at {request.head[:12]}, you are at {case.now.sha[:12]}"
        return "merge_head", f"{say}: push, or take over what is there, first"
    if request.draft:
        return "merge_draft", f"pull request {request.number} is a draft: a person makes it ready; `ask`"
    if case.red:
        return "merge_red", f"{case.red}: nothing is merged before it passes; `wait` for it, or mend it"
    return _closed(case, "merges")


# ---- CI ---------------------------------------------------------------------------------------------------
def _rerun(case: Case) -> Wrong:
    now, most = case.now, case.forge.caps.reruns
    if now.tip != now.sha:
        return "rerun_not_pushed", f"{now.branch} {now.pushed}: CI of an older commit is not run again"
    failed = [run for run in now.runs if run.failed]
    if not failed:
        busy = [run.name for run in now.runs if not run.over]
        what = (
            f"{busy[0]} is not over yet: `wait` for it" if busy else "no run of CI has failed on this commit"
        )
        return "rerun_nothing", what
    spent = [run for run in failed if run.attempt > most]
    if spent:
        say = f"{spent[0].name} was run {spent[0].attempt} times on this commit, and the task allows {most} again"
        return "cap_reruns", f"{say}: find out why it fails"
    return None


# ---- caps -------------------------------------------------------------------------------------------------
def _closed(case: Case, what: str) -> Wrong:
    caps, due = case.forge.caps, case.now.opens
    if due is None:
        return None
    say = f"the task allows {what} at {', '.join(caps.schedule)} ({caps.timezone})"
    return "cap_schedule", f"{say}: {_later(case, due)}"


def _later(case: Case, due: float | None) -> str:
    when = "" if due is None else f", which it is in {max(1, round((due - case.at) / 60)):,} min"
    return f"go on with other work, or `wait` for forge to be free{when}"


def free(now: ForgeReading, forge: Forge, at: float) -> bool:
    """Whether the caps allow another pull request at this time."""
    case = Case({}, now, forge, at)
    return not (_capped(case) or _closed(case, "pull requests"))


RULES: Mapping[str, Callable[[Case], Wrong]] = {
    "git_push": _push,
    "git_pull": _pull,
    "pr_open": _open,
    "pr_update": _update,
    "pr_merge": _merge,
    "pr_comment": _needs_open,
    "ci_rerun": _rerun,
}
