"""The real `claude`, `codex` and `pi` in a world of the crash trials; the model is a gateway on this machine."""

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
case " $* " in *" -p "*|*" exec "*|*" --mode "*) echo start >> "${0%/*}/../starts" ;; esac
exec CLI "$@"
"""
# The same where the program is started ahead: a launch begins with its prompt.
AHEAD = """\
#!/bin/sh
case " $* " in *" -p "*|*" exec "*|*" --mode "*) ;; *) exec CLI "$@" ;; esac
{ IFS= read -r first && { echo start >> "${0%/*}/../starts"; printf '%s\\n' "$first"; cat; }; } | CLI "$@"
"""


class Model:
    """The rules as a model; each agent is answered in its own dialect."""

    def __init__(self) -> None:
        self.task: Path | None = None
        self._strict: Dialect | None = None

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Json:
        transition = decide(prompt)
        if request.api == "anthropic":
            return transition
        if request.api == "chat":
            return {"reasoning": "as the rules say", **transition}
        if self._strict is None:
            assert self.task is not None
            self._strict = charter(read_task(self.task), "codex").dialect
        return self._strict.encode(transition)


def prepared(folder: Path, agent: str, url: str, ahead: bool = False, **more: Any) -> Template:
    """A world whose steps are made by `agent`, by processes that were started ahead or not."""
    entry: dict[str, Any] = {
        "claude": {"model": CLAUDE_MODEL, "base_url": url},
        "codex": {"model": CODEX_MODEL, "base_url": f"{url}/v1", "price": PRICE},
        "pi": {
            "model": "some-model",
            "base_url": f"{url}/v1",
            "price": PRICE,
            "api_key_env": "CODEX_API_KEY",
        },
    }[agent]
    program, options = installed()[agent], {"cli": f"../bin/{agent}"}
    if agent == "pi":  # a script: what is started is its Node
        options = {"node": f"../bin/{agent}", "cli": str(program), "api": "openai-completions"}
        program = installed()["node"]
    entry |= {"auth": "api-key", "prespawn": ahead, "options": options}
    (folder / "bin").mkdir(parents=True)
    wrapper = folder / "bin" / agent
    wrapper.write_text((AHEAD if ahead else WRAPPER).replace("CLI", str(program)))
    wrapper.chmod(0o755)
    return Template(folder, agents={agent: entry}, use=agent, **more).prepare()
