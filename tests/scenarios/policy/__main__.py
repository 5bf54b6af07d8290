"""The agent as a program: `python policy` reads a prompt on stdin and prints its transition as JSON."""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[3])
    from tests.scenarios.policy.decide import decide

    json.dump(decide(sys.stdin.read()), sys.stdout, ensure_ascii=False)
