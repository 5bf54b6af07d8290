"""What an agent changed by itself in the copy of the worktree that it was lent, and `submit`, the action that hands it
in: its arguments are filled in by the controller, and all that the gate judges by stands in them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from contracts.actions import ActionSpec, closed
from contracts.base import Frozen, JsonObject, canonical

SUBMIT = "submit"
REQUESTS = (
    8  # that a launch is reserved for; how many it makes is the agent's affair, and charged as reported
)
MAX_FILES = 400  # of one candidate
MAX_DIFF = 1024 * 1024  # bytes
MAX_CONTENT = 32 * 1024 * 1024  # bytes of changed files that are looked at, in all
FILE, PROGRAM, LINK, REPOSITORY = "100644", "100755", "120000", "160000"
GONE = "000000"
# What an agent with its own tools has no use for; `read_files` stays, since it reads kept outputs too.
OWN = ("list_files", "search", "edit_files", "apply_patch", "batch")

RULES = f"""\
You have tools of your own in this step: look, edit and test with them in the folder you are started in, a copy of the
worktree as it is now. Then reply {SUBMIT}, and nothing else is needed: the difference to what you were given is judged
as a whole, checked, and becomes the commit of this step, or it is thrown away and you are told why.
- Change only what the step is about: one file out of scope, pinned or protected refuses all of it.
- Do not commit, stash, or make branches or tags; leave no process running; write no credential into a file.
- What you do not submit in this very reply is lost: with any other action leave the files as they were.
"""
UNSUBMITTED = (
    "you changed files in your folder and did not submit them, so they were thrown away: reply submit in the step in "
    "which you change something, and leave the files as they are in any other"
)

_TEXT: JsonObject = {"type": "string", "maxLength": 4000}
_SUMMARY: JsonObject = {"type": "string", "minLength": 1, "maxLength": 2000}
_NAMED: JsonObject = {"type": "array", "items": _TEXT, "maxItems": 20}


class Changed(Frozen):
    """One file of the difference. `mode` is Git's after it, `was` before it; 000000 where there is none."""

    path: str
    was: str = FILE
    mode: str = FILE
    binary: bool = False

    @property
    def op(self) -> Literal["add", "change", "delete"]:
        return "add" if self.was == GONE else "delete" if self.mode == GONE else "change"


class Submitted(Frozen):
    """What one launch left in its copy.

    base     the commit that the copy was made from. tree: the Git tree of the result, empty where it was too large
             to be taken. kept: the ref that holds it, empty where nothing was changed.
    diff     the artifact with the unified diff, for people; its size in bytes.
    files    at most MAX_FILES of the `count` that differ.
    own      commits, refs and repositories that the agent made itself. left: processes that it left running.
    secrets  what it brought in of secrets, in sentences: kind and place, never the value.
    """

    base: str
    tree: str = ""
    kept: str = ""
    diff: str = ""
    bytes: int = 0
    count: int = 0
    files: tuple[Changed, ...] = ()
    own: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def args(self) -> JsonObject:
        """As arguments of `submit`."""
        return self.model_dump(mode="json")


_GIVEN: JsonObject = {
    "base": _TEXT,
    "tree": _TEXT,
    "kept": _TEXT,
    "diff": _TEXT,
    "bytes": {"type": "integer", "minimum": 0},
    "count": {"type": "integer", "minimum": 0},
    "files": {
        "type": "array",
        "maxItems": MAX_FILES,
        "items": closed(
            {"path": _TEXT, "was": _TEXT, "mode": _TEXT, "binary": {"type": "boolean"}},
            ("path", "was", "mode", "binary"),
        ),
    },
    "own": _NAMED,
    "left": _NAMED,
    "secrets": _NAMED,
}
_SAYS = "hands in what you changed in your folder: checked as a whole, it becomes the step's commit"
ASKED = ActionSpec(SUBMIT, closed({"summary": _SUMMARY}, ("summary",)), _SAYS, effect="edit", alone=True)
FILLED = replace(ASKED, args=closed({"summary": _SUMMARY, **_GIVEN}, ("summary", *_GIVEN)))


def delegated(specs: Iterable[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The actions of an agent that edits by itself, as the gate knows them."""
    return (FILLED, *(spec for spec in specs if spec.name not in OWN))


def asked(specs: Iterable[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The same as the agent is shown them: what only the controller can know is not asked for."""
    return tuple(ASKED if spec is FILLED else spec for spec in specs)


def handed_in(transition: JsonObject, found: Submitted | None) -> JsonObject:
    """The transition; a `submit` with what was found in its copy, whatever it says itself."""
    match transition.get("action"):
        case {"tool": "submit", "args": dict(args)} if found is not None:
            args = {"summary": args["summary"]} if "summary" in args else {}
            return {**transition, "action": {"tool": SUBMIT, "args": {**args, **found.args()}}}
        case _:
            return transition


def kept_back(transition: JsonObject | None, found: Submitted | None) -> bool:
    """Whether files were changed, and another action was asked for."""
    action = transition.get("action") if transition else None
    tool = action.get("tool") if isinstance(action, dict) else None
    return found is not None and bool(found.count or found.own) and tool not in (None, SUBMIT)


def read(args: JsonObject) -> Submitted:
    """What the arguments of a `submit` say, which are valid."""
    told = {name: value for name, value in args.items() if name != "summary"}
    return Submitted.model_validate_json(canonical(told))


def refused(args: JsonObject, head: str) -> tuple[str, str] | None:
    """Why a candidate may not be applied, beside what its paths say: (code, what to do instead), or None. `head` is
    the commit that it would be applied to."""
    found = read(args)
    if found.left:
        say = f"you left {_named(found.left)} running; it was ended: end what you start before you reply"
        return "submit.processes", say
    if found.own:
        say = f"you made {_named(found.own)}: never commit, stash or branch, the controller commits"
        return "submit.commits", say + (f" (kept as {found.kept})" if found.kept else "")
    if not found.count:
        return (
            "submit.empty",
            "no file differs from what you were given: change something, or do something else",
        )
    if found.base != head:
        say = f"this was made on {found.base[:12]}, and the branch is at {head[:12]}: do it anew"
        return "submit.moved", say
    if not found.tree or found.count > MAX_FILES or found.bytes > MAX_DIFF:
        say = (
            f"{found.count:,} files with a difference of {found.bytes:,} bytes are too much for one step "
            f"(at most {MAX_FILES}, {MAX_DIFF:,}): do a part of it"
        )
        return "submit.too_large", say
    if found.secrets:
        return "secret", found.secrets[0]
    return _odd(found.files)


def _odd(files: tuple[Changed, ...]) -> tuple[str, str] | None:
    """The first file that is none of the kind that a step may change."""
    for each in files:
        if REPOSITORY in (each.was, each.mode):
            return "submit.repository", f"{each.path!r} is a repository of its own: leave it as it is"
        if LINK in (each.was, each.mode):
            return "submit.link", f"{each.path!r} is a symlink: leave links as they are, and make none"
        if each.op == "change" and each.mode != each.was:
            return "submit.mode", f"the mode of {each.path!r} changed: put it back"
        if each.binary and each.op != "delete":
            return "submit.binary", f"{each.path!r} is binary: only text is taken"
    return None


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
