"""Puts what waits for people on the forge: a comment with all that they decide on, its id and its hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from contracts.forge_words import Place, posted
from contracts.merge import Path
from contracts.queue import Entry
from tool_adapters.forge.forum import Forum


class Board:
    """`clear` takes secrets out of a text, `secrets` are the fields of the state that are never shown."""

    def __init__(self, forum: Forum, clear: Callable[[str], str], secrets: Sequence[Path]) -> None:
        self._forum, self._clear, self._secrets = forum, clear, secrets

    async def put(self, entry: Entry, place: Place, run: str) -> str:
        """See ports.Board. A comment whose answer got lost is seen by who looks next."""
        return await anyio.to_thread.run_sync(self._put, entry, place, run, abandon_on_cancel=True)

    def _put(self, entry: Entry, place: Place, run: str) -> str:
        api, client = self._forum.api, self._forum.client
        if api is None or client is None:
            return "a remote alone has no place for it"
        text = self._clear(posted(entry, run, self._forum.forge.provider, self._secrets))
        sent = client.send(api.say(place.thread, place.number, text))
        return "" if sent.kind == "done" else sent.why
