"""What is not Python and stands in a package is installed with it: an editable install would hide a gap."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

from tests.house.size_budgets import PRODUCT, ROOT

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def left_out(root: Path, declared: dict[str, list[str]]) -> list[str]:
    """Data files below the packages in `root` that no pattern of `declared` (package -> globs) names."""
    found = []
    for package in PRODUCT:
        for path in sorted((root / package).rglob("*")):
            inner = path.relative_to(root / package).as_posix()
            if path.is_dir() or path.suffix in (".py", ".pyc") or "__pycache__" in inner:
                continue
            patterns = [
                f"{name.removeprefix(package).removeprefix('.').replace('.', '/')}/{glob}".lstrip("/")
                for name, globs in declared.items()
                if name == package or name.startswith(package + ".")
                for glob in globs
            ]
            if not any(fnmatch(inner, pattern.replace("**/", "")) for pattern in patterns):
                found.append(f"{package}/{inner}")
    return found


def test_every_data_file_is_installed() -> None:
    assert left_out(ROOT, SETUPTOOLS["package-data"]) == []


def test_a_gap_is_found(tmp_path: Path) -> None:
    for package in PRODUCT:
        (tmp_path / package / "deep").mkdir(parents=True)
    (tmp_path / "contracts/a.json").write_text("{}")
    (tmp_path / "controller/deep/b.md").write_text("")
    assert left_out(tmp_path, {"contracts": ["*.json"]}) == ["controller/deep/b.md"]
    assert left_out(tmp_path, {"contracts": ["*.json"], "controller.deep": ["*.md"]}) == []
    assert left_out(tmp_path, {"contracts": ["*.json"], "controller": ["deep/*.md"]}) == []


def test_every_package_is_found_by_the_build() -> None:
    assert set(SETUPTOOLS["packages"]["find"]["include"]) == {f"{package}*" for package in PRODUCT}
    for package in PRODUCT:
        for path in (ROOT / package).rglob("*.py"):
            assert (path.parent / "__init__.py").exists() or "templates" in path.parts, path
