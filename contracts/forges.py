"""The forges that are known, by the name that a task gives."""

from __future__ import annotations

from contracts.deeds import Forge
from contracts.forge_api import Api
from contracts.github_api import GithubApi
from contracts.gitlab_api import GitlabApi

APIS: dict[str, type[GithubApi] | type[GitlabApi]] = {"github": GithubApi, "gitlab": GitlabApi}


def api_of(forge: Forge) -> Api | None:
    """The API of the task's forge; None for a remote alone."""
    kind = APIS.get(forge.provider)
    return kind(forge) if kind is not None else None
