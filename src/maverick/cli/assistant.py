"""Who answers in ``maverick chat``: the model that is configured or asked for, or the offline one."""

from __future__ import annotations

from msgspec import Struct

from maverick.config import AgentConfig
from maverick.providers import Client
from maverick.providers.catalog import open_client
from maverick.providers.resolve import resolve

_WHAT = "Maverick's to-do assistant"


class Assistant(Struct, frozen=True):
    """A model to talk to."""

    client: Client
    model: str
    introduction: str


def choose_assistant(wanted: str | None, settings: AgentConfig, *, pace: float) -> Assistant:
    """The model that was asked for, or configured, or else the offline one.

    Args:
        wanted: A ``provider:model``, if one was asked for.
        settings: What the person has set.
        pace: Seconds between two words of the offline model, which would otherwise answer all at once.

    Raises:
        ConfigError: A setting is wrong, or there is no key for the model.
        InvalidInputError: There is no such provider.
    """
    resolved = resolve(settings, wanted=wanted).check()
    if resolved.provider != "offline":
        return Assistant(open_client(resolved), resolved.model, f"{_WHAT}, with {resolved.model}.")
    from maverick.chat.offline import TaskModel  # here, since a real model does without it

    why = f": {resolved.stand_in_reason}" if resolved.is_stand_in else ""
    client = TaskModel(pace=pace)
    return Assistant(client, resolved.model, f"{_WHAT}, with the offline model{why}.")
