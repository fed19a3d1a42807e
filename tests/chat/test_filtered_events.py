"""What those who follow an answer of the chat see of the model's thinking."""

from __future__ import annotations

import pytest

from chat.parlour import Parlour
from maverick.chat import Database
from maverick.loop.events import AgentActivityEvent, ContentChunk, Thinking
from maverick.model import Thought
from maverick.testing import ScriptedClient, call, reply, turn

THOUGHT = (
    "They want their list. I must use the db id 17 for it.\n"
    '```json\n{"title": "milk"}\nshown to nobody\n```\n'
    "**Then** I answer. It is list_tasks() that returns null. So let me see"
)


async def _followed(
    database: Database, client: ScriptedClient, *, filtered: bool = True
) -> list[AgentActivityEvent]:
    parlour, seen = Parlour(database, client=client), list[AgentActivityEvent]()
    await parlour.say("hello", on_activity=seen.append, filtered=filtered)
    await parlour.aclose()
    return seen


def _thought(seen: list[AgentActivityEvent]) -> str:
    return "".join(event.content for event in seen if isinstance(event, Thinking))


@pytest.mark.requirement("004-Q-IDS")
async def test_thinking_is_shown_in_plain_words_before_the_answer(database: Database) -> None:
    seen = await _followed(database, ScriptedClient([reply("Good morning!", thinking=THOUGHT)]))

    assert _thought(seen) == "They want their list. Then I answer. So let me see "
    kinds = [type(event) for event in seen if isinstance(event, Thinking | ContentChunk)]
    assert kinds == sorted(kinds, key=[Thinking, ContentChunk].index)


async def test_thinking_before_a_tool_call_is_filtered_too(database: Database) -> None:
    looks = turn(Thought("The row id is 42. Let me look."), call("list_tasks"))
    seen = await _followed(
        database, ScriptedClient([looks, reply("", thinking="Its id is 17. All is well.")])
    )

    assert _thought(seen) == "Let me look. All is well. "


async def test_a_thought_without_an_end_is_not_kept(database: Database) -> None:
    endless = "and then again " * 200
    seen = await _followed(database, ScriptedClient([reply("Good morning!", thinking=endless)]))

    assert len(_thought(seen)) < 1000


async def test_who_asks_for_all_of_it_gets_the_thinking_as_it_is(database: Database) -> None:
    client = ScriptedClient([reply("Good morning!", thinking=THOUGHT)])
    seen = await _followed(database, client, filtered=False)

    assert _thought(seen) == THOUGHT
