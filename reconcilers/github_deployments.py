"""What GitHub knows of the deployments to one environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from contracts.deployed import Deployed
from contracts.errors import Permanent
from contracts.live import DeploymentOptions
from reconcilers.github import ACCEPT
from reconcilers.http import Client, good

LOOKED_AT = 12  # deployments, newest first
ROLLING = ("queued", "pending", "in_progress", "waiting")
FAILED = ("failure", "error")
Json = Mapping[str, Any]


class GithubDeployments:
    """Reads one environment of one repository. A rollout that succeeded is all that it knows of health."""

    def __init__(self, options: DeploymentOptions, token: str) -> None:
        headers = ACCEPT | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = Client(options.place, headers, secret=bool(token))
        owner, _, name = str(options.repository).partition("/")
        self._at = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}/deployments"
        self._environment = str(options.environment)

    def deployed(self, deadline: float) -> Deployed:
        """The newest deployment that succeeded, what is newer than it, and what it came after. Raises Later,
        Permanent."""
        query = {"environment": self._environment, "per_page": LOOKED_AT}
        found = good(self._http.get(self._at, query, deadline=deadline), self._at).body
        if not isinstance(found, list):
            raise Permanent(f"{self._at}: the answer holds no list")
        known = Deployed()
        for each in sorted(found, key=lambda each: int(each["id"]), reverse=True):
            told, sha = self._told(each, deadline), str(each["sha"])
            last = str(told[-1]["state"]) if told else "pending"
            if known.revision:
                if sha != known.revision and any(one["state"] == "success" for one in told):
                    return replace(known, rollback=sha)
            elif last == "success":
                note = str(told[-1].get("description") or "")
                known = replace(known, revision=sha, health="healthy", stable=sha, note=note)
            elif last in ROLLING and not known.rolling:
                known = replace(known, rolling=sha)
            elif last in FAILED and not known.failed:
                known = replace(known, failed=sha)
        return known

    def _told(self, deployment: Json, deadline: float) -> list[Json]:
        """Its statuses, oldest first."""
        path = f"{self._at}/{deployment['id']}/statuses"
        found = self._http.pages(path, {"per_page": 100}, deadline=deadline)
        return sorted(found, key=lambda each: int(each["id"]))
