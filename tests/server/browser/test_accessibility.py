"""The page, examined by axe-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from server.browser.window import Window
from server.npm_packages import npm_folder

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.requirement("SERVER-ACCESSIBLE")]


def axe() -> str:
    """The examiner itself."""
    script: Path = npm_folder("axe-core") / "node_modules" / "axe-core" / "axe.min.js"
    return script.read_text("utf-8")


async def problems(window: Window) -> list[str]:
    """What axe finds, each with where it is."""
    await window.page.evaluate(axe())
    found: dict[str, Any] = await window.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{problem['impact']} {problem['id']}: {node['html'][:120]}: {node['failureSummary']}"
        for problem in found["violations"]
        for node in problem["nodes"]
    ]


async def test_a_conversation_has_no_problem(window: Window) -> None:
    await window.talk("add buy milk today with high priority")
    await window.talk("show my tasks")
    await window.talk("delete buy milk")
    await window.page.locator("details.tool summary").last.click()
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "light")

    for width in (390, 1280):
        await window.page.set_viewport_size({"width": width, "height": 900})
        assert await problems(window) == []

    await window.page.click("#theme")
    await expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")
    for width in (1280, 390):
        await window.page.set_viewport_size({"width": width, "height": 900})
        await _look_at_what_opens(window, narrow=width < 760)


async def _look_at_what_opens(window: Window, *, narrow: bool) -> None:
    assert await problems(window) == []
    await window.page.keyboard.press("Control+k")
    assert await problems(window) == []
    await window.page.keyboard.press("Escape")
    if narrow:
        await window.page.click("#open-tasks")
    await window.page.get_by_role("button", name="buy milk", exact=False).locator(".task-title").click()
    assert await problems(window) == []
    await window.page.keyboard.press("Escape")
    if narrow:
        await window.page.keyboard.press("Escape")
        await window.page.click("#open-conversations")
    await window.page.get_by_role("button", name="More for").click()
    assert await problems(window) == []
    await window.page.keyboard.press("Escape")
