"""The one table of reply classes: complete, consistent in itself, and what the documentation shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from contracts.reply import ReplyClass
from contracts.reply_rules import RULES, Charged, Cooldown, Does, retried

ROOT = Path(__file__).resolve().parents[2]
EVERY = pytest.mark.parametrize("cls", ReplyClass)


def test_every_class_has_its_row() -> None:
    assert list(RULES) == list(ReplyClass)
    assert len({rule.means for rule in RULES.values()}) == len(RULES)


@EVERY
def test_a_row_says_one_thing(cls: ReplyClass) -> None:
    rule = RULES[cls]
    assert (rule.ends is None) == (rule.does is Does.JUDGE)
    assert (rule.tries > 1) == (rule.does is Does.RETRY) == retried(cls)
    assert not rule.pause or rule.does in (Does.RETRY, Does.WAIT)
    assert (rule.cooldown is Cooldown.RESET) == (rule.does is Does.WAIT)
    if rule.does in (Does.CORRECT, Does.ASK):
        assert rule.advice, "who is corrected or asked is told what to do"


@EVERY
def test_money_and_credentials_are_for_a_person(cls: ReplyClass) -> None:
    """Nobody else pays without a word; what comes to nothing is not charged as if it had been answered."""
    rule = RULES[cls]
    if rule.ends in (Outcome.config_error, Outcome.budget_exhausted):
        assert rule.cooldown is Cooldown.NEVER
    if rule.does in (Does.JUDGE, Does.CORRECT, Does.RETRY):
        assert rule.charged is Charged.ASKED, "it may have been paid for"


def test_how_long_an_agent_is_left_out() -> None:
    limit, cap = RULES[ReplyClass.LIMIT_WITH_RESET], RULES[ReplyClass.LIMIT_PERMANENT]
    assert limit.left_out_until(100.0, 500.0) == 500.0
    assert cap.left_out_until(100.0, 500.0) is None
    assert RULES[ReplyClass.CRASHED].left_out_until(100.0, None) == 1000.0


def test_what_is_no_class_is_not_counted() -> None:
    assert not retried("authority") and not retried("") and not retried("ok")


def test_the_documentation_shows_the_table() -> None:
    check = [sys.executable, str(ROOT / "scripts/reply-classes"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
