"""The client of the offline task model."""

from __future__ import annotations

from maverick.chat.offline.rules import AdmitItsLimits, RelayMessages, TalkAboutTasks, besides_tasks
from maverick.providers.offline import OfflineClient
from maverick.providers.offline.rules import DEFAULT_RULES


class TaskModel(OfflineClient):
    """An offline model that understands sentences about task lists, and uses other tools as every offline model does.

    Args:
        pace: Seconds between two words of a stream.
    """

    def __init__(self, *, pace: float = 0) -> None:
        others = besides_tasks(
            DEFAULT_RULES[:-1]
        )  # the last one says what the model can not do; this one says it itself
        super().__init__((RelayMessages(), TalkAboutTasks(), *others, AdmitItsLimits()), pace=pace)
