"""What people say on the forge of what waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.deeds import Forge
from contracts.forge_api import Api, Call, Comment
from contracts.forge_words import Heard, Place, heard, stamp
from contracts.queue import Entry
from reconcilers.asked import asked
from reconcilers.http import Client

SECONDS = 60.0


class Voices:
    """Reads the thread where what waits for a person is put: the issue that the task names, else the open pull request
    of the run's branch."""

    def __init__(self, forge: Forge, api: Api, http: Client, branch: str) -> None:
        self._forge, self._api, self._http, self._branch = forge, api, http, branch

    @classmethod
    def of(cls, forge: Forge, api: Api, token: str, branch: str) -> Voices:
        return cls(forge, api, Client(forge.place, api.headers(token), secret=bool(token)), branch)

    async def hear(self, entries: Sequence[Entry], now: float) -> Heard | None:
        """What the thread says of the entries at `now` (UTC seconds); None where there is no thread. Raises Temporary,
        Permanent."""
        return await asked(lambda deadline: self._hear(entries, now, deadline), SECONDS)

    def _hear(self, entries: Sequence[Entry], now: float, deadline: float) -> Heard | None:
        place = self._place(deadline)
        if place is None:
            return None
        return heard(place, self._comments(place, deadline), entries, self._forge.provider, now)

    def stands(self, via: str, deadline: float) -> bool:
        """Whether a word stands where it was heard, as it was said. Raises Later, Permanent."""
        thread, number, said = via.split(" ", 2)
        place = Place("issue" if thread == "issue" else "request", int(number))
        return any(stamp(each) == said and not each.edited for each in self._comments(place, deadline))

    def _place(self, deadline: float) -> Place | None:
        if self._forge.issue is not None:
            return Place("issue", self._forge.issue)
        found = map(self._api.request, self._all(self._api.requests(self._branch), deadline))
        numbers = [each.number for each in found if each is not None and each.state == "open"]
        return Place("request", max(numbers)) if numbers else None

    def _comments(self, place: Place, deadline: float) -> list[Comment]:
        """Those of the thread, reviews included."""
        told = self._all(self._api.comments(place.thread, place.number), deadline)
        found = [each for each in map(self._api.comment, told) if each is not None]
        reviews = self._api.reviews(place.number) if place.thread == "request" else None
        if reviews is not None:
            found += [
                each for each in map(self._api.review, self._all(reviews, deadline)) if each is not None
            ]
        return found

    def _all(self, call: Call, deadline: float) -> list[Any]:
        return self._http.pages(call.path, call.query, key=call.key, deadline=deadline)
