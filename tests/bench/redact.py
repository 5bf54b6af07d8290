"""What redaction finds, takes wrongly and costs, on the corpus that it was tuned on, on the one that it was not, and
on data made to slow it down."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from contracts.redact import Redactor
from tests.bench.report import report, say, spread
from tests.data.secrets import holdout, hostile, tuning
from tests.data.secrets.corpus import Corpus, score

KNOWN = {f"VALUE_{n}": f"known-to-the-controller-{n:04}" for n in range(8)}
CHUNK = 64 * 1024


def cost(deed: Callable[[], object], size: int, runs: int) -> list[float]:
    """CPU seconds per MB: [median, min, max]."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        deed()
        found.append((time.process_time() - began) / size * 1e6)
    return spread(found, 3)


def measure(name: str, corpus: Corpus, runs: int) -> dict[str, Any]:
    redactor, data = Redactor(KNOWN), corpus.data
    result = score(corpus, list(redactor.spans(data)))
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    same = b"".join(redactor.stream(chunks)) == redactor.redact(data)
    figures = {
        f"{name}, bytes": len(data),
        f"{name}, secrets planted": result.planted,
        f"{name}, secrets found": result.found,
        f"{name}, recall": round(result.recall, 4),
        f"{name}, secrets missed, share": round(1 - result.recall, 4),
        f"{name}, false positives": result.false,
        f"{name}, bytes taken beside secrets": result.over,
        f"{name}, CPU s/MB": cost(lambda: redactor.redact(data), len(data), runs),
        f"{name}, CPU s/MB streamed": cost(lambda: list(redactor.stream(chunks)), len(data), runs),
        f"{name}, stream differs from the whole": int(not same),
    }
    say(f"{name}: recall {result.recall:.4f} of {result.planted}, {result.false} false positives")
    return figures


def slowest(size: int) -> tuple[float, str]:
    """CPU s/MB of the worst hostile input, and what it repeats."""
    redactor = Redactor(KNOWN)
    worst = (0.0, "")
    for unit, data in hostile.inputs(size):
        took = cost(lambda data=data: redactor.redact(data), size, 1)[0]  # type: ignore[misc]
        worst = max(worst, (took, unit[:40].decode("ascii", "replace")))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="measured runs over each corpus")
    asked = parser.parse_args()
    figures: dict[str, Any] = {}
    for name, corpus in (("tuning", tuning.build()), ("holdout", holdout.build())):
        figures |= measure(name, corpus, asked.runs)
    took, unit = slowest(1_000_000)
    figures |= {"hostile, CPU s/MB of the worst": round(took, 3), "hostile, the worst repeats": unit}
    say(f"hostile: {took:.3f} s/MB at the worst, of {unit!r}")
    bounds = {
        f"{what} on {name}": (f"{name}, {key}", most)
        for name in ("tuning", "holdout")
        for what, key, most in (
            ("missed", "secrets missed, share", 0.06),
            ("false positives", "false positives", 0),
            ("CPU", "CPU s/MB", 1),
            ("CPU streamed", "CPU s/MB streamed", 1),
            ("streaming", "stream differs from the whole", 0),
        )
    }
    bounds["hostile CPU"] = ("hostile, CPU s/MB of the worst", 3)
    return report("redact", asked.runs, figures, bounds)


if __name__ == "__main__":
    sys.exit(main())
