"""Looks for a pattern in files, line by line. Also a program of its own, so that a pattern without end can be
ended: `python -I scan.py` takes a request as JSON on stdin and prints the result as JSON. Standard library
only."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from typing import Any

MAX_FILE = 32 * 1024 * 1024
WIDTH = 300
MAX_COUNTS = 100


def scan(request: dict[str, Any]) -> dict[str, Any]:
    """`request`: root, files, pattern, regex, ignore_case, hits (lines shown in all), each (per file).

    The result: hits [[path, line number, text]], counts {path: lines that match} of the first 100 such files,
    files and lines (all that match), skipped (files that could not be searched). Raises re.error.
    """
    flags = re.IGNORECASE if request["ignore_case"] else 0
    pattern = re.compile(request["pattern"] if request["regex"] else re.escape(request["pattern"]), flags)
    literal = None if request["regex"] or flags else request["pattern"].encode("utf-8", "surrogateescape")
    hits: list[tuple[str, int, str]] = []
    counts: dict[str, int] = {}
    files = lines = skipped = 0
    for path in request["files"]:
        data = _read(f"{request['root']}/{path}")
        if data is None:
            skipped += 1
            continue
        if b"\0" in data[:8000] or (literal is not None and literal not in data):
            continue
        count = 0
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
            found = pattern.search(line)
            if not found:
                continue
            count += 1
            if count <= request["each"] and len(hits) < request["hits"]:
                hits.append((path, number, around(line.removesuffix("\r"), found.start())))
        if count:
            files, lines = files + 1, lines + count
            if len(counts) < MAX_COUNTS:
                counts[path] = count
    return {"hits": hits, "counts": counts, "files": files, "lines": lines, "skipped": skipped}


def _read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
            return None
        return file.read()


def around(line: str, at: int) -> str:
    """At most 300 characters of the line, the hit among them."""
    if len(line) <= WIDTH:
        return line
    begin = max(0, min(at - WIDTH // 3, len(line) - WIDTH))
    end = begin + WIDTH
    return ("…" if begin else "") + line[begin:end] + ("…" if end < len(line) else "")


if __name__ == "__main__":
    try:
        result = scan(json.loads(sys.stdin.buffer.read()))
    except (re.error, OverflowError, RecursionError) as error:
        result = {"error": str(error)}
    sys.stdout.write(json.dumps(result))
