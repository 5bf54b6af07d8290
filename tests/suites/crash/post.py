"""A post office on this machine: where a command leaves its effect that can write to its worktree only."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# One line there, one line back: `send KEY WORKTREE` or `sent KEY WORKTREE`, and yes or no.
ASK = (
    "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; "
    'echo "{verb} $SKILL_STATE_KEY $PWD" >&3; read -r said <&3; test $said = yes\''
)


class _Counter(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        verb, key, worktree = self.rfile.readline().decode().rstrip("\n").split(" ", 2)
        effects = Path(worktree).parents[3] / "home/effects"  # of the world that the worktree belongs to
        if verb == "send":
            with effects.open("a") as file:
                file.write(f"{key}\n")
        sent = effects.exists() and key in effects.read_text().split()
        self.wfile.write(b"yes\n" if sent else b"no\n")


class _Office(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def office() -> Iterator[tuple[str, str]]:
    """(the command that has the effect, the probe that looks for it) as they stand in a task."""
    with _Office(("127.0.0.1", 0), _Counter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        send, sent = (ASK.format(port=port, verb=verb) for verb in ("send", "sent"))
        yield f"sleep 0.1; {send} #ship", f"probe: {json.dumps(['sh', '-c', f'{sent} #probe'])}"
        server.shutdown()
