"""The remote and the forge as the run's deeds rest on them: its branch, its pull request, what caps count; and after a
deed whether it is seen there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from contracts import deed_rules
from contracts.deeds import Forge
from contracts.forge_api import Api, Call
from contracts.forge_marks import SHORT
from contracts.forge_reading import NAME, CiRun, ForgeReading, Request, Said, Seen
from contracts.ports import Ask
from contracts.record import Staged
from reconcilers.asked import asked
from reconcilers.http import Client
from reconcilers.schedule import opens, zone_of
from reconcilers.voices import Voices

SECONDS = 60.0
FOREIGN = 5  # commits of others that are named
HOUR = 3600.0


class Remote(Protocol):
    """A Git remote; see tool_adapters.gitremote."""

    def tips(self, refs: Sequence[str]) -> dict[str, str]: ...
    def beyond(self, ref: str, tip: str, head: str) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class _Here:
    """What was read: the remote, the run's branch there and where it stands, its pull requests, the runs of CI."""

    remote: Remote
    ref: str
    tip: str | None
    requests: Sequence[Request]
    runs: Sequence[CiRun]


class ForgeReconciler:
    """Reads what the deeds of a task rest on. `remote` gives the remote as it is configured now, `allowed` are the
    task's actions: what none of them needs is not asked for. Raises Temporary or Permanent when something can't be
    read: never a part."""

    name = NAME
    when: tuple[str, ...] = ("step",)

    def __init__(
        self,
        forge: Forge,
        api: Api | None,
        token: str,
        remote: Callable[[], Remote],
        *,
        branch: str,
        base: str,
        allowed: Collection[str],
        clear: Callable[[str], str] = str,
    ) -> None:
        self._forge, self._api, self._remote, self._clear = forge, api, remote, clear
        self._zone = zone_of(forge.caps.timezone)
        self._branch, self._base, self._allowed = branch, base, frozenset(allowed)
        self._http = Client(forge.place, api.headers(token), secret=bool(token)) if api is not None else None
        self._voices = Voices(forge, api, self._http, branch) if api is not None and self._http else None

    async def read(self, ask: Ask) -> ForgeReading:
        """The reading, now."""
        return await asked(lambda deadline: self._read(ask, deadline), SECONDS)

    def _read(self, ask: Ask, deadline: float) -> ForgeReading:
        began, ref = time.monotonic(), f"refs/heads/{self._branch}"
        remote = self._remote()
        tip = remote.tips([ref]).get(ref)
        foreign = remote.beyond(ref, tip, ask.head) if tip not in (None, ask.head) else ()
        requests = self._requests(deadline)
        request = max(requests, key=lambda each: (each.state == "open", each.number), default=None)
        deed = ask.deed
        counted = deed is None or deed.tool == "wait"
        opened, recent = self._caps(request, ask.now, deadline) if counted else (None, None)
        runs = self._runs(ask.head, deadline) if "ci_rerun" in self._allowed else ()
        here = _Here(remote, ref, tip, requests, runs)
        reading = ForgeReading(
            provider=self._forge.provider,
            place=f"{self._forge.provider} {self._forge.repository or self._forge.remote}",
            branch=self._branch,
            base=self._base,
            sha=ask.head,
            tip=tip,
            holds=not foreign,
            foreign=tuple(self._clear(each) for each in foreign[:FOREIGN]),
            others=len(foreign),
            request=request.model_copy(update={"title": self._clear(request.title)}) if request else None,
            opened=opened,
            recent=recent,
            opens=opens(self._forge.caps.schedule, self._zone, ask.now),
            runs=runs,
            deed=self._seen(deed, here, deadline) if deed is not None else None,
            word=self._word(ask.via, deadline),
            took=time.monotonic() - began,
        )
        return reading.model_copy(update={"free": deed_rules.free(reading, self._forge, ask.now)})

    # ---- what is asked of the forge ---------------------------------------------------------------------------
    def _all(self, call: Call, deadline: float) -> list[Any]:
        assert self._http is not None, "of a forge"
        return self._http.pages(call.path, call.query, key=call.key, deadline=deadline)

    def _requests(self, deadline: float) -> list[Request]:
        """The pull requests of the branch."""
        if self._api is None:
            return []
        found = map(self._api.request, self._all(self._api.requests(self._branch), deadline))
        return [each for each in found if each is not None]

    def _caps(
        self, request: Request | None, now: float, deadline: float
    ) -> tuple[int | None, tuple[float, ...] | None]:
        """What the caps count, where a pull request could be opened next."""
        if self._api is None or "pr_open" not in self._allowed or (request and request.state == "open"):
            return None, None
        made = [self._api.request(each) for each in self._all(self._api.open_requests(), deadline)]
        opened = sum(each is not None and bool(each.keys) for each in made)
        newest = self._api.newest_requests()
        page = self._http.read(newest.path, newest.query, deadline=deadline) if self._http else []
        latest = [each for each in map(self._api.request, page) if each is not None and each.keys]
        return opened, tuple(each.opened for each in latest if each.opened > now - HOUR)

    def _runs(self, sha: str, deadline: float) -> tuple[CiRun, ...]:
        """The newest run of each flow."""
        if self._api is None:
            return ()
        newest: dict[str, CiRun] = {}
        for run in sorted(
            map(self._api.run, self._all(self._api.runs(sha), deadline)), key=lambda run: run.id
        ):
            newest[run.flow] = run
        if not self._api.counted:
            return tuple(newest.values())
        counts = {
            run.id: self._api.attempt(self._all(self._api.jobs(run.id), deadline)) for run in newest.values()
        }
        return tuple(run.model_copy(update={"attempt": counts[run.id]}) for run in newest.values())

    def _word(self, via: str, deadline: float) -> Said | None:
        """Whether the word that a yes rests on still stands."""
        if not via or self._voices is None:
            return None
        return Said(via=via, holds=self._voices.stands(via, deadline))

    # ---- what is seen of a deed -------------------------------------------------------------------------------
    def _seen(self, deed: Staged, here: _Here, deadline: float) -> Seen | None:
        look = LOOKS.get(deed.tool)
        if look is None:
            return None
        found, say = look(self, deed, here, deadline)
        return Seen(key=deed.key, found=found, say=say)

    def _pushed(self, deed: Staged, here: _Here, deadline: float) -> Look:
        head, tip = deed.before.basis[deed_rules.HEAD], here.tip
        there = tip is not None and (tip == head or not here.remote.beyond(here.ref, head, tip))
        return there, f"{self._branch} stands at {(tip or 'nothing')[:12]} on the remote"

    def _pulled(self, deed: Staged, here: _Here, deadline: float) -> Look:
        theirs = deed.before.basis[deed_rules.BRANCH]
        held = not here.remote.beyond(here.ref, theirs, "HEAD")
        return held, f"the run {'holds' if held else 'does not hold'} {theirs[:12]}"

    def _written(self, deed: Staged, here: _Here, deadline: float) -> Look:
        found = next((each for each in here.requests if deed.key[:SHORT] in each.keys), None)
        return found is not None, f"{found.said} {found.url}" if found else "no pull request shows it yet"

    def _merged(self, deed: Staged, here: _Here, deadline: float) -> Look:
        number = deed_rules.number_in(deed.before.basis)
        found = next((each for each in here.requests if each.number == number), None)
        merged = found is not None and found.state == "merged"
        return merged, found.said if found else f"there is no pull request {number}"

    def _commented(self, deed: Staged, here: _Here, deadline: float) -> Look:
        on_issue = deed.tool == "issue_comment"
        number = int(deed.args["issue"]) if on_issue else deed_rules.number_in(deed.before.basis)
        assert self._api is not None, "of a forge"
        told = self._all(self._api.comments("issue" if on_issue else "request", number), deadline)
        comments = (each for each in map(self._api.comment, told) if each is not None)
        found = next((each for each in comments if deed.key[:SHORT] in each.keys), None)
        return found is not None, f"{found.id} {found.url}".rstrip() if found else "no comment shows it yet"

    def _rerun(self, deed: Staged, here: _Here, deadline: float) -> Look:
        then, now = deed_rules.runs_in(deed.before.basis), {run.id: run for run in here.runs}
        again = all(run in now and now[run].attempt > attempt for run, attempt in then.items())
        return again, ", ".join(f"{now[run].name}: attempt {now[run].attempt}" for run in then if run in now)


Look = tuple[bool, str]  # whether the deed is there, and what is seen of it
LOOKS: Mapping[str, Callable[[ForgeReconciler, Staged, _Here, float], Look]] = {
    "git_push": ForgeReconciler._pushed,
    "git_pull": ForgeReconciler._pulled,
    "pr_open": ForgeReconciler._written,
    "pr_update": ForgeReconciler._written,
    "pr_merge": ForgeReconciler._merged,
    "pr_comment": ForgeReconciler._commented,
    "issue_comment": ForgeReconciler._commented,
    "ci_rerun": ForgeReconciler._rerun,
}
