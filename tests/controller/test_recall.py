"""recall: what was in the state, the outputs and the people's words long ago is found, and only by asking."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import Unavailable
from contracts.queue import Answer, Tell
from contracts.recall import Recalled
from controller.assemble import charter
from controller.loop import run
from controller.memory.asked import RunMemory
from controller.memory.index import Index, missing
from controller.opening import Options
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import go
from tests.controller.world import TASK, World, action, edit, part

FACT = "the Zanzibar gateway answers only on port 4711"
STEPS = 150
LONG = (
    TASK.replace("finish]", "finish, recall]").replace(
        "    mess:",
        "    noise: {run: \"seq 1 3000; echo 'parseCounts failed: Foo::bar in src/foo/bar.py'; seq 1 100\"}\n"
        '    flood: {run: "echo first needle; seq 1 200000; echo; echo last needle"}\n'
        "    minified: {run: \"head -c 300000 /dev/zero | tr '\\\\0' x; echo; echo needle\"}\n    mess:",
    )
    + "budgets: {steps: 400}\n"
)
NOISE = action("run", {"command": "noise"})
LOOK = action("list_files", {"depth": 2})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "r", task=LONG)


def observed(prompt: str) -> str:
    return part(prompt, "observation")


def recalling(query: str, **more: Any) -> dict[str, Any]:
    return action("recall", {"query": query, **more})


def asked(world: World, *calls: dict[str, Any]) -> list[str]:
    """The observations that these actions bring, one step each."""
    go(world, [*calls, LOOK], limit=len(calls) + 1)
    return [observed(prompt) for prompt in world.prompts[1:]]


def memory(world: World) -> RunMemory:
    """A new one: as another process would ask."""
    runtime = world.root / ".agent-runtime"
    fields = charter(world.loaded).schema.fields
    return RunMemory("tidy", SqliteStore(runtime / "state.db"), FileArtifacts(runtime / "artifacts"), fields)


def found(world: World, query: str, *kinds: str) -> Recalled:
    return anyio.run(memory(world).recall, query, kinds)


# ---- what it is for ---------------------------------------------------------------------------------------
def busy(number: int) -> dict[str, Any]:
    """A cheap step; every tenth one changes a file, so that the run does not stand still."""
    if number % 10:
        return action("list_files", {"depth": 1 + number % 12}, current_change={"note": f"step {number}"})
    edits = [{"op": "write", "path": "src/log.txt", "content": f"line {number}\n"}]
    return action("edit_files", {"edits": edits})


def test_a_fact_removed_150_steps_ago_is_found_and_no_prompt_held_it_in_between(world: World) -> None:
    answers = [
        action("list_files", {}, notes={"gateway": FACT}),
        action("list_files", {"depth": 1}, notes={"gateway": None}),
        *map(busy, range(STEPS)),
        recalling("gateway port"),
        LOOK,
        action("list_files", {"depth": 5}),
    ]
    go(world, answers, limit=len(answers))
    prompts = world.prompts
    assert FACT not in prompts[0] and FACT in prompts[1], "it was known for one step"
    between = prompts[2 : STEPS + 3]
    assert len(between) == STEPS + 1 and not any("Zanzibar" in prompt for prompt in between)
    shown = observed(prompts[STEPS + 3])
    assert FACT in shown and "state of step 1: /notes/gateway, removed at step 2" in shown
    assert "Zanzibar" not in prompts[STEPS + 4], "an ordinary observation: gone with the next step"


def test_a_value_of_the_state_is_found_once_it_is_replaced_not_while_it_is_shown(world: World) -> None:
    first = action("list_files", {}, notes={"a": "amber"}, decision_ledger={"d": "keep amber"})
    go(world, [first, action("list_files", {"depth": 3}, notes={"a": "blue"})], limit=2)
    hits = found(world, "amber", "state").hits
    assert [(hit.step, hit.place, hit.text) for hit in hits] == [(1, "/notes/a, replaced at step 2", "amber")]
    assert found(world, "blue", "state").hits == ()


def test_a_full_output_is_found_and_read_on_from_the_line_that_is_said(world: World) -> None:
    def read_on(prompt: Any) -> dict[str, Any]:
        told = observed(prompt.text)
        named = re.search(r"(artifact:[0-9a-f]{16}) lines ([0-9,]+)–", told)
        assert named is not None, told
        begin = int(named[2].replace(",", ""))
        return action("read_files", {"files": [{"path": named[1], "from": begin, "to": begin}]})

    shown = asked(world, NOISE, LOOK, recalling("parse_counts", kinds=["output"]), read_on)
    assert "parseCounts failed" not in shown[0], "the last 40 lines of a run are shown"
    assert "output of step 1" in shown[2] and "parseCounts failed" in shown[2] and "of 3,101" in shown[2]
    assert "3001|parseCounts failed: Foo::bar in src/foo/bar.py" in shown[3]


@pytest.mark.parametrize(
    "query",
    ["parse_counts", "parsecounts", "parseC", "Foo::bar", "foo bar", "src/foo/bar.py", "PARSECOUNTS fail"],
)
def test_names_in_code_are_found_as_they_are_written_and_taken_apart(world: World, query: str) -> None:
    asked(world, NOISE)
    (hit,) = found(world, query, "output").hits
    assert "parseCounts failed" in hit.text and (hit.first, hit.total) == (3001, 3101)


def test_actions_and_what_came_of_them_are_found(world: World) -> None:
    asked(world, edit("src/a.txt", "old", "gerbil\nlemming"), edit("src/b.txt", "weasel", "stoat"))
    done, failed = found(world, "lemming", "action").hits[0], found(world, "weasel", "action").hits[0]
    assert done.place.startswith("edit_files: ok, commit ") and "edits/1/path: src/a.txt" in done.text
    assert failed.place.startswith("edit_files: edit.") and failed.step == 2


def test_reasons_of_rejections_and_words_of_people_are_decisions(world: World) -> None:
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    go(world, [edit("check.sh", "test", "true"), action("ask", {"question": "Which colour?"})], limit=2)
    anyio.run(store.post, "tidy", Answer(entry="q2", text="chartreuse, as ever", by="ana", at=1.0))
    anyio.run(store.post, "tidy", Tell(text="mind the quokka", by="ana", at=1.0))
    go(world, [LOOK, action("list_files", {"depth": 3})], limit=3)
    for word, place in (
        ("check.sh", "refused: policy.path.pinned"),
        ("chartreuse", "ask: answer to: Which colour?"),
        ("quokka", "user-note-2, a note of the user"),
    ):
        hit = found(world, word, "decision").hits[0]
        assert hit.place == place, word


def test_within_a_batch_and_its_own_results_are_not_found_again(world: World) -> None:
    both = action(
        "batch",
        {
            "actions": [
                {"tool": "recall", "args": {"query": "amber", "limit": 1}},
                {"tool": "list_files", "args": {}},
            ]
        },
    )
    put = action("list_files", {}, notes={"a": "amber"})
    shown = asked(
        world, put, action("list_files", {"depth": 1}, notes={"a": None}), both, both, recalling("amber")
    )
    assert all(shown[at].count("--- recall 1: state of step 1: /notes/a") == 1 for at in (2, 3, 4))
    assert "src/" in shown[3] and shown[4].startswith("step 5 recall: done\n--- recall 'amber': 1 found\n")


def test_what_a_step_was_shown_is_found_also_where_it_was_only_a_title(world: World) -> None:
    asked(
        world,
        action("search", {"pattern": "wombat"}),
        action("read_files", {"files": [{"path": "src/a.txt"}]}),
    )
    (hit,) = found(world, "wombat", "output").hits
    assert hit.step == 1 and hit.text.endswith("0 hits in 0 files (3 files searched)")
    prompt = FileArtifacts(world.root / ".agent-runtime/artifacts").get(hit.artifact).decode().split("\n")
    assert prompt[hit.first - 1].endswith(hit.text) and len(prompt) == hit.total + 1
    held = found(world, "x").held
    go(world, [action("nope"), action("nope")], limit=2)  # the same observation is shown two times more
    assert found(world, "x").held["output"] - held["output"] == 1
    (hit,) = found(world, "one old", "output").hits
    assert hit.place == "read_files: src/a.txt lines 1–2 of 2" and hit.text == "1|one old\n2|two"


def test_what_a_compact_prompt_showed_is_found_too(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=LONG.replace("name: tidy", "name: tidy\nlayout: compact", 1))
    asked(world, action("read_files", {"files": [{"path": "src/a.txt"}]}))
    assert world.prompts[0].startswith("[skill]\n")
    (hit,) = found(world, "one old", "output").hits
    assert hit.place == "read_files: src/a.txt lines 1–2 of 2" and hit.text == "1|one old\n2|two"


# ---- any question -----------------------------------------------------------------------------------------
HOSTILE = (
    '"', "'", '"unclosed', "a NOT b", "a AND", "OR", "NEAR(a b, 2)", "text: x", "^a", "a*b*", "-a", "(", "a) OR (b",
    "{text place}: a", "a\x00b", "\x00", "…!?", "🎉", "🎉 party", "\ud800", "x" * 10_000, "w " * 5_000,
    " ".join(f"w{n}" for n in range(500)), "é", "ﬀ", "नमस्ते", "\u0301", "%s {} $x", "--", "/* */",
    "²", "\ue000", "'; DROP TABLE chunks; --",
)  # fmt: skip


def test_no_text_is_a_wrong_question(world: World) -> None:
    asked(world, NOISE, edit("src/a.txt", "old", "party é नमस्ते"))
    mind = memory(world)
    for query in HOSTILE:
        answer = anyio.run(mind.recall, query)
        assert len(answer.words) <= 12 and bool(answer.words) == any(map(str.isalnum, query)), repr(query)
    assert anyio.run(mind.recall, "🎉 party").hits and anyio.run(mind.recall, "नमस्ते").hits


def test_hostile_questions_of_a_model_end_in_an_observation(world: World) -> None:
    odd = [query for query in HOSTILE if 0 < len(query) <= 200 and query != "\ud800"]
    shown = asked(world, NOISE, *map(recalling, odd[:15]))
    assert all("--- recall " in each for each in shown[1:])
    assert "there is no word to look for" in shown[1], "a quotation mark alone"


def test_text_without_spaces_is_found_by_any_part_of_it(world: World) -> None:
    put = action("list_files", {}, notes={"e": "使用旧的错误码E42处理超时", "k": "게이트웨이포트"})
    asked(world, put, action("list_files", {"depth": 1}, notes={"e": None, "k": None}))
    for query in ("错误码", "误码E42", "超时", "게이트웨이", "트웨이"):
        assert found(world, query).hits, query
    assert not found(world, "码错").hits


def test_words_that_nothing_holds_together_are_looked_for_singly_and_nothing_teaches(world: World) -> None:
    put = action("list_files", {}, notes={"a": "amber stone", "b": "blue"})
    gone = action("list_files", {"depth": 1}, notes={"a": None, "b": None})
    shown = asked(
        world, put, gone, recalling("blue stone"), recalling("granite"), recalling("x", kinds=["output"])
    )
    assert "2 found hold some of the words, none all of them" in shown[2]
    assert "nothing found" in shown[3] and "2 state" in shown[3] and "what is in the state now" in shown[3]
    assert "2 state" not in shown[4]


def test_the_same_piece_is_shown_once_with_its_steps_and_newer_before_older(world: World) -> None:
    runs = [NOISE, edit("src/a.txt", "old", "new"), NOISE, edit("src/b.txt", "old", "new"), NOISE]
    shown = asked(world, *runs, recalling("parseCounts failed", kinds=["output"]))[-1]
    assert shown.count("parseCounts failed: Foo") == 1, "one output, kept once"
    values = [f"amber {n}" for n in range(12)]
    go(
        world,
        [action("list_files", {"depth": n + 1}, notes={"a": value}) for n, value in enumerate(values)],
        limit=12,
    )
    hits = found(world, "amber", "state").hits
    assert [hit.text for hit in hits] == values[10:0:-1], "ten of eleven, newest first"


# ---- bounds -----------------------------------------------------------------------------------------------
def test_ten_long_hits_stay_within_the_observation(world: World) -> None:
    prose = " ".join(f"w{n:04}" for n in range(700))
    wide = [
        action(
            "edit_files", {"edits": [{"op": "write", "path": "src/c.txt", "content": f"{n} {prose}\n" * 8}]}
        )
        for n in range(11)
    ]
    shown = asked(world, *wide, recalling("w0007"))[-1]
    assert shown.count("\n--- ") == 11 and len(shown.encode()) <= 16 * 1024 + 512
    assert all(len(prompt.encode()) < 60_000 for prompt in world.prompts)


def test_of_a_huge_output_beginning_and_end_are_searched_and_it_is_said(world: World) -> None:
    shown = asked(world, action("run", {"command": "flood"}), recalling("needle", kinds=["output"]))[-1]
    assert "first needle" in shown and "last needle" in shown and "searched only in part" in shown
    assert not found(world, "100000", "output").hits, "the middle is not"
    asked(world, action("run", {"command": "minified"}))
    assert found(world, "needle", "output").hits[0].first in (1, 2)


@pytest.mark.parametrize(("room", "hits"), [(600, 1), (1200, 5), (4000, 10)])
def test_little_room_holds_fewer_and_shorter_hits(world: World, room: int, hits: int) -> None:
    long = f"{'long ' * 40}\n" * 6
    puts = [{"op": "write", "path": "src/c.txt", "content": f"amber {n}\n{long}"} for n in range(11)]
    asked(world, *(action("edit_files", {"edits": [put]}) for put in puts))
    args = {"query": "amber", "kinds": ["action"]}
    blocks = anyio.run(world.rig().actions["recall"].within, args, room).blocks  # type: ignore[attr-defined]
    assert sum(len(f"{block.title}{block.text}".encode()) for block in blocks) <= room
    assert len(blocks) == hits + 1 and f"the best {hits}" in blocks[0].title


# ---- what must not be found, and what goes wrong ----------------------------------------------------------
def test_a_secret_field_is_never_found(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=LONG.replace("goal:", "contract: .agent-contract\ngoal:"))
    text = '"string", "maxLength": 80'
    schema = (
        '{"type": "object", "additionalProperties": false, "required": ["notes", "keys"], "properties": {'
        f'"notes": {{"type": "object", "maxProperties": 4, "propertyNames": {{"maxLength": 9}}, '
        f'"additionalProperties": {{"type": {text}}}, "default": {{}}}}, '
        f'"keys": {{"type": "object", "maxProperties": 4, "propertyNames": {{"maxLength": 9}}, "default": {{}}, '
        f'"additionalProperties": {{"type": {text}, "x-sensitivity": "secret"}}}}}}}}'
    )
    folder = world.root / ".agent-contract"
    folder.mkdir()
    (folder / "state.schema.json").write_text(schema)
    both = action("list_files", {}, notes={"n": "amber one"}, keys={"k": "amber two"})
    asked(world, both, action("list_files", {"depth": 1}, notes={"n": None}, keys={"k": None}))
    assert [hit.place for hit in found(world, "amber").hits] == ["/notes/n, removed at step 2"]


def test_an_output_that_is_gone_is_said(world: World) -> None:
    asked(world, NOISE, LOOK)
    mind = memory(world)
    (hit,) = anyio.run(mind.recall, "parse_counts", ["output"]).hits
    id = hit.artifact
    (world.root / ".agent-runtime/artifacts" / id[:2] / id).unlink()
    assert anyio.run(mind.recall, "parse_counts", ["output"]).hits[0].gone, "it was read before it went"
    anew = found(world, "parse_counts", "output")
    assert not anew.hits and any("no longer kept" in each and "steps 1" in each for each in anew.limits)


def test_the_action_says_what_it_cannot_search(world: World) -> None:
    asked(world, NOISE)
    for path in (world.root / ".agent-runtime/artifacts").rglob("*"):
        if path.is_file():
            path.unlink()
    assert "no longer kept are not searched: steps 1" in asked(world, recalling("parse_counts"))[-1]


def test_a_python_without_full_text_search_is_told(world: World) -> None:
    assert missing() is None
    assert "has no full-text search" in str(missing("fts4711"))
    with pytest.raises(Unavailable):
        Index("fts4711")


@pytest.mark.parametrize("more", [True, False], ids=["while it reads", "when it is asked"])
def test_an_index_that_breaks_off_is_made_anew(world: World, more: bool) -> None:
    asked(world, NOISE)
    mind = memory(world)
    assert anyio.run(mind.recall, "parse_counts").hits
    assert mind._read is not None
    mind._read.index.close()
    if more:
        asked(world, LOOK)
    with pytest.raises(Unavailable):
        anyio.run(mind.recall, "parse_counts")
    assert anyio.run(mind.recall, "parse_counts").hits, "what broke off was thrown away"


def test_an_index_that_finds_no_room_is_a_refused_action_and_the_run_goes_on(world: World) -> None:
    """A limit on its pages stands for the full disk."""

    def full(_: Any) -> dict[str, Any]:
        rig.actions.context.memory._read.index._db.execute("PRAGMA max_page_count=1")  # type: ignore[attr-defined]
        return recalling("needle")

    flood = action("run", {"command": "flood"})
    rig = world.rig([recalling("x"), flood, LOOK, full, recalling("needle"), LOOK])
    anyio.run(run, rig, Options(patience=0.0, limit=6))
    refused, after = world.prompts[4], observed(world.prompts[5])
    assert "recall.unavailable" in refused and "free space" in refused
    assert "first needle" in after, "what broke off was thrown away"


def test_a_new_run_has_its_own_past_and_an_older_one_is_asked_by_name(world: World) -> None:
    work = [
        edit("src/a.txt", "old", "new"),
        edit("src/b.txt", "old", "pelican"),
        action("finish", {"summary": "ok"}),
    ]
    go(world, work)
    mind = memory(world)
    first = anyio.run(mind.recall, "pelican")
    assert first.hits
    world.git("commit", "-q", "--allow-empty", "-m", "another base")
    go(world, [action("list_files", {"depth": n}) for n in range(1, 8)], new=True, limit=7)
    assert not anyio.run(mind.recall, "pelican").hits
    (old,) = [
        run for run, _, _ in anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").runs, "tidy")
    ][1:]
    assert anyio.run(mind.recall, "pelican", (), 10, old).hits == first.hits


def test_questions_at_the_same_time_and_while_a_run_writes(world: World) -> None:
    asked(world, NOISE)
    mind, other = memory(world), memory(world)
    answers: list[Recalled] = []

    async def ask(of: RunMemory) -> None:
        answers.append(await of.recall("parse_counts"))

    async def story() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(ask, mind)
                group.start_soon(ask, other)
            await world.run([LOOK, NOISE], limit=2)

    anyio.run(story)
    assert len(answers) == 12 and all(answer.hits for answer in answers)
