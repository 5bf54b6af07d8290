"""Issues and pull requests as authorities: what people wrote, read anew each step, with the hash of what was read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from contracts.documents import DocumentsReading, What
from contracts.forge import IssuesOptions, PullsOptions, Repository
from contracts.ports import Ask, Given
from reconcilers.asked import asked, token
from reconcilers.github_issues import GithubIssues
from reconcilers.gitlab_issues import GitlabIssues
from reconcilers.written import Written, documents


class Threads(Protocol):
    """One forge. Blocks; `deadline` is of time.monotonic. Raises Later, Permanent."""

    def issues(self, asked: IssuesOptions, deadline: float) -> Sequence[Written]: ...
    def pull(self, asked: PullsOptions, branch: str, deadline: float) -> Written | None: ...


FORGES: dict[str, Any] = {"github": GithubIssues, "gitlab": GitlabIssues}


class IssuesReconciler:
    """Reads one issue, or those that a query finds. Raises Temporary or Permanent when it can't: never a part."""

    what: What = "issue"

    def __init__(self, given: Given, options: Repository, threads: Threads) -> None:
        self.name, self.when = given.name, ("step",)
        self._given, self._options, self._threads = given, options, threads

    @classmethod
    def given(cls, given: Given) -> IssuesReconciler:
        """What the task's authority asks for. Raises ConfigError where its token is not there."""
        options = given.authority.settings
        assert isinstance(options, Repository), "of an authority that reads a forge"
        return cls(given, options, FORGES[options.provider](options, token(given, options.token_env)))

    async def read(self, ask: Ask) -> DocumentsReading:
        """The reading, now."""
        began, authority = time.monotonic(), self._given.authority
        found = await asked(self._found, authority.timeout)
        options = self._options
        return DocumentsReading(
            name=self.name,
            what=self.what,
            place=f"{options.provider} {options.repository}",
            items=documents(found, authority.max_bytes, self._given.keep, self._given.clear),
            total=len(found),
            whole=not isinstance(options, IssuesOptions) or options.number is not None,
            worklist=authority.worklist,
            took=time.monotonic() - began,
        )

    def _found(self, deadline: float) -> Sequence[Written]:
        assert isinstance(self._options, IssuesOptions)
        return self._threads.issues(self._options, deadline)


class PullsReconciler(IssuesReconciler):
    """Reads one pull request: that of the run's branch, of another, or by its number."""

    what: What = "pull request"

    def _found(self, deadline: float) -> Sequence[Written]:
        assert isinstance(self._options, PullsOptions)
        branch = self._options.branch or self._given.branch
        found = self._threads.pull(self._options, branch, deadline)
        return [] if found is None else [found]
