"""apply_patch: a unified diff, without fuzz; all of it or nothing."""

from __future__ import annotations

from contracts.tools import SPECS
from tool_adapters.actions.edit_files import Edits


class ApplyPatch(Edits):
    tool = "apply_patch"
    spec = SPECS["apply_patch"]
