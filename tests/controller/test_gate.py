"""The gate: every rejection code is reached, in the order of the layers, and says what to do instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.approvals import Approvals
from contracts.base import canonical
from contracts.charter import Charter
from contracts.merge import merge
from contracts.outcomes import Outcome
from contracts.queue import Entry
from contracts.readings import GitReading, Readings, UnknownReading
from contracts.record import Reserve, RunRecord
from contracts.reply import AgentReply, Reply, ReplyClass, Usage
from contracts.state import StateSchema
from contracts.verdicts import Allow, Confirm, Defer, Reject, Stop, Verdict
from controller.assemble import charter
from controller.charge import charge
from controller.gate import gate, judge
from controller.taskfile import read_task
from tests.controller.world import TASK, action, edit, finish

STATE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["goal", "notes", "log", "counter"],
    "properties": {
        "goal": {"type": "string", "maxLength": 40, "x-owner": "user", "default": "tidy up"},
        "counter": {"type": "integer", "minimum": 0, "maximum": 9, "x-owner": "controller", "default": 0},
        "notes": {
            "type": "object", "maxProperties": 20, "propertyNames": {"maxLength": 20},
            "additionalProperties": {"type": "string", "maxLength": 900}, "default": {},
        },
        "log": {
            "type": "object", "maxProperties": 9, "propertyNames": {"maxLength": 20}, "x-change-policy": "append-only",
            "additionalProperties": {"type": "string", "maxLength": 20}, "default": {"first": "entry"},
        },
        "view": {
            "type": "object", "maxProperties": 6, "propertyNames": {"maxLength": 20},
            "additionalProperties": {
                "type": "object", "additionalProperties": False, "required": ["path", "from", "to"],
                "properties": {
                    "path": {"type": "string", "maxLength": 90},
                    "from": {"type": "integer", "minimum": 1, "maximum": 99999},
                    "to": {"type": "integer", "minimum": 1, "maximum": 99999},
                },
            },
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> Charter:
    root = tmp_path_factory.mktemp("t")
    folder = root / ".agent-contract"
    folder.mkdir()
    (folder / "state.schema.json").write_bytes(canonical(STATE))
    task = TASK.replace("agent:", "contract: .agent-contract\nagent:") + "limits: {state: 4KiB}\n"
    (root / "task.yaml").write_text(task)
    made = charter(read_task(root / "task.yaml"))
    assert isinstance(made.schema, StateSchema) and "goal" in made.schema.plain["properties"]
    return made


def git(**more: Any) -> Readings:
    values = {"repository": "r", "branch": "b", "base": "a" * 40, "head": "b" * 40, "tree": "t"}
    return Readings(at=100.0, items={"git": GitReading(**{**values, **more})})


def record(law: Charter, **more: Any) -> RunRecord:
    values = {
        "task": "tidy",
        "run": "tidy@a#1",
        "opened": 1.0,
        "base": "a",
        "branch": "b",
        "head": "b" * 40,
        "step": 4,
    }
    return RunRecord(**{**values, "state": law.schema.initial(), **more})


def verdict(
    law: Charter, transition: Any, *, seen: Readings | None = None, fresh: Readings | None = None
) -> Verdict:
    return judge(record(law), seen or git(), fresh or git(), transition, law)


DEEP: Any = "x"
for _ in range(200):
    DEEP = {"a": DEEP}

REJECTED: list[tuple[str, str, Any]] = [
    ("envelope", "envelope.form", "complete"),
    ("envelope", "envelope.form", None),
    ("envelope", "envelope.form", [1]),
    ("envelope", "envelope.keys", {}),
    ("envelope", "envelope.keys", {**action("list_files"), "done": True}),
    ("envelope", "envelope.keys", {"action": {"tool": "finish", "args": {}}}),
    ("envelope", "envelope.depth", action("list_files", DEEP)),
    ("envelope", "envelope.json", action("list_files", {"path": "\ud800"})),
    ("envelope", "envelope.json", action("list_files", {"depth": 10**40})),
    ("envelope", "envelope.size", action("edit_files", {"edits": ["x" * 300_000]})),
    ("envelope", "envelope.patch", {"state_patch": [], "action": {"tool": "finish", "args": {}}}),
    ("envelope", "envelope.action", {"state_patch": {}, "action": "finish"}),
    ("envelope", "envelope.action", {"state_patch": {}, "action": {"tool": "finish"}}),
    ("envelope", "envelope.action", {"state_patch": {}, "action": {"tool": ["finish"], "args": {}}}),
    ("schema", "schema.tool", action("rm_rf")),
    ("schema", "schema.args", action("read_files")),
    ("schema", "schema.args", action("read_files", {"files": [{"path": "a"}], "more": 1})),
    ("schema", "schema.args", action("run", {"command": "unknown"})),
    ("schema", "schema.args", action("run", {"command": "show", "params": {"path": "/etc/passwd"}})),
    ("schema", "schema.state", action("list_files", notes={"a": 5})),
    ("schema", "schema.state", action("list_files", notes={"a": "x" * 901})),
    ("schema", "schema.state", action("list_files", notes=[])),
    ("schema", "schema.unknown_field", action("list_files", surprise=1)),
    ("patch", "patch.required", action("list_files", notes=None)),
    ("patch", "patch.append_only", action("list_files", log={"first": None})),
    ("patch", "patch.not_writable", action("list_files", counter=3)),
    ("intent", "intent.locked", action("list_files", goal="something easier")),
    ("invariants", "invariants.state_size", action("list_files", notes={f"n{n}": "x" * 900 for n in range(9)})),
    ("invariants", "invariants.view_range", action("list_files", view={"a": {"path": "a", "from": 9, "to": 2}})),
    ("policy", "policy.batch.order", action("batch", {"actions": [
        {"tool": "run", "args": {"command": "mess"}},
        {"tool": "edit_files", "args": {"edits": [{"op": "delete", "path": "src/a.txt"}]}},
    ]})),
    ("policy", "policy.edit.too_large", edit("src/a.txt", "a", "b" * 65_500 + "é" * 30)),
    ("policy", "policy.path.scope", edit("README.md", "a", "b")),
    ("policy", "policy.path.protected", edit("task.yaml", "a", "b")),
    ("policy", "policy.path.protected", edit(".github/workflows/ci.yml", "a", "b")),
    ("policy", "policy.path.protected", edit("src/.gitattributes", "a", "b")),
    ("policy", "policy.path.protected", edit("src/../.git/config", "a", "b")),
    ("policy", "policy.path.outside", edit("../other/a.txt", "a", "b")),
    ("policy", "policy.path.outside", edit("/etc/passwd", "a", "b")),
    ("policy", "policy.path.secret", edit("src/.env", "a", "b")),
    ("policy", "policy.patch.invalid", action("apply_patch", {"patch": "this is no diff"})),
    ("policy", "policy.path.scope", action("apply_patch", {
        "patch": "--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-a\n+b\n"})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "code", "transition"), REJECTED, ids=[f"{n}-{r[1]}" for n, r in enumerate(REJECTED)]
)
def test_each_rejection_has_its_layer_and_code(law: Charter, layer: str, code: str, transition: Any) -> None:
    found = verdict(law, transition)
    assert isinstance(found, Reject), found
    assert (found.layer, found.code) == (layer, code), found.say
    assert len(found.say) > 20, "it says what to do instead"


def test_a_path_through_a_symlink_out_of_the_worktree_is_rejected(law: Charter) -> None:
    fresh = git(links={"src/link": "../../elsewhere", "src/in": "b"})
    found = verdict(law, edit("src/link/a.txt", "a", "b"), fresh=fresh)
    assert isinstance(found, Reject) and found.code == "policy.path.symlink"
    assert isinstance(verdict(law, edit("src/in/a.txt", "a", "b"), fresh=git(links={"src/in": "b"})), Allow)


def test_a_symlink_into_a_pinned_file_does_not_help(law: Charter) -> None:
    found = verdict(law, edit("src/link", "a", "b"), fresh=git(links={"src/link": "../task.yaml"}))
    assert isinstance(found, Reject) and found.code == "policy.path.protected"


def test_a_worktree_that_moved_meanwhile_is_stale(law: Charter) -> None:
    found = verdict(law, edit("src/a.txt", "a", "b"), seen=git(), fresh=git(tree="other"))
    assert isinstance(found, Reject) and found.code == "policy.stale"
    assert isinstance(verdict(law, action("list_files"), seen=git(), fresh=git(tree="other")), Allow)


def test_an_unreadable_worktree_defers_what_rests_on_it(law: Charter) -> None:
    blind = Readings(at=100.0, items={"git": UnknownReading(name="git", why="locked")})
    found = verdict(law, edit("src/a.txt", "a", "b"), fresh=blind)
    assert isinstance(found, Defer) and found.not_before > 100.0


def test_the_earlier_layer_speaks_first(law: Charter) -> None:
    worst = {**edit("/etc/passwd", "a", "b", goal="x", surprise=1), "extra": 1}
    codes = []
    for fix in (
        lambda t: t.pop("extra"),
        lambda t: t["state_patch"].pop("surprise"),
        lambda t: t["state_patch"].pop("goal"),
        lambda t: None,
    ):
        found = verdict(law, worst)
        assert isinstance(found, Reject)
        codes.append(found.layer)
        fix(worst)
    assert codes == ["envelope", "schema", "intent", "policy"]


def test_what_is_allowed_carries_the_candidate_and_leaves_the_state(law: Charter) -> None:
    before = record(law)
    copy = before.model_copy(deep=True)
    found = judge(before, git(), git(), edit("src/a.txt", "a", "b", notes={"k": "v"}), law)
    assert isinstance(found, Allow)
    assert found.staged.candidate == merge(before.state, {"notes": {"k": "v"}})
    assert found.staged.before.head == "b" * 40 and "git" in found.staged.proof.names
    assert before == copy


def test_reads_need_no_proof_and_finish_needs_every_check(law: Charter) -> None:
    read, done = verdict(law, action("list_files")), verdict(law, finish())
    assert isinstance(read, Allow) and read.staged.proof.names == ()
    assert isinstance(done, Allow) and set(done.staged.proof.names) == {"git", "no-old", "sound"}


def test_the_key_binds_run_step_and_action(law: Charter) -> None:
    def key(transition: Any, **more: Any) -> str:
        found = judge(record(law, **more), git(), git(), transition, law)
        assert isinstance(found, Allow)
        return found.staged.key

    one = key(action("list_files"))
    assert one == key(action("list_files", notes={"a": "b"})), "the patch is no part of the deed"
    assert (
        len(
            {
                one,
                key(action("list_files", {"depth": 3})),
                key(action("list_files"), step=5),
                key(action("list_files"), run="t@b#1"),
            }
        )
        == 4
    )


def test_ask_is_parked_and_its_answer_is_staged_without_a_launch(law: Charter) -> None:
    parked = verdict(law, action("ask", {"question": "Which?"}))
    assert isinstance(parked, Confirm) and parked.entry.why == "Which?"
    entry = parked.entry.model_copy(update={"status": "approved", "answer": "this"})
    gated = gate(record(law), git(), git(), entry, law)
    assert isinstance(gated.verdict, Allow) and gated.launch is None
    assert gated.verdict.staged.answer == "this" and gated.verdict.staged.step == 5


def test_the_queue_is_bounded(law: Charter) -> None:
    queue = tuple(Entry(id=f"q{n}", kind="ask", step=n, transition={}, why="", opened=1.0) for n in range(8))
    found = judge(record(law, queue=queue), git(), git(), action("ask", {"question": "?"}), law)
    assert isinstance(found, Reject) and found.code == "policy.queue_full"


def a_reply(law: Charter, raw: AgentReply, **more: Any) -> Reply:
    return Reply(agent=law.agent, raw=raw, **more)


def test_problems_of_decoding_are_told_to_the_model(law: Charter) -> None:
    reply = a_reply(law, AgentReply(cls=ReplyClass.OK, value={}), problems=("/state_patch/0: no such path",))
    gated = gate(record(law), git(), git(), reply, law)
    assert isinstance(gated.verdict, Reject) and "/state_patch/0: no such path" in gated.verdict.say


WEEK = 100.0 + 8 * 86400
DUE = [(None, 1000.0), (5.0, 220.0), (100.0, 220.0), (100.5, 100.5), (WEEK, WEEK), (1e12, WEEK), (1e17, WEEK)]


@pytest.mark.parametrize(("told", "due"), DUE)
def test_a_limit_is_over_neither_in_the_past_nor_never(law: Charter, told: float | None, due: float) -> None:
    reply = a_reply(law, AgentReply(cls=ReplyClass.LIMIT_WITH_RESET, message="full", not_before=told))
    found = gate(record(law), git(), git(), reply, law).verdict
    assert isinstance(found, Defer) and found.not_before == due


def test_a_third_failure_in_a_row_is_failed_and_backoff_doubles(law: Charter) -> None:
    reply = a_reply(law, AgentReply(cls=ReplyClass.TRANSIENT, message="529"))
    waits = []
    for failures in (0, 1, 2):
        found = gate(record(law, failures=failures), git(), git(), reply, law).verdict
        if isinstance(found, Defer):
            waits.append(found.not_before - 100.0)
        else:
            assert isinstance(found, Stop) and found.outcome is Outcome.failed
    assert waits == [30.0, 60.0]


@pytest.mark.parametrize(
    ("usage", "charged", "estimated"),
    [
        (
            Usage(input=10, cached=4, output=2, usd_micro=7),
            Usage(input=10, cached=4, output=2, usd_micro=7),
            False,
        ),
        (Usage(input=10, output=2), Usage(input=10, cached=0, output=2, usd_micro=500), False),
        (Usage(), Usage(input=1000, cached=0, output=400, usd_micro=500), True),
        (Usage(input=0, output=0, usd_micro=0), Usage(input=0, cached=0, output=0, usd_micro=0), False),
    ],
    ids=["reported", "no money, no price", "nothing", "really nothing"],
)
def test_what_is_not_reported_is_charged_as_reserved(
    law: Charter, usage: Usage, charged: Usage, estimated: bool
) -> None:
    kept = Reserve(
        step=5, usage=Usage(input=1000, output=400, usd_micro=500), prompt_digest="", prompt_bytes=1, at=1.0
    )
    assert charge(record(law, reserve=kept), usage, law) == (charged, estimated)


def test_who_can_lift_a_lasting_limit_is_told(law: Charter) -> None:
    reply = a_reply(law, AgentReply(cls=ReplyClass.LIMIT_PERMANENT, message="no credit left"))
    found = gate(record(law), git(), git(), reply, law).verdict
    assert isinstance(found, Stop) and found.outcome is Outcome.blocked
    assert found.say.startswith("no credit left (waiting does not help") and "--retry" in found.say


KEYS = st.sampled_from(["a", "notes", "goal", "log", "tool", "args", "first"])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
patches = st.dictionaries(
    st.sampled_from(["notes", "goal", "log", "view", "counter", "surprise"]), json, max_size=4
)
tools = st.sampled_from(["list_files", "finish", "edit_files", "run", "nope"])


@settings(max_examples=200, deadline=None)
@given(
    transition=st.builds(
        lambda p, t, a: {"state_patch": p, "action": {"tool": t, "args": a}}, patches, tools, json
    )
    | json
)
def test_whatever_is_allowed_keeps_schema_and_locked_fields(law: Charter, transition: Any) -> None:
    before = record(law)
    found = judge(before, git(), git(), transition, law)
    if isinstance(found, Allow):
        candidate = found.staged.candidate
        assert law.schema.errors(candidate) == []
        assert candidate["goal"] == before.state["goal"] and candidate["counter"] == before.state["counter"]
        assert set(before.state["log"]) <= set(candidate["log"])
    else:
        assert isinstance(found, Reject)
    assert before == record(law)


def test_a_quoted_reply_holds_no_secret(law: Charter) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    reply = a_reply(
        law, AgentReply(cls=ReplyClass.INVALID, message="no JSON", text=f"the key is {token} and")
    )
    verdict = gate(record(law), git(), git(), reply, law).verdict
    assert isinstance(verdict, Reject) and "the key is" in verdict.excerpt and token not in verdict.excerpt


@pytest.mark.parametrize(
    "asked",
    [
        action("ask", {"question": "Is ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8 still good?"}),
        action("search", {"pattern": "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}),
        action("finish", {"summary": "the key is ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}),
        edit("src/ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8.txt", "a", "b"),
    ],
    ids=["ask", "search", "finish", "a path"],
)
def test_a_secret_in_arguments_is_rejected_before_it_is_stored(law: Charter, asked: Any) -> None:
    found = verdict(law, asked)
    assert isinstance(found, Reject) and found.code == "policy.secret" and "ghp_A1" not in found.say


def test_what_can_not_be_written_is_rejected_and_not_kept(law: Charter) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = {"a": deep}
    for args, code in ((deep, "envelope.depth"), ({"path": "\ud800"}, "envelope.json")):
        said = action("list_files", args)
        reply = a_reply(law, AgentReply(cls=ReplyClass.OK, value=said), transition=said)
        gated = gate(record(law), git(), git(), reply, law)
        assert isinstance(gated.verdict, Reject) and gated.verdict.code == code and gated.transition is None
        gated.model_dump_json()


def test_what_a_rejection_says_holds_no_secret(law: Charter) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    said = action("list_files", {}, notes={"a": {"is": token}})
    reply = a_reply(law, AgentReply(cls=ReplyClass.OK, value=said), transition=said)
    found = gate(record(law), git(), git(), reply, law).verdict
    assert isinstance(found, Reject) and "/notes/a" in found.say and token not in found.say


@pytest.mark.parametrize(
    "path", ["src/guarded.txt", "src/./guarded.txt", "src/x/../guarded.txt", "src/link", "src/x/../link"]
)
def test_a_boundary_is_not_passed_by_a_detour(law: Charter, path: str) -> None:
    approvals = Approvals.model_validate({"boundaries": ({"paths": ("src/guarded*",)},)})
    bounded = replace(law, task=law.task.model_copy(update={"approvals": approvals}))
    seen = git(links={"src/link": "guarded.txt"})
    found = judge(record(law), seen, seen, edit(path, "a", "b"), bounded)
    assert isinstance(found, Confirm) and "file src/guarded.txt" in found.entry.basis
    assert isinstance(judge(record(law), seen, seen, edit("src/a.txt", "a", "b"), bounded), Allow)
