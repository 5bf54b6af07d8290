"""A stateful stub of GitHub: one repository, its commits, runs, checks, pull requests and rules. Every answer is
validated against GitHub's published description."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from tests.forge import openapi
from tests.forge.openapi import REPO, shaped
from tests.forge.server import Forge, Reply

WHEN = "2026-03-01T12:00:00Z"


class GithubStub(Forge):
    """`owner/name` is acme/widget. Times are `when`."""

    def __init__(self) -> None:
        super().__init__()
        self.when = WHEN  # what happens from now on, happens then
        self.commits: dict[str, str] = {}  # sha -> when it was committed
        self.heads: dict[str, str] = {"main": "f" * 40}  # branch -> sha
        self.runs: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = []
        self.jobs: dict[int, list[dict[str, Any]]] = {}  # run -> jobs of all attempts
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.pulls: list[dict[str, Any]] = []
        self.history: dict[int, list[str]] = {}  # pull request -> its commits
        self.reviews: dict[int, list[dict[str, Any]]] = {}
        self.rules: list[dict[str, Any]] = []
        self.protected: list[str] = []
        self.pushes: list[dict[str, Any]] = []
        self.deployments: list[dict[str, Any]] = []
        self.rollouts: dict[int, list[dict[str, Any]]] = {}  # deployment -> its statuses
        self.issues: list[dict[str, Any]] = []
        self.comments: dict[int, list[dict[str, Any]]] = {}  # issue or pull request -> what was said
        self._id = 1000

    # ---- what happens -----------------------------------------------------------------------------------------
    def push(self, branch: str, sha: str, when: str = "") -> None:
        self.commits[sha] = when or self.when
        self.heads[branch] = sha
        for pull in self.pulls:
            if pull["head"]["ref"] == branch and pull["state"] == "open":
                pull["head"]["sha"] = sha
                self.history[pull["number"]].append(sha)

    def run(
        self, sha: str, status: str = "completed", said: str | None = None, *, attempt: int = 1,
        workflow: int = 7, event: str = "push", name: str = "CI",
    ) -> dict[str, Any]:  # fmt: skip
        run = shaped(
            "workflow-run", id=self._new(), head_sha=sha, status=status, conclusion=said, run_attempt=attempt,
            workflow_id=workflow, event=event, name=name, check_suite_id=self._new(), created_at=self.when,
            updated_at=self.when,
        )  # fmt: skip
        self.runs.append(run)
        return run

    def check(
        self, sha: str, name: str, said: str | None = "success", *, run: dict[str, Any] | None = None,
        attempt: int = 1, app: str = "github-actions", app_id: int = 1, suite: int | None = None, **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """A check run; of status `said` while that is none of the conclusions."""
        waiting = said in ("queued", "in_progress", "waiting", "requested", "pending")
        check = shaped(
            "check-run", id=self._new(), name=name, head_sha=sha,
            status=said if waiting else "completed", conclusion=None if waiting else said,
            check_suite={"id": run["check_suite_id"] if run else suite or self._new()},
            started_at=self.when, completed_at=None if waiting else self.when,
            html_url=f"https://example.org/{name.replace(' ', '-')}",
            **more,
        )  # fmt: skip
        check["app"] = shaped("integration", id=app_id, slug=app, name=app)
        self.checks.append(check)
        if run:
            job = shaped(
                "job", id=check["id"], run_id=run["id"], name=name, head_sha=sha, run_attempt=attempt,
                check_run_url=f"{self.url}/repos/acme/widget/check-runs/{check['id']}",
            )  # fmt: skip
            self.jobs.setdefault(run["id"], []).append(job)
        return check

    def status(self, sha: str, context: str, state: str, **more: Any) -> None:
        url = f"{self.url}/repos/acme/widget/statuses/{sha}"
        made = shaped("simple-commit-status", id=self._new(), context=context, state=state, url=url, **more)
        self.statuses.setdefault(sha, []).insert(0, made | {"created_at": self.when, "updated_at": self.when})

    def open(self, branch: str, **more: Any) -> dict[str, Any]:
        sha, repo = self.heads[branch], {"full_name": "acme/widget"}
        pull = shaped(
            "pull-request", number=len(self.pulls) + 1, state="open", head={"ref": branch, "sha": sha, "repo": repo},
            base={"ref": "main", "sha": self.heads["main"]}, mergeable=True, mergeable_state="clean",
            created_at=self.when, **more,
        )  # fmt: skip
        self.pulls.append(pull)
        self.history[pull["number"]] = [sha]
        return pull

    def deploy(self, sha: str, *states: str, environment: str = "production") -> int:
        """A deployment and its statuses; one that succeeded makes those before it inactive."""
        made = shaped("deployment", id=self._new(), sha=sha, environment=environment)
        self.deployments.append(made)
        for state in states:
            self.rollout(made["id"], state)
        return int(made["id"])

    def rollout(self, deployment: int, state: str) -> None:
        if state == "success":
            where = {each["id"]: each["environment"] for each in self.deployments}
            for other, told in self.rollouts.items():
                if where[other] == where[deployment] and told[-1]["state"] == "success":
                    told.append(shaped("deployment-status", id=self._new(), state="inactive"))
        made = shaped("deployment-status", id=self._new(), state=state, description=f"it is {state}")
        self.rollouts.setdefault(deployment, []).append(made)

    def issue(
        self, title: str, body: str | None = None, *, labels: tuple[str, ...] = (), by: str = "ana", **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        said = {"labels": [{"name": each} for each in labels], "user": shaped("simple-user", login=by)}
        number = len(self.issues) + 12
        made = shaped(
            "issue", number=number, title=title, body=body, state="open", updated_at=self.when,
            html_url=f"https://example.org/acme/widget/issues/{number}", **said, **more,
        )  # fmt: skip
        self.issues.append(made)
        return made

    def comment(self, number: int, by: str, body: str) -> dict[str, Any]:
        made = shaped("issue-comment", id=self._new(), body=body, updated_at=self.when)
        made["user"] = shaped("simple-user", login=by)
        self.comments.setdefault(number, []).append(made)
        for each in (*self.issues, *self.pulls):
            if each["number"] == number:
                each["comments"] = len(self.comments[number])
        return made

    def review(self, number: int, who: str, state: str, association: str = "MEMBER") -> None:
        user = shaped("simple-user", login=who)
        made = shaped("pull-request-review", id=self._new(), state=state, author_association=association)
        self.reviews.setdefault(number, []).append(made | {"user": user})

    def require(self, *contexts: str, reviews: int | None = None, app: int | None = None) -> None:
        """Rules of the branch main."""
        if contexts:
            of = {"integration_id": app} if app else {}
            said: dict[str, Any] = {
                "required_status_checks": [{"context": each, **of} for each in contexts],
                "strict_required_status_checks_policy": False,
            }
            self.rules.append({"type": "required_status_checks", "parameters": said})
        if reviews is not None:
            said = {
                "dismiss_stale_reviews_on_push": True,
                "require_code_owner_review": False,
                "require_last_push_approval": False,
                "required_approving_review_count": reviews,
                "required_review_thread_resolution": False,
            }
            self.rules.append({"type": "pull_request", "parameters": said})

    def _new(self) -> int:
        self._id += 1
        return self._id

    # ---- what is answered -------------------------------------------------------------------------------------
    def at(self, path: str, query: dict[str, list[str]]) -> Reply:
        for pattern, template, answer in ROUTES:
            if found := re.fullmatch(pattern, path):
                if alien := set(query) - openapi.parameters(template):
                    self.wrong.append(f"{template} has no parameter {sorted(alien)}")
                reply: Reply = answer(self, *map(unquote, found.groups()), query)
                if wrong := openapi.mismatch(template, reply.status, reply.body):
                    self.wrong.append(wrong)
                return reply
        return Reply(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"})

    def _commit(self, sha: str, query: Any) -> Reply:
        if sha not in self.commits:
            said = {
                "message": f"No commit found for SHA: {sha}",
                "documentation_url": "https://docs.github.com",
            }
            return Reply(422, said)
        when = self.commits[sha]
        return Reply(200, shaped("commit", sha=sha, commit={"committer": {"name": "x", "date": when}}))

    def _check_runs(self, sha: str, query: Any) -> Reply:
        found = [check for check in self.checks if check["head_sha"] == sha]
        return Reply(200, {"total_count": len(found), "check_runs": found})

    def _status(self, sha: str, query: Any) -> Reply:
        latest = list({each["context"]: each for each in reversed(self.statuses.get(sha, []))}.values())
        body = shaped("combined-commit-status", sha=sha, state="pending", total_count=len(latest))
        return Reply(200, body | {"statuses": latest})

    def _runs(self, query: Any) -> Reply:
        found = [run for run in self.runs if run["head_sha"] == query["head_sha"][0]]
        return Reply(200, {"total_count": len(found), "workflow_runs": found})

    def _jobs(self, run: str, query: Any) -> Reply:
        found = self.jobs.get(int(run), [])
        return Reply(200, {"total_count": len(found), "jobs": found})

    def _pulls(self, sha: str, query: Any) -> Reply:
        """Those that hold the commit, not only those that stand at it."""
        keys = set(shaped("pull-request-simple"))
        found = [pull for pull in self.pulls if sha in self.history[pull["number"]]]
        return Reply(200, [{key: value for key, value in pull.items() if key in keys} for pull in found])

    def _pull(self, number: str, query: Any) -> Reply:
        return Reply(200, next(pull for pull in self.pulls if pull["number"] == int(number)))

    def _pull_list(self, query: Any) -> Reply:
        keys, branch = {*shaped("pull-request-simple"), "draft"}, query.get("head", [""])[0].partition(":")[2]
        found = [pull for pull in reversed(self.pulls) if branch in ("", pull["head"]["ref"])]
        state = query.get("state", ["open"])[0]
        found = [pull for pull in found if state in ("all", pull["state"])]
        return Reply(200, [{key: value for key, value in pull.items() if key in keys} for pull in found])

    def _issues(self, query: Any) -> Reply:
        """GitHub's list holds pull requests too."""
        said = {name: values[0] for name, values in query.items()}
        found = [*self.issues, *(self._as_issue(pull) for pull in self.pulls)]
        state, labels = said.get("state", "open"), {*said.get("labels", "").split(",")} - {""}
        found = [each for each in found if state in ("all", each["state"])]
        found = [each for each in found if labels <= {label["name"] for label in each["labels"]}]
        if who := said.get("creator"):
            found = [each for each in found if each["user"]["login"] == who]
        return Reply(200, found[::-1])

    def _issue(self, number: str, query: Any) -> Reply:
        found = [each for each in self.issues if each["number"] == int(number)]
        found += [self._as_issue(each) for each in self.pulls if each["number"] == int(number)]
        missing = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}
        return Reply(200, found[0]) if found else Reply(404, missing)

    def _as_issue(self, pull: dict[str, Any]) -> dict[str, Any]:
        link = {
            "url": "https://x",
            "html_url": "https://x",
            "diff_url": "https://x",
            "patch_url": "https://x",
        }
        same = {
            name: pull[name] for name in ("number", "title", "body", "state", "labels", "user", "comments")
        }
        return shaped("issue", **same, pull_request=link)

    def _deployments(self, query: Any) -> Reply:
        asked = query["environment"][0]
        return Reply(200, [each for each in reversed(self.deployments) if each["environment"] == asked])

    def _rollouts(self, deployment: str, query: Any) -> Reply:
        return Reply(200, self.rollouts.get(int(deployment), [])[::-1])

    def _comments(self, number: str, query: Any) -> Reply:
        return Reply(200, self.comments.get(int(number), []))

    def _reviews(self, number: str, query: Any) -> Reply:
        return Reply(200, self.reviews.get(int(number), []))

    def _heads(self, sha: str, query: Any) -> Reply:
        names = [name for name, at in self.heads.items() if at == sha]
        return Reply(
            200, [shaped("branch-short", name=name, commit={"sha": sha, "url": "x"}) for name in names]
        )

    def _rules(self, branch: str, query: Any) -> Reply:
        return Reply(200, self.rules if branch == "main" else [])

    def _branch(self, branch: str, query: Any) -> Reply:
        if branch not in self.heads:
            return Reply(
                404, {"message": "Branch not found", "documentation_url": "https://docs.github.com/rest"}
            )
        body = shaped("branch-with-protection", name=branch, commit=shaped("commit", sha=self.heads[branch]))
        if self.protected:
            body["protection"] = {
                "enabled": True,
                "required_status_checks": {
                    "contexts": self.protected,
                    "checks": [],
                    "enforcement_level": "all",
                },
            }
        return Reply(200, body)

    def _activity(self, query: Any) -> Reply:
        return Reply(200, [shaped("activity", **push) for push in self.pushes])


_R = "/repos/acme/widget"
ROUTES: tuple[tuple[str, str, Any], ...] = (
    (rf"{_R}/commits/([^/]+)", f"{REPO}/commits/{{ref}}", GithubStub._commit),
    (rf"{_R}/commits/([^/]+)/check-runs", f"{REPO}/commits/{{ref}}/check-runs", GithubStub._check_runs),
    (rf"{_R}/commits/([^/]+)/status", f"{REPO}/commits/{{ref}}/status", GithubStub._status),
    (rf"{_R}/commits/([^/]+)/pulls", f"{REPO}/commits/{{commit_sha}}/pulls", GithubStub._pulls),
    (
        rf"{_R}/commits/([^/]+)/branches-where-head",
        f"{REPO}/commits/{{commit_sha}}/branches-where-head",
        GithubStub._heads,
    ),
    (rf"{_R}/actions/runs", f"{REPO}/actions/runs", GithubStub._runs),
    (rf"{_R}/actions/runs/(\d+)/jobs", f"{REPO}/actions/runs/{{run_id}}/jobs", GithubStub._jobs),
    (rf"{_R}/pulls/(\d+)", f"{REPO}/pulls/{{pull_number}}", GithubStub._pull),
    (rf"{_R}/pulls/(\d+)/reviews", f"{REPO}/pulls/{{pull_number}}/reviews", GithubStub._reviews),
    (rf"{_R}/pulls", f"{REPO}/pulls", GithubStub._pull_list),
    (rf"{_R}/issues", f"{REPO}/issues", GithubStub._issues),
    (rf"{_R}/issues/(\d+)", f"{REPO}/issues/{{issue_number}}", GithubStub._issue),
    (rf"{_R}/issues/(\d+)/comments", f"{REPO}/issues/{{issue_number}}/comments", GithubStub._comments),
    (rf"{_R}/deployments", f"{REPO}/deployments", GithubStub._deployments),
    (
        rf"{_R}/deployments/(\d+)/statuses",
        f"{REPO}/deployments/{{deployment_id}}/statuses",
        GithubStub._rollouts,
    ),
    (rf"{_R}/rules/branches/([^/]+)", f"{REPO}/rules/branches/{{branch}}", GithubStub._rules),
    (rf"{_R}/branches/([^/]+)", f"{REPO}/branches/{{branch}}", GithubStub._branch),
    (rf"{_R}/activity", f"{REPO}/activity", GithubStub._activity),
)
