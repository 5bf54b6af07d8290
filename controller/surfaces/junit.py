"""What a call did as JUnit XML: a case for how it ended, for each check, and for each layer that judges replies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import get_args
from xml.etree import ElementTree

from contracts.events import Ended, GoalChange, StepEnded
from contracts.outcomes import CLOSING, Outcome
from contracts.text import clean, standing
from contracts.verdicts import Layer

# The run goes on after these: what is not reached is not reached yet.
GOES_ON = (None, Outcome.waiting, Outcome.blocked, Outcome.busy, Outcome.interrupted, Outcome.terminated)
BROKEN = (Outcome.internal_error, Outcome.config_error, Outcome.unavailable)
LAYERS = (*get_args(Layer), "evidence")
SHOWN = 50  # refusals of one layer, the last ones
_NO_XML = re.compile("[\ufffe\uffff]")

Said = tuple[str, str]  # (element, text): `failure`, `error` or `skipped` with its message, or `system-out`


def junit(ended: Ended, steps: Sequence[StepEnded]) -> bytes:
    """The report of one call, UTF-8. A check that is red, and the layer that the run failed at, are failures where the
    run is over, and skipped while it goes on."""
    took = sum(step.took for step in steps)
    suites = ElementTree.Element("testsuites", name=ended.task or "run")
    _suite(suites, ended.task, "run", [(ended.run or "run", _how_it_ended(ended))], took)
    _suite(suites, ended.task, "checks", [(name, _check(each, ended)) for name, each in ended.checks.items()])
    _suite(suites, ended.task, "gate", [(layer, _layer(layer, ended, steps)) for layer in LAYERS])
    made: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return made


def _suite(
    suites: ElementTree.Element, task: str, name: str, cases: Iterable[tuple[str, Said]], took: float = 0.0
) -> None:
    suite = ElementTree.SubElement(suites, "testsuite", name=name, time=f"{took:.3f}")
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for case, (element, text) in cases:
        made = ElementTree.SubElement(
            suite, "testcase", classname=f"{task or 'task'}.{name}", name=_text(case)
        )
        counts["tests"] += 1
        if element == "system-out":
            if text:
                ElementTree.SubElement(made, element).text = _text(text)
            continue
        counts[element if element == "skipped" else f"{element}s"] += 1
        ElementTree.SubElement(made, element, message=_text(text.partition("\n")[0])).text = _text(text)
    suite.attrib.update({name: str(count) for name, count in counts.items()})


def _how_it_ended(ended: Ended) -> Said:
    outcome = str(ended.outcome or "paused").replace("_", " ")
    said = f"{outcome}: {ended.say}" if ended.say else outcome
    if ended.outcome in CLOSING:
        return "system-out", said
    kind = "skipped" if ended.outcome in GOES_ON else "error" if ended.outcome in BROKEN else "failure"
    return kind, f"{said}\nnext: {ended.next}" if ended.next else said


def _check(check: GoalChange, ended: Ended) -> Said:
    said = f"{check.role}, {standing(check.now, check.why)}: {check.why}"
    if check.now:
        return "system-out", said
    return ("skipped", f"not yet: {said}") if ended.outcome in GOES_ON else ("failure", said)


def _layer(layer: str, ended: Ended, steps: Sequence[StepEnded]) -> Said:
    """How often a layer refused something, and what."""
    if not steps:
        return "skipped", "no reply was judged in this call"
    refused = [step for step in steps if step.layer == layer]
    told = [f"step {step.step}: {step.code}: {step.say}" for step in refused[-SHOWN:]]
    if len(refused) > SHOWN:
        told.insert(0, f"… and {len(refused) - SHOWN} before these")
    at_fault = bool(refused) and refused[-1] is steps[-1] and ended.outcome in (Outcome.stuck, Outcome.failed)
    return "failure" if at_fault else "system-out", "\n".join(told[::-1] if at_fault else told)


def _text(text: str) -> str:
    return _NO_XML.sub("", clean(text))
