"""The grammar of task.yaml: what loads, with which defaults, and what is refused with which sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import contracts
from contracts.agents import AgentConfig, Price, price_known
from contracts.commands import Command, Param
from contracts.task import NO_GOAL, Task, json_schema
from contracts.task_problems import problems
from contracts.units import as_duration, as_size, seconds, size

GOAL = {"name": "red", "role": "goal", "run": ["make", "test"]}
TEN: dict[str, Any] = {
    "version": 1,
    "name": "drop-six",
    "goal": "no six",
    "agent": {"use": "claude"},
    "workspace": {"base": "main", "setup": {"run": [["make", "deps"]]}},
    "checks": [GOAL],
}


def task(**more: Any) -> Task:
    return Task.model_validate({**TEN, **more})


def refusal(**more: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        task(**more)
    return str(caught.value)


def test_ten_lines_suffice_and_the_rest_has_defaults() -> None:
    found = task()
    assert found.budgets.model_dump() == {
        "steps": 50,
        "tokens": 1_500_000,
        "usd": 10.0,
        "wall": 4 * 3600.0,
        "rejections": 5,
        "usd_per_day": None,
    }
    assert (found.branch, found.worktree) == ("skill-state/drop-six", ".agent-runtime/work/drop-six")
    assert found.workspace.scope == ("**",)
    assert found.sandbox.mode == "required"
    assert (found.limits.observation, found.limits.view, found.limits.state) == (24576, 16384, 24576)
    assert (found.commit_mode, found.layout, found.store.use, found.repeat) == (
        "staged",
        "full",
        "sqlite",
        "never",
    )
    assert (found.checks[0].pass_exit, found.checks[0].timeout, found.checks[0].pins) == ((0,), 900.0, None)
    assert "finish" in found.actions.allow
    assert found.workspace.setup.run == (("make", "deps"),)


def test_a_task_survives_its_own_json() -> None:
    found = task(budgets={"wall": "250ms"}, agents={"claude": {"timeout": 90.5}}, limits={"view": "2KiB"})
    assert Task.model_validate_json(found.model_dump_json()) == found
    assert Task.model_validate(json.loads(found.model_dump_json())) == found


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        task().name = "other"


@pytest.mark.parametrize("field", ["steps", "tokens", "rejections", "usd", "usd_per_day", "wall"])
@pytest.mark.parametrize("value", [0, -1, "3", True, False, [3], float("nan"), float("inf"), "inf"])
def test_a_budget_is_a_positive_number_and_nothing_else(field: str, value: object) -> None:
    refusal(budgets={field: value})


@pytest.mark.parametrize("field", ["steps", "tokens", "rejections"])
def test_a_count_has_no_fraction(field: str) -> None:
    refusal(budgets={field: 2.0})
    refusal(budgets={field: 10**15})
    assert getattr(task(budgets={field: 2}).budgets, field) == 2


def test_money_may_be_left_unlimited_only_by_saying_so() -> None:
    assert task(budgets={"usd": None}).budgets.usd is None
    assert task(budgets={}).budgets.usd == 10.0
    refusal(budgets={"steps": None})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10m", 600.0), ("4h", 14400.0), ("90s", 90.0), ("250ms", 0.25), ("1d", 86400.0), (7, 7.0), (0.5, 0.5)],
)
def test_durations(text: object, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "10",
        "10 m",
        "m",
        "-1s",
        "0s",
        0,
        -3,
        True,
        None,
        "1e3s",
        "10M",
        "1h30m",
        "",
        "٣s",
        "9" * 400 + "d",
        10**400,
        1e-9,
    ],
)
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(Exception, match="expected a duration"):
        seconds(text)


@given(st.floats(min_value=0.001, max_value=1e9))
def test_a_duration_survives_its_text(value: float) -> None:
    assert seconds(as_duration(seconds(value))) == pytest.approx(value, rel=1e-5)


@given(st.integers(min_value=1, max_value=2**40))
def test_whole_milliseconds_survive_exactly(value: int) -> None:
    exact = seconds(f"{value}ms")
    assert seconds(as_duration(exact)) == exact


@given(st.integers(min_value=1, max_value=2**52))
def test_a_size_survives_its_text(value: int) -> None:
    assert size(as_size(value)) == value


@pytest.mark.parametrize("text", ["24 KiB", "24KB", "1.5MiB", 0, -1, True, 2.0, None, "KiB", "0B", "0KiB"])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(Exception, match="expected a size"):
        size(text)


def test_without_a_goal_check_nothing_can_tell_done() -> None:
    assert NO_GOAL in refusal(checks=[])
    assert NO_GOAL in refusal(checks=[{**GOAL, "role": "guard"}])


def test_check_names_are_unique() -> None:
    assert "two checks have the name 'red'" in refusal(checks=[GOAL, {**GOAL, "role": "guard"}])


@pytest.mark.parametrize(
    "change",
    [
        {"min_tests": 0},
        {"pass_exit": []},
        {"pass_exit": [256]},
        {"run": []},
        {"run": [""]},
        {"run": "  "},
        {"run": ["x", 3]},
        {"must_notice": "../x"},
        {"pins": ["/etc"]},
        {"role": "hope"},
        {"timeout": 0},
    ],
)
def test_a_check_that_verifies_nothing_is_refused(change: dict[str, Any]) -> None:
    refusal(checks=[{**GOAL, **change}])


def test_absent_pins_and_no_pins_differ() -> None:
    assert task(checks=[{**GOAL, "pins": []}]).checks[0].pins == ()


@pytest.mark.parametrize("name", ["", "A", "a_b", "a" * 41, "a b", "a\n", "../x"])
def test_task_names(name: str) -> None:
    assert "name" in refusal(name=name)


@pytest.mark.parametrize(
    "branch",
    ["a b", "x..y", "-x", "/x", "x/", "x.lock", "x{other}", "x~1", "a//b", "x@{1}", ".x", "a/.b", "x."],
)
def test_branches_that_git_would_refuse(branch: str) -> None:
    assert "no name for a Git branch" in refusal(workspace={"branch": branch})


def test_the_name_is_filled_into_branch_and_path() -> None:
    found = task(workspace={"branch": "bot/{name}/x", "path": "/tmp/{name}"})
    assert (found.branch, found.worktree) == ("bot/drop-six/x", "/tmp/drop-six")
    assert "only {name} is filled in" in refusal(workspace={"path": "work/{run}"})
    assert "no folder of its own" in refusal(workspace={"path": "./"})


@pytest.mark.parametrize("glob", ["/etc/**", "../x", "a/../../b", "~/x", "a\\b", "", "a//b"])
def test_scope_stays_inside_the_repository(glob: str) -> None:
    assert "inside the repository" in refusal(workspace={"scope": [glob]})


def test_words_of_one_setup_command_are_not_taken_for_several() -> None:
    assert "[[make, deps]]" in refusal(workspace={"setup": {"run": ["make", "deps"]}})
    assert "[[make, deps]]" in refusal(workspace={"setup": {"run": ["python3", "-c", "import x"]}})
    several = task(workspace={"setup": {"run": ["npm ci", "make deps", ["a", "b"]]}})
    assert several.workspace.setup.run == ("npm ci", "make deps", ("a", "b"))
    assert task(workspace={"setup": {"run": "npm ci"}}).workspace.setup.run == ("npm ci",)


def test_intent_stands_in_the_task_or_in_a_folder() -> None:
    found = task(constraints=["no new dependency", {"value": "keep 3.11", "id": "py"}])
    intent = found.intent()
    assert intent is not None
    assert [item.value for item in intent.constraints] == ["no new dependency", "keep 3.11"]
    assert "say what shall be reached" in refusal(goal=None)
    assert "say what shall be reached" in refusal(goal=None, contract="c", non_goals=["x"])
    assert task(goal=None, contract=".agent-contract").intent() is None
    assert "two items have the id" in refusal(
        constraints=[{"value": "a", "id": "x"}], non_goals=[{"value": "b", "id": "x"}]
    )


def test_an_agent_without_an_entry_has_its_defaults() -> None:
    found = task(agents={"codex": {"model": "m"}, "mine": {"kind": "command", "run": ["./policy"]}})
    assert found.agent_config("claude") == AgentConfig(kind="claude")
    assert found.agent_config("codex").kind == "codex"
    assert found.agent_config("mine").run == ("./policy",)


def test_a_price_is_known_from_the_agent_or_from_the_task() -> None:
    price = Price(input=0, cached=0, output=0)
    assert price_known(AgentConfig(kind="claude"))
    assert not price_known(AgentConfig(kind="codex"))
    assert not price_known(AgentConfig(kind="command"))
    assert price_known(AgentConfig(kind="codex", price=price))
    refusal(agents={"codex": {"price": {"input": -1, "cached": 0, "output": 0}}})
    refusal(agents={"codex": {"price": {"input": 1}}})


@pytest.mark.parametrize(
    ("more", "loc", "said"),
    [
        ({"agent": {"use": "claud"}}, ("agent", "use"), "did you mean 'claude'?"),
        ({"agent": {"use": "claude", "fallback": ["x"]}}, ("agent", "fallback", 0), "there is no agent 'x'"),
        ({"agent": {"use": "command"}}, ("agent", "use"), "needs an entry in agents"),
        ({"agents": {"mine": {"run": ["x"]}}}, ("agents", "mine", "kind"), "no kind of agent 'mine'"),
        ({"agents": {"m": {"kind": "command"}}}, ("agents", "m", "run"), "needs `run`"),
        ({"agents": {"codex": {"run": ["x"]}}}, ("agents", "codex", "run"), "only it takes one"),
        ({"agents": {"codex": {"auth": "gateway"}}}, ("agents", "codex", "auth"), "needs `base_url`"),
        ({"actions": {"allow": ["finish", "serach"]}}, ("actions", "allow", 1), "did you mean 'search'?"),
    ],
)
def test_names_that_nothing_answers_to(more: dict[str, Any], loc: tuple[str | int, ...], said: str) -> None:
    found = list(problems(task(**more), actions={"finish", "search", *task().actions.allow}))
    assert any(p.loc == loc and said in f"{p.message} {p.hint}" for p in found), found


def test_a_built_in_fallback_needs_no_entry() -> None:
    assert list(problems(task(agent={"use": "claude", "fallback": ["codex"]}))) == []
    assert list(problems(task(agent={"use": "pi"}), agents={"pi"})) == []


def test_without_finish_a_task_could_never_end() -> None:
    assert "without `finish`" in refusal(actions={"allow": ["run"]})


def test_an_authority_of_kind_command_has_a_command() -> None:
    assert "needs `run`" in refusal(authorities={"left": {"use": "command"}})
    assert task(authorities={"g": {"use": "git"}}).authorities["g"].run is None


# commands


def command(run: object, params: object = None, **more: Any) -> Command:
    return Command.model_validate({"run": run, "params": params or {}, **more})


@pytest.mark.parametrize(
    ("run", "params", "said"),
    [
        (["t", "{path}"], {}, "{path} has no entry in params"),
        (["t"], {"path": {"pattern": "x"}}, "used nowhere"),
        (["t"], {"path": {"enum": ["a"]}}, "used nowhere"),
        (["t", "{p}"], {"p": {}}, "either `pattern` or `enum`"),
        (["t", "{p}"], {"p": {"pattern": "a", "enum": ["a"]}}, "either `pattern` or `enum`"),
        (["t", "{p}"], {"p": {"pattern": "("}}, "no regular expression"),
        ('t "{p}"', {"p": {"pattern": "x"}}, "stands within quotes"),
        ("t 'a b {p}'", {"p": {"pattern": "x"}}, "stands within quotes"),
        ("t \\{p}", {"p": {"pattern": "x"}}, "stands within quotes"),
        ("t <<EOF\n{p}\nEOF", {"p": {"pattern": "x"}}, "in a here-document"),
    ],
)
def test_placeholders_and_params_belong_together(run: object, params: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        command(run, params)
    assert said in str(caught.value)


def test_what_is_filled_in_is_data_for_exec_and_for_the_shell() -> None:
    anything = {"p": {"pattern": "(?s).*"}}
    assert command(["t", "--x={p}"], anything).filled({"p": "a; b"}) == ("t", "--x=a; b")
    assert command("t {p} 'it'", anything).filled({"p": "$(x)' \""}) == "t '$(x)'\"'\"' \"' 'it'"
    assert command(["t", "{p}"], anything, probe=["see", "{p}"]).filled_probe({"p": "v"}) == ("see", "v")


def test_other_braces_stay_as_they_are() -> None:
    assert command(["awk", "{{print}} ${x} {1} {A} {{}}"]).filled({}) == ("awk", "{print} ${x} {1} {A} {{}}")
    assert command(["j", '{"a":{"b":1}}']).filled({}) == ("j", '{"a":{"b":1}}')


@pytest.mark.parametrize(
    "value", ["tests/a.py\n", "x/tests/a.py", "tests/a.py;rm", "", "tests/a.py\x00", "-x"]
)
def test_the_whole_value_must_match(value: str) -> None:
    param = Param(pattern=r"tests/[a-z]+\.py$")
    assert param.objection("tests/a.py") is None
    assert param.objection(value)
    with pytest.raises(ValueError, match="does not accept"):
        command(["t", "{p}"], {"p": {"pattern": r"tests/[a-z]+\.py$"}}).filled({"p": value})


@pytest.mark.parametrize("broken", ["a\nb", "a\r\nb"])
def test_a_line_break_is_for_lists_whose_pattern_names_it(broken: str) -> None:
    def filled(run: list[str] | str, pattern: str) -> object:
        return command(run, {"p": {"pattern": pattern}}).filled({"p": broken})

    assert filled(["t", "{p}"], r"[a-z\r\n]+") == ("t", broken)
    assert command(["t", "{p}"], {"p": {"enum": [broken]}}).filled({"p": broken}) == ("t", broken)
    for by_chance in (r"[^;]+", r"[a-z\s]+", r"[^\\n]+"):
        with pytest.raises(ValueError, match=r"line break, and the pattern .* names none"):
            filled(["t", "{p}"], by_chance)
    with pytest.raises(ValueError, match="the whole value must match"):
        filled(["t", "{p}"], r"[^\r\n]+")
    with pytest.raises(ValueError, match="safe only where `run` is a list"):
        filled("true # {p}", r"[a-z\r\n]+")


def test_params_are_all_given_and_no_more() -> None:
    found = command(["t", "{p}"], {"p": {"enum": ["a", "b"]}})
    assert found.filled({"p": "b"}) == ("t", "b")
    for values in ({}, {"p": "a", "q": "a"}, {"p": "c"}):
        with pytest.raises(ValueError, match="param"):
            found.filled(values)


# the generated schema


def test_the_generated_schema_is_fresh() -> None:
    text = (Path(contracts.__file__).parent / "task.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json.dumps(json_schema())), "run scripts/schema"


def test_the_schema_agrees_with_the_types() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert check.is_valid(TEN)
    assert check.is_valid(json.loads(task(budgets={"wall": "3h"}).model_dump_json()))
    for change in (
        {"max_step": 1},
        {"budgets": {"steps": "3"}},
        {"sandbox": {"mode": "some"}},
        {"version": 2},
    ):
        assert not check.is_valid({**TEN, **change})


def test_every_key_says_what_it_is() -> None:
    def properties(node: Any) -> Any:
        if isinstance(node, dict):
            yield from node.get("properties", {}).items()
            for value in node.values():
                yield from properties(value)

    mute = [name for name, value in properties(json_schema()) if not value.get("description")]
    assert mute == []
