"""GitHub's issues and pull requests, as people wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from contracts.forge import IssuesOptions, PullsOptions, Repository, Thread
from reconcilers.github import ACCEPT, PAGE
from reconcilers.http import Client
from reconcilers.written import Comment, Written, shown_comments

Json = Mapping[str, Any]


class GithubIssues:
    """Reads one repository."""

    def __init__(self, options: Repository, token: str) -> None:
        headers = ACCEPT | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = Client(options.place, headers, secret=bool(token))
        self._owner, _, name = options.repository.partition("/")
        self._repo = f"/repos/{quote(self._owner, safe='')}/{quote(name, safe='')}"

    def issues(self, asked: IssuesOptions, deadline: float) -> Sequence[Written]:
        """The one issue, or those that were asked for, newest first. Raises Later, Permanent."""
        if asked.number is not None:
            issue = self._http.read(f"{self._repo}/issues/{asked.number}", deadline=deadline)
            return [_issue(issue, self._comments(asked, issue, deadline))]
        query = {"state": asked.state, "labels": ",".join(asked.labels), "assignee": asked.assignee}
        query |= {"creator": asked.author}
        said = {name: value for name, value in query.items() if value}
        found = self._http.pages(f"{self._repo}/issues", {**said, **PAGE}, deadline=deadline)
        return [_issue(each) for each in found if "pull_request" not in each]

    def pull(self, asked: PullsOptions, branch: str, deadline: float) -> Written | None:
        """The pull request by its number, else that of the branch: an open one first, then the newest."""
        number = asked.number
        if number is None:
            query = {"head": f"{self._owner}:{branch}", "state": "all", **PAGE}
            found = self._http.pages(f"{self._repo}/pulls", query, deadline=deadline)
            found = [each for each in found if each["head"]["ref"] == branch]
            if not found:
                return None
            number = max(found, key=lambda each: (each["state"] == "open", each["number"]))["number"]
        pull = self._http.read(f"{self._repo}/pulls/{number}", deadline=deadline)
        return _pull(pull, self._comments(asked, pull, deadline))

    def _comments(self, asked: Thread, of: Json, deadline: float) -> tuple[Comment, ...]:
        """The newest comments, oldest of them first."""
        if not asked.comments or not of.get("comments"):
            return ()
        path = f"{self._repo}/issues/{of['number']}/comments"
        found = self._http.pages(path, PAGE, deadline=deadline)
        made = [
            Comment(str(each["id"]), _who(each), str(each["updated_at"]), str(each.get("body") or ""))
            for each in found
        ]
        return shown_comments(made, asked)


def _issue(issue: Json, comments: tuple[Comment, ...] = ()) -> Written:
    labels = [each if isinstance(each, str) else str(each.get("name") or "") for each in issue["labels"]]
    return Written(
        id=str(issue["number"]),
        status="open" if issue["state"] == "open" else "closed",
        title=str(issue["title"]),
        body=str(issue.get("body") or ""),
        author=_who(issue),
        updated=str(issue["updated_at"]),
        url=str(issue["html_url"]),
        labels=tuple(labels),
        comments=comments,
    )


def _pull(pull: Json, comments: tuple[Comment, ...]) -> Written:
    status = "merged" if pull["merged"] else "closed" if pull["state"] != "open" else "open"
    return Written(
        id=str(pull["number"]),
        status="draft" if status == "open" and pull.get("draft") else status,
        title=str(pull["title"]),
        body=str(pull.get("body") or ""),
        revision=str(pull["head"]["sha"]),
        into=str(pull["base"]["ref"]),
        author=_who(pull),
        updated=str(pull["updated_at"]),
        url=str(pull["html_url"]),
        labels=tuple(str(each.get("name") or "") for each in pull["labels"]),
        comments=comments,
    )


def _who(each: Json) -> str:
    return str((each.get("user") or {}).get("login") or "")
