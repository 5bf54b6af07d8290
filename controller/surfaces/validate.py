"""`validate`: all that can be known of a task without starting an agent, and what a run of it may cost."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.bounds import advice, check_bounded, worst_case_bytes
from contracts.charter import Charter
from contracts.errors import ConfigError, ControllerError
from contracts.freshness import unread_rules
from contracts.lint_strict import lint_claude, lint_strict
from contracts.schema_refs import BadSchema, pointer
from controller.assemble import charter
from controller.candidate import Candidate
from controller.commit import REPLY_TOKENS
from controller.contract_folder import contract_of
from controller.record_store import remote_of
from controller.render import worst_case
from controller.schema_chain import current_schema
from controller.surfaces import criteria, forging, outlook, suitable
from controller.surfaces.changes import repository
from controller.surfaces.locate import load, task_path
from controller.surfaces.prove import prove_checks
from controller.surfaces.words import command, plain, size
from controller.taskfile import LoadedTask, TaskFileError, effective

ENVELOPE = 6 * 1024  # bytes of a request that are neither prompt nor schema, measured on the real agents


@dataclass(frozen=True)
class AgentBound:
    """One agent of the task: its dialect, the bytes of its reply schema, and the most that one request and a
    whole run can be. `usd` is None where the task has no price for it. `requests` of a launch: of an agent with
    tools of its own as it is reserved, and then neither is a bound."""

    agent: str
    kind: str
    dialect: str
    schema_bytes: int
    request_bytes: int
    run_tokens: int
    usd: float | None
    requests: int = 1


@dataclass
class Report:
    """What was found. `sections`: name -> most bytes in a prompt. `tokens` is the bound bytes/2."""

    task: str = ""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    state_bytes: int = 0
    sections: dict[str, int] = field(default_factory=dict)
    prompt_bytes: int = 0
    prompt_tokens: int = 0
    agents: list[AgentBound] = field(default_factory=list)
    steps: int = 0
    sandbox: JsonObject = field(default_factory=dict)
    proven: dict[str, bool] | None = None
    lets_go: dict[str, str] = field(default_factory=dict)
    invariants: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not self.problems


def validate(task: Path | None, *, as_json: bool, show_effective: bool, prove: bool) -> int:
    """0 good, 3 when something was found. Raises ConfigError where there is no task file."""
    path = task_path(task)
    if not path.exists():
        raise ConfigError(f"there is no file {path}", hint="`controller init` writes one")
    try:
        loaded = load(task)
    except TaskFileError as error:
        return _told(Report(problems=list(error.problems)), as_json)
    if show_effective:
        return _effective(loaded, as_json)
    report = inspect(loaded)
    if prove and report.good:
        try:
            proved = prove_checks(loaded)
            report.proven = proved.noticed
            report.warnings += suitable.few(proved.left)
        except ConfigError as error:
            report.problems.append(str(error))
    return _told(report, as_json)


def _effective(loaded: LoadedTask, as_json: bool) -> int:
    shown = effective(loaded.task)
    if as_json:
        print(orjson.dumps(shown).decode())
        return 0
    from ruamel.yaml import YAML

    yaml, out = YAML(), io.StringIO()
    yaml.default_flow_style = None
    yaml.width = 110
    yaml.dump(shown, out)
    box = outlook.boxed(loaded)
    told = [f"sandbox here: {box['kind']}", *(f"  {mount}" for mount in box["mounts"])]
    sys.stdout.write(out.getvalue() + "".join(f"# {line}\n" for line in told))
    return 0


# ---- what is looked at --------------------------------------------------------------------------------------
def inspect(loaded: LoadedTask) -> Report:
    """Everything static. Never raises for what is wrong with the task: that is a problem of the report."""
    task = loaded.task
    report = Report(task=task.name, steps=task.budgets.steps)
    try:
        schema = current_schema(loaded)
    except (ConfigError, BadSchema) as error:
        report.problems += error.problems if isinstance(error, BadSchema) else [str(error)]
        return report
    report.problems += [f"state schema: {one}" for one in check_bounded(schema.source)]
    if report.problems:
        return report
    report.state_bytes = worst_case_bytes(schema.source)
    report.lets_go = {pointer(rule.path): str(rule) for rule in schema.fading}
    report.invariants = {one.name: one.say for one in schema.invariants}
    with tempfile.TemporaryDirectory(prefix="controller-validate-") as scratch:
        for name in dict.fromkeys([*task.agent.chain, *task.agents]):
            _inspect_agent(loaded, name, report, Path(scratch))
    report.problems += list(_repository(loaded))
    if not report.problems:
        files = outlook.tracked(loaded, repository(loaded))
        report.problems += list(outlook.problems(loaded, files))
        report.sandbox = outlook.boxed(loaded)
        report.warnings += list(outlook.warnings(loaded, files))
        report.problems += list(forging.problems(loaded))
        report.warnings += list(forging.warnings(loaded))
    report.problems += list(suitable.migrations(loaded, schema, report.warnings))
    report.warnings += [f"state schema: {line}" for line in advice(schema.source)]
    report.warnings += unread_rules(schema, {"git", *task.authorities})
    report.warnings += [*suitable.warnings(loaded), *suitable.exploring(loaded), *criteria.warnings(loaded)]
    report.warnings += list(_warnings(loaded, report))
    return report


def _inspect_agent(loaded: LoadedTask, name: str, report: Report, scratch: Path) -> None:
    """Compiles the transition for this agent, holds it against what its vendor takes and its entry against what its
    kind can do, and adds its bounds."""
    try:
        law = charter(loaded, name)
    except BadSchema as error:
        report.problems += [
            f"agent {name}: the state schema can't be said to it: {one}" for one in error.problems
        ]
        return
    except ConfigError as error:
        report.problems.append(f"agent {name}: {error}")
        return
    lint = (
        lint_strict if law.dialect.name == "strict" else lint_claude if law.agent.kind == "claude" else None
    )
    faults = lint(law.dialect.schema) if lint else []
    report.problems += [f"agent {name}: its vendor would refuse the reply schema: {one}" for one in faults]
    try:
        report.warnings += Candidate.of(loaded, law, scratch).configured()
    except ConfigError as error:
        report.problems.append(f"{loaded.where('agents', name)}: {error}")
    parts = worst_case(law, report.state_bytes)
    total = parts.pop("total")
    if total >= report.prompt_bytes:
        report.sections, report.prompt_bytes = parts, total
        report.prompt_tokens = (total + 1) // 2
    report.agents.append(_bound(law, total, report.steps))


def _bound(law: Charter, prompt: int, steps: int) -> AgentBound:
    schema, tokens = len(orjson.dumps(law.dialect.schema)), (prompt + 1) // 2
    requests = law.requests
    asked = steps * requests
    usd = None
    if law.price is not None:
        usd = round(asked * (tokens * law.price.input + REPLY_TOKENS * law.price.output) / 1e6, 2)
    return AgentBound(
        agent=law.agent.name,
        kind=law.agent.kind,
        dialect=law.dialect.name,
        schema_bytes=schema,
        request_bytes=2 * prompt + schema + ENVELOPE,
        run_tokens=asked * (tokens + REPLY_TOKENS),
        requests=requests,
        usd=usd,
    )


def _repository(loaded: LoadedTask) -> Iterator[str]:
    base = loaded.task.workspace.base
    try:
        repo = repository(loaded)
        if repo.rev(base) is None and repo.rev(f"refs/remotes/origin/{base}") is None:
            where = loaded.where("workspace", "base")
            commits = "" if repo.rev("HEAD") else "; it has no commit yet"
            yield f"{where}: {repo.root} has no branch, tag or commit {base!r}{commits} (write the one to start from)"
    except ControllerError as error:
        yield f"{loaded.where('workspace', 'repo')}: {error}"
        return
    if loaded.task.store.use == "git":
        try:
            remote_of(loaded).address  # noqa: B018 - looked up when it is asked for
        except ConfigError as error:
            yield f"{loaded.where('store')}: {error}"


def _warnings(loaded: LoadedTask, report: Report) -> Iterator[str]:
    task = loaded.task
    if task.sandbox.mode == "none":
        yield "sandbox: none: commands and checks run with your rights"
    guards = [check for check in task.checks if check.role == "guard"]
    if not guards:
        yield "there is no guard: nothing would notice that something else broke"
    for check in guards:
        if check.must_notice is None and check.authority is None:
            yield f"guard {check.name!r} has no must_notice: nothing proves that it sees the worktree"
    if report.state_bytes > task.limits.state and contract_of(loaded).state_schema:
        yield (
            f"the state schema allows {size(report.state_bytes)}, limits.state {size(task.limits.state)}: "
            "a larger state is rejected"
        )
    if task.budgets.usd is None:
        yield "budgets.usd is null: only steps and tokens end the run"
    for agent in report.agents:
        if agent.usd is None and agent.kind != "claude" and task.budgets.usd is not None:
            yield f"agent {agent.agent}: no price, so money counts only as far as it reports it; steps and tokens hold"


# ---- what is said -------------------------------------------------------------------------------------------
def _told(report: Report, as_json: bool) -> int:
    code = 0 if report.good else 3
    if as_json:
        print(orjson.dumps(asdict(report) | {"good": report.good}).decode())
        return code
    lines: list[str] = []
    if report.sections:
        lines.append(f"{'prompt at most':<16}{'bytes':>10}{'tokens':>10}")
        for name, count in [*report.sections.items(), ("total", report.prompt_bytes)]:
            lines.append(f"  {name:<14}{count:>10,}{(count + 1) // 2:>10,}")
        lines.append(f"state at most {report.state_bytes:,} bytes")
    lines += [f"{place} lets go of {what}" for place, what in report.lets_go.items()]
    lines += [f"invariant {name}: {say}" for name, say in report.invariants.items()]
    lines += [_bounds(agent, report.steps) for agent in report.agents]
    for name, noticed in (report.proven or {}).items():
        lines.append(f"check {name}: " + ("notices a broken file" if noticed else "read; nothing to prove"))
    lines += [f"warning: {line}" for line in report.warnings]
    lines += [f"problem: {line}" for line in report.problems]
    count = len(report.problems)
    lines.append(f"{report.task or 'task'}: " + ("good" if not count else f"{count} to mend"))
    if report.good and report.proven is None:
        lines.append(f"next: {command('run')}, or `controller validate --prove-checks` first")
    print(plain("\n".join(lines)))
    return code


def _bounds(agent: AgentBound, steps: int) -> str:
    """The line of one agent. What has tools of its own makes as many requests as it likes, of any size after the first:
    what they are together is then an estimate."""
    free, said = agent.requests > 1, f"agent {agent.agent} ({agent.dialect} dialect): "
    price = "it reports its own price" if agent.kind == "claude" else "no price is set"
    if agent.usd is not None:
        price = f"{'' if free else 'at most '}${agent.usd:,.2f}"
    if free:
        return (
            f"{said}first request ≤ {agent.request_bytes:,} bytes; {steps} steps of {agent.requests} requests (how "
            f"many it makes is not bounded) are {agent.run_tokens:,} tokens, {price}"
        )
    return (
        f"{said}request ≤ {agent.request_bytes:,} bytes; {steps} steps ≤ {agent.run_tokens:,} tokens, {price}"
    )
