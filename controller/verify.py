"""verify: what the readings after the deed say of the staged action. Pure; the adapter's word is only a claim."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable

from contracts import waiting
from contracts.actions import MAYBE, UNKNOWN, ActionResult, Block
from contracts.approvals import overstepped
from contracts.deeds import DEEDS
from contracts.forge_reading import NAME, ForgeReading, Seen
from contracts.paths import generated, matches
from contracts.readings import (
    AFTER_CHECKS,
    CheckReading,
    CommandReading,
    GitReading,
    Printed,
    Reading,
    Readings,
    UnknownReading,
    check_id,
)
from contracts.record import Observation, Staged
from contracts.submitted import SUBMIT
from contracts.text import cut, standing
from contracts.verdicts import Asks, Evidence, Pending, Proven, Refuted, Unknown, Verified

AGAIN = 30.0  # seconds until a deed that is not seen is looked for again
SHOWN = 8  # paths named in a sentence


def verify(staged: Staged, result: ActionResult, after: Readings) -> Verified:
    """The evidence on `staged`, with what the next observation shows and which files become its commit."""
    changed = _changed(staged, after)
    evidence = _in_time(staged, result, _evidence(staged, result, after, changed), after.at)
    checks = tuple(after.checks.values())
    git = after.items.get(AFTER_CHECKS, after.git)
    kept = () if staged.tool in DEEDS else changed  # a deed changes no file: what did is somebody else's
    keep = tuple(sorted(path for path in kept if not _refused(staged, git, path)))
    left = set(git.dirty) - set(keep) if isinstance(git, GitReading) else set()
    proven = isinstance(evidence, Proven)
    return Verified(
        evidence=evidence,
        observation=_observed(staged, result, after, changed, left) if proven else None,
        keep=keep if proven else (),
        strays=tuple(sorted(left)),
        # A commit of the command's own leaves a clean tree, and is none of ours.
        dirty=isinstance(git, GitReading) and (bool(git.dirty) or git.head != staged.before.head),
        committed=result.committed,
        finished=proven and staged.tool == "finish",
        checks=checks,
        after=after if after.items else None,
        tool_result=result.code or "ok",
        summary=_summary(staged, keep),
        moved=_moved(changed, after),
        printed=_printed(staged, result, after, proven),
        took={"act": result.took, "verify": after.took},
        at=after.at,
    )


def _changed(staged: Staged, after: Readings) -> dict[str, str | None]:
    """What the deed changed: everything that differs from HEAD now and did not before."""
    git = after.git
    return {path: sha for path, sha in git.dirty.items() if path not in staged.before.dirty} if git else {}


def _refused(staged: Staged, git: Reading | None, path: str) -> str:
    """Why a changed file is put back and does not become part of the step's commit; empty when it does."""
    by_policy = staged.policy.write(path)
    return by_policy[1] if by_policy else git.unfit.get(path, "") if isinstance(git, GitReading) else ""


def _evidence(
    staged: Staged, result: ActionResult, after: Readings, changed: dict[str, str | None]
) -> Evidence:
    if staged.tool in DEEDS and (seen := _seen(staged, after)) is not None and seen.found:
        return Proven()
    if not result.ok:
        if result.not_before is not None:
            return Pending(not_before=result.not_before, say=f"{staged.tool}: {result.say}")
        if result.code == UNKNOWN:
            return Unknown(
                say=f"{staged.tool} was interrupted and can't tell whether it happened: {result.say}"
            )
        return Refuted(code=result.code or "act.failed", say=result.say, excerpt=result.excerpt)
    if staged.tool == "wait":
        return _waited(staged, after)
    if staged.tool in DEEDS:
        return _unseen(staged, after)
    if "git" not in staged.proof.names:
        return Proven()
    git = after.git
    if git is None:
        return Unknown(say="the worktree could not be read after the action")
    if not result.committed:
        if git.head != staged.before.head:
            say = f"the branch moved from {staged.before.head[:12]} to {git.head[:12]} during the action"
            return Refuted(code="evidence.head_moved", say=say)
        if refuted := _files(staged, result, changed, git.secrets):
            return refuted
    if staged.tool == "finish":
        return _finish(staged, after)
    return _kept_green(after) if staged.tool == SUBMIT else Proven()


def _kept_green(after: Readings) -> Evidence:
    """The guards that are read after an edit: what an agent did by itself is not taken while one of them is red. A
    goal may be red until all is done."""
    unread = [item for item in after.items.values() if isinstance(item, UnknownReading)]
    if unread:
        return Refuted(code="submit.unproven", say=f"{unread[0].name} could not be read: {unread[0].why}")
    red = [check for check in after.checks.values() if check.role == "guard" and not check.passed]
    if not red:
        return Proven()
    say = f"{_named([check.name for check in red])} went red with what you submitted, so it was thrown away"
    return Refuted(code="submit.red", say=say, excerpt=_why(red))


def _in_time(staged: Staged, result: ActionResult, evidence: Evidence, now: float) -> Evidence:
    """Evidence that is still to come is waited for until the deadline; a deed that may have been done is then for a
    person to look at."""
    if not isinstance(evidence, Pending) or staged.deadline is None:
        return evidence
    if now >= staged.deadline and staged.tool in DEEDS and (result.ok or result.code in (MAYBE, UNKNOWN)):
        return Unknown(say=evidence.say)
    if now >= staged.deadline:
        return Refuted(code=f"{staged.tool}.late", say=f"it did not come about in time: {evidence.say}")
    return evidence.model_copy(update={"not_before": min(evidence.not_before, staged.deadline)})


def _waited(staged: Staged, after: Readings) -> Evidence:
    """Whether the authority has come to what was waited for."""
    name, basis = str(staged.args["authority"]), staged.before.basis
    words, reading = tuple(basis.get("is", "").split()), after.items.get(name)
    if waiting.standing(reading, basis.get("reading", "")).intersection(words):
        return Proven()
    said = waiting.told(name, reading)
    if say := waiting.hopeless(name, words, reading):
        return Refuted(code="wait.otherwise", say=say, excerpt=said.text)
    due = getattr(reading, "not_before", None) or after.at + waiting.POLL
    return Pending(not_before=due, say=f"waiting for {' or '.join(words)}: {said.title}")


def _seen(staged: Staged, after: Readings) -> Seen | None:
    """What the remote and the forge show of the deed; who did it has no say in that."""
    forge = after.items.get(NAME)
    seen = forge.deed if isinstance(forge, ForgeReading) else None
    return seen if seen is not None and seen.key == staged.key else None


def _unseen(staged: Staged, after: Readings) -> Pending:
    seen, forge = _seen(staged, after), after.items.get(NAME)
    if seen is None:
        say = f"whether {staged.tool} was done can't be read now: {getattr(forge, 'why', 'it was not read')}"
    else:
        say = f"{staged.tool}: {seen.say or 'it is not seen there yet'}"
    return Pending(not_before=after.at + AGAIN, say=say)


def _files(
    staged: Staged, result: ActionResult, changed: dict[str, str | None], secrets: dict[str, str]
) -> Refuted | None:
    """The promised digests are there, and nothing else changed. A command's own changes are allowed where the
    policy allows them; what it left elsewhere is put back, and said."""
    ran = bool(result.ran)
    secret = [path for path in changed if path in secrets and not matches(path, staged.policy.secrets)]
    if secret:
        return Refuted(code="evidence.secret", say=secrets[secret[0]])
    kept = {path: sha for path, sha in changed.items() if staged.policy.write(path) is None}
    if ran and (beyond := overstepped(staged.boundaries, kept)):
        say = f"{beyond}. A command did it: make the change by edits, which can be approved, or `ask`"
        return Refuted(code="evidence.boundary", say=say)
    wrong = [path for path, sha in result.promised.items() if changed.get(path, "") != sha]
    wrong = [path for path in wrong if not (ran and path in changed)]
    if wrong:
        say = f"after the action {_named(wrong)} did not hold what was written"
        return Refuted(code="evidence.digest", say=say)
    extra = [path for path in changed if path not in result.promised]
    if extra and not ran:
        say = f"{_named(extra)} changed beside the action"
        return Refuted(code="evidence.unexpected", say=say)
    return None


def _finish(staged: Staged, after: Readings) -> Evidence:
    """All checks, now, on a clean tree at this revision; what none of them proves is asked when they are green."""
    unknown = [item for item in after.items.values() if isinstance(item, UnknownReading)]
    if unknown:
        return Unknown(say=f"{unknown[0].name} could not be read: {unknown[0].why}")
    missing = [name for name in staged.proof.names if name not in after.items]
    if missing:
        return Unknown(say=f"{_named(missing)} could not be read: no reader has that name")
    for item in after.items.values():
        if isinstance(item, CommandReading) and not item.ok:
            say = f"not done: {item.name} fails"
            return Refuted(code="finish.setup", say=say, excerpt=item.text[-1100:])
    red = [check for check in after.checks.values() if not check.passed]
    if (due := [check.not_before for check in red if check.not_before is not None]) and len(due) == len(red):
        why = "; ".join(f"{check.name}: {check.why}" for check in red)
        return Pending(not_before=max(due), say=f"not decided yet: {why}"[:1000])
    if red:
        told = ", ".join(f"{check.name} is red" for check in red)
        say = f"not done: {told}. Go on until every check is green, then finish."
        return Refuted(code="finish.red", say=say, excerpt=_why(red))
    return Asks(entry=staged.asks.asked(after.at, staged.secrets)) if staged.asks else Proven()


def _why(red: list[CheckReading]) -> str:
    """Why checks are red, with the text of the first."""
    whys = "\n".join(f"{check.name}: {check.why}" for check in red)
    # The text of the first says in a line of its own what its summary has said.
    text = "\n".join(row for row in red[0].text.split("\n") if row.strip() != red[0].why)
    return cut(f"{whys}\n{text}", 1200, artifact=red[0].artifact)


# ---- what is told -----------------------------------------------------------------------------------------
def _observed(
    staged: Staged, result: ActionResult, after: Readings, changed: dict[str, str | None], left: set[str]
) -> Observation:
    blocks = list(result.blocks)
    blocks += [_check_block(check) for check in after.checks.values()]
    if staged.tool == "wait":
        name = str(staged.args["authority"])
        blocks.append(waiting.told(name, after.items.get(name)))
    refused = {path: why for path in sorted(changed) if (why := _refused(staged, after.git, path))}
    if told := _told(staged, refused):
        caches, whys = _caches(told), [f"{path}: {refused[path]}" for path in told if not generated(path)]
        text = "\n".join(
            [*whys[:SHOWN], *([f"made by programs as they ran: {_named(caches)}"] if caches else [])]
        )
        blocks.append(Block(title=f"{len(told)} changed files were put back", text=text))
    if others := _told(staged, left.difference(refused)):
        named = [path for path in others if not generated(path)] + _caches(others)
        blocks.append(Block(title=f"left behind and put back: {_named(named)}"))
    return Observation(step=staged.step, tool=staged.tool, head=_head(staged, result), blocks=tuple(blocks))


def _told(staged: Staged, paths: Iterable[str]) -> list[str]:
    """Without the reports: they are written for the controller, each time anew."""
    return sorted(path for path in paths if (staged.policy.write(path) or ("", ""))[0] != "path.report")


def _caches(paths: Iterable[str]) -> list[str]:
    """The folders of the caches among the files, each with the number of them."""
    folders = Counter(posixpath.dirname(path) or "." for path in paths if generated(path))
    return [f"{folder}/ ({count:,} file{'s' * (count > 1)})" for folder, count in folders.items()]


def _head(staged: Staged, result: ActionResult) -> str:
    if result.ran:
        return "; ".join(
            f"{ran.name} exit {ran.exit} in {ran.took:.1f} s" + (" (timed out)" if ran.timed_out else "")
            for ran in result.ran
        )
    return result.say or "done"


def _check_block(check: CheckReading) -> Block:
    colour = standing(check.passed, check.why)
    text = "" if check.passed else check.text
    return Block(
        title=f"check {check.name}: {colour}: {check.why}",
        text=text,
        total=check.total,
        artifact=check.artifact,
    )


def _summary(staged: Staged, keep: tuple[str, ...]) -> str:
    """The subject of the step's commit."""
    if not keep:
        return staged.tool
    more = f" and {len(keep) - 1} more" if len(keep) > 1 else ""
    return f"{staged.tool} {keep[0]}{more}"


def _moved(changed: dict[str, str | None], after: Readings) -> tuple[str, ...]:
    """What counts as progress when it was not seen before in this run: the changed content, the checks."""
    from_checks = tuple(
        f"check {check.name} {check.passed} {check.counts.passed if check.counts else ''}"
        for check in after.checks.values()
    )
    content = (f"tree {sorted(changed.items())}",) if changed else ()
    return content + from_checks


def _printed(staged: Staged, result: ActionResult, after: Readings, proven: bool) -> dict[str, Printed]:
    """What was printed; nothing where the tree that it was printed on is put back."""
    if not proven and staged.tool != "finish":
        return {}
    ran = {ran.id: ran.printed for ran in result.ran if ran.printed is not None}
    read = {check_id(name): each.printed for name, each in after.checks.items() if each.printed is not None}
    return ran | read


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
