"""GitLab with a Git remote behind it: merge requests stand where their branches stand, and what is asked of it by POST
and PUT is done. Quick actions in what is posted take effect, as they do there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.controller.world import git
from tests.forge.gitlab import PROJECT, GitlabStub
from tests.forge.server import Reply

_QUICK = re.compile(r"(?m)^/(merge|close|approve)\b")


class Lab(GitlabStub):
    """`remote` is a bare repository. `me` is whose token it is. `blocked` are the merge requests that may not be
    merged, with the status that GitLab answers."""

    def __init__(self, remote: Path, me: str = "bot") -> None:
        super().__init__()
        self.remote, self.me = remote, me
        self.blocked: dict[int, int] = {}
        self.traces: dict[int, bytes] = {}
        self.quick: list[str] = []  # quick actions that took effect

    def tip(self, branch: str) -> str | None:
        rows = git(self.remote, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return rows.strip() or None

    def moved(self) -> None:
        self.commits = git(self.remote, "rev-list", "--all").split()
        for request in self.requests:
            tip = self.tip(request["source_branch"])
            if request["state"] == "opened" and tip is not None:
                request["sha"] = tip

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        self.moved()
        if path == f"{PROJECT}/merge_requests" and "source_branch" not in query:
            state = query.get("state", ["all"])[0]
            return Reply(200, [each for each in self.requests[::-1] if state in ("all", each["state"])])
        if found := re.fullmatch(rf"{PROJECT}/jobs/(\d+)/trace", path):
            trace = self.traces.get(int(found[1]))
            return Reply(404, b"") if trace is None else Reply(200, trace, {"Content-Type": "text/plain"})
        return super().at(path, query)

    def note(self, at: str, by: str, body: str, *, system: bool = False) -> dict[str, Any]:
        """As of now."""
        super().note(at, by, body, system=system)
        made = self.notes[at][-1]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        made |= {"created_at": now, "updated_at": now}
        return made

    # ---- what is done -----------------------------------------------------------------------------------------
    def act(self, method: str, path: str, body: Any) -> Reply:
        self.moved()
        for wanted, pattern, deed in DEEDS:
            if wanted == method and (found := re.fullmatch(pattern, path)):
                reply: Reply = deed(self, *found.groups(), body=body or {})
                return reply
        return Reply(404, {"error": "404 Not Found"})

    def _make(self, *, body: Any) -> Reply:
        branch = body["source_branch"]
        if self.tip(branch) is None:
            return Reply(400, {"message": ["Source branch does not exist"]})
        if any(each["source_branch"] == branch and each["state"] == "opened" for each in self.requests):
            return Reply(
                409, {"message": ["Another open merge request already exists for this source branch: !1"]}
            )
        self._obey(body["description"])
        title = body["title"]
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        made = self.request(
            str(self.tip(branch)), source_branch=branch, target_branch=body["target_branch"], title=title,
            description=body["description"], draft=title.startswith("Draft: "), created_at=when,
            source_project_id=1, target_project_id=1,
        )  # fmt: skip
        return Reply(201, made)

    def _change(self, number: str, *, body: Any) -> Reply:
        made = self._found(number)
        self._obey(body.get("description", ""))
        made |= {name: each for name, each in body.items() if name in ("title", "description")}
        return Reply(200, made)

    def _merge(self, number: str, *, body: Any) -> Reply:
        made = self._found(number)
        if status := self.blocked.get(int(number)):
            return Reply(status, {"message": f"{status} Not allowed"})
        if body.get("sha") not in (None, made["sha"]):
            return Reply(409, {"message": "SHA does not match HEAD of source branch"})
        git(self.remote, "update-ref", f"refs/heads/{made['target_branch']}", made["sha"])
        made |= {"state": "merged", "merge_commit_sha": made["sha"]}
        return Reply(200, made)

    def _say(self, at: str, *, body: Any) -> Reply:
        self._obey(body["body"])
        return Reply(201, self.note(at, self.me, body["body"]))

    def _retry(self, pipeline: str, *, body: Any) -> Reply:
        made = next(each for each in self.pipelines if each["id"] == int(pipeline))
        for job in list(self.jobs[made["id"]]):
            if job["status"] == "failed":
                self.job(made, job["name"], "pending")
        made["status"] = "running"
        return Reply(201, made)

    def _obey(self, text: str) -> None:
        self.quick += _QUICK.findall(text)

    def _found(self, number: str) -> dict[str, Any]:
        return next(each for each in self.requests if each["iid"] == int(number))


DEEDS: tuple[tuple[str, str, Any], ...] = (
    ("POST", rf"{PROJECT}/merge_requests", Lab._make),
    ("PUT", rf"{PROJECT}/merge_requests/(\d+)", Lab._change),
    ("PUT", rf"{PROJECT}/merge_requests/(\d+)/merge", Lab._merge),
    ("POST", rf"{PROJECT}/((?:issues|merge_requests)/\d+)/notes", Lab._say),
    ("POST", rf"{PROJECT}/pipelines/(\d+)/retry", Lab._retry),
)
