"""What Buildbot says of a commit, by its REST API (version 2): builds of each builder, and requests that wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.authorities import CiOptions
from contracts.ci import CiCheck, Facts, conclusion
from contracts.text import line
from reconcilers.http import Client

LATEST = 200  # builds that are looked at, newest first
Json = Mapping[str, Any]


class Buildbot:
    """Reads one master. Builds count for the commit that they got (`got_revision`, else `revision`)."""

    def __init__(self, options: CiOptions, token: str, base: str) -> None:
        self._options = options
        headers = {"Accept": "application/json"}  # else it says that its JSON is text
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._http = Client(f"{options.place}/api/v2", headers, secret=bool(token))

    def facts(self, sha: str, now: float, deadline: float) -> Facts:
        """What is known of the commit. Raises Later, Permanent. A commit that it never heard of may be not pushed, or
        not yet polled: it can't tell."""
        read = self._http.read
        builders = {
            each["builderid"]: each["name"] for each in read("/builders", deadline=deadline)["builders"]
        }
        query = {"property": ["revision", "got_revision"], "order": "-buildid", "limit": LATEST}
        found = read("/builds", query, deadline=deadline)["builds"]
        builds = [build for build in found if _revision(build) == sha]
        checks: list[CiCheck] = []
        attempts: dict[int, int] = {}
        for build in sorted(builds, key=lambda each: int(each["buildid"])):
            builder = build["builderid"]
            attempts[builder] = attempts.get(builder, 0) + 1
            name = line(str(builders.get(builder, builder)), 160)
            done = build["complete"]
            checks.append(
                CiCheck(
                    name=name,
                    conclusion=conclusion("buildbot", build["results"] if done else "running"),
                    attempt=attempts[builder],
                    sha=sha,
                    url=line(f"{self._options.place}/#/builders/{builder}/builds/{build['number']}", 200),
                    why=line(str(build.get("state_string") or ""), 200) if done else "",
                )
            )
        checks += self._waiting(sha, builders, attempts, deadline)
        moments = [each[name] for each in builds for name in ("started_at", "complete_at") if each.get(name)]
        if not moments:  # when the master heard of the commit, where it did
            known = read("/changes", {"revision": sha}, deadline=deadline)["changes"]
            moments = [each["when_timestamp"] for each in known if each["revision"] == sha]
        return Facts(
            sha,
            checks,
            required=self._options.required or None,
            accept=self._options.accept,
            quiet=max(0.0, now - max(moments)) if moments else None,
        )

    def _waiting(
        self, sha: str, builders: Mapping[int, str], attempts: Mapping[int, int], deadline: float
    ) -> list[CiCheck]:
        """Requests for this commit that no worker took yet."""
        query = {"complete": "false", "claimed": "false", "limit": LATEST}
        waiting = []
        for request in self._http.read("/buildrequests", query, deadline=deadline)["buildrequests"]:
            path = f"/buildsets/{request['buildsetid']}"
            stamps = self._http.read(path, deadline=deadline)["buildsets"][0]["sourcestamps"]
            if any(stamp.get("revision") == sha for stamp in stamps):
                builder = request["builderid"]
                name = line(str(builders.get(builder, builder)), 160)
                attempt = attempts.get(builder, 0) + 1
                waiting.append(CiCheck(name=name, conclusion="queued", attempt=attempt, sha=sha))
        return waiting


def _revision(build: Json) -> str | None:
    said = build.get("properties") or {}
    for name in ("got_revision", "revision"):
        if said.get(name) and said[name][0]:
            return str(said[name][0])
    return None
