"""The real `claude` and `codex` in a world of the crash trials; the model is a gateway on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contracts.dialects import Dialect
from controller.assemble import charter
from controller.taskfile import read_task
from tests.agents.binaries import installed
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL
from tests.gateway import Recorded
from tests.suites.crash.rules import decide
from tests.suites.crash.stage import Json, Template

PRICE = {"input": 1, "cached": 0.1, "output": 5}
# Notes each launch, and is the real program from then on.
WRAPPER = """\
#!/bin/sh
case " $* " in *" -p "*|*" exec "*) echo start >> "${0%/*}/../starts" ;; esac
exec CLI "$@"
"""
# The same where the program is started ahead: a launch begins with its prompt.
AHEAD = """\
#!/bin/sh
case " $* " in *" -p "*|*" exec "*) ;; *) exec CLI "$@" ;; esac
{ IFS= read -r first && { echo start >> "${0%/*}/../starts"; printf '%s\\n' "$first"; cat; }; } | CLI "$@"
"""


class Model:
    """The rules as a model; Codex is answered in its strict dialect."""

    def __init__(self) -> None:
        self.task: Path | None = None
        self._strict: Dialect | None = None

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Json:
        transition = decide(prompt)
        if request.api == "anthropic":
            return transition
        if self._strict is None:
            assert self.task is not None
            self._strict = charter(read_task(self.task), "codex").dialect
        return self._strict.encode(transition)


def prepared(folder: Path, agent: str, url: str, ahead: bool = False, **more: Any) -> Template:
    """A world whose steps are made by `agent`, by processes that were started ahead or not."""
    entry: dict[str, Any] = {
        "claude": {"model": CLAUDE_MODEL, "base_url": url},
        "codex": {"model": CODEX_MODEL, "base_url": f"{url}/v1", "price": PRICE},
    }[agent]
    entry |= {"auth": "api-key", "prespawn": ahead, "options": {"cli": f"../bin/{agent}"}}
    (folder / "bin").mkdir(parents=True)
    wrapper = folder / "bin" / agent
    wrapper.write_text((AHEAD if ahead else WRAPPER).replace("CLI", str(installed()[agent])))
    wrapper.chmod(0o755)
    return Template(folder, agents={agent: entry}, use=agent, **more).prepare()
