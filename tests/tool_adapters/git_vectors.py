"""The places from which git runs code that a repository planted: each alone, with a plain git call that runs it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.tool_adapters.repositories import git, repository, write

# Touches the canary; hands on what it is given, as a filter does.
SCRIPT = "#!/bin/sh\ntouch '{canary}'\n[ -t 0 ] || cat\nexit 0\n"


@dataclass(frozen=True)
class Ground:
    """A repository in a folder of its own, and in that folder a program that touches `canary`."""

    root: Path
    canary: Path
    script: Path

    @classmethod
    def made(cls, folder: Path) -> Ground:
        """With a branch `other`, which changes a.txt, too."""
        root, canary, script = repository(folder / "repo"), folder / "canary", folder / "evil.sh"
        script.write_text(SCRIPT.format(canary=canary))
        script.chmod(0o755)
        git(root, "checkout", "-q", "-b", "other")
        write(root, {"a.txt": "eins\n"})
        git(root, "commit", "-qam", "other")
        git(root, "checkout", "-q", "main")
        return cls(root, canary, script)

    def change(self) -> None:
        """The work of a step, with attributes that name every driver `f`."""
        attributes = {".gitattributes": "*.txt filter=f diff=f merge=f\n"}
        write(self.root, attributes | {"a.txt": "ONE\n", "src/b.txt": "TWO\n", "free.md": "three\n"})

    def fill(self, text: str) -> str:
        return text.format(script=self.script, canary=self.canary, folder=self.root.parent)

    def hook(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        shutil.copy(self.script, folder / name)


def nothing(_: Ground) -> None:
    return None


@dataclass(frozen=True)
class Vector:
    """`fires`: the plain git call that runs it. `config` is added to .git/config, `files` are written below the
    repository's folder; in both {script}, {canary} and {folder} are filled in. `plant` does what is left."""

    fires: str
    config: str = ""
    files: dict[str, str] = field(default_factory=dict)
    plant: Callable[[Ground], None] = nothing

    def planted(self, ground: Ground) -> None:
        self.plant(ground)
        write(ground.root, {name: ground.fill(text) for name, text in self.files.items()})
        with (ground.root / ".git/config").open("a") as config:
            config.write(ground.fill(self.config))


def hook(name: str) -> Callable[[Ground], None]:
    return lambda ground: ground.hook(ground.root / ".git/hooks", name)


def elsewhere(ground: Ground) -> None:
    ground.hook(ground.root.parent / "hooks", "pre-commit")


def borrowed(ground: Ground) -> None:
    objects = repository(ground.root.parent / "lender") / ".git/objects"
    (ground.root / ".git/objects/info/alternates").write_text(f"{objects}\n")


def submodule(text: str = "", hooks: tuple[str, ...] = ()) -> Callable[[Ground], None]:
    """A submodule `sub` with `text` in its configuration and these hooks; it stands behind what is committed."""

    def plant(ground: Ground) -> None:
        root, origin = ground.root, repository(ground.root.parent / "origin")
        git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "sub")
        git(root / "sub", "commit", "-q", "--allow-empty", "-m", "second")
        git(root, "add", "sub")
        git(root, "commit", "-q", "-m", "sub")
        git(root / "sub", "checkout", "-q", "HEAD~1")
        with (root / ".git/modules/sub/config").open("a") as config:
            config.write(ground.fill(text))
        for name in hooks:
            ground.hook(root / ".git/modules/sub/hooks", name)

    return plant


def unfetched(ground: Ground) -> None:
    """The same; what is committed of it is nowhere here, and its remote is a program."""
    submodule('[protocol "ext"]\n\tallow = always\n')(ground)
    git(ground.root / "sub", "config", "remote.origin.url", f"ext::touch {ground.canary}")
    git(ground.root, "update-index", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(ground.root, "commit", "-q", "-m", "unfetched")


CLEAN = '[filter "f"]\n\tclean = {script}\n'
FSMONITOR = "[core]\n\tfsmonitor = {script}\n"
INCLUDED = {"../included": CLEAN}
VECTORS = {
    "hook pre-commit": Vector("commit -qam x", plant=hook("pre-commit")),
    "hook prepare-commit-msg": Vector("commit -qam x", plant=hook("prepare-commit-msg")),
    "hook commit-msg": Vector("commit -qam x", plant=hook("commit-msg")),
    "hook post-commit": Vector("commit -qam x", plant=hook("post-commit")),
    "hook post-checkout": Vector("checkout -q -b x", plant=hook("post-checkout")),
    "hook post-merge": Vector("merge -q -s ours other", plant=hook("post-merge")),
    "hook post-index-change": Vector("add -A", plant=hook("post-index-change")),
    "hook reference-transaction": Vector("branch x", plant=hook("reference-transaction")),
    "core.hooksPath": Vector("commit -qam x", "[core]\n\thooksPath = {folder}/hooks\n", plant=elsewhere),
    "core.fsmonitor": Vector("status", FSMONITOR),
    "core.editor": Vector("commit -a", "[core]\n\teditor = {script}\n"),
    "core.alternateRefsCommand": Vector(
        "rev-list --alternate-refs", "[core]\n\talternateRefsCommand = {script}\n", plant=borrowed
    ),
    "filter clean": Vector("add -A", CLEAN),
    "filter smudge": Vector("checkout -- a.txt", '[filter "f"]\n\tsmudge = {script}\n'),
    "filter process": Vector("add -A", '[filter "f"]\n\tprocess = {script}\n\trequired = true\n'),
    "filter in info/attributes": Vector("add -A", CLEAN, {".git/info/attributes": "* filter=f\n"}),
    "filter in core.attributesFile": Vector(
        "add -A",
        "[core]\n\tattributesFile = {folder}/attributes\n" + CLEAN,
        {"../attributes": "free.md filter=f\n"},
    ),
    "diff command": Vector("diff", '[diff "f"]\n\tcommand = {script}\n'),
    "diff textconv": Vector("diff", '[diff "f"]\n\ttextconv = {script}\n'),
    "diff.external": Vector("diff", "[diff]\n\texternal = {script}\n"),
    "merge driver": Vector("checkout -q -m other", '[merge "f"]\n\tdriver = {script}\n'),
    "gpg.program": Vector("commit -qam x", "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {script}\n"),
    "include": Vector("add -A", "[include]\n\tpath = {folder}/included\n", INCLUDED),
    "includeIf gitdir": Vector("add -A", '[includeIf "gitdir:/"]\n\tpath = {folder}/included\n', INCLUDED),
    "includeIf onbranch": Vector(
        "add -A", '[includeIf "onbranch:**"]\n\tpath = {folder}/included\n', INCLUDED
    ),
    "config.worktree": Vector(
        "status", "[extensions]\n\tworktreeConfig = true\n", {".git/config.worktree": FSMONITOR}
    ),
    "submodule's fsmonitor": Vector("status", plant=submodule(FSMONITOR)),
    "submodule's filter": Vector(
        "diff --submodule=diff --ignore-submodules=none",
        plant=submodule('[diff "f"]\n\ttextconv = {script}\n'),
        files={".git/modules/sub/info/attributes": "* diff=f\n", "sub/a.txt": "changed\n"},
    ),
    "submodule's hook": Vector(
        "reset -q --hard", "[submodule]\n\trecurse = true\n", plant=submodule(hooks=("post-index-change",))
    ),
    "submodule.update": Vector(
        "submodule --quiet update", '[submodule "sub"]\n\tupdate = "!touch {canary} #"\n', plant=submodule()
    ),
    "submodule's url": Vector("submodule --quiet update", plant=unfetched),
}
