"""The agent as a program: `python policy [FOLDER]` reads a prompt on stdin and prints its transition as JSON.
With a FOLDER each prompt is also kept there, for the tests to look at; it is never read back."""

import json
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0:0] = [str(Path(__file__).resolve().parents[3])]
    from tests.scenarios.policy.decide import decide

    prompt = sys.stdin.read()
    if sys.argv[1:]:
        (Path(sys.argv[1]) / f"{time.time_ns()}.prompt").write_text(prompt, encoding="utf-8")
    json.dump(decide(prompt), sys.stdout, ensure_ascii=False)
