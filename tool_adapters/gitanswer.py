"""How long a remote is waited for, and what its answer, or its silence, means.

A server may take a connection and never say a word. Git itself would wait for minutes, so: what moves next to nothing
has a short limit; what moves objects a long one, and before it something short is asked when the remote has not been
heard for a while; and in either HTTP and SSH are told to give up on silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from contracts.errors import ControllerError

ANSWER = 30.0  # seconds for a call that moves next to nothing: where refs stand, a lease; and of silence in any other
TRANSFER = 300.0  # seconds for a call that moves objects
FRESH = 60.0  # seconds since the remote was heard, after which something short is asked first
SSH = "ssh -o ConnectTimeout=20 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
ACCESS = "see that `git ls-remote` and `git push` work here without a question being asked"
_SILENT = re.compile(
    r"did not end in|Operation too slow|(Connection|Operation) timed out|[Tt]imeout, server .* not responding"
)
_HOPELESS = re.compile(
    r"Authentication failed|could not read (Username|Password)|Permission denied|Host key verification failed"
    r"|does not appear to be a git repository|[Rr]epository .*not found|not allowed|returned error: 40[0134]"
    r"|does not support --atomic|hook declined"
    r"|not our ref|unadvertised object"
    r"|remote rejected.*(prohibited|protected|deny|denied|declined)"
)


def over_http() -> Mapping[str, str]:
    """Configuration of a call: one that nothing comes from or goes to for so long is ended. Servers send something
    every five seconds while they work."""
    return {"http.lowSpeedLimit": "1", "http.lowSpeedTime": f"{max(1, round(ANSWER))}"}


def silent(error: ControllerError) -> bool:
    """Whether the remote was waited for in vain: trying again would take as long once more."""
    return bool(_SILENT.search(_said(error)))


def unknown(error: BaseException | None) -> bool:
    """Whether it has no object of the id that it was asked for, or gives none out but by its refs."""
    return bool(re.search(r"not our ref|unadvertised object", getattr(error, "stderr", "")))


def hopeless(error: ControllerError) -> bool:
    """Whether it said no, and will say so again."""
    return bool(_HOPELESS.search(_said(error)))


def remedy(error: ControllerError | None) -> str:
    """What to do about it."""
    if error is None or not hopeless(error):
        return "nothing is lost and nothing starts afresh: run again when it can be reached"
    if re.search(r"hook declined|remote rejected", _said(error)):  # the way there is good
        return "its rules or hooks must let this account write refs/skill-state/*; then run again"
    return ACCESS


def why(error: ControllerError | None) -> str:
    """What git said, in a line or two, without a name or password: what the remote said first, then git's own
    complaint."""
    lines = [line.strip() for line in getattr(error, "stderr", "").splitlines() if line.strip()]
    told = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    told += [line for line in lines if "[remote rejected]" in line or line.startswith(("fatal:", "ssh:"))]
    said = "; ".join(each for each in told if each)[:400] or (error.message if error else "no answer")
    said = re.sub(r"(?<=://)[^/@\s]*@", "", said)
    return f"it does not answer ({said})" if error and silent(error) else said


def _said(error: ControllerError) -> str:
    return getattr(error, "stderr", error.message)
