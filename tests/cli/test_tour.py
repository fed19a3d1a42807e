from __future__ import annotations

import io

from maverick.cli.chat import play_tour
from maverick.cli.screen import Screen


async def tour() -> list[str]:
    shown = io.StringIO()
    assert await play_tour(Screen(shown, io.StringIO(), colour=False)) == 0
    return shown.getvalue().splitlines()


async def test_it_is_a_conversation_that_adds_lists_completes_deletes_and_undoes() -> None:
    text = "\n".join(await tour())

    for said in (
        "   · add_task(title='buy milk')\nGot it! Added 'buy milk' to your list. Anything else?",
        "1. ☐ call the bank (high priority, due tomorrow)\n2. ☐ buy milk",
        "Great! I've marked 'call the bank' as complete.",
        "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm.",
        "I've removed 'buy milk' from your tasks.",
        "I've undone that: 'buy milk' is back on your list.",
    ):
        assert said in text


async def test_it_shows_the_timeline_of_a_run() -> None:
    text = "\n".join(await tour())

    assert "turn 1  delete_task(task='buy milk'): finished" in text
    assert "turn 2  “I've removed 'buy milk' from your tasks.”" in text


async def test_it_is_short() -> None:
    assert len(await tour()) < 50
