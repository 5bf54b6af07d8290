"""What a launch used, where its agent says nothing of it."""

from __future__ import annotations

import pytest

from contracts.reply import AgentReply, ReplyClass, Usage
from controller.charge import NOTHING, used


@pytest.mark.parametrize(
    ("cls", "requests", "known"),
    [
        (ReplyClass.LIMIT_WITH_RESET, 1, NOTHING),
        (
            ReplyClass.LIMIT_WITH_RESET,
            None,
            Usage(),
        ),  # with tools of its own it may have been answered before
        (ReplyClass.MISCONFIGURED, 0, NOTHING),
        (ReplyClass.CRASHED, 1, Usage()),
        (ReplyClass.TRANSIENT, 1, Usage()),  # a stream that broke was paid for
    ],
)
def test_a_refused_request_used_nothing_where_it_is_known_to_be_the_only_one(
    cls: ReplyClass, requests: int | None, known: Usage
) -> None:
    assert used(AgentReply(cls=cls, message="no", requests=requests)) == known


def test_what_the_agent_reports_counts() -> None:
    paid = Usage(input=10, output=0)
    assert used(AgentReply(cls=ReplyClass.AUTH, usage=paid, requests=1)) == paid
