"""The control: the same agent, but the text of files is cut out of what it is shown. It must get nowhere.

`python blind.py` reads a prompt on stdin and prints the transition that the agent makes of what is left."""

import json
import re
import sys
from pathlib import Path

DATA = re.compile(r"^ .*\n?", re.MULTILINE)  # every line from outside is moved in by one space


def blinded(prompt: str) -> str:
    """The prompt without the data of its observation and its views; headings, titles and worklists stay."""
    parts = re.split(r"^(?==== [A-Z]+ ===$)", prompt, flags=re.MULTILINE)
    hidden = ("=== OBSERVATION", "=== VIEWS")
    return "".join(DATA.sub("", part) if part.startswith(hidden) else part for part in parts)


if __name__ == "__main__":
    sys.path[0:0] = [str(Path(__file__).resolve().parents[2])]
    from tests.scenarios.policy.decide import decide

    json.dump(decide(blinded(sys.stdin.read())), sys.stdout, ensure_ascii=False)
