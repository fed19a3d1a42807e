from __future__ import annotations

import io

from maverick.cli.screen import Screen
from maverick.cli.tour import play_tour


async def tour() -> list[str]:
    shown = io.StringIO()
    assert await play_tour(Screen(shown, io.StringIO(), colour=False)) == 0
    return shown.getvalue().splitlines()


async def test_it_shows_an_agent_that_uses_two_tools_and_answers() -> None:
    text = "\n".join(await tour())

    assert "measure_distance(from_port='Brest', to_port='Calais')" in text
    assert "get_tides(port='Brest')" in text
    assert "According to measure_distance: 330 nautical miles." in text
    assert "result: success=True, terminate_reason=complete, 2 turns, 2 tool calls" in text


async def test_it_shows_a_limit_that_is_hit_and_what_to_do_about_it() -> None:
    text = "\n".join(await tour())

    assert "result: success=False, terminate_reason=max_turns, 3 turns, 3 tool calls" in text
    assert "raise RunConfig.max_turns" in text


async def test_it_is_short_and_the_same_every_time() -> None:
    assert await tour() == await tour()
    assert len(await tour()) < 40
