"""The agent as a program: `python upkeep [FOLDER [blind]]` reads a prompt on stdin and prints its transition as
JSON. With a FOLDER the prompt is also kept there, for the benchmark to look at; it is never read back. With `blind`
the text of files is cut out of the prompt first: the control, which must get nowhere."""

import json
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0:0] = [str(Path(__file__).resolve().parents[3])]
    from tests.scenarios.blind import blinded
    from tests.scenarios.upkeep.decide import decide

    prompt = sys.stdin.read()
    if sys.argv[2:] == ["blind"]:
        prompt = blinded(prompt)
    reply = json.dumps(decide(prompt), ensure_ascii=False)
    if sys.argv[1:]:
        stem = Path(sys.argv[1]) / f"{time.time_ns()}"
        stem.with_suffix(".prompt").write_text(prompt, encoding="utf-8")
        stem.with_suffix(".reply").write_text(reply, encoding="utf-8")
    sys.stdout.write(reply)
