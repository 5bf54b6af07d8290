"""GitLab's issues and merge requests, as people wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from contracts.forge import IssuesOptions, PullsOptions, Repository, Thread
from reconcilers.http import Client
from reconcilers.written import Comment, Written, shown_comments

PAGE = {"per_page": 100}
STATES = {"open": "opened", "closed": "closed", "all": "all"}
Json = Mapping[str, Any]


class GitlabIssues:
    """Reads one project, by its path or number."""

    def __init__(self, options: Repository, token: str) -> None:
        headers = {"PRIVATE-TOKEN": token} if token else {}
        self._http = Client(options.place, headers, secret=bool(token))
        self._project = f"/projects/{quote(options.repository, safe='')}"

    def issues(self, asked: IssuesOptions, deadline: float) -> Sequence[Written]:
        """The one issue, or those that were asked for, newest first. Raises Later, Permanent."""
        at = f"{self._project}/issues"
        if asked.number is not None:
            issue = self._http.read(f"{at}/{asked.number}", deadline=deadline)
            return [_issue(issue, self._comments(asked, f"{at}/{asked.number}", deadline))]
        query = {"state": STATES[asked.state], "labels": ",".join(asked.labels), "scope": "all"}
        query |= {"assignee_username": asked.assignee or "", "author_username": asked.author or ""}
        said = {name: value for name, value in query.items() if value}
        return [_issue(each) for each in self._http.pages(at, {**said, **PAGE}, deadline=deadline)]

    def pull(self, asked: PullsOptions, branch: str, deadline: float) -> Written | None:
        """The merge request by its number, else that of the branch: an open one first, then the newest."""
        at, number = f"{self._project}/merge_requests", asked.number
        if number is None:
            found = self._http.pages(at, {"source_branch": branch, "scope": "all", **PAGE}, deadline=deadline)
            if not found:
                return None
            number = max(found, key=lambda each: (each["state"] == "opened", each["iid"]))["iid"]
        request = self._http.read(f"{at}/{number}", deadline=deadline)
        return _request(request, self._comments(asked, f"{at}/{number}", deadline))

    def _comments(self, asked: Thread, at: str, deadline: float) -> tuple[Comment, ...]:
        """The newest notes of people, oldest of them first."""
        if not asked.comments:
            return ()
        query = {"sort": "asc", "order_by": "created_at", **PAGE}
        found = self._http.pages(f"{at}/notes", query, deadline=deadline)
        made = [
            Comment(str(each["id"]), _who(each), str(each["updated_at"]), str(each.get("body") or ""))
            for each in found
            if not each.get("system")
        ]
        return shown_comments(made, asked)


def _issue(issue: Json, comments: tuple[Comment, ...] = ()) -> Written:
    return Written(
        id=str(issue["iid"]),
        status="open" if issue["state"] == "opened" else "closed",
        title=str(issue["title"]),
        body=str(issue.get("description") or ""),
        author=_who(issue),
        updated=str(issue["updated_at"]),
        url=str(issue["web_url"]),
        labels=tuple(map(str, issue["labels"])),
        comments=comments,
    )


def _request(request: Json, comments: tuple[Comment, ...]) -> Written:
    said = {"opened": "open", "merged": "merged"}.get(request["state"], "closed")
    return Written(
        id=str(request["iid"]),
        status="draft" if said == "open" and request.get("draft") else said,
        title=str(request["title"]),
        body=str(request.get("description") or ""),
        revision=str(request["sha"] or ""),
        into=str(request["target_branch"]),
        author=_who(request),
        updated=str(request["updated_at"]),
        url=str(request["web_url"]),
        labels=tuple(map(str, request["labels"])),
        comments=comments,
    )


def _who(each: Json) -> str:
    return str((each.get("author") or {}).get("username") or "")
