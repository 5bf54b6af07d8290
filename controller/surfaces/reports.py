"""The reports that a call leaves for a CI job: JUnit XML, and what GitHub Actions shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import ConfigError
from contracts.events import Ended, StepEnded
from controller.surfaces import github
from controller.surfaces.junit import junit
from controller.surfaces.words import plain


@dataclass(frozen=True)
class Reports:
    """junit: the file for JUnit XML. github: summary and outputs go to the files that GitHub Actions names in
    $GITHUB_STEP_SUMMARY and $GITHUB_OUTPUT, annotations to stderr. Raises ConfigError for a file that can't be one."""

    junit: Path | None = None
    github: bool = False

    def __post_init__(self) -> None:
        if self.junit is not None and self.junit.is_dir():
            raise ConfigError(f"--junit {self.junit} is a folder: name a file")

    def write(self, ended: Ended, steps: Sequence[StepEnded]) -> None:
        """All of them. What can't be written is said on stderr; how the call ended stays what it is."""
        try:
            if self.junit is not None:
                self.junit.parent.mkdir(parents=True, exist_ok=True)
                self.junit.write_bytes(junit(ended, steps))
            if self.github:
                self._tell_github(ended, steps)
        except OSError as error:
            print(plain(f"controller: a report could not be written: {error}"), file=sys.stderr)

    def _tell_github(self, ended: Ended, steps: Sequence[StepEnded]) -> None:
        for command in github.annotated(ended, steps):
            print(command, file=sys.stderr)
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(github.summary(ended, steps, github.SUMMARY - file.tell()))
        if path := os.environ.get("GITHUB_OUTPUT"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(github.env_file(github.outputs(ended, self.junit)))
