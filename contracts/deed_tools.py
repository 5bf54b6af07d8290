"""The tools that act on a Git remote and on a forge, as data: what each takes and says of itself to the model."""

from __future__ import annotations

from contracts.actions import ActionSpec, closed
from contracts.base import JsonObject

MAX_TITLE = 200
MAX_BODY = 16_000  # characters; what a forge takes of a description is more

_TITLE: JsonObject = {"type": "string", "minLength": 1, "maxLength": MAX_TITLE, "pattern": "^[^\\r\\n]*$"}
_BODY: JsonObject = {"type": "string", "minLength": 1, "maxLength": MAX_BODY}
_NUMBER: JsonObject = {"type": "integer", "minimum": 1, "maximum": 1_000_000_000}


def _deed(name: str, args: JsonObject, summary: str) -> ActionSpec:
    return ActionSpec(name, args, summary, effect="outside", alone=True)


DEED_SPECS = (
    _deed(
        "git_push",
        closed({}),
        "your commits to the run's branch on the remote; never over what others pushed there",
    ),
    _deed(
        "git_pull",
        closed({}),
        "takes over what others pushed to the run's branch, by a merge where both sides went on",
    ),
    _deed(
        "pr_open",
        closed({"title": _TITLE, "body": _BODY, "draft": {"type": "boolean"}}, ("title", "body")),
        "the pull request of the run's branch, pushed before; at most one is open",
    ),
    _deed(
        "pr_update",
        closed({"title": _TITLE, "body": _BODY}),
        "another title or description of the open pull request",
    ),
    _deed("pr_merge", closed({}), "merges the open pull request at your commit"),
    _deed("pr_comment", closed({"body": _BODY}, ("body",)), "a comment on the open pull request"),
    _deed(
        "issue_comment", closed({"issue": _NUMBER, "body": _BODY}, ("issue", "body")), "a comment on an issue"
    ),
    _deed(
        "ci_rerun",
        closed({"why": {"type": "string", "minLength": 1, "maxLength": 500}}, ("why",)),
        "runs the failed CI jobs of your pushed commit once more; their logs are kept first",
    ),
)

DEED_EXAMPLES: dict[str, str] = {
    "git_push": "{}",
    "git_pull": "{}",
    "pr_open": '{"title":"Drop six","body":"What was done, and why.","draft":false}',
    "pr_update": '{"body":"…"}',
    "pr_merge": "{}",
    "pr_comment": '{"body":"…"}',
    "issue_comment": '{"issue":12,"body":"…"}',
    "ci_rerun": '{"why":"the network failed in job test"}',
}
