"""Who answers in ``maverick chat``: the model that is configured or asked for, or the offline one."""

from __future__ import annotations

from dataclasses import dataclass

from maverick.cli.connecting import WITH_KEY, connect_as_set
from maverick.config import AgentConfig, load_config
from maverick.providers import Client

OFFLINE = "offline:"


@dataclass(frozen=True, slots=True)
class Assistant:
    """A model to talk to."""

    client: Client
    model: str
    introduction: str


def choose_assistant(wanted: str | None, *, pace: float) -> Assistant:
    """The model that was asked for, or configured, or else the offline one.

    Args:
        wanted: A ``provider:model``, if one was asked for.
        pace: Seconds between two words of the offline model, which would otherwise answer all at once.

    Raises:
        ConfigError: A setting is wrong.
        InvalidInputError: There is no such provider.
    """
    settings = load_config().agent
    model = wanted or _configured(settings)
    if model.partition(":")[0] != "offline":
        return Assistant(connect_as_set(model, settings), model, f"Maverick, with {model}.")
    from maverick.chat.offline import TaskModel  # here, since a real model does without it

    why = "" if wanted else ", since no key is set (ANTHROPIC_API_KEY)"
    return Assistant(TaskModel(pace=pace), model, f"Maverick, with the offline model{why}.")


def _configured(settings: AgentConfig) -> str:
    wants_key = settings.provider in WITH_KEY and settings.base_url is None
    if wants_key and settings.resolve_api_key() is None:
        return OFFLINE
    return f"{settings.provider}:{settings.model}"
