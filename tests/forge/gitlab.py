"""A stateful stub of GitLab: one project, its pipelines, jobs, merge requests and issues."""

from __future__ import annotations

import re
from typing import Any

from tests.forge.server import Forge, Reply

WHEN = "2026-03-01T12:00:00.000Z"
PROJECT = "/projects/group%2Fsub%2Fwidget"


class GitlabStub(Forge):
    """The project is group/sub/widget. Times are WHEN."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[str] = []
        self.pipelines: list[dict[str, Any]] = []
        self.jobs: dict[int, list[dict[str, Any]]] = {}
        self.requests: list[dict[str, Any]] = []
        self.approvals: dict[int, dict[str, Any]] = {}
        self.issues: list[dict[str, Any]] = []
        self.notes: dict[str, list[dict[str, Any]]] = {}  # "issues/12" -> what was said
        self._id = 100

    def pipeline(self, sha: str, status: str, *, source: str = "push", ref: str = "topic") -> dict[str, Any]:
        made = {
            "id": self._new(), "iid": self._id, "project_id": 1, "sha": sha, "ref": ref, "status": status,
            "source": source, "created_at": WHEN, "updated_at": WHEN,
            "web_url": f"https://gitlab.example/group/sub/widget/-/pipelines/{self._id}",
        }  # fmt: skip
        self.pipelines.insert(0, made)
        return made

    def job(
        self, pipeline: dict[str, Any], name: str, status: str, *, allow: bool = False, why: str = ""
    ) -> None:
        self.jobs.setdefault(pipeline["id"], []).insert(
            0,
            {
                "id": self._new(), "name": name, "stage": "test", "status": status, "allow_failure": allow,
                "failure_reason": why or None, "created_at": WHEN, "started_at": WHEN,
                "finished_at": WHEN if status in ("success", "failed") else None,
                "web_url": f"https://gitlab.example/group/sub/widget/-/jobs/{self._id}",
            },
        )  # fmt: skip

    def request(self, sha: str, **more: Any) -> dict[str, Any]:
        made = {
            "iid": len(self.requests) + 1, "sha": sha, "state": "opened", "has_conflicts": False,
            "detailed_merge_status": "mergeable", "source_branch": "topic", "target_branch": "main",
            "title": "Topic", "description": None, "draft": False, "author": {"username": "ana"}, "labels": [],
            "updated_at": WHEN, "web_url": "https://gitlab.example/r", **more,
        }  # fmt: skip
        self.requests.append(made)
        return made

    def issue(self, title: str, description: str | None = None, **more: Any) -> dict[str, Any]:
        number = len(self.issues) + 12
        made = {
            "iid": number, "title": title, "description": description, "state": "opened", "labels": [],
            "author": {"username": "ana"}, "updated_at": WHEN, "web_url": f"https://gitlab.example/i/{number}", **more,
        }  # fmt: skip
        self.issues.append(made)
        return made

    def note(self, at: str, by: str, body: str, *, system: bool = False) -> None:
        said = {
            "id": self._new(),
            "body": body,
            "author": {"username": by},
            "system": system,
            "updated_at": WHEN,
        }
        self.notes.setdefault(at, []).append(said)

    def _new(self) -> int:
        self._id += 1
        return self._id

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        if found := re.fullmatch(rf"{PROJECT}/repository/commits/([0-9a-f]+)(/merge_requests)?", path):
            if found[1] not in self.commits:
                return Reply(404, {"message": "404 Commit Not Found"})
            if found[2]:
                return Reply(200, self.requests)
            return Reply(200, {"id": found[1], "created_at": WHEN})
        if path == f"{PROJECT}/pipelines":
            return Reply(200, [each for each in self.pipelines if each["sha"] == query["sha"][0]])
        if found := re.fullmatch(rf"{PROJECT}/pipelines/(\d+)/jobs", path):
            return Reply(200, self.jobs.get(int(found[1]), []))
        if found := re.fullmatch(rf"{PROJECT}/merge_requests/(\d+)(/approvals)?", path):
            if found[2]:
                least = {"approved": True, "approvals_required": 0, "approvals_left": 0}
                return Reply(200, self.approvals.get(int(found[1]), least))
            return Reply(200, next(each for each in self.requests if each["iid"] == int(found[1])))
        if found := re.fullmatch(rf"{PROJECT}/((?:issues|merge_requests)/\d+)/notes", path):
            return Reply(200, self.notes.get(found[1], []))
        if path == f"{PROJECT}/merge_requests":
            return Reply(200, [e for e in self.requests if e["source_branch"] == query["source_branch"][0]])
        if found := re.fullmatch(rf"{PROJECT}/issues(?:/(\d+))?", path):
            if found[1] is None:
                return Reply(200, [each for each in self.issues if self._asked(each, query)])
            one = [each for each in self.issues if each["iid"] == int(found[1])]
            return Reply(200, one[0]) if one else Reply(404, {"message": "404 Issue Not Found"})
        return Reply(404, {"message": "404 Project Not Found"})

    @staticmethod
    def _asked(issue: dict[str, Any], query: dict[str, list[str]]) -> bool:
        state, labels = query.get("state", ["all"])[0], query.get("labels", [""])[0]
        return state in ("all", issue["state"]) and {*labels.split(",")} - {""} <= set(issue["labels"])
