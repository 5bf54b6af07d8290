"""GitLab's REST API (v4) as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from contracts.deeds import Forge
from contracts.forge_api import PAGE, Call, Comment, Job, Json, Thread, moment, request_of
from contracts.forge_reading import CiRun, Request
from contracts.text import line

OVER = ("success", "failed", "canceled", "skipped", "manual")
RED = ("failed", "canceled")
PLACES: dict[Thread, str] = {"request": "merge_requests", "issue": "issues"}


class GitlabApi:
    """One project, by its path or number."""

    counted = True

    def __init__(self, forge: Forge) -> None:
        self._merge = forge.merge
        self._project = f"/projects/{quote(str(forge.repository), safe='')}"

    def headers(self, token: str) -> dict[str, str]:
        return {"PRIVATE-TOKEN": token} if token else {}

    # ---- merge requests ---------------------------------------------------------------------------------------
    def requests(self, branch: str) -> Call:
        query = {"source_branch": branch, "scope": "all", "state": "all", **PAGE}
        return Call(f"{self._project}/merge_requests", query)

    def open_requests(self) -> Call:
        return Call(f"{self._project}/merge_requests", {"state": "opened", "scope": "all", **PAGE})

    def newest_requests(self) -> Call:
        query = {"state": "all", "scope": "all", "order_by": "created_at", "sort": "desc", **PAGE}
        return Call(f"{self._project}/merge_requests", query)

    def request_at(self, number: int) -> Call:
        return Call(f"{self._project}/merge_requests/{number}")

    def request(self, told: Json) -> Request | None:
        """None for one from a fork."""
        if told.get("source_project_id") != told.get("target_project_id"):
            return None
        state: Any = {"opened": "open", "merged": "merged"}.get(told["state"], "closed")
        return request_of(
            told["iid"],
            state,
            told,
            text=told.get("description"),
            draft=bool(told.get("draft")),
            head=str(told["sha"] or ""),
            base=str(told["target_branch"]),
            url=line(str(told["web_url"]), 200),
            merged=str(told.get("merge_commit_sha") or told.get("squash_commit_sha") or told["sha"] or "")
            if state == "merged"
            else "",
        )

    def text(self, told: Json) -> str:
        return str(told.get("description") or "")

    def make(self, branch: str, base: str, title: str, body: str, draft: bool) -> Call:
        said = {
            "source_branch": branch,
            "target_branch": base,
            "title": f"Draft: {title}" if draft else title,
            "description": body,
            "squash": self._merge == "squash",
        }
        return Call(f"{self._project}/merge_requests", method="POST", body=said)

    def change(self, number: int, title: str | None, body: str | None) -> Call:
        said = {name: each for name, each in (("title", title), ("description", body)) if each is not None}
        return Call(f"{self._project}/merge_requests/{number}", method="PUT", body=said)

    def merge(self, number: int, sha: str) -> Call:
        """GitLab refuses it when the merge request stands at another commit."""
        said = {"sha": sha, "squash": self._merge == "squash"}
        return Call(f"{self._project}/merge_requests/{number}/merge", method="PUT", body=said)

    # ---- what is said -----------------------------------------------------------------------------------------
    def comments(self, thread: Thread, number: int) -> Call:
        query = {"sort": "asc", "order_by": "created_at", **PAGE}
        return Call(f"{self._project}/{PLACES[thread]}/{number}/notes", query)

    def comment(self, told: Json) -> Comment | None:
        """None for what GitLab itself noted."""
        if told.get("system"):
            return None
        made, changed = moment(told["created_at"]), moment(told["updated_at"])
        return Comment(
            id=f"comment {told['id']}",
            by=str((told.get("author") or {}).get("username") or ""),
            body=str(told.get("body") or ""),
            made=made,
            edited=changed != made,
        )

    def reviews(self, number: int) -> Call | None:
        """GitLab's approvals have no words; what reviewers write are notes."""
        return None

    def review(self, told: Json) -> Comment | None:
        return None

    def say(self, thread: Thread, number: int, body: str) -> Call:
        return Call(f"{self._project}/{PLACES[thread]}/{number}/notes", method="POST", body={"body": body})

    # ---- CI ---------------------------------------------------------------------------------------------------
    def runs(self, sha: str) -> Call:
        return Call(f"{self._project}/pipelines", {"sha": sha, **PAGE})

    def run(self, told: Json) -> CiRun:
        """A pipeline does not say how often it was tried: its jobs do, see `jobs`."""
        status = str(told["status"])
        name = line(f"pipeline {told['id']} of {told.get('ref') or ''}", 160)
        flow = f"{told.get('source')}/{told.get('ref')}"
        return CiRun(id=int(told["id"]), name=name, flow=flow, failed=status in RED, over=status in OVER)

    def jobs(self, run: int) -> Call:
        return Call(f"{self._project}/pipelines/{run}/jobs", {"include_retried": "true", **PAGE})

    def job(self, told: Json) -> Job:
        """A job that was retried already has a newer one of its name."""
        return Job(int(told["id"]), str(told["name"]), told["status"] in RED and not told.get("retried"))

    def attempt(self, jobs: Sequence[Json]) -> int:
        return max(Counter(str(job["name"]) for job in jobs).values(), default=1)

    def rerun(self, run: int) -> Call:
        return Call(f"{self._project}/pipelines/{run}/retry", method="POST", body={})

    def log(self, job: int) -> Call:
        return Call(f"{self._project}/jobs/{job}/trace")
