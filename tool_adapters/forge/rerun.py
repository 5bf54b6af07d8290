"""ci_rerun: the failed jobs of the commit's CI once more. What they printed is kept first: a second attempt takes it
away. That a check is flaky is for the reading of CI to say, from attempts on the same commit."""

from __future__ import annotations

from collections.abc import Iterator

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block, Probed
from contracts.deed_rules import HEAD, runs_in
from contracts.forge_api import Job
from contracts.text import clean, cut, line
from contracts.tools import SPECS
from tool_adapters.forge.client import Sent
from tool_adapters.forge.deed import Deed
from tool_adapters.forge.forum import undone, untold

LOGS = 12  # jobs whose logs are kept
LAST = 25  # lines of each that are shown
ADVICE = "Find out why it fails, or `ask`"


class CiRerun(Deed):
    """A run of CI that was tried again meanwhile, by whomever, is not tried once more."""

    spec = SPECS["ci_rerun"]

    async def run(self, call: ActionCall) -> ActionResult:
        return await anyio.to_thread.run_sync(self._rerun, call, abandon_on_cancel=True)

    def _rerun(self, call: ActionCall) -> ActionResult:
        left = self._left(call)
        if isinstance(left, Sent):
            return undone("ci_rerun", left, ADVICE)
        kept = self._kept(left)
        if isinstance(kept, Sent):
            return undone("ci_rerun", kept, ADVICE)
        for run in left:
            sent = self.client.send(self.api.rerun(run))
            if sent.kind != "done":
                return undone("ci_rerun", sent, ADVICE)
        return ActionResult(say=f"run again: {', '.join(map(str, left))}", blocks=kept)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(self._look, call, abandon_on_cancel=True)

    def _look(self, call: ActionCall) -> Probed:
        left = self._left(call)
        if isinstance(left, Sent):
            return untold(left)
        if left:
            return Probed(kind="not_yet", why=f"not run again yet: {', '.join(map(str, left))}")
        block = Block(title="it was run again; where its logs are kept was lost in a crash")
        return Probed(kind="happened", result=ActionResult(say="run again", blocks=(block,)))

    def _left(self, call: ActionCall) -> list[int] | Sent:
        """The runs that stand at the attempt that the gate saw."""
        then = runs_in(call.basis)
        sent = self.client.all(self.api.runs(call.basis[HEAD]))
        if sent.kind != "done":
            return sent
        now = {run.id: run.attempt for run in map(self.api.run, sent.body)}
        if self.api.counted:
            for run in then:
                jobs = self.client.all(self.api.jobs(run))
                if jobs.kind != "done":
                    return jobs
                now[run] = self.api.attempt(jobs.body)
        return [run for run, attempt in then.items() if now.get(run, 0) <= attempt]

    # ---- logs -------------------------------------------------------------------------------------------------
    def _kept(self, runs: list[int]) -> tuple[Block, ...] | Sent:
        """The logs of the failed jobs, put by; or what kept us from it."""
        failed: list[Job] = []
        for run in runs:
            jobs = self.client.all(self.api.jobs(run))
            if jobs.kind != "done":
                return jobs
            failed += [job for job in map(self.api.job, jobs.body) if job.failed]
        blocks: list[Block] = []
        for job in failed[:LOGS]:
            log = self.client.text(self.api.log(job.id))
            if log.kind in ("later", "maybe"):
                return log
            blocks += self._block(job, log)
        more = len(failed) - LOGS
        return (
            *blocks,
            *([Block(title=f"{more} jobs more failed; their logs are not kept")] if more > 0 else ()),
        )

    def _block(self, job: Job, log: Sent) -> Iterator[Block]:
        name = line(job.name, 120)
        if log.kind != "done":
            yield Block(title=f"job {name} failed; its log can't be had: {log.why}")
            return
        id = self.ctx.artifacts.put(log.body)
        rows = clean(self.ctx.redactor.redact(log.body)).rstrip("\n").split("\n")
        text = cut("\n".join(row[:500] for row in rows[-LAST:]), self.ctx.room // 4, artifact=id)
        title = f"job {name} failed; the last of its {len(rows):,} lines: artifact:{id}"
        yield Block(title=title, text=text, total=len(log.body), artifact=id)
