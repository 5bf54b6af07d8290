"""macOS: a profile for `sandbox-exec`, generated from the same list of places. Not run by our tests: they check the
text of the profile only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tool_adapters.sandbox_box import Box, Found, limited

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library/Developer", "/Library/Frameworks", "/Library/Apple"),
    *(
        "/Applications/Xcode.app/Contents/Developer",
        "/opt/homebrew",
        "/private/etc",
        "/private/var/db/timezone",
    ),
    *("/private/var/select", "/dev"),
)
_HIDDEN = ("/private/etc/ssh", "/private/etc/sudoers", "/private/etc/master.passwd")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")
_ALWAYS = (
    "(allow process-fork)",
    "(allow process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow file-read-metadata)",
    '(allow file-read* (literal "/"))',
    "(allow ipc-posix-sem)",
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    '(allow mach-lookup (global-name "com.apple.system.notification_center"))',
)
_NETWORK = (
    '(allow network-outbound (remote ip "*:*"))',
    '(allow network-inbound (local ip "*:*"))',
    '(allow network-bind (local ip "*:*"))',
    '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
    '(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))',
    '(allow mach-lookup (global-name "com.apple.trustd.agent"))',
)


def sandbox_exec(found: Found, box: Box, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` in `box`."""
    return [found.program, "-p", profile(box), *limited(box.resources), *argv]


def profile(box: Box) -> str:
    """The profile. Its last matching rule decides, so what is held back comes after what is given."""
    return "\n".join(_rules(box)) + "\n"


def _rules(box: Box) -> Iterator[str]:
    yield "(version 1)"
    yield "(deny default)"
    yield from _ALWAYS
    for name in _SYSTEM:
        yield f"(allow file-read* (subpath {_quoted(name)}))"
    for name in _HIDDEN:
        yield f"(deny file-read* (subpath {_quoted(name)}))"
    for name in _DEVICES:
        yield f"(allow file-write* (literal {_quoted(name)}))"
    for mount in box.mounts:
        for path in dict.fromkeys((mount.path, mount.path.resolve())):
            place = f"(subpath {_quoted(path)})"
            if mount.mode == "rw":
                yield f"(allow file-read* file-write* {place})"
            elif mount.mode == "ro" and mount.source == os.devnull:
                yield f"(deny file* network* {place})"
            elif mount.mode == "ro":
                # Nothing can be shown in another's place here: Git's own configuration stays readable.
                yield f"(allow file-read* {place} (literal {_quoted(mount.origin)}))"
                yield f"(deny file-write* {place})"
    if box.private:
        yield f"(allow file-read* file-write* (subpath {_quoted(box.private.resolve())}))"
    yield "(deny network*)"
    if box.network:
        yield from _NETWORK


def _quoted(path: str | Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
