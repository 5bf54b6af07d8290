"""GitHub's REST API as data."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from contracts.deeds import Forge
from contracts.forge_api import PAGE, Call, Comment, Job, Json, Thread, moment, request_of
from contracts.forge_reading import CiRun, Request
from contracts.text import line

RED = ("failure", "timed_out", "cancelled", "startup_failure")


class GithubApi:
    """One repository."""

    counted = False

    def __init__(self, forge: Forge) -> None:
        self._owner, _, name = str(forge.repository).partition("/")
        self._full, self._merge = str(forge.repository), forge.merge
        self._repo = f"/repos/{quote(self._owner, safe='')}/{quote(name, safe='')}"

    def headers(self, token: str) -> dict[str, str]:
        said = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        return said | ({"Authorization": f"Bearer {token}"} if token else {})

    # ---- pull requests ----------------------------------------------------------------------------------------
    def requests(self, branch: str) -> Call:
        return Call(f"{self._repo}/pulls", {"head": f"{self._owner}:{branch}", "state": "all", **PAGE})

    def open_requests(self) -> Call:
        return Call(f"{self._repo}/pulls", {"state": "open", **PAGE})

    def newest_requests(self) -> Call:
        return Call(f"{self._repo}/pulls", {"state": "all", "sort": "created", "direction": "desc", **PAGE})

    def request_at(self, number: int) -> Call:
        return Call(f"{self._repo}/pulls/{number}")

    def request(self, told: Json) -> Request | None:
        """None for one from a fork."""
        of = told["head"].get("repo") or {}
        if str(of.get("full_name", self._full)).lower() != self._full.lower():
            return None
        merged = bool(told.get("merged") or told.get("merged_at"))
        return request_of(
            told["number"],
            "merged" if merged else "open" if told["state"] == "open" else "closed",
            told,
            text=told.get("body"),
            draft=bool(told.get("draft")),
            head=str(told["head"]["sha"]),
            base=str(told["base"]["ref"]),
            url=line(str(told["html_url"]), 200),
            merged=str(told.get("merge_commit_sha") or "") if merged else "",
        )

    def text(self, told: Json) -> str:
        return str(told.get("body") or "")

    def make(self, branch: str, base: str, title: str, body: str, draft: bool) -> Call:
        said = {"title": title, "head": branch, "base": base, "body": body, "draft": draft}
        return Call(f"{self._repo}/pulls", method="POST", body=said)

    def change(self, number: int, title: str | None, body: str | None) -> Call:
        said = {name: each for name, each in (("title", title), ("body", body)) if each is not None}
        return Call(f"{self._repo}/pulls/{number}", method="PATCH", body=said)

    def merge(self, number: int, sha: str) -> Call:
        """GitHub refuses it when the pull request stands at another commit."""
        said = {"sha": sha, "merge_method": self._merge}
        return Call(f"{self._repo}/pulls/{number}/merge", method="PUT", body=said)

    # ---- what is said -----------------------------------------------------------------------------------------
    def comments(self, thread: Thread, number: int) -> Call:
        return Call(f"{self._repo}/issues/{number}/comments", PAGE)

    def comment(self, told: Json) -> Comment | None:
        made, changed = moment(told["created_at"]), moment(told["updated_at"])
        return Comment(
            id=f"comment {told['id']}",
            by=str((told.get("user") or {}).get("login") or ""),
            body=str(told.get("body") or ""),
            made=made,
            edited=changed != made,
            url=line(str(told.get("html_url") or ""), 200),
        )

    def reviews(self, number: int) -> Call | None:
        return Call(f"{self._repo}/pulls/{number}/reviews", PAGE)

    def review(self, told: Json) -> Comment | None:
        """GitHub does not say when a review was edited; one that is pending is nobody's word yet."""
        if told["state"] == "PENDING":
            return None
        return Comment(
            id=f"review {told['id']}",
            by=str((told.get("user") or {}).get("login") or ""),
            body=str(told.get("body") or ""),
            made=moment(told.get("submitted_at")),
            edited=False,
            url=line(str(told.get("html_url") or ""), 200),
            on=str(told.get("commit_id") or ""),
        )

    def say(self, thread: Thread, number: int, body: str) -> Call:
        return Call(f"{self._repo}/issues/{number}/comments", method="POST", body={"body": body})

    # ---- CI ---------------------------------------------------------------------------------------------------
    def runs(self, sha: str) -> Call:
        return Call(f"{self._repo}/actions/runs", {"head_sha": sha, **PAGE}, key="workflow_runs")

    def run(self, told: Json) -> CiRun:
        over = told["status"] == "completed"
        return CiRun(
            id=int(told["id"]),
            name=line(str(told.get("name") or told.get("path") or "workflow"), 160),
            flow=f"{told.get('workflow_id')}/{told.get('event')}",
            attempt=int(told.get("run_attempt") or 1),
            failed=over and told["conclusion"] in RED,
            over=over,
        )

    def jobs(self, run: int) -> Call:
        return Call(f"{self._repo}/actions/runs/{run}/jobs", {"filter": "latest", **PAGE}, key="jobs")

    def job(self, told: Json) -> Job:
        return Job(int(told["id"]), str(told["name"]), told.get("conclusion") in RED)

    def attempt(self, jobs: Sequence[Json]) -> int:
        return max((int(job.get("run_attempt") or 1) for job in jobs), default=1)

    def rerun(self, run: int) -> Call:
        return Call(f"{self._repo}/actions/runs/{run}/rerun-failed-jobs", method="POST", body={})

    def log(self, job: int) -> Call:
        return Call(f"{self._repo}/actions/jobs/{job}/logs")
