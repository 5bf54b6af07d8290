"""What can be seen of a repository from its files: language, set-up, test command, a file that tests rest on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.base import JsonObject

Line = str | list[str]
SHOWN_FILES = 200


@dataclass(frozen=True)
class Project:
    """`setup` makes a fresh worktree usable; `when` are the files whose change repeats it; `test` is None when
    no test command was recognised; `vital` is a file without which the tests must fail."""

    language: str
    setup: tuple[Line, ...] = ()
    when: tuple[str, ...] = ()
    test: Line | None = None
    vital: str | None = None


def project(root: Path) -> Project:
    """The project in the folder `root`."""
    for mark, look in _LOOKS.items():
        if any(root.glob(mark)):
            return look(root)
    if (root / "Makefile").is_file() and re.search(r"^test:", _text(root / "Makefile"), re.MULTILINE):
        return Project("make", test=["make", "test"])
    return Project("unknown")


def _python(root: Path) -> Project:
    tests = _python_tests(root)
    pytest = any(
        "pytest" in _text(root / name) for name in ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini")
    )
    pytest = pytest or any(re.search(r"^(import|from) pytest\b", _text(path), re.MULTILINE) for path in tests)
    vital = _python_vital(root, tests)
    wanted = [name for name in ("requirements.txt", "requirements-dev.txt") if (root / name).is_file()]
    packaged = [name for name in ("pyproject.toml", "setup.py", "setup.cfg") if (root / name).is_file()]
    installable = "setup.py" in packaged or "[project]" in _text(root / "pyproject.toml")
    if not (pytest or wanted or installable):
        test: Line | None = ["python3", "-m", "unittest", "discover", "-q"] if tests else None
        return Project("python", test=test, vital=vital)
    install = [".venv/bin/pip", "install", "-q"]
    install += ["-e", "."] if installable else []
    install += [word for name in wanted for word in ("-r", name)]
    install += ["pytest"] if pytest else []
    runner = ["pytest", "-q"] if pytest else ["unittest", "discover", "-q"]
    return Project(
        "python",
        setup=(["python3", "-m", "venv", ".venv"], install),
        when=(*packaged, *wanted),
        test=[".venv/bin/python", "-m", *runner] if tests or pytest else None,
        vital=vital,
    )


def _python_tests(root: Path) -> list[Path]:
    found = [
        path
        for pattern in ("tests/**/*.py", "test/**/*.py", "test_*.py", "*/test_*.py")
        for path in root.glob(pattern)
    ]
    return sorted({path for path in found if not _hidden(path, root)})[:SHOWN_FILES]


def _python_vital(root: Path, tests: list[Path]) -> str | None:
    """A module that the tests import, the one imported most."""
    counts: dict[str, int] = {}
    for path in tests:
        for name in re.findall(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)", _text(path), re.MULTILINE):
            counts[name] = counts.get(name, 0) + 1
    for name in sorted(counts, key=lambda each: -counts[each]):
        for base in ("src/", ""):
            for file in (f"{base}{name}/__init__.py", f"{base}{name}.py"):
                if (root / file).is_file():
                    return file
    return None


def _node(root: Path) -> Project:
    manifest = _json(root / "package.json")
    scripts = manifest.get("scripts")
    has_test = isinstance(scripts, Mapping) and "no test specified" not in str(
        scripts.get("test", "no test specified")
    )
    manager = (
        "pnpm" if (root / "pnpm-lock.yaml").exists() else "yarn" if (root / "yarn.lock").exists() else "npm"
    )
    lock = {"npm": "package-lock.json", "pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"}[manager]
    install = ["npm", "ci"] if manager == "npm" and (root / lock).exists() else [manager, "install"]
    main = manifest.get("main")
    return Project(
        "javascript",
        setup=(install,) if manifest.get("dependencies") or manifest.get("devDependencies") else (),
        when=tuple(name for name in ("package.json", lock) if (root / name).exists()),
        test=[manager, "test"] if has_test else None,
        vital=main if isinstance(main, str) and (root / main).is_file() else None,
    )


def _go(root: Path) -> Project:
    sources = [
        path for path in sorted(root.rglob("*.go"))[:SHOWN_FILES] if not path.name.endswith("_test.go")
    ]
    tested = [path for path in sources if any(path.parent.glob("*_test.go")) and not _hidden(path, root)]
    vital = tested[0].relative_to(root).as_posix() if tested else None
    return Project("go", test=["go", "test", "./..."], vital=vital)


def _rust(root: Path) -> Project:
    vital = next((name for name in ("src/lib.rs", "src/main.rs") if (root / name).is_file()), None)
    return Project("rust", test=["cargo", "test", "--quiet"], vital=vital)


_LOOKS = {
    "Cargo.toml": _rust,
    "go.mod": _go,
    "pyproject.toml": _python,
    "setup.py": _python,
    "setup.cfg": _python,
    "requirements.txt": _python,
    "package.json": _node,
    "test*/**/*.py": _python,
    "*.py": _python,
}


@dataclass(frozen=True)
class Payer:
    """An agent that can be used here: its name, its settings, and by which credential (by name, never by value);
    `missing` says what it lacks."""

    agent: str
    settings: JsonObject
    credential: str
    missing: str = ""


def payers(environ: Mapping[str, str]) -> Iterator[Payer]:
    """Claude, Codex and Pi, where their programs are on the PATH, those with a credential first."""
    found = []
    path = environ.get("PATH")
    if shutil.which("claude", path=path):
        if environ.get("CLAUDE_CODE_OAUTH_TOKEN"):
            found.append(Payer("claude", {"auth": "subscription"}, "CLAUDE_CODE_OAUTH_TOKEN"))
        elif environ.get("ANTHROPIC_API_KEY"):
            found.append(Payer("claude", {"auth": "api-key"}, "ANTHROPIC_API_KEY"))
        else:
            mend = "run `claude setup-token`, then export CLAUDE_CODE_OAUTH_TOKEN=TOKEN"
            found.append(Payer("claude", {"auth": "subscription"}, "", mend))
    if shutil.which("codex", path=path):
        home = environ.get("CODEX_HOME") or f"{environ.get('HOME', '')}/.codex"
        login = Path(home) / "auth.json"
        key = next((name for name in ("CODEX_API_KEY", "OPENAI_API_KEY") if environ.get(name)), None)
        if login.is_file():
            named = "~/.codex/auth.json" if not environ.get("CODEX_HOME") else str(login)
            found.append(Payer("codex", {"auth": "subscription", "auth_file": named}, named))
        elif key:
            found.append(Payer("codex", {"auth": "api-key"}, key))
        else:
            found.append(
                Payer("codex", {"auth": "api-key"}, "", "run `codex login`, or export OPENAI_API_KEY=KEY")
            )
    if shutil.which("pi", path=path):
        missing = "" if environ.get("ANTHROPIC_API_KEY") else "export ANTHROPIC_API_KEY=KEY"
        found.append(Payer("pi", {"auth": "api-key"}, "" if missing else "ANTHROPIC_API_KEY", missing))
    yield from sorted(found, key=lambda payer: bool(payer.missing))


def _hidden(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return any(part.startswith(".") or part in ("node_modules", "__pycache__", "venv") for part in parts)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")[:262144] if path.is_file() else ""
    except OSError:
        return ""


def _json(path: Path) -> JsonObject:
    try:
        found = json.loads(_text(path))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
