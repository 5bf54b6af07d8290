"""What GitLab says of a commit: pipelines, their jobs with every retry, and the merge request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from contracts.authorities import CiOptions
from contracts.ci import CiCheck, Conflict, Facts, Review, Sight, conclusion
from contracts.errors import Permanent
from contracts.text import line
from reconcilers.http import Client, good, moment

PAGE = {"per_page": 100}
COMPUTING = ("unchecked", "checking", "preparing", "cannot_be_merged_rechecking", "approvals_syncing")
Json = Mapping[str, Any]


class Gitlab:
    """Reads one project, by its path or number. Which checks are required is not asked of it: the jobs of a pipeline
    that may not fail all count, or those that the task names."""

    def __init__(self, options: CiOptions, token: str, base: str) -> None:
        self._options = options
        headers = {"PRIVATE-TOKEN": token} if token else {}
        self._http = Client(options.place, headers, secret=bool(token))
        self._project = f"/projects/{quote(str(options.repository), safe='')}"

    def facts(self, sha: str, now: float, deadline: float) -> Facts:
        """What is known of the commit. Raises Later, Permanent."""
        http, at = self._http, f"{self._project}/repository/commits/{sha}"
        commit = http.get(at, deadline=deadline)
        if commit.status == 404 and "commit" in commit.said.lower():
            return Facts(sha, sight="not pushed")
        pushed = good(commit, at).body.get("created_at") or ""
        pipelines = http.pages(f"{self._project}/pipelines", {"sha": sha, **PAGE}, deadline=deadline)
        newest = _newest(pipelines)
        checks: list[CiCheck] = []
        moments = [pushed]
        for pipeline in pipelines:
            path = f"{self._project}/pipelines/{pipeline['id']}/jobs"
            jobs = http.pages(path, {"include_retried": "true", **PAGE}, deadline=deadline)
            checks += _checks(pipeline, jobs, replaced=pipeline["id"] != newest[_flow(pipeline)])
            moments += [
                str(job[name]) for job in jobs for name in ("started_at", "finished_at") if job.get(name)
            ]
            moments += [str(pipeline.get("updated_at") or pipeline.get("created_at") or "")]
        request = self._request(at, sha, deadline)
        last = max((each for each in map(moment, moments) if each is not None), default=None)
        return Facts(
            sha,
            checks,
            required=self._options.required or None,
            accept=self._options.accept,
            sight=_sight(request, sha),
            request=_state(request),
            conflict=_conflict(request),
            review=self._review(request, deadline),
            quiet=None if last is None else max(0.0, now - last),
            note=f"merge request {request['iid']} at {request['sha'][:12]}" if request else "",
        )

    def _request(self, at: str, sha: str, deadline: float) -> Json | None:
        """The merge request of the commit: an open one first, then the newest."""
        found = self._http.pages(f"{at}/merge_requests", PAGE, deadline=deadline)
        if not found:
            return None
        best = max(found, key=lambda each: (each["state"] == "opened", each.get("sha") == sha, each["iid"]))
        request: Json = self._http.read(f"{self._project}/merge_requests/{best['iid']}", deadline=deadline)
        return request

    def _review(self, request: Json | None, deadline: float) -> Review:
        if request is None or request["state"] != "opened" or not self._options.reviews:
            return "not needed"
        if request.get("detailed_merge_status") in ("not_approved", "requested_changes"):
            return "missing"
        path = f"{self._project}/merge_requests/{request['iid']}/approvals"
        told = self._http.read(path, deadline=deadline)
        if not isinstance(told, dict):
            raise Permanent(f"{path}: this is no object")
        if told.get("approvals_left"):
            return "missing"
        return "given" if told.get("approvals_required") else "not needed"


def _checks(pipeline: Json, jobs: Iterable[Json], *, replaced: bool) -> list[CiCheck]:
    """The pipeline itself, which covers what its jobs do not show (a file that is no YAML, other pipelines), and its
    jobs. A job of the same name in the same pipeline is a retry of the older one."""
    flow = _flow(pipeline)
    source = line(str(pipeline.get("source") or "push"), 40)
    made = [
        CiCheck(
            name=f"pipeline {source}",
            key=line(flow, 400),
            conclusion=conclusion("gitlab", pipeline["status"]),
            sha=pipeline["sha"],
            url=line(pipeline.get("web_url") or "", 200),
            replaced=replaced,
        )
    ]
    attempts: dict[str, int] = {}
    for job in sorted(jobs, key=lambda each: int(each["id"])):
        name = line(job["name"], 160)
        attempts[name] = attempts.get(name, 0) + 1
        made.append(
            CiCheck(
                name=name,
                key=line(f"{flow}/{name}", 400),
                conclusion=conclusion("gitlab", job["status"]),
                required="no" if job.get("allow_failure") else "assumed",
                attempt=attempts[name],
                sha=pipeline["sha"],
                url=line(job.get("web_url") or "", 200),
                why=line(str(job.get("failure_reason") or ""), 200),
                replaced=replaced,
            )
        )
    return made


def _flow(pipeline: Json) -> str:
    """What started a pipeline, and where: a newer one of the same replaces the older."""
    return f"{pipeline.get('source') or 'push'}/{pipeline.get('ref') or ''}"


def _newest(pipelines: Iterable[Json]) -> dict[str, int]:
    newest: dict[str, int] = {}
    for pipeline in pipelines:
        newest[_flow(pipeline)] = max(newest.get(_flow(pipeline), 0), int(pipeline["id"]))
    return newest


def _sight(request: Json | None, sha: str) -> Sight:
    moved = request is not None and request["state"] == "opened" and request["sha"] != sha
    return "moved on" if moved else "same"


def _state(request: Json | None) -> Any:
    return {None: "none", "opened": "open", "merged": "merged"}.get(
        request["state"] if request else None, "closed"
    )


def _conflict(request: Json | None) -> Conflict:
    if request is None or request["state"] != "opened":
        return "none"
    said = request.get("detailed_merge_status")
    if request.get("has_conflicts") or said == "conflict":
        return "yes"
    return "not computed" if said in COMPUTING else "none"
