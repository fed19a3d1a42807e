"""A real browser and its window, one for each worker; to each test, it is as good as new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright

from maverick.chat.offline import TaskModel
from programs import require
from server.browser.window import Window
from server.chat_server import ChatServer

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, as the system has it."""
    executable = require("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profile(browser: Browser) -> AsyncIterator[BrowserContext]:
    """What all tests use: a tab costs more than most of what is done in it."""
    profile = await browser.new_context(reduced_motion="reduce")
    await profile.new_page()
    yield profile
    await profile.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(profile: BrowserContext) -> AsyncIterator[BrowserContext]:
    """A browser that knows nobody yet, with an empty tab; what it keeps for an address is of one server only."""
    tab, *_ = profile.pages
    await tab.set_viewport_size({"width": 1280, "height": 800})
    yield profile
    for other in profile.pages[1:]:
        await other.close()
    await tab.unroute_all()
    await profile.unroute_all()
    await profile.set_offline(False)
    await tab.evaluate("sessionStorage.clear(), localStorage.clear()")
    await tab.goto("about:blank")
    await profile.clear_cookies()
    await profile.clear_permissions()


@pytest_asyncio.fixture(loop_scope="session")
async def served(tmp_path: Path) -> AsyncIterator[ChatServer]:
    """A server with the offline model, at a pace that can be seen."""
    async with ChatServer(tmp_path / "chat.db", client=TaskModel(pace=0.002)) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def window(context: BrowserContext, served: ChatServer) -> AsyncIterator[Window]:
    """The page, with somebody signed in."""
    window = await Window.open(context, served, "ana")
    yield window
    assert window.errors == []
