"""A short tour for when there is no input: a real conversation about tasks, and its entries in the journal."""

from __future__ import annotations

import tempfile
from pathlib import Path

from maverick.cli.chat_session import ChatSession
from maverick.cli.screen import Screen, one_line, shown_call
from maverick.journal import Journal, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop.events import AgentActivityEvent, ContentChunk, ToolCallStart

SAID = (
    "Add call the bank by tomorrow, high priority",
    "Remind me to buy milk",
    "What's on my list?",
    "I've called the bank, mark call the bank as done",
    "Delete buy milk",
    "yes delete",
    "undo",
    "What's left?",
)
"""The person's part of the conversation."""
_CONFIRMED = SAID.index("yes delete")


async def play_tour(screen: Screen) -> int:
    """Talk about tasks on the offline model, in a database of its own, and show one run's timeline.

    Returns:
        The exit code: 0 when every request was answered.
    """
    from maverick.chat.offline import TaskModel

    screen.say("A short tour of Maverick: no key, no network, no keyboard.\n")
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteJournal(Path(folder) / "runs.db") as journal:
            session = ChatSession(
                TaskModel(), "offline:", database=f"{folder}/chat.db", journal=journal, user_id="tour"
            )
            all_answered = True
            for text in SAID:
                screen.say(f"\n> {text}\n")
                async for event in session.answer(text):
                    _tell(event, screen)
                screen.end_line()
                all_answered = all_answered and session.last.success
            screen.say("\nEvery run is in the journal, step by step; the one that deleted:\n")
            await _show_timeline(journal, session.run_ids[_CONFIRMED], screen)
            await session.aclose()
    screen.say(
        "\nIn a terminal, “maverick chat” lets you talk about your own tasks; piped text is answered line by line.\n"
        "With ANTHROPIC_API_KEY set it talks to Claude. “maverick runs list” shows what was done.\n"
    )
    return 0 if all_answered else 1


def _tell(event: AgentActivityEvent, screen: Screen) -> None:
    match event:
        case ToolCallStart(tool_call=call):
            screen.say(f"   · {shown_call(call.tool_name, call.arguments)}\n")
        case ContentChunk(content=text):
            screen.say(text)


async def _show_timeline(journal: Journal, run_id: str, screen: Screen) -> None:
    timeline = Timeline([stored.entry async for stored in journal.read(run_id)])
    for turn in timeline.turns:
        for tool in turn.tools:
            screen.say(
                f"   turn {turn.number}  {shown_call(tool.tool_name, tool.arguments)}: {tool.outcome}\n"
            )
        if turn.text:
            screen.say(f"   turn {turn.number}  “{one_line(turn.text)}”\n")
