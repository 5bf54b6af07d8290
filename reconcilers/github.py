"""What GitHub says of a commit: check runs, statuses, workflow runs with their attempts, the pull request, its
reviews, and what the branch's rules require."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from glob import escape
from typing import Any
from urllib.parse import quote

from contracts.authorities import CiOptions
from contracts.ci import CiCheck, Conflict, Facts, Request, Review, Sight, conclusion
from contracts.errors import Permanent
from contracts.text import line
from reconcilers.http import Client, good, moment

ACCEPT = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
REVIEWERS = ("OWNER", "MEMBER", "COLLABORATOR")  # whose reviews count
PAGE = {"per_page": 100}
Json = Mapping[str, Any]


class Github:
    """Reads one repository. `base` is the branch whose rules hold where neither the task nor a pull request says."""

    def __init__(self, options: CiOptions, token: str, base: str) -> None:
        headers = ACCEPT | ({"Authorization": f"Bearer {token}"} if token else {})
        self._options, self._base = options, base
        self._http = Client(options.place, headers, secret=bool(token))
        owner, _, name = str(options.repository).partition("/")
        self._repo = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"

    def facts(self, sha: str, now: float, deadline: float) -> Facts:
        """What is known of the commit. Raises Later, Permanent."""
        http, at = self._http, f"{self._repo}/commits/{sha}"
        commit = http.get(at, deadline=deadline)
        if commit.status == 422:  # GitHub's word for a commit that it does not have
            return Facts(sha, sight="not pushed")
        pushed = good(commit, at).body["commit"]["committer"]["date"]
        runs = http.pages(
            f"{self._repo}/actions/runs", {"head_sha": sha, **PAGE}, key="workflow_runs", deadline=deadline
        )
        found = http.pages(f"{at}/check-runs", {"filter": "all", **PAGE}, key="check_runs", deadline=deadline)
        statuses = http.pages(f"{at}/status", PAGE, key="statuses", deadline=deadline)
        attempts = self._attempts(runs, deadline)
        pull, sight = self._pull(at, sha, deadline)
        needed, reviews = self._rules(pull, deadline)
        checks = [*_check_runs(found, runs, attempts, needed), *_bare_runs(runs, found)]
        checks += [_status(status, needed) for status in statuses]
        moments = [pushed, *_moments(runs, found, statuses)] + ([pull["created_at"]] if pull else [])
        last = max(filter(None, map(moment, moments)), default=None)
        if not checks and (late := self._pushed(sha, pull, deadline)) is not None:
            last = max(last or 0.0, late)
        required = (*self._options.required, *map(escape, needed))
        return Facts(
            sha,
            checks,
            required=required or None,
            accept=self._options.accept,
            sight=sight,
            request=_request(pull),
            conflict=_conflict(pull),
            review=self._review(pull, reviews, deadline),
            quiet=None if last is None else max(0.0, now - last),
            note=f"pull request {pull['number']} at {pull['head']['sha'][:12]}" if pull else "",
        )

    def _attempts(self, runs: Iterable[Json], deadline: float) -> dict[int, int]:
        """Check run -> attempt, of the jobs of the runs that were run again."""
        found: dict[int, int] = {}
        for run in runs:
            if run.get("run_attempt", 1) > 1:
                path = f"{self._repo}/actions/runs/{run['id']}/jobs"
                for job in self._http.pages(path, {"filter": "all", **PAGE}, key="jobs", deadline=deadline):
                    found[int(job["check_run_url"].rpartition("/")[2])] = int(job.get("run_attempt") or 1)
        return found

    # ---- the pull request and the rules -----------------------------------------------------------------------
    def _pull(self, at: str, sha: str, deadline: float) -> tuple[Json | None, Sight]:
        """The pull request that stands at the commit, an open one first; else, where no branch stands there, the
        one that has moved on from it."""
        pulls = self._http.pages(f"{at}/pulls", PAGE, deadline=deadline)
        here = [pull for pull in pulls if pull["head"]["sha"] == sha]
        if not here and self._http.pages(f"{at}/branches-where-head", deadline=deadline):
            return None, "same"  # others that hold the commit are not its own
        found = here or [pull for pull in pulls if pull["state"] == "open"]
        sight: Sight = "same" if here else "moved on"
        if not found:
            return None, sight
        best = max(found, key=lambda pull: (pull["state"] == "open", pull["number"]))
        return self._http.read(f"{self._repo}/pulls/{best['number']}", deadline=deadline), sight

    def _rules(self, pull: Json | None, deadline: float) -> tuple[dict[str, int | None], int]:
        """The checks that the branch requires, each with the app that it must come from (None: any), and how many
        reviews."""
        branch = self._options.branch or (pull["base"]["ref"] if pull else self._base)
        needed: dict[str, int | None] = {}
        reviews = 0
        path = f"{self._repo}/rules/branches/{quote(branch, safe='')}"
        for rule in self._http.pages(path, PAGE, deadline=deadline):
            said = rule.get("parameters") or {}
            if rule["type"] == "required_status_checks":
                for check in said.get("required_status_checks", ()):
                    needed[check["context"]] = check.get("integration_id") or needed.get(check["context"])
            elif rule["type"] == "pull_request":
                reviews = max(reviews, int(said.get("required_approving_review_count") or 0))
        path = f"{self._repo}/branches/{quote(branch, safe='')}"
        answer = self._http.get(path, deadline=deadline)
        if answer.status != 404:  # a base that is a tag or a commit has no rules
            protection = good(answer, path).body.get("protection") or {}
            told = protection.get("required_status_checks") or {}
            apps = {check["context"]: check.get("app_id") for check in told.get("checks") or ()}
            for name in told.get("contexts") or ():
                needed[name] = needed.get(name) or apps.get(name)
        return {name: app if app and app > 0 else None for name, app in needed.items()}, reviews

    def _review(self, pull: Json | None, needed: int, deadline: float) -> Review:
        if pull is None or not needed or not self._options.reviews or pull["state"] != "open":
            return "not needed"
        latest: dict[str, str] = {}
        path = f"{self._repo}/pulls/{pull['number']}/reviews"
        for review in self._http.pages(path, PAGE, deadline=deadline):
            who = (review.get("user") or {}).get("login")
            if who and review["state"] != "COMMENTED" and review.get("author_association") in REVIEWERS:
                latest[who] = review["state"]
        approved = sum(state == "APPROVED" for state in latest.values())
        return "given" if approved >= needed and "CHANGES_REQUESTED" not in latest.values() else "missing"

    def _pushed(self, sha: str, pull: Json | None, deadline: float) -> float | None:
        """When the commit was pushed, where GitHub still knows; the commit may be older than its push."""
        try:
            pushes = self._http.pages(
                f"{self._repo}/activity", {"time_period": "day", **PAGE}, deadline=deadline
            )
        except Permanent:
            return None
        return max(
            filter(None, (moment(push["timestamp"]) for push in pushes if push["after"] == sha)), default=None
        )


# ---- checks -----------------------------------------------------------------------------------------------
def _check_runs(
    found: Iterable[Json], runs: Iterable[Json], attempts: Mapping[int, int], needed: Mapping[str, int | None]
) -> list[CiCheck]:
    by_suite = {run.get("check_suite_id"): run for run in runs}
    newest = _newest(runs)
    groups: dict[str, list[tuple[int, int, Json, bool]]] = defaultdict(list)
    for check in found:
        id = int(check["id"])
        run = by_suite.get((check.get("check_suite") or {}).get("id"))
        if run is None:  # of another app, whose runs of one name replace one another
            app = (check.get("app") or {}).get("slug") or ""
            groups[f"{app}/{check['name']}"].append((0, id, check, False))
        else:
            order = (int(run["id"]), attempts.get(id, 1))
            replaced = int(run["id"]) != newest[_flow(run)]
            groups[f"{_flow(run)}/{check['name']}"].append((*order, check, replaced))
    made: list[CiCheck] = []
    for key, group in groups.items():
        orders = sorted({each[:2] for each in group})
        for of_run, attempt, check, replaced in group:
            name = _named(check["name"], (check.get("app") or {}).get("id"), needed)
            made.append(_check(name, key, check, orders.index((of_run, attempt)) + 1, replaced))
    return made


def _named(name: str, app: int | None, needed: Mapping[str, int | None]) -> str:
    """The check's name; one that is required of another app can't take its place, and says so."""
    wanted = needed.get(name)
    return line(name if wanted in (None, app) else f"{name} (not of the app that is required)", 160)


def _check(name: str, key: str, check: Json, attempt: int, replaced: bool) -> CiCheck:
    done = check["status"] == "completed"
    output = check.get("output") or {}
    told = " ".join(str(output[part]) for part in ("title", "summary") if output.get(part))
    return CiCheck(
        name=name,
        key=line(key, 400),
        conclusion=conclusion("github check run", check["conclusion"] if done else check["status"]),
        attempt=attempt,
        sha=check["head_sha"],
        url=line(check.get("html_url") or check.get("details_url") or "", 200),
        why=line(told, 200),
        replaced=replaced,
    )


def _bare_runs(runs: Iterable[Json], found: Iterable[Json]) -> list[CiCheck]:
    """Newest runs without a check run: they wait, could not be started, or a person must let them run."""
    suites = {(check.get("check_suite") or {}).get("id") for check in found}
    newest = _newest(runs)
    return [
        CiCheck(
            name=line(run.get("name") or run.get("path") or "workflow", 160),
            key=f"{_flow(run)}/",
            conclusion=conclusion(
                "github check run", run["conclusion"] if run["status"] == "completed" else run["status"]
            ),
            attempt=int(run.get("run_attempt") or 1),
            sha=run["head_sha"],
            url=line(run.get("html_url") or "", 200),
        )
        for run in runs
        if run.get("check_suite_id") not in suites and int(run["id"]) == newest[_flow(run)]
    ]


def _flow(run: Json) -> str:
    """A workflow and what started it: a newer run of the same one replaces the older."""
    return f"{run['workflow_id']}/{run['event']}"


def _newest(runs: Iterable[Json]) -> dict[str, int]:
    newest: dict[str, int] = {}
    for run in runs:
        newest[_flow(run)] = max(newest.get(_flow(run), 0), int(run["id"]))
    return newest


def _status(status: Json, needed: Mapping[str, int | None]) -> CiCheck:
    """A commit status; its own address names the commit that it is of, its picture's the app that it is from."""
    app = re.search(r"/in/(\d+)", status.get("avatar_url") or "")
    return CiCheck(
        name=_named(status["context"], int(app[1]) if app else None, needed),
        key=line(f"status/{status['context']}", 400),
        conclusion=conclusion("github status", status["state"]),
        sha=status["url"].rpartition("/")[2],
        url=line(status.get("target_url") or "", 200),
        why=line(status.get("description") or "", 200),
    )


# ---- the pull request -------------------------------------------------------------------------------------
def _request(pull: Json | None) -> Request:
    if pull is None:
        return "none"
    return "open" if pull["state"] == "open" else "merged" if pull.get("merged") else "closed"


def _conflict(pull: Json | None) -> Conflict:
    if pull is None or pull["state"] != "open":
        return "none"
    return "not computed" if pull.get("mergeable") is None else "none" if pull["mergeable"] else "yes"


def _moments(runs: Iterable[Json], checks: Iterable[Json], statuses: Iterable[Json]) -> list[str]:
    """When anything moved, as the forge writes times."""
    return [
        str(item[name])
        for items, names in (
            (runs, ("created_at", "updated_at")),
            (checks, ("started_at", "completed_at")),
            (statuses, ("created_at", "updated_at")),
        )
        for item in items
        for name in names
        if item.get(name)
    ]
