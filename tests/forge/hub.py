"""GitHub with a Git remote behind it: what stands on its branches is what was pushed there, and what is asked of it by
POST, PATCH and PUT is done. Requests and answers are validated against GitHub's published description."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.controller.world import git
from tests.forge import openapi
from tests.forge.github import GithubStub
from tests.forge.openapi import REPO
from tests.forge.server import Reply

_R = "/repos/acme/widget"
DOCS = "https://docs.github.com/rest"


class Hub(GithubStub):
    """`remote` is a bare repository. `me` is whose token it is. `blocked` are the pull requests that may not be
    merged, with why."""

    def __init__(self, remote: Path, me: str = "ana") -> None:
        super().__init__()
        self.remote, self.me = remote, me
        self.blocked: dict[int, str] = {}
        self.logs: dict[int, bytes] = {}  # job -> its log
        self.commits = _Commits(self)
        self.heads = _Heads(self)

    def tip(self, branch: str) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"],
            cwd=self.remote, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.strip() or None

    def moved(self) -> None:
        """Every open pull request stands where its branch stands; of a branch that is gone, it is closed."""
        for pull in self.pulls:
            tip = self.tip(pull["head"]["ref"])
            if pull["state"] != "open" or tip == pull["head"]["sha"]:
                continue
            if tip is None:
                pull |= {"state": "closed"}
            else:
                pull["head"]["sha"] = tip
                self.history[pull["number"]].append(tip)

    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        self.moved()
        if found := re.fullmatch(rf"{_R}/actions/jobs/(\d+)/logs", path):
            return Reply(302, b"", {"Location": f"{self.url}/kept/{found[1]}?sig=s"})
        if found := re.fullmatch(r"/kept/(\d+)", path):
            log = self.logs.get(int(found[1]))
            return Reply(200, log, {"Content-Type": "text/plain"}) if log is not None else Reply(404, b"")
        return super().at(path, query)

    def comment(self, number: int, by: str, body: str) -> dict[str, Any]:
        """As of now."""
        super().comment(number, by, body)
        made = self.comments[number][-1]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made |= {"created_at": now, "updated_at": now}
        return made

    # ---- what is done -----------------------------------------------------------------------------------------
    def act(self, method: str, path: str, body: Any) -> Reply:
        self.moved()
        for wanted, pattern, template, deed in DEEDS:
            if wanted == method and (found := re.fullmatch(pattern, path)):
                name = f"{method} {template}"
                if wrong := openapi.unasked(name, body):
                    self.wrong.append(wrong)
                reply: Reply = deed(self, *map(int, found.groups()), body=body)
                if wrong := openapi.mismatch(name, reply.status, reply.body):
                    self.wrong.append(wrong)
                return reply
        return Reply(404, {"message": "Not Found", "documentation_url": DOCS})

    def _make(self, *, body: Any) -> Reply:
        branch, base = body["head"], body["base"]
        if self.tip(branch) is None:
            return _unprocessable("PullRequest", "head", "invalid")
        if any(pull["head"]["ref"] == branch and pull["state"] == "open" for pull in self.pulls):
            said = f"A pull request already exists for acme:{branch}."
            return _unprocessable("PullRequest", "", "custom", said)
        if self.tip(branch) == self.tip(base):
            return _unprocessable("PullRequest", "", "custom", f"No commits between {base} and {branch}")
        self.when = datetime.now(UTC).isoformat(timespec="seconds")
        pull = self.open(branch, title=body["title"], body=body["body"], draft=body.get("draft", False))
        return Reply(201, pull)

    def _change(self, number: int, *, body: Any) -> Reply:
        pull = self._found(number)
        pull |= {name: each for name, each in body.items() if name in ("title", "body", "state")}
        return Reply(200, pull)

    def _merge(self, number: int, *, body: Any) -> Reply:
        pull = self._found(number)
        if number in self.blocked or pull["state"] != "open" or pull["draft"]:
            why = self.blocked.get(number, "Pull Request is not mergeable")
            return Reply(405, {"message": why, "documentation_url": DOCS})
        if body.get("sha") not in (None, pull["head"]["sha"]):
            said = "Head branch was modified. Review and try the merge again."
            return Reply(409, {"message": said, "documentation_url": DOCS})
        base, head = pull["base"]["ref"], pull["head"]["sha"]
        tree = git(self.remote, "rev-parse", f"{head}^{{tree}}").strip()
        parents = [part for parent in (self.tip(base), head) for part in ("-p", str(parent))]
        made = git(self.remote, "commit-tree", tree, *parents, "-m", f"Merge pull request #{number}").strip()
        git(self.remote, "update-ref", f"refs/heads/{base}", made)
        pull |= {"state": "closed", "merged": True, "merged_at": self.when, "merge_commit_sha": made}
        return Reply(200, {"sha": made, "merged": True, "message": "Pull Request successfully merged"})

    def _say(self, number: int, *, body: Any) -> Reply:
        if number not in {each["number"] for each in (*self.issues, *self.pulls)}:
            return Reply(404, {"message": "Not Found", "documentation_url": DOCS})
        return Reply(201, self.comment(number, self.me, body["body"]))

    def _rerun(self, run: int, *, body: Any) -> Reply:
        found = next(each for each in self.runs if each["id"] == run)
        if found["status"] != "completed":
            said = "The workflow run containing this job is already running"
            return Reply(403, {"message": said, "documentation_url": DOCS})
        found |= {"status": "queued", "conclusion": None, "run_attempt": found["run_attempt"] + 1}
        return Reply(201, {})

    def _found(self, number: int) -> dict[str, Any]:
        return next(pull for pull in self.pulls if pull["number"] == number)


def _unprocessable(resource: str, field: str, code: str, message: str = "") -> Reply:
    error = {"resource": resource, "field": field, "code": code, **({"message": message} if message else {})}
    return Reply(422, {"message": "Validation Failed", "errors": [error], "documentation_url": DOCS})


class _Heads(dict[str, str]):
    """Branch -> commit, as they stand in the remote."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def __getitem__(self, branch: str) -> str:
        return self._hub.tip(branch) or "f" * 40

    def __contains__(self, branch: object) -> bool:
        return self._hub.tip(str(branch)) is not None

    def items(self) -> Any:
        rows = git(
            self._hub.remote, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"
        )
        return [tuple(row.split(" ", 1)) for row in rows.splitlines()]


class _Commits(dict[str, str]):
    """Commit -> when it was made, of all that was pushed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def __getitem__(self, sha: str) -> str:
        return git(self._hub.remote, "show", "-s", "--format=%cI", sha).strip()

    def __contains__(self, sha: object) -> bool:
        done = subprocess.run(
            ["git", "cat-file", "-e", f"{sha}^{{commit}}"],
            cwd=self._hub.remote,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0


DEEDS: tuple[tuple[str, str, str, Any], ...] = (
    ("POST", rf"{_R}/pulls", f"{REPO}/pulls", Hub._make),
    ("PATCH", rf"{_R}/pulls/(\d+)", f"{REPO}/pulls/{{pull_number}}", Hub._change),
    ("PUT", rf"{_R}/pulls/(\d+)/merge", f"{REPO}/pulls/{{pull_number}}/merge", Hub._merge),
    (
        "POST",
        rf"{_R}/issues/(\d+)/comments",
        f"{REPO}/issues/{{issue_number}}/comments",
        Hub._say,
    ),
    (
        "POST",
        rf"{_R}/actions/runs/(\d+)/rerun-failed-jobs",
        f"{REPO}/actions/runs/{{run_id}}/rerun-failed-jobs",
        Hub._rerun,
    ),
)
