"""What is left in the page of whoever was signed in: nothing."""

from __future__ import annotations

import pytest
from playwright.async_api import BrowserContext, Page, expect

from server.browser.window import Window
from server.chat_server import ChatServer

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.requirement("SERVER-SIGN-OUT")]

_EVERYTHING = """() => document.documentElement.outerHTML + document.title + location.href
    + [...document.querySelectorAll("input, textarea")].map((field) => field.value).join("\\n")"""
"""What the page has, in sight or not."""


async def everything_in(page: Page) -> str:
    return str(await page.evaluate(_EVERYTHING)).casefold()


async def test_nothing_of_a_user_is_in_the_page_after_they_sign_out(window: Window) -> None:
    page = window.page
    await window.talk("add buy marzipan")
    await window.talk("show my tasks")
    await page.fill("#add-task-title", "more marzipan")
    await page.fill("#composer-text", "about marzipan")
    await page.get_by_label("Delete buy marzipan").click()
    await expect(page.locator("#toast")).to_contain_text("marzipan")
    assert "marzipan" in await everything_in(page)

    await page.evaluate("document.getElementById('log-out').click()")
    await expect(page.locator("#sign-in")).to_be_visible()

    left = await everything_in(page)
    assert "marzipan" not in left
    assert await page.locator("#who").text_content() == ""


async def test_the_other_tabs_of_a_session_end_with_it(
    context: BrowserContext, served: ChatServer, window: Window
) -> None:
    await window.talk("add buy marzipan")
    other = Window(await context.new_page(), served.url)
    await other.page.goto(served.url)
    await expect(other.tasks).to_have_text(["buy marzipan"])

    await window.page.evaluate("document.getElementById('log-out').click()")

    await expect(other.page.locator("#sign-in")).to_be_visible()
    assert "marzipan" not in await everything_in(other.page)
