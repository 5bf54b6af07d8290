"""bubblewrap: own namespaces for files, processes, network, users and everything else there is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tool_adapters.sandbox_box import Box, Found, limited
from tool_adapters.sandbox_mounts import Mount


def version(said: str) -> tuple[int, ...]:
    """(0, 8, 0) of `bubblewrap 0.8.0`."""
    match = re.search(r"(\d+(?:\.\d+)+)", said)
    return tuple(map(int, match[1].split("."))) if match else (0,)


def bwrap(found: Found, box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in `box`. Dies with its parent, and everything in it with it."""
    known = version(found.version)
    words = [found.program, "--unshare-all", *(("--share-net",) if box.network else ())]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if known >= (0, 8):
        words += ["--unshare-user", "--disable-userns"]
    sized = ("--size", str(box.resources.temporary)) if known >= (0, 7) else ()
    words += ["--proc", "/proc", "--dev", "/dev", *sized, "--tmpfs", "/dev/shm"]
    for mount in box.mounts:
        words += _mounted(mount, sized)
    # /proc: root inside is root outside, and the kernel's settings belong to root, capabilities or not.
    words += ["--remount-ro", "/proc", "--remount-ro", "/", "--chdir", str(box.cwd)]
    return [*words, "--", *limited(box.resources), *argv]


def _mounted(mount: Mount, sized: tuple[str, ...]) -> Iterator[str]:
    match mount.mode:
        case "link":
            yield from ("--symlink", mount.source, str(mount.path))
        case "empty":
            yield from (*sized, "--tmpfs", str(mount.path))
        case "ro":
            yield from ("--ro-bind", mount.origin, str(mount.path))
        case "rw":
            yield from ("--bind", mount.origin, str(mount.path))


def own_error(code: int | None, said: str) -> str | None:
    """What bubblewrap itself said when it could not start the command. A command that imitates it gains
    nothing: it counts as not run."""
    line = said.strip().split("\n")[0]
    return line if code == 1 and line.startswith("bwrap: ") else None
