from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.shell import Shell, new_shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return new_shell(tmp_path)
