"""What a conversation with an agent shows: plans, requests, and conversations of agents that are served elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from maverick import AgentExecutor, SqliteJournal, ToolRegistry, define_agent, tool
from maverick.agents.skills import Skills
from maverick.config.trust import Trust
from maverick.server import ServedAgent
from maverick.testing import ScriptedClient, call, reply
from server.browser.test_accessibility import problems
from server.browser.test_agents_page import serving
from server.browser.window import Window
from server.chat_server import ChatServer
from server.test_agents import clerk

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.requirement("SERVER-PAGE", "SERVER-AGENTS", "SERVER-ACCESSIBLE"),
]


@tool(approval=True)
async def book(room: str, guest: str, beds: int) -> str:
    """Book a room."""
    return f"{guest} has {room} with {beds} beds"


@tool(effect="pure")
async def update_plan(steps: list[dict[str, str]]) -> str:
    """Write a plan down."""
    return f"{len(steps)} steps"


async def test_a_plan_is_shown_as_steps_and_a_request_in_the_tools_order_is_declined_with_enter(
    context: BrowserContext, tmp_path: Path
) -> None:
    steps = [{"step": "look", "status": "done"}, {"step": "book", "status": "in_progress"}]
    client = ScriptedClient(
        [
            call("update_plan", steps=steps),
            call("book", room="12", guest="Ana", beds=2),
            reply("As you wish."),
        ]
    )
    registry = ToolRegistry()
    registry.register(book)
    porter = define_agent("porter", "You book.", tools=[update_plan, "book"])
    async with serving(tmp_path, client, porter, tool_registry=registry) as server:
        window = await Window.open(context, server, "ana")
        await window.talk("A room, please.")
        await expect(window.page.locator(".plan .step")).to_have_text(["✓Done: look", "▸In progress: book"])
        await expect(window.page.locator(".plan")).to_be_visible()
        await expect(window.page.locator(".request dt")).to_have_text(["Room", "Guest", "Beds"])
        await window.page.reload()
        await window.page.get_by_role("button", name="Change first").click()
        await expect(window.page.locator(".request .fields label")).to_have_text(["Room", "Guest", "Beds"])
        await window.shoot("agent-plan")
        assert await problems(window) == []
        await window.page.get_by_label("Reason").fill("Too expensive.")
        await window.page.keyboard.press("Enter")
        await expect(window.answers).to_contain_text("As you wish.")
        assert await window.page.locator("#composer-text").input_value() == ""

    assert "Too expensive." in client.requests[-1].messages[-1].content
    assert window.errors == []


async def test_a_conversation_with_an_agent_of_another_server_can_be_read_but_not_continued(
    context: BrowserContext, tmp_path: Path
) -> None:
    async with serving(tmp_path, ScriptedClient([reply("Dear Bob")]), clerk) as server:
        begun = await server.person("ana").say("Write to Bob.")
    guide = define_agent("guide", "You guide.")
    async with serving(tmp_path, ScriptedClient([reply("To Brest.")]), guide) as server:
        refused = await server.person("ana").say("And to Ben.", begun["conversation_id"])
        window = await Window.open(context, server, "ana")
        page = window.page
        await page.get_by_role("link", name="Write to Bob.").click()
        await expect(page.locator("#transcript")).to_contain_text("Dear Bob")
        await expect(page.locator(".elsewhere")).to_contain_text(
            "with clerk, which this server does not have"
        )
        await expect(page.locator("#composer")).to_be_hidden()
        await page.locator(".message.user").hover()
        await expect(page.get_by_role("button", name="Edit and resend")).to_be_hidden()
        await expect(page.get_by_role("button", name="Answer again")).to_be_hidden()
        await window.shoot("agent-elsewhere")
        assert await problems(window) == []
        await page.click("#new-conversation")
        await window.talk("Where to?")
        await expect(window.answers).to_contain_text("To Brest.")

    assert (refused.status, refused.code) == (422, "unknown_agent")
    assert refused.body["error"]["message"].startswith("This conversation is with clerk, which this server")
    assert window.errors == []


async def test_a_skill_is_asked_for_by_name_and_one_that_is_not_there_is_refused_with_the_words_given_back(
    context: BrowserContext, tmp_path: Path
) -> None:
    skill = tmp_path / "skills" / ".maverick/skills/notes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: notes\ndescription: Writes release notes.\n---\nBe brief.\n")
    skills = Skills(tmp_path, tmp_path / "skills", Trust(None))
    client = ScriptedClient([reply("Three changes.")])
    writer = define_agent("writer", "You write.")
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(client, journal=journal)
        served = ServedAgent(writer, lambda _: executor, skills=lambda: skills)
        async with ChatServer(tmp_path / "chat.db", agents=[served], journal=journal) as server:
            window = await Window.open(context, server, "ana")
            page, composer = window.page, window.page.locator("#composer-text")
            await window.say("/note for 3")
            await expect(page.locator("#toast")).to_contain_text("Did you mean 'notes'?")
            await expect(composer).to_have_value("/note for 3")
            await expect(page.locator(".welcome")).to_be_visible()
            await composer.fill("for 3")
            await page.keyboard.press("Control+k")
            await page.keyboard.type("/notes")
            await page.keyboard.press("Enter")
            await expect(composer).to_have_value("/notes for 3")
            await page.keyboard.press("Enter")
            await expect(window.answers).to_contain_text("Three changes.")
            await expect(page.locator(".message.user")).to_contain_text("/notes for 3")

    (request,) = client.requests
    assert request.messages[-1].content.startswith("Follow the skill notes:\n\nBe brief.")
    assert request.messages[-1].content.endswith("for 3")
    assert [error for error in window.errors if "422" not in error] == []
