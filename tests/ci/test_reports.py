"""What a call leaves for a CI job: JUnit XML, a summary, annotations, outputs. Nothing from outside gets beyond its
place in them."""

from __future__ import annotations

import html
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contracts.events import Costs, Ended, GoalChange, StepEnded
from contracts.junit import parse_reports
from contracts.outcomes import EXIT_CODES, Outcome
from contracts.text import clean
from controller.surfaces import github
from controller.surfaces.junit import LAYERS, junit
from controller.surfaces.reports import Reports
from tests.ci.actions import commands, env_file
from tests.surfaces.shell import FINISH, POLITE, Shell

NASTY = [
    "::error::owned",
    "  ::set-output name=outcome::completed",
    "\u00a0::add-mask::a",
    "\u200b::stop-commands::x",
    "and ##[add-mask]secret",
    "\x1b]0;title\x07\x1b[31mred\x1b[0m",
    "%0A::warning::escaped",
    "</pre></table><script>alert(1)</script>",
    "<img src=https://example.org/x.png onerror=x>",
    "[click](javascript:alert(1)) ![i](https://example.org/i.png)",
    "| a | b |\n|---|---|\n# heading\n\n**bold** `code` ~~~",
    "]]> <![CDATA[ <failure message='no'/>",
    "&lt;b&gt; &amp;lt; \ufffe\uffff \ud800",
    "end-0\noutcome<<x\ncompleted\nx",
    "@everyone closes #1",
    "x" * 5000,
    "",
]
TEXT = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=80), st.tuples(*[st.sampled_from(NASTY)] * 3).map("\n".join)
)
TAGS = {"h2", "p", "table", "tr", "th", "td", "pre", "code", "details", "summary"}


def ended(outcome: Outcome | None, *says: str, checks: dict[str, GoalChange] | None = None) -> Ended:
    say, why, branch, diff, following = (*says, *["x"] * 5)[:5]
    both = {
        "tests": GoalChange(role="guard", start=True, now=outcome is Outcome.completed, why=why),
        "done": GoalChange(role="goal", start=False, now=outcome is Outcome.completed, why=why),
    }
    return Ended(
        outcome=outcome, exit=EXIT_CODES[outcome] if outcome else 0, task="greet", run="greet@0#1", step=3, say=say,
        checks=both if checks is None else checks, branch=branch, head="f" * 40, diffstat=diff, next=following,
        costs=Costs(launches=3, tokens=10, usd_micro=1_234_567),
    )  # fmt: skip


def refused(step: int, layer: str, say: str) -> StepEnded:
    return StepEnded(run="greet@0#1", step=step, result="rejected", say=say, layer=layer, code=f"{layer}.x")


# ---- nothing gets out of its place ----------------------------------------------------------------------------
class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(summary: str) -> Page:
    """The summary as a renderer of Markdown shows it, links and tables of GitHub's flavour included."""
    page = Page()
    page.feed(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(summary))
    page.close()
    return page


@given(TEXT, TEXT, TEXT, TEXT, st.sampled_from([*Outcome, None]))
def test_a_summary_holds_text_and_only_our_tags(
    say: str, why: str, branch: str, step: str, outcome: Outcome | None
) -> None:
    told = ended(outcome, say, why, branch, f" {step} | 3 +++")
    page = shown(github.summary(told, [refused(1, "patch", step), refused(2, "reply", say)]))
    assert set(page.tags) <= TAGS and not page.attributes
    assert page.tags.count("tr") == 1 + len(told.checks) + 1 + 2
    flat = " ".join("".join(page.text).split())
    for word in (why, step):
        whole = " ".join(clean(word).split())
        assert whole[:300] in flat, "nothing is lost either"


def test_a_summary_that_was_not_escaped_would_be_noticed() -> None:
    said = "<img src=x onerror=y>\n\n[click](https://example.org)"
    page = shown(github.summary(ended(Outcome.stuck, "HERE"), []).replace("HERE", said))
    assert "img" in page.tags and "onerror" in page.attributes and "a" in page.tags


@given(TEXT, TEXT, TEXT, st.sampled_from([*Outcome, None]))
def test_annotations_are_the_only_commands_in_what_is_printed(
    say: str, why: str, following: str, outcome: Outcome | None
) -> None:
    steps = [refused(number, "patch", say) for number in range(1, 15)]
    lines = github.annotated(ended(outcome, say, why, "b", "d", following), steps)
    found = commands("\n".join(lines))
    assert len(found) == len(lines) and all("\n" not in each for each in lines)
    assert {command.name for command in found} <= {"error", "warning", "notice"}
    for kind in ("error", "warning", "notice"):
        assert sum(command.name == kind for command in found) <= 10
    assert all(set(command.properties) == {"title"} for command in found)
    assert not [each for command in found for each in commands(command.data)], (
        "not even when it is taken again"
    )


@given(st.dictionaries(st.sampled_from(["outcome", "run", "branch", "say"]), TEXT, min_size=1))
def test_outputs_are_read_as_they_were_written(values: dict[str, str]) -> None:
    assert env_file(github.env_file(values)) == {name: clean(value) for name, value in values.items()}
    assert env_file("a<<x\nb\nx\noutcome=completed\n") == {"a": "b", "outcome": "completed"}, (
        "one foreseen end does it"
    )


@given(TEXT, TEXT, TEXT, st.sampled_from([*Outcome, None]))
def test_junit_can_be_read_whatever_is_in_it(say: str, why: str, step: str, outcome: Outcome | None) -> None:
    told = junit(ended(outcome, say, why), [refused(1, "patch", step)])
    suites = ElementTree.fromstring(told)
    assert [len(suite) for suite in suites] == [1, 2, len(LAYERS)]
    assert {element.tag for element in suites.iter()} <= {
        "testsuites", "testsuite", "testcase", "system-out", "failure", "error", "skipped",
    }  # fmt: skip
    parse_reports({"junit.xml": told})


# ---- limits ---------------------------------------------------------------------------------------------------
def test_a_summary_keeps_within_its_room_and_loses_the_earlier_steps() -> None:
    steps = [refused(number, "patch", "&" * 5000) for number in range(1, 2000)]
    many = {f"c{n}": GoalChange(role="goal", start=False, now=False, why="<" * 300) for n in range(400)}
    told = ended(Outcome.stuck, "s" * 9000, "w", "b", "<\n" * 90_000, checks=many)
    whole = github.summary(told, steps)
    assert len(whole.encode()) <= github.SUMMARY and "<td>1999</td>" in whole and "<td>1</td>" not in whole
    for room in (0, 500, 100_000, 700_000, 900_000):
        assert len(github.summary(told, steps, room).encode()) <= room
    few = github.summary(ended(Outcome.stuck, "s"), steps[:3])
    assert "<td>1</td>" in few and "the last" not in few


def test_what_others_wrote_into_the_summary_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary"
    path.write_text("x" * (github.SUMMARY - 2000) + "\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    Reports(github=True).write(
        ended(Outcome.stuck, "say"), [refused(n, "patch", "y" * 400) for n in range(90)]
    )
    text = path.read_text()
    assert len(text.encode()) <= github.SUMMARY and "## greet: stuck" in text


def test_annotations_say_how_many_more_there_are() -> None:
    lines = github.annotated(
        ended(Outcome.stuck, "say"), [refused(number, "patch", "no") for number in range(40)]
    )
    warnings = [line for line in lines if line.startswith("::warning")]
    assert len(warnings) == 10 and "and 31 more" in warnings[-1]


# ---- what they say --------------------------------------------------------------------------------------------
def cases(report: bytes) -> dict[str, str]:
    """Case -> what became of it."""
    found = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        children = [child.tag for child in case if child.tag != "system-out"]
        found[f"{case.get('classname')}.{case.get('name')}"] = children[0] if children else "passed"
    return found


def test_a_red_check_fails_a_run_that_is_over_and_not_one_that_goes_on() -> None:
    for outcome, how, check in (
        (Outcome.completed, "passed", "passed"),
        (Outcome.waiting, "skipped", "skipped"),
        (Outcome.blocked, "skipped", "skipped"),
        (None, "skipped", "skipped"),
        (Outcome.budget_exhausted, "failure", "failure"),
        (Outcome.config_error, "error", "failure"),
    ):
        told = cases(junit(ended(outcome), [refused(1, "patch", "no"), refused(2, "schema", "no")]))
        assert (told["greet.run.greet@0#1"], told["greet.checks.tests"]) == (how, check), outcome
        assert told["greet.gate.patch"] == told["greet.gate.policy"] == "passed"


def test_the_layer_at_which_a_run_got_stuck_is_the_failed_one() -> None:
    steps = [refused(1, "schema", "a"), refused(2, "patch", "b"), refused(3, "patch", "c")]
    told = cases(junit(ended(Outcome.stuck), steps))
    assert (told["greet.gate.patch"], told["greet.gate.schema"]) == ("failure", "passed")
    assert set(cases(junit(ended(Outcome.waiting), [])).values()) == {"skipped"}, "nothing was judged"


def test_a_run_reports_itself(shell: Shell, tmp_path: Path) -> None:
    shell.task(FINISH, *POLITE)
    output, summary, report = tmp_path / "output", tmp_path / "summary", tmp_path / "out/junit.xml"
    shell.extra |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    ran = shell("run", "--github", "--junit", str(report), "--steps", "2")
    assert ran.code == 0
    assert env_file(output.read_text())["outcome"] == "paused"
    output.unlink()
    ran = shell("run", "--github", "--junit", str(report))
    assert ran.code == 0, ran.err
    told = env_file(output.read_text())
    head = shell.git("rev-parse", "skill-state/greet").strip()
    assert told["report-path"] == str(report) and told["revision"] == head and told["steps"] == "4"
    assert (told["outcome"], told["exit-code"], told["cost-usd"]) == ("completed", "0", "")
    assert set(cases(report.read_bytes()).values()) == {"passed"}
    assert [(each.name, each.properties["title"]) for each in commands(ran.err)] == [
        ("notice", "greet: completed")
    ]
    first, second = summary.read_text().split("## greet: ")[1:]
    assert first.startswith("paused") and "finish.red" in first and second.startswith("completed")
    assert html.escape("src/greeting.txt") in second


def test_a_call_that_fails_reports_too(shell: Shell, tmp_path: Path) -> None:
    output, report = tmp_path / "output", tmp_path / "junit.xml"
    shell.extra["GITHUB_OUTPUT"] = str(output)
    shell.task(*POLITE, budgets="budgets: {step: 3}")
    ran = shell("run", "--github", "--junit", str(report))
    assert ran.code == 2
    assert env_file(output.read_text())["exit-code"] == "2"
    (error,) = (each for each in commands(ran.err) if each.name == "error")
    assert "did you mean `steps`" in error.data
    assert cases(report.read_bytes())["task.run.run"] == "error"
    assert "is a folder" in shell("run", "--junit", str(tmp_path)).err


def test_exit_zero_for_what_is_no_fault(shell: Shell, tmp_path: Path) -> None:
    from tests.surfaces.shell import act

    output = tmp_path / "output"
    shell.extra["GITHUB_OUTPUT"] = str(output)
    shell.task(act("ask", question="how polite?"), *POLITE)
    assert shell("run", "--exit-zero-on", "waiting,busy").code == 5
    ran = shell("run", "--json", "--github", "--exit-zero-on", "waiting, blocked,busy")
    assert (ran.code, ran.lines[-1]["outcome"], ran.lines[-1]["exit"]) == (0, "blocked", 0)
    assert env_file(output.read_text())["exit-code"] == "5", "the outcome's own"
    for wrong in ("failed", "completed", "all", "internal_error"):
        said = shell("run", "--exit-zero-on", wrong)
        assert said.code == 2 and "none of waiting" in said.err, wrong


def test_busy_can_end_well(shell: Shell) -> None:
    shell.task({"sleep": 30} | POLITE[0], *POLITE[1:])
    process = shell.start("run")
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "notices a broken" in line:  # it holds the lease
                break
        busy = shell("run", "--json", "--exit-zero-on", "busy")
        assert (busy.code, busy.lines[-1]["outcome"], busy.lines[-1]["exit"]) == (0, "busy", 0)
        assert shell("run").code == 7
    finally:
        process.terminate()
        process.communicate(timeout=60)
