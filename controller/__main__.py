"""`controller`, `python -m controller`: the fast path of --version and status, else the whole command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs one command and exits with its code."""
    words = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that can't show a character must not end a run
            stream.reconfigure(errors="backslashreplace")
    if words in (["--version"], ["-V"]):
        from importlib.metadata import version

        print(f"controller {version('skill-state-controller')}")
        sys.exit(0)
    if "status" in words[:3]:
        from controller.surfaces.status import fast

        code = fast(words)
        if code is not None:
            sys.exit(code)
    from controller.surfaces.cli import main as full

    full()


if __name__ == "__main__":
    main()
