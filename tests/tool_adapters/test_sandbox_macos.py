"""The profile for macOS, as text: it can be generated anywhere and run only there."""

from __future__ import annotations

import re
from pathlib import Path

from tool_adapters.sandbox_box import Box, Found, Resources
from tool_adapters.sandbox_macos import profile, sandbox_exec
from tool_adapters.sandbox_mounts import Mount

FOUND = Found("sandbox-exec", "/usr/bin/sandbox-exec", "", "macOS")


def box(network: bool = False) -> Box:
    mounts = (
        Mount(Path("/tmp"), "empty", ""),
        Mount(Path("/opt/tool"), "ro", ""),
        Mount(Path("/w/.repo"), "ro", "", ""),
        Mount(Path("/w/.repo/socket"), "ro", "", "/dev/null"),
        Mount(Path("/w/tree"), "rw", ""),
        Mount(Path("/w/tree/.git"), "ro", ""),
        Mount(Path('/w/odd "name"\\'), "ro", ""),
    )
    return Box(mounts, Path("/w/tree"), network, Resources(), Path("/scratch/x"))


def decided(text: str, operation: str, path: str) -> bool:
    """What the last rule that matches says, as the system does."""
    allowed = False
    for line in text.splitlines():
        match = re.match(r"\((allow|deny) (.*)\)$", line)
        if not match:
            continue
        operations = re.split(r" \(| default", match[2])[0].split() or ["default"]
        places = re.findall(r'\((subpath|literal) "((?:[^"\\]|\\.)*)"\)', match[2])
        known = any(
            operation == each or (each[-1] == "*" and operation.startswith(each[:-1])) for each in operations
        )
        hit = not places and "(" not in match[2]
        for kind, place in places:
            hit |= path == place or (kind == "subpath" and path.startswith(place.rstrip("/") + "/"))
        if known and hit:
            allowed = match[1] == "allow"
    return allowed


def test_what_may_be_read_and_written() -> None:
    text = profile(box())
    for path, read, write in (
        ("/w/tree/a.txt", True, True),
        ("/w/tree/.git", True, False),
        ("/w/.repo/HEAD", True, False),
        ("/w/.repo/socket", False, False),
        ("/opt/tool/bin/x", True, False),
        ("/usr/bin/env", True, False),
        ("/Users/u/.ssh/id_x", False, False),
        ("/tmp/x", False, False),
        ("/scratch/x/tmp/y", True, True),
        ("/dev/null", True, True),
        ("/private/etc/ssh/key", False, False),
    ):
        found = (decided(text, "file-read-data", path), decided(text, "file-write-data", path))
        assert found == (read, write), path


def test_the_network_only_where_it_is_declared() -> None:
    assert "network-outbound (remote ip" not in profile(box())
    assert "network-outbound (remote ip" in profile(box(network=True))
    for text in (profile(box()), profile(box(network=True))):
        assert text.startswith("(version 1)\n(deny default)\n")
        assert text.index("(deny network*)") > text.index("(allow file-read*")


def test_names_are_quoted_and_brackets_balanced() -> None:
    text = profile(box())
    assert '(subpath "/w/odd \\"name\\"\\\\")' in text
    for line in text.splitlines():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert bare.count("(") == bare.count(")") > 0, line


def test_the_argv() -> None:
    argv = sandbox_exec(FOUND, box(), ["echo", "x"])
    assert argv[:2] == ["/usr/bin/sandbox-exec", "-p"] and argv[-2:] == ["echo", "x"]
