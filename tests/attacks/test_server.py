"""Attacks on the server: from other sites, through names it does not have, and with texts made to keep it busy."""

from __future__ import annotations

import time

import pytest

from maverick.chat.offline import TaskModel
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.model import Message, Request

CPU_SECONDS = 2.0
"""For ten messages: some fifty times what they take, and a third of what they took when one held everybody up."""


@pytest.mark.requirement("SERVER-BUSYWORK")
@pytest.mark.parametrize(
    "text", ["1" * MESSAGE_LENGTH, "add " + "1" * 9_000, "(" * MESSAGE_LENGTH, "1 " * 5_000]
)
async def test_a_message_made_of_one_character_does_not_keep_the_offline_model_busy(text: str) -> None:
    model, began = TaskModel(), time.process_time()

    for _ in range(10):
        await model.run(Request([Message.user(text)]))

    assert time.process_time() - began < CPU_SECONDS
