"""Runners that keep nothing: each a fresh clone of one bare remote, with a home of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.surfaces.shell import Shell, new_shell

STORE = "store: {use: git}"
REFS = "refs/skill-state/greet"


class Runners:
    """`seed` is the repository of a person; `bare` the remote. Each runner's agent notes its launches in `launched`."""

    def __init__(self, folder: Path, *replies: Any, **changes: str) -> None:
        self.folder, self.bare = folder, folder / "remote.git"
        self.replies, self.changes = replies, {"store": STORE} | changes
        self.seed = new_shell(folder / "seed")
        self.launched = folder / "launched"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        self.seed.git("remote", "add", "origin", str(self.bare))
        self.seed.git("push", "-q", "origin", "main")

    def fresh(self, name: str, *words: str) -> Shell:
        shell = Shell(self.folder / name / "repo", self.folder / name / "home")
        shell.home.mkdir(parents=True)
        clone = ["git", "clone", "-q", *words, f"file://{self.bare}", str(shell.repo)]
        subprocess.run(clone, check=True, env={"PATH": shell.env["PATH"], "HOME": str(shell.home)})
        self.task(shell)
        return shell

    def task(self, shell: Shell) -> None:
        """The task file of a runner, the same text for each, and an agent that notes where it is launched."""
        shell.task(*self.replies, **self.changes)
        agent = self.folder / "agent.py"
        shutil.copy(shell.home / "agent.py.json", f"{agent}.json")
        note = f"import os\nopen({str(self.launched)!r}, 'a').write(os.environ['HOME'] + chr(10))\n"
        agent.write_text(note + (shell.home / "agent.py").read_text())
        file = shell.repo / "task.yaml"
        file.write_text(file.read_text().replace(str(shell.home / "agent.py"), str(agent)))

    @property
    def launches(self) -> list[str]:
        """The names of the runners that launched an agent, in order."""
        homes = self.launched.read_text().split() if self.launched.exists() else []
        return [Path(home).relative_to(self.folder).parts[0] for home in homes]

    def refs(self) -> dict[str, str]:
        """Of the task on the remote, by their short names."""
        form = "--format=%(refname) %(objectname)"
        lines = self.git("for-each-ref", form, REFS).splitlines()
        return {ref.removeprefix(f"{REFS}/"): oid for ref, oid in (line.split(" ") for line in lines)}

    def git(self, *words: str) -> str:
        """In the bare repository."""
        asked = ["git", "--git-dir", str(self.bare), *words]
        done = subprocess.run(asked, env=self.seed.env, capture_output=True, text=True, check=True)
        return done.stdout

    def shown(self, path: str, ref: str = "work") -> str:
        return self.git("show", f"{REFS}/{ref}:{path}")

    def subjects(self) -> list[str]:
        """Of the branch, newest first, `main` left out."""
        return self.git("log", "--format=%s", f"main..{REFS}/work").splitlines()

    def by_hand(self, path: str, text: str, onto: str = "work", *, force: bool = False) -> str:
        """A person commits a file onto the branch, as it stands on the remote, and pushes it there."""
        git = self.seed.git
        git("fetch", "-q", "origin", f"{REFS}/{onto}")
        git("checkout", "-q", "--detach", "FETCH_HEAD")
        (self.seed.repo / path).write_text(text)
        git("add", "-A")
        git("commit", "-qm", "by hand")
        git("push", "-q", *["-f"] * force, "origin", f"HEAD:{REFS}/{onto}")
        tip = git("rev-parse", "HEAD").strip()
        git("checkout", "-q", "main")
        return tip
