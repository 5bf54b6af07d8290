"""Every rejection code, read from the source: a new one without a case fails the suite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from contracts.reply_rules import RULES, Does

ROOT = Path(__file__).resolve().parents[3]
GATE, CONFIRM = ROOT / "controller/gate.py", ROOT / "controller/confirm.py"
DEEDS, DEED_RULES = ROOT / "controller/deeds.py", ROOT / "contracts/deed_rules.py"
DRIVEN = (GATE, CONFIRM, DEEDS, ROOT / "controller/basis.py")
INVARIANTS = "invariants."  # and the name that a schema gave it


def rejection_codes() -> set[str]:
    """Those that `Reject(code=…)` can have. One that depends on an invariant's name is `INVARIANTS` alone. Raises
    AssertionError where the source says it in a way that is not known here."""
    found: set[str] = set()
    for path in sorted((ROOT / "controller").rglob("*.py")):
        calls = [node for node in ast.walk(_tree(path)) if _calls(node, "Reject")]
        assert not calls or path in DRIVEN, f"{path} rejects too: drive it here"
        for call in calls:
            code = next((each.value for each in call.keywords if each.arg == "code"), None)  # type: ignore[attr-defined]
            if code is None:
                continue  # a pattern: `case Reject():`
            found |= set(_codes(code, call, path))
    return found


def _codes(code: ast.expr, call: ast.AST, path: Path) -> Iterator[str]:
    match code:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            # Its own, or one that it imports from another module that rejects.
            (text,) = {
                value for each in (path, *DRIVEN) for known, value in _constants(each) if known == name
            }
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _codes(one, call, path)
            yield from _codes(other, call, path)
        case ast.JoinedStr(values=[ast.Constant(value=str(prefix)), ast.FormattedValue()]):
            yield from (f"{prefix}{rest}" for rest in _rests(prefix, call, path))
        case _:
            raise AssertionError(f"{path}: a code of a new form: {ast.unparse(code)}")


def _rests(prefix: str, call: ast.AST, path: Path) -> set[str]:
    """What can stand behind a prefix."""
    match prefix:
        case "envelope.":
            rests = {_text(node.args[0]) for node in ast.walk(_tree(GATE)) if _calls(node, "no")}  # type: ignore[attr-defined]
        case "reply.":
            rests = {str(name) for name, rule in RULES.items() if rule.does is Does.CORRECT}
        case "policy.approval_":
            rests = {_text(node.args[1]) for node in ast.walk(_tree(CONFIRM)) if _calls(node, "_no")}  # type: ignore[attr-defined]
        case "policy." if path == DEEDS:
            rests = {rest for name in _functions(DEED_RULES) for rest in _pairs(DEED_RULES, name)}
        case "policy.":
            rests = {*_pairs(ROOT / "contracts/grammar.py", "problem")}
            rests |= {
                *_pairs(ROOT / "contracts/paths.py", "write"),
                *_pairs(ROOT / "contracts/paths.py", "_refuse"),
                *_pairs(ROOT / "contracts/submitted.py", "refused"),
                *_pairs(ROOT / "contracts/submitted.py", "_odd"),
            }
        case "invariants.":
            rests = {""}
        case _:
            raise AssertionError(f"{path}: codes that begin with {prefix!r} are not known here")
    assert rests, prefix
    return rests


def _pairs(path: Path, function: str) -> Iterator[str]:
    """The first of each pair of texts that a function returns."""
    (body,) = (
        node for node in ast.walk(_tree(path)) if isinstance(node, ast.FunctionDef) and node.name == function
    )
    for node in ast.walk(body):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            yield _text(node.value.elts[0])


def _functions(path: Path) -> Iterator[str]:
    """The module's own functions, methods left out."""
    yield from (node.name for node in _tree(path).body if isinstance(node, ast.FunctionDef))


def _constants(path: Path) -> Iterator[tuple[str, str]]:
    """The texts to which a module gives names."""
    for node in _tree(path).body:
        if not isinstance(node, ast.Assign):
            continue
        (target,) = node.targets
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for name, value in pairs:
            if (
                isinstance(name, ast.Name)
                and isinstance(value, ast.Constant)
                and isinstance(value.value, str)
            ):
                yield name.id, value.value


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant) and isinstance(node.value, str), ast.unparse(node)
    return node.value


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
