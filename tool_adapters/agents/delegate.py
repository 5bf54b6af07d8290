"""`explore: delegate`: an agent that edits by itself, in the sandbox, in a copy of the worktree that is lent to it.

Whatever the agent is, it is started as ever; around it stand here the copy, which it finds in the worktree's place, the
sandbox, and the look at what it left. The sandbox lets the network through: the agent must reach its model, and so do
the commands that it starts. It sees the system, its toolchains, the copy, what the set-up made (read-only), and of its
own folder what its adapter has written there; everything else that it writes is gone after the launch.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from contracts.errors import ConfigError
from contracts.ports import Agent, Configured, Ran, Runner, Settle
from contracts.reply import AgentReply, Prompt, ReplyClass
from tool_adapters.lending import Lending
from tool_adapters.process import resolve
from tool_adapters.sandbox import SandboxedRunner, SandboxPlan
from tool_adapters.sandbox_box import Found
from tool_adapters.sandbox_mounts import Mount, borrowed

PRIVATE = ("login.json",)  # in an agent's folder, and none of the agent's business
# Starts the agent, and then says what it left running. What is only on its way out gets a second; what was seen and is
# gone may have left another behind, so that only a look that finds nobody is the last.
WATCHED = """\
left=$1; shift
"$@"
code=$? tries=0
cd /proc
while :; do
  others='' found=''
  for pid in [0-9]*; do
    case $pid in 1 | $$) continue ;; esac
    others=1
    { read -r line <"$pid/stat"; } 2>/dev/null || continue
    case $line in *') Z '* | *') X '*) continue ;; esac
    words=$(tr '\\0\\n' '  ' 2>/dev/null <"$pid/cmdline")
    found="$found${words:-$line}
"
  done
  [ -z "$others" ] && break
  [ $tries -ge 10 ] && break
  tries=$((tries + 1))
  sleep 0.1
done
printf %s "$found" >"$left"
exit $code
"""


class LentRunner:
    """ports.Runner: the agent's process in the sandbox, with the copy in the worktree's place. `left` is what the last
    one left running."""

    def __init__(self, inner: Runner, plan: SandboxPlan, lending: Lending, home: Path) -> None:
        self.inner, self.plan, self.lending, self.home = inner, plan, lending, home
        self.left: tuple[str, ...] = ()

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float,
        idle: float | None = None,
        cap: int = 256 * 1024,
        keep: bool = False,
        settle: Settle | None = None,
        redact: bool = True,
        reports: Sequence[str] = (),
    ) -> Ran:
        """See ports.Runner. What is started outside of the worktree is no agent, and is started as it is."""
        runner, said = self.inner, self.home / "tmp" / "left"
        boxed = cwd.is_relative_to(self.plan.worktree)
        if boxed:
            said.unlink(missing_ok=True)
            more = await anyio.to_thread.run_sync(lambda: tuple(self._more(argv, cwd, env)))
            within = ("/bin/sh", "-c", WATCHED, "sh", str(said))
            plan = replace(self.plan, copy=self.lending.copy, more=more, within=within)
            runner = SandboxedRunner(self.inner, plan, network=True)
        ran = await runner.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            timeout=timeout,
            idle=idle,
            cap=cap,
            keep=keep,
            settle=settle,
            redact=redact,
            reports=reports,
        )
        if boxed:
            self.left = _lines(said) or ran.survivors
        return ran

    def _more(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[Mount]:
        """What an agent sees beside what every command sees."""
        for path in (self.lending.objects, *borrowed(self.lending.objects)):
            yield Mount(path, "ro", "objects that the copy borrows")
        for path in self.lending.folders():
            yield Mount(path, "ro", "made by the set-up")
        yield Mount(self.home, "empty", "the agent's home, gone after the launch")
        for path in sorted(self.home.iterdir()):
            if path.name not in PRIVATE:
                yield Mount(path, "rw" if path.is_dir() else "ro", "written by its adapter")
        for word in (resolve(argv[0], env, cwd) or "", *argv[1:], *env.values()):
            if word.startswith("/") and len(word) < 4096 and Path(word).is_file():
                for path in (Path(word), *_package(Path(word))):
                    yield Mount(path, "ro", "named in its command line or environment")


class Delegating:
    """ports.Agent: `agent`, with a copy lent to it for each launch and its changes brought back as data."""

    def __init__(self, agent: Agent, runner: LentRunner) -> None:
        self.agent, self.runner = agent, runner
        self.dialect, self.profile = agent.dialect, agent.profile

    def preflight(self) -> list[str]:
        """Notices. Raises ConfigError, also where this machine has no sandbox that can hold an agent."""
        if isinstance(self.agent, Configured):
            self.agent.configured()
        need_bubblewrap(self.profile.name, self.runner.plan.found)
        notices = self.agent.preflight()
        self.profile = self.agent.profile
        return notices

    async def ask(self, prompt: Prompt) -> AgentReply:
        """One launch. What it changed comes back with the reply, and is kept under a ref whatever the reply is."""
        runner, self.runner.left = self.runner, ()
        await anyio.to_thread.run_sync(runner.lending.lend)
        try:
            reply = await self.agent.ask(prompt)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._sweep)
        found = await anyio.to_thread.run_sync(partial(runner.lending.take, prompt.step, runner.left))
        told = (
            f"{reply.message} (what it had changed is kept as {found.kept})" if found.kept else reply.message
        )
        message = told if reply.cls is not ReplyClass.OK else reply.message
        return reply.model_copy(update={"submitted": found, "message": message})

    async def close(self) -> None:
        await self.agent.close()

    def _sweep(self) -> None:
        """What the agent wrote into its home: nothing of it is for the next one."""
        for path in self.runner.home.iterdir() if self.runner.home.is_dir() else ():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


def need_bubblewrap(name: str, found: Found | None) -> None:
    """Raises ConfigError where the sandbox (None: the task wants none) can't hold the agent of this name."""
    if found is None or found.kind != "bwrap":
        have = "sandbox: {mode: none}" if found is None else str(found)
        raise ConfigError(
            f"agent {name}: `explore: delegate` needs bubblewrap, and this is {have}",
            hint="sandbox: {mode: required} with `pip install 'skill-state-controller[sandbox]'`, or explore: none",
        )


def _package(file: Path) -> Iterator[Path]:
    """The packages of npm that a file is one of: it needs the others."""
    yield from (each for each in file.resolve().parents if each.name == "node_modules")


def _lines(path: Path) -> tuple[str, ...]:
    """The lines of a file that the sandboxed may have put in place of ours."""
    if path.is_symlink() or not path.is_file():
        return ()
    with path.open("rb") as file:
        return tuple(line.strip()[:200] for line in file.read(8192).decode("utf-8", "replace").splitlines())
