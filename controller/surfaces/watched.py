"""A rig whose ports say what they are doing: for whoever watches a run."""

from __future__ import annotations

from contracts.actions import ActionCall, ActionResult, Probed
from contracts.ports import Action, Actions, Agent, Ask, Reconciler
from contracts.readings import Reading
from contracts.reply import AgentReply, Prompt
from controller.refresh import is_check
from controller.rig import Rig, Watch


def watched(rig: Rig) -> Rig:
    """The same rig, telling its `watch` of each launch, action and reading."""
    rig.agent = _Agent(rig.agent, rig.watch)
    rig.actions = _Actions(rig.actions, rig.watch)
    rig.readers = tuple(_reader(reader, rig.watch) for reader in rig.readers)
    return rig


def _reader(reader: Reconciler, watch: Watch) -> Reconciler:
    return _Check(reader, watch) if is_check(reader) else _Reader(reader, watch)


class _Agent:
    def __init__(self, agent: Agent, watch: Watch) -> None:
        self._agent, self._watch = agent, watch
        self.dialect, self.profile = agent.dialect, agent.profile

    def preflight(self) -> list[str]:
        notices = self._agent.preflight()
        self.profile = self._agent.profile
        return notices

    async def ask(self, prompt: Prompt) -> AgentReply:
        self._watch.phase("launch", f"{self.profile.name}, prompt {prompt.bytes:,} bytes")
        reply = await self._agent.ask(prompt)
        for notice in reply.notices:
            self._watch.note(f"{self.profile.name}: {notice}"[:400])
        if reply.survivors:
            self._watch.note(
                f"{self.profile.name} left running and ended: {', '.join(reply.survivors)}"[:400]
            )
        self._watch.phase("gate")
        return reply

    async def close(self) -> None:
        await self._agent.close()


class _Actions:
    def __init__(self, actions: Actions, watch: Watch) -> None:
        self._actions, self._watch = actions, watch

    def __getitem__(self, tool: str) -> Action:
        return _Action(self._actions[tool], self._watch)

    async def reset(self, head: str, keep_as: str) -> str | None:
        return await self._actions.reset(head, keep_as)

    async def find(self, key: str) -> str | None:
        return await self._actions.find(key)


class _Action:
    def __init__(self, action: Action, watch: Watch) -> None:
        self._action, self._watch = action, watch
        self.spec = action.spec

    async def run(self, call: ActionCall) -> ActionResult:
        self._watch.phase("act", call.tool)
        return await self._action.run(call)

    def lasting(self, call: ActionCall) -> bool:
        return self._action.lasting(call)

    async def probe(self, call: ActionCall) -> Probed:
        self._watch.phase("probe", call.tool)
        return await self._action.probe(call)


class _Reader:
    def __init__(self, reader: Reconciler, watch: Watch) -> None:
        self._reader, self._watch = reader, watch
        self.name, self.when = reader.name, reader.when

    async def read(self, ask: Ask) -> Reading:
        self._watch.phase("refresh", self.name)
        return await self._reader.read(ask)


class _Check(_Reader):
    """A check stays one to `is_check`: it keeps its role."""

    def __init__(self, reader: Reconciler, watch: Watch) -> None:
        super().__init__(reader, watch)
        self.role = getattr(reader, "role", "")

    async def read(self, ask: Ask) -> Reading:
        self._watch.phase("check", self.name)
        return await self._reader.read(ask)
