"""Which files may be changed: one policy over normalised paths, pure (symlinks arrive as data)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pydantic import ConfigDict

from contracts.base import Frozen

ALWAYS_PROTECTED = (".git*", ".agent-contract/**", ".agent-runtime/**", "task.yaml")
# Compared without regard to case; a pattern with a slash is compared with the end of the path, else the name.
SECRET_FILES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    ".vault_pass*",
    "*.tfstate",
    "*.tfstate.backup",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
)
# Patterns for people to fill in, and public halves: such files are open, whatever else their names match.
OPEN_FILES = (
    "*.example",
    "*.sample",
    "*.template",
    "*.tmpl",
    "*.dist",
    ".env.defaults",
    "example.env",
    "sample.env",
    "*.example.env",
    "*.pub",
)

# What a terminal, a log or a reviewer would not show as it is: control codes, line separators, bidi overrides,
# and the bytes of a name that is not UTF-8.
_UNSHOWABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


# Caches beside sources: a command leaves them where nothing ignores them, and no step means to commit one.
_GENERATED = re.compile(
    r"(^|/)(__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis)(/|\Z)|\.py[co]\Z"
)


@lru_cache(maxsize=512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """A glob over POSIX paths: `**` any depth, `*` and `?` within a name, `[…]` a set. A pattern that names a
    folder (or matches one) holds for everything below it."""
    out, i, pattern = [], 0, pattern.strip().removeprefix("./").rstrip("/")
    while i < len(pattern):
        c = pattern[i]
        if pattern.startswith("**/", i):
            out.append("(?:[^/]+/)*")
            i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif c == "*":
            out.append("[^/]*")
            i += 1
        elif c == "?":
            out.append("[^/]")
            i += 1
        elif c == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end]
            negated = body[:1] in "!^"
            out.append("[" + ("^" if negated else "") + re.escape(body[negated:]).replace(r"\-", "-") + "]")
            i = end + 1
        else:
            out.append(re.escape(c))
            i += 1
    return re.compile("".join(out) + r"(?:/.*)?\Z", re.DOTALL)


def matches(path: str, patterns: Iterable[str]) -> str | None:
    """The first pattern that holds for `path`, or None."""
    return next((pattern for pattern in patterns if compile_glob(pattern).match(path)), None)


def generated(path: str) -> bool:
    """Whether `path` is a cache that a program leaves as it runs."""
    return _GENERATED.search(path) is not None


def normalise(path: str) -> str | None:
    """`path` as a clean path relative to the worktree, or None when it is absolute, leaves the worktree, names
    the worktree itself, or holds control characters, a backslash or a NUL."""
    if not path or path.startswith(("/", "~")) or "\\" in path or _UNSHOWABLE.search(path):
        return None
    clean = posixpath.normpath(path)
    if clean in (".", "..") or clean.startswith("../"):
        return None
    return clean


def resolve(path: str, links: Mapping[str, str]) -> str | None:
    """`path` with the symlinks `links` (path -> target) followed, or None when that leaves the worktree."""
    for _ in range(40):
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            prefix = "/".join(parts[:depth])
            if prefix in links:
                target = links[prefix]
                joined = posixpath.join(posixpath.dirname(prefix), target, *parts[depth:])
                cleaned = None if target.startswith("/") else normalise(joined)
                if cleaned is None:
                    return None
                path = cleaned
                break
        else:
            return path
    return None


def reached(path: str, links: Mapping[str, str]) -> tuple[str, ...]:
    """`path` without its detours, and the file of the worktree that it leads to; as it is where it is no such path."""
    clean = normalise(path)
    return (path,) if clean is None else tuple(dict.fromkeys((clean, resolve(clean, links) or clean)))


def is_secret_file(path: str) -> bool:
    """Whether a file of this name keeps credentials as a rule. Not what only shows which ones are needed
    (`.env.example`), and no public key."""
    lower = path.lower()
    name = posixpath.basename(lower)
    if matches(name, OPEN_FILES):
        return False
    return bool(matches(name, _SECRET_NAMES) or matches(lower, _SECRET_PATHS))


_SECRET_NAMES = tuple(each for each in SECRET_FILES if "/" not in each)
_SECRET_PATHS = tuple(f"**/{each}" for each in SECRET_FILES if "/" in each)


class PathPolicy(Frozen):
    """`scope` (globs that may be changed), `protected` (never), `pins` (what checks rest on, never, except
    `may_edit`), `secrets` (files of the .env kind that may be used), `reports` (what the task's commands
    write for the controller), `prefix` (the folder of the task file, to which the globs are relative)."""

    model_config = ConfigDict(frozen=True, strict=False, extra="forbid")

    scope: tuple[str, ...] = ("**",)
    protected: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    may_edit: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    prefix: str = ""

    def write(self, path: str, links: Mapping[str, str] | None = None) -> tuple[str, str] | None:
        """None when `path` may be changed, else (code, what to do instead). Symlinks are followed first."""
        shown = repr(path[:120])
        if _UNSHOWABLE.search(path):
            return (
                "path.name",
                f"{shown}: names with control characters or bytes that are not UTF-8 can't be changed here",
            )
        cleaned = normalise(path)
        if cleaned is None:
            return "path.outside", f"{shown} is not a path inside the worktree: use relative paths with '/'"
        real = resolve(cleaned, links or {})
        if real is None:
            return (
                "path.symlink",
                f"{shown} leads out of the worktree through a symlink: choose a file inside",
            )
        for each in {cleaned, real}:
            refused = self._refuse(each)
            if refused:
                return refused
        return None

    def _refuse(self, path: str) -> tuple[str, str] | None:
        if path.split("/", 1)[0].lower() == ".git" or "/.git/" in f"/{path.lower()}/":
            return "path.protected", f"{path!r} belongs to Git: it can't be changed"
        inner = path
        if self.prefix:
            if not path.startswith(self.prefix + "/"):
                return "path.scope", f"{path!r} is outside this task's folder {self.prefix!r}"
            inner = path[len(self.prefix) + 1 :]
        found = matches(path, (*ALWAYS_PROTECTED, *self.protected)) or matches(
            posixpath.basename(path), (".git*",)
        )
        if found or (self.prefix and matches(inner, self.protected)):
            return "path.protected", f"{path!r} is protected ({found or 'by the task'}): leave it as it is"
        if matches(inner, self.reports):
            return "path.report", f"{path!r} is a report: what is run writes it, it is no part of the work"
        if generated(path):
            return "path.generated", f"{path!r} is made by a program as it runs: it is not part of the work"
        if self.secret(path):
            return (
                "path.secret",
                f"{path!r} looks like a file with secrets: the task must name it in allow_secrets",
            )
        pin = matches(inner, self.pins)
        if pin and not matches(inner, self.may_edit):
            return "path.pinned", f"{path!r} is pinned by a check ({pin}): mend the code, not the check"
        if not matches(inner, self.scope):
            return (
                "path.scope",
                f"{path!r} is outside the scope {', '.join(self.scope)[:200]}: change only files in scope",
            )
        return None

    def secret(self, path: str) -> bool:
        """True when `path` is of the .env or key kind and the task does not allow it."""
        return is_secret_file(path) and not matches(path, self.secrets)
