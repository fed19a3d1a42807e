"""The page with agents of one's own, in a real browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, FilePayload, expect

from maverick import AgentDefinition, AgentExecutor, SqliteJournal, define_agent, tool
from maverick.model import LLMClient, Request
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, calls, reply
from server.browser.test_accessibility import problems
from server.browser.window import Window
from server.chat_server import ChatServer
from server.test_agents import MAIL, SENT, Report, clerk, reporter

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.requirement("SERVER-PAGE", "SERVER-AGENTS", "SERVER-ACCESSIBLE"),
]


@asynccontextmanager
async def serving(
    folder: Path, client: LLMClient, *agents: AgentDefinition[Any], **options: object
) -> AsyncIterator[ChatServer]:
    executor = AgentExecutor(client, **options)  # type: ignore[arg-type]  # as a test gives them
    SENT.clear()
    async with (
        SqliteJournal(folder / "runs.db") as journal,
        ChatServer(
            folder / "chat.db", agents=agents or (clerk, reporter), journal=journal, executor=executor
        ) as server,
    ):
        yield server


async def test_a_tool_is_approved_on_the_page_and_the_same_answer_goes_on(
    context: BrowserContext, tmp_path: Path
) -> None:
    client = ScriptedClient(
        [
            calls(call("get_weather", city="Brest"), text="I look at the weather first."),
            MAIL,
            reply("It is *sent*."),
        ]
    )
    async with serving(tmp_path, client) as server:
        window = await Window.open(context, server, "ana")
        page = window.page
        await expect(page.locator(".welcome")).to_contain_text("Writes letters and sends them.")
        await expect(page.locator("#tasks")).to_be_hidden()
        await window.shoot("agent-welcome")
        await window.talk("Write to Bob about the weather.")
        request = page.locator(".request")
        await expect(request).to_contain_text("Send mail?")
        await expect(request).to_contain_text("bob@example.org")
        await window.shoot("agent-approval")
        await page.set_viewport_size({"width": 390, "height": 780})
        await expect(request.get_by_role("button", name="Send mail")).to_be_in_viewport()
        await window.shoot("agent-phone")
        await page.set_viewport_size({"width": 1280, "height": 800})
        assert await problems(window) == []
        await page.reload()
        await expect(page.locator(".request")).to_contain_text("Hello Bob")
        await page.get_by_role("button", name="Change first").click()
        await page.locator(".request").get_by_label("Body").fill("Hello Bob, it rains.")
        await window.shoot("agent-edit")
        await page.get_by_role("button", name="Send mail").click()
        await expect(window.answers).to_contain_text("It is sent.")
        await expect(page.locator(".request")).to_have_count(0)
        await expect(window.answers).to_have_count(1)
        await expect(page.locator("details.tool")).to_have_count(2)
        await page.locator("details.tool summary").first.click()
        await window.shoot("agent-tools")

        assert len(SENT) == 1
        assert "Hello Bob, it rains." in str(SENT)
        assert window.errors == []


@tool(approval=True)
async def shell(command: str, reason: str) -> str:
    """Run a command."""
    return f"ran {command}"


@tool(approval=True)
async def edit_file(path: str, old: str, new: str) -> str:
    """Replace a text in a file."""
    return f"edited {path}"


@tool(approval=True)
async def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}"


async def test_an_approval_shows_the_command_or_the_change_and_its_button_has_the_verb(
    context: BrowserContext, tmp_path: Path
) -> None:
    coder = define_agent("coder", "You write programs.", tools=[shell, edit_file, write_file])
    client = ScriptedClient(
        [
            call("shell", command="rm -r build\u202e\nls", reason="it is\u202e old"),
            call("edit_file", path="notes.txt", old="first\nred\nlast", new="first\ngreen\nlast"),
            call("write_file", path="new.txt", content="one\ntwo\n"),
            reply("Done."),
        ]
    )
    async with serving(tmp_path, client, coder) as server:
        window = await Window.open(context, server, "ana")
        request, title = window.page.locator(".request"), window.page.locator(".request-title")
        await window.say("Tidy up.")
        await expect(title).to_have_text("Run this command?")
        await expect(window.page.locator(".own-request")).to_have_text("Run this command?")
        await expect(request.locator("code")).to_have_text("rm -r build\\u{202e}\nls")
        await expect(request.locator("dl")).to_have_text("Reasonit is\\u{202e} old")
        await expect(window.page.locator(".tool-subject")).to_have_text("rm -r build\\u{202e} ls")
        await expect(window.page.locator(".tool-body")).not_to_contain_text("\u202e")
        await window.shoot("agent-approval-command")
        assert await problems(window) == []
        await request.get_by_role("button", name="Run", exact=True).click()

        await expect(title).to_have_text("Edit notes.txt?")
        lines = request.locator(".diff-line")
        await expect(lines).to_have_text(["  first", "- red", "+ green", "  last"])
        await expect(request.locator("del")).to_have_text("- red")
        await expect(request.locator("ins")).to_have_text("+ green")
        await window.shoot("agent-approval-edit")
        assert await problems(window) == []
        await request.get_by_role("button", name="Edit", exact=True).click()

        await expect(title).to_have_text("Write new.txt?")
        await expect(request.locator("ins")).to_have_text(["+ one", "+ two"])
        await request.get_by_role("button", name="Write", exact=True).click()
        await expect(window.answers).to_contain_text("Done.")

        assert window.errors == []


async def test_inputs_are_a_form_and_an_output_of_a_type_is_a_card(
    context: BrowserContext, tmp_path: Path
) -> None:
    report = Report(summary="Sunny all day, with a light breeze from the west.", cities=["Brest", "Quimper"])
    client = ScriptedClient([reply(report.model_dump_json())] * 2)
    async with serving(tmp_path, client) as server:
        window = await Window.open(context, server, "ana")
        page = window.page
        await page.select_option("#agent", "reporter")
        await expect(page.locator("#composer-text")).to_be_hidden()
        await page.fill(".inputs [name=audience]", "sailors")
        await page.fill(".inputs [name=cities]", "Brest, Quimper")
        await window.shoot("agent-inputs")
        assert await problems(window) == []
        await page.click("text=Start")
        await expect(page.locator(".message .output")).to_contain_text("Sunny all day")
        await expect(page.locator(".message .output li")).to_have_text(["Brest", "Quimper"])
        await window.talk("Shorter, please.")
        await page.reload()
        await expect(page.locator(".message .output")).to_have_count(2)
        await window.shoot("agent-output")

        assert window.errors == []


async def test_another_person_approves_and_the_page_hears_of_it(
    context: BrowserContext, tmp_path: Path
) -> None:
    client = ScriptedClient([MAIL, reply("It is sent.")])
    async with serving(tmp_path, client, may_approve=lambda _, by: by == "user_boss") as server:
        window = await Window.open(context, server, "ana")
        await window.talk("Write to Bob.")
        await expect(window.page.locator(".request")).to_contain_text("Somebody else has to approve this.")
        other = await context.browser.new_context() if context.browser else context
        boss = await Window.open(other, server, "boss")
        await expect(boss.page.locator("#requests")).to_contain_text("Asked by clerk for user_ana.")
        await boss.shoot("agent-boss")
        await boss.page.locator("#requests").get_by_role("button", name="Send mail").click()
        await expect(boss.page.locator("#requests")).to_be_hidden()
        await expect(window.answers).to_contain_text("It is sent.")

        assert window.errors == boss.errors == []
        await other.close()


async def test_an_answer_that_waits_for_somebody_else_can_be_stopped(
    context: BrowserContext, tmp_path: Path
) -> None:
    async with serving(
        tmp_path, ScriptedClient([MAIL]), may_approve=lambda _, by: by == "user_boss"
    ) as server:
        window = await Window.open(context, server, "ana")
        await window.talk("Write to Bob.")
        await window.page.get_by_role("button", name="Stop the answer").click()
        await expect(window.answers).to_contain_text("Stopped.")
        await expect(window.page.locator(".request")).to_have_count(0)

        assert window.errors == []


async def test_an_agent_hears_on_its_next_turn_what_is_written_while_it_works(
    context: BrowserContext, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    @tool(effect="pure")
    async def search() -> str:
        """Search."""
        await go_on.wait()
        return "Brest, Nantes"

    guide = define_agent("guide", "You guide.", tools=[search])
    client = ScriptedClient([call("search"), reply("Nantes.")])
    async with serving(tmp_path, client, guide) as server:
        window = await Window.open(context, server, "ana")
        await window.say("Where to?")
        await expect(window.answers.last).to_contain_text("search", ignore_case=True)
        async with window.page.expect_response("**/say"):
            await window.say("Leave out Brest.")
        await expect(window.page.locator(".queued")).to_contain_text("Leave out Brest.")
        await window.page.reload()
        await expect(window.page.locator(".queued")).to_contain_text("Leave out Brest.")
        go_on.set()
        await expect(window.answers.last).to_contain_text("Leave out Brest.")
        await expect(window.page.locator(".queued")).to_have_count(0)
        await expect(window.answers.last).to_contain_text("Nantes.")
        await window.page.reload()
        await expect(window.answers.last).to_contain_text("Leave out Brest.")
        await window.shoot("agent-interjection")

    assert client.requests[1].messages[-1].content == "Leave out Brest."
    assert window.errors == []


async def test_what_is_written_while_an_answer_comes_stands_before_what_is_said_to_it(
    context: BrowserContext, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    async def answer(request: Request) -> TurnLike:
        if len(request.messages) > 1:
            return reply("Then Nantes.")
        await go_on.wait()
        return reply("To Brest.")

    async with serving(tmp_path, ScriptedClient(answer), define_agent("guide", "You guide.")) as server:
        window = await Window.open(context, server, "ana")
        await window.say("Where to?")
        await expect(window.page.locator(".waiting")).to_be_visible()
        async with window.page.expect_response("**/say"):
            await window.say("Not Brest.")
        go_on.set()
        for _ in range(2):
            for words in ("To Brest.", "Not Brest.", "Then Nantes."):
                await expect(window.answers.last).to_contain_text(words)
            shown = await window.answers.last.inner_text()
            assert [line for line in shown.splitlines() if line.strip()][:3] == [
                "To Brest.",
                "Not Brest.",
                "Then Nantes.",
            ]
            await window.page.reload()

    assert window.errors == []


async def test_what_is_written_is_kept_until_it_can_be_sent(context: BrowserContext, tmp_path: Path) -> None:
    client = ScriptedClient([reply("Hello."), MAIL, reply("It is sent."), reply("Bye.")])
    async with serving(tmp_path, client) as server:
        window = await Window.open(context, server, "ana")
        page, composer = window.page, window.page.locator("#composer-text")
        await window.talk("Hi.")
        await composer.fill("Write to")
        await page.locator(".message.user").hover()
        await page.get_by_role("button", name="Edit and resend").click()
        await expect(composer).to_have_value("Hi.")
        await page.get_by_role("button", name="Cancel").click()
        await expect(composer).to_have_value("Write to")
        await page.click("#new-conversation")
        await expect(composer).to_have_value("")
        await page.locator("#conversation-list a").first.click()
        await expect(composer).to_have_value("Write to")
        await page.reload()
        await expect(composer).to_have_value("Write to")
        await page.locator(".skip").focus()
        await page.keyboard.press("Enter")
        await expect(composer).to_be_focused()
        await expect(window.answers).to_have_count(1)

        await window.say("Write to Bob.")
        await expect(page.locator(".request")).to_contain_text("Send mail?")
        await expect(page.locator(".request dt")).to_have_text(["To", "Body"])
        await expect(page.locator("#stop")).to_be_hidden()
        await window.say("Thank you.")
        await expect(composer).to_have_value("Thank you.")
        await expect(page.locator("#toast")).to_contain_text("waits for a decision")
        await window.shoot("agent-kept-words")
        await page.get_by_role("button", name="Send mail").click()
        await expect(window.answers.last).to_contain_text("It is sent.")
        await expect(composer).to_be_focused()
        await expect(page.locator("#announcer")).to_have_text("It is sent.")

        await page.locator(".message.user").last.hover()
        await page.get_by_role("button", name="Edit and resend").last.click()
        await composer.press("Enter")
        await expect(page.locator("#dialog")).to_contain_text("may be done twice")
        await page.click("#dialog-cancel")
        await page.set_input_files(
            "#attach-files",
            [
                FilePayload(name="a.zip", mimeType="application/zip", buffer=b"PK\0\0"),
                FilePayload(name="a.txt", mimeType="text/plain", buffer=b"hello"),
            ],
        )
        await expect(page.locator("#attachments li")).to_have_text(["a.txt"])
        await expect(page.locator("#toast")).to_contain_text("a.zip is not attached")
        await window.shoot("agent-attached")

        assert window.errors == []
