"""The web page in a real browser."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Route, expect

from maverick import AgentExecutor, SqliteJournal, define_agent
from maverick.chat.phrases import UNSEEN
from maverick.model import Response, Thought
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, reply
from server.browser.test_accessibility import problems
from server.browser.window import Window
from server.chat_server import ChatServer, SlowModel

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.requirement("SERVER-PAGE")]

WORDS = ("This is the first. ", "This is the second. ", "This is the third. ", "This is the last.")


@pytest.mark.requirement("SERVER-ACCESSIBLE")
async def test_a_person_signs_up_signs_out_and_signs_in(context: BrowserContext, served: ChatServer) -> None:
    window = await Window.open(context, served, None)
    page = window.page
    await window.shoot("sign-in")
    assert await problems(window) == []

    await page.fill("#name", "ana")
    await page.fill("#password", "correct horse")
    await page.click("#sign-up")
    await expect(page.locator("#who")).to_have_text("ana")
    await page.click("#log-out")
    await page.fill("#name", "ana")
    await page.fill("#password", "incorrect horse")
    await page.press("#password", "Enter")
    await expect(page.locator("#sign-in-error")).to_have_text("The name or the password is wrong.")
    await page.fill("#password", "correct horse")
    await page.press("#password", "Enter")
    await expect(page.locator("#composer-text")).to_be_focused()

    assert window.errors == []


async def test_a_task_is_added_and_shown_with_its_tool_call(window: Window) -> None:
    await window.talk("add buy milk tomorrow with high priority")
    await window.talk("show my tasks")

    await expect(window.answers.first).to_contain_text("Got it! Added 'buy milk' to your list.")
    await expect(window.tasks).to_have_text(["buy milk"])
    await expect(window.page.locator("#task-list .chip")).to_have_text(["High priority", "tomorrow"])
    card = window.page.locator("details.tool").first
    await expect(card).to_contain_text("Add a task")
    await card.locator("summary").click()
    await expect(card.locator("dd").first).to_have_text("buy milk")
    await expect(card).not_to_contain_text("{")
    await expect(card).not_to_contain_text("ms")
    await expect(window.page.locator("#announcer")).to_contain_text("buy milk")
    await window.shoot("chat-light")


async def test_what_is_said_while_the_lists_are_loading_stays(
    context: BrowserContext, served: ChatServer
) -> None:
    lists, answer = asyncio.Event(), asyncio.Event()

    async def hold(route: Route, until: asyncio.Event) -> None:
        await until.wait()
        await route.continue_()

    await context.route("**/api/conversations", lambda route: hold(route, lists))
    await context.route("**/api/chat?*", lambda route: hold(route, answer))
    window = await Window.open(context, served, "ana")
    await window.say("add buy milk")

    lists.set()
    await expect(window.page.locator("#conversation-list .empty")).to_be_visible()
    answer.set()

    await expect(window.tasks).to_have_text(["buy milk"])
    await expect(window.answers).to_have_count(1)


async def test_a_delete_is_confirmed_or_not(window: Window) -> None:
    await window.talk("add buy milk")
    question = window.page.get_by_role("group", name="Confirmation")

    for button, left, answers in (("Keep", ["buy milk"], 3), ("Delete 'buy milk'", [], 5)):
        await window.talk("delete buy milk")
        await window.shoot("confirmation")
        await question.get_by_role("button", name=button, exact=True).click()

        await expect(question).to_have_count(0)
        await expect(window.answers).to_have_count(answers)
        await expect(window.page.locator("#send")).to_be_visible()
        await expect(window.tasks).to_have_text(left)


async def test_a_question_is_still_there_after_a_reload(window: Window) -> None:
    await window.talk("add buy milk")
    await window.talk("delete buy milk")

    await window.page.reload()
    waiting = window.page.get_by_role("region", name="Waiting for you")
    await expect(waiting.get_by_role("link")).to_have_text(["Delete 'buy milk'?"])
    await expect(window.page.locator("#toast")).to_be_hidden()
    assert await problems(window) == []
    await window.shoot("own-request")
    await window.page.keyboard.press("Alt+n")
    await waiting.get_by_role("link").click()
    await window.page.get_by_role("button", name="Delete 'buy milk'").click()

    await expect(window.answers.last).to_contain_text("I've removed 'buy milk'")
    await expect(waiting).to_be_hidden()
    await expect(window.tasks).to_have_count(0)


async def test_an_answer_is_stopped_and_its_words_stay(context: BrowserContext, tmp_path: Path) -> None:
    model = SlowModel(*WORDS)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        window = await Window.open(context, server, "ana")
        model.let(3)
        await window.say("hello")
        await expect(window.answers.last).to_contain_text("This is the second.")

        await window.page.keyboard.press("Escape")

        await expect(window.answers.last).to_contain_text("Stopped.")
        await expect(window.answers.last.locator(".words")).to_have_text("".join(WORDS[:3]).strip() + UNSEEN)
        model.let()
        await window.page.get_by_role("button", name="Try again").click()
        await expect(window.answers.last.locator(".words")).to_have_text("".join(WORDS) + UNSEEN)
        await expect(window.page.locator(".message.user")).to_have_count(1)
        assert window.errors == []


async def test_what_is_written_while_an_answer_is_made_is_sent_after_it(
    context: BrowserContext, tmp_path: Path
) -> None:
    model = SlowModel(*WORDS)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        window = await Window.open(context, server, "ana")
        model.let(3)
        await window.say("hello")
        await expect(window.answers.last).to_contain_text("This is the second.")

        await window.say("hello again")
        await expect(window.page.locator(".message.user.queued")).to_have_text("hello againQueued")
        await window.page.reload()
        await expect(window.page.locator(".message.user.queued")).to_have_text("hello againQueued")
        model.let()

        await expect(window.page.locator(".message.user")).to_have_count(2)
        await expect(window.answers).to_have_count(2)
        await expect(window.page.locator("#stop")).to_be_hidden()
        assert window.errors == []


async def test_a_page_that_is_reloaded_mid_stream_sees_the_answer_complete(
    context: BrowserContext, tmp_path: Path
) -> None:
    model = SlowModel(*WORDS)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        window = await Window.open(context, server, "ana")
        model.let(2)
        await window.say("hello")
        await expect(window.answers.last).to_contain_text("This is the first.")
        await expect(window.page).to_have_url(re.compile("#.+"))

        await window.page.reload()
        await expect(window.answers.last).to_contain_text("This is the first.")
        model.let()

        await expect(window.answers.last.locator(".words")).to_have_text("".join(WORDS) + UNSEEN)
        await expect(window.page.locator("#send")).to_be_visible()
        await expect(window.answers).to_have_count(1)
        assert window.errors == []


async def test_a_connection_that_is_lost_is_found_again(context: BrowserContext, tmp_path: Path) -> None:
    model = SlowModel(*WORDS)
    async with ChatServer(tmp_path / "chat.db", client=model) as server:
        window = await Window.open(context, server, "ana")
        broken = 0

        async def cut(route) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - Playwright's
            nonlocal broken
            broken += 1
            await (route.abort() if broken < 3 else route.continue_())

        await window.page.route("**/api/chat?*", cut)
        model.let()
        await window.say("hello")

        await expect(window.answers.last.locator(".words")).to_have_text("".join(WORDS) + UNSEEN)
        await expect(window.page.locator(".message.user")).to_have_count(1)
        assert broken == 3


async def test_two_tabs_show_the_same(context: BrowserContext, served: ChatServer, window: Window) -> None:
    await window.talk("add buy milk")
    other = Window(await context.new_page(), served.url)
    await other.page.goto(window.page.url)
    await expect(other.answers).to_have_count(1)

    await window.talk("add buy bread")
    await expect(other.tasks).to_have_text(["buy milk", "buy bread"])
    await expect(other.answers).to_have_count(2)
    await other.page.get_by_label("buy milk", exact=True).check()

    await expect(window.tasks).to_have_text(["buy bread"])
    assert other.errors == []


async def test_a_message_is_edited_and_sent_again(window: Window) -> None:
    await window.talk("add buy mlik")
    await window.talk("hello")

    await window.page.locator(".message.user").first.hover()
    await window.page.get_by_role("button", name="Edit and resend").first.click()
    await expect(window.page.locator("#composer-text")).to_have_value("add buy mlik")
    await window.say("add buy milk")
    await expect(window.page.locator("#dialog")).to_contain_text("may be done twice")
    await window.page.click("#dialog-confirm")

    await expect(window.page.locator(".message.user")).to_have_text(["add buy milk"])
    await expect(window.answers).to_have_count(1)
    await expect(window.answers.last).to_contain_text("Added 'buy milk'")


async def test_conversations_are_listed_renamed_and_deleted(window: Window) -> None:
    await window.talk("hello")
    await window.page.keyboard.press("Alt+n")
    await window.talk("add buy milk")
    links = window.page.locator("#conversation-list .open")
    await expect(links).to_have_text(["add buy milk", "hello"])

    await window.page.get_by_role("button", name="More for hello").click()
    await window.page.get_by_role("menuitem", name="Rename").click()
    await window.page.fill("#dialog-input", "Small talk")
    await window.page.keyboard.press("Enter")
    await expect(links.last).to_have_text("Small talk")
    await links.last.click()
    await expect(window.page.locator("#conversation-title")).to_have_text("Small talk")
    await window.page.get_by_role("button", name="More for Small talk").click()
    await window.page.get_by_role("menuitem", name="Rename").click()
    await window.page.fill("#dialog-input", "Greetings")
    await window.page.keyboard.press("Enter")
    await expect(window.page.locator("#conversation-title")).to_have_text("Greetings")
    await expect(window.page).to_have_title("Greetings · Maverick")
    await window.page.get_by_role("button", name="More for Greetings").click()
    await window.page.get_by_role("menuitem", name="Delete").click()
    await window.page.click("#dialog-confirm")

    await expect(links).to_have_text(["add buy milk"])
    await expect(window.page.locator(".welcome")).to_be_visible()


async def test_it_fits_a_narrow_screen_and_the_dark(window: Window) -> None:
    await window.talk("add buy milk tomorrow with high priority")
    await window.talk("delete buy milk")
    await window.page.click("#theme")
    await window.shoot("chat-dark")
    await window.page.set_viewport_size({"width": 390, "height": 844})
    await window.shoot("narrow-dark")

    await window.page.click("#open-tasks")
    await expect(window.tasks.first).to_be_in_viewport()
    await window.shoot("narrow-tasks")
    await window.page.keyboard.press("Escape")
    await expect(window.tasks.first).not_to_be_in_viewport()
    await window.page.click("#open-conversations")
    await expect(window.page.locator("#conversation-list .open").first).to_be_in_viewport()

    too_wide = await window.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not too_wide


ANSWER = """Here it is:

| City | Sky |
|---|--:|
| Brest | rain |

- one
  - two

```python
print("hello")
```
"""


async def test_answers_are_rendered_copied_and_asked_for_again(
    context: BrowserContext, tmp_path: Path
) -> None:
    long = "\n\n".join(f"This is line {number}." for number in range(60))
    guide = define_agent("guide", "You guide.")
    client = ScriptedClient([Response([Thought("Let me see."), ANSWER]), reply(long), reply("Short.")])
    async with (
        SqliteJournal(tmp_path / "runs.db") as journal,
        ChatServer(
            tmp_path / "chat.db", agents=(guide,), journal=journal, executor=AgentExecutor(client)
        ) as server,
    ):
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        window = await Window.open(context, server, "ana")
        page, words = window.page, window.answers.first.locator(".words")
        await window.talk("How is the weather?")
        await expect(words.locator("td")).to_have_text(["Brest", "rain"])
        await expect(words.locator("li li")).to_have_text("two")
        await expect(words.locator("code .s").first).to_be_visible()
        await expect(window.answers.first.locator(".thoughts")).to_be_hidden()
        streamed = await window.answers.first.inner_html()
        await words.get_by_role("button", name="Copy").click()
        assert await page.evaluate("navigator.clipboard.readText()") == 'print("hello")\n'
        await page.reload()
        await expect(words.locator("td")).to_have_count(2)
        assert await window.answers.first.inner_html() == streamed, "what was streamed stays"
        await window.shoot("agent-markdown")

        await window.talk("Tell me more.")
        await page.locator("#transcript").evaluate("node => node.scrollTo(0, 0)")
        await page.click("#to-end")
        await expect(page.locator("#to-end")).to_be_hidden()
        await window.answers.last.get_by_role("button", name="Answer again").click()
        await expect(window.answers.last.locator(".words")).to_have_text("Short.")
        await expect(page.locator(".message.user")).to_have_count(2)
        assert window.errors == []


async def test_tasks_are_changed_in_place_in_groups_with_undo_and_redo(window: Window) -> None:
    page, title = window.page, window.page.locator("#add-task-title")
    for words in ("buy milk tomorrow", "read a book", "pay the rent today with high priority"):
        await title.fill(words)
        await title.press("Enter")
        await expect(page.locator("#toast")).to_contain_text("Added")
    await expect(page.locator("#task-list h3")).to_have_text(["Today", "Next 7 days", "Later"])
    await expect(window.tasks).to_have_text(["pay the rent", "buy milk", "read a book"])

    await page.locator("#task-list li").last.hover()
    await page.get_by_role("button", name="Delete read a book").click()
    await expect(window.tasks).to_have_text(["pay the rent", "buy milk"])
    await page.click("#undo")
    await expect(window.tasks).to_have_text(["pay the rent", "buy milk", "read a book"])
    await expect(page.locator("#toast")).to_contain_text("back on your list")

    await page.get_by_role("button", name="read a book", exact=True).click()
    await page.locator(".edit-task").get_by_label("Title").fill("read two books")
    await page.get_by_label("Due date").fill("2020-01-02")
    await page.get_by_label("Priority").select_option("Low")
    await window.shoot("task-editing")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#task-list section.overdue .task-title")).to_have_text("read two books")

    await page.locator("#toast").get_by_role("button", name="Undo").click()
    await expect(window.tasks).to_have_text(["pay the rent", "buy milk", "read a book"])
    await page.locator("#toast").get_by_role("button", name="Redo").click()
    await expect(window.tasks).to_have_text(["read two books", "pay the rent", "buy milk"])
    await page.get_by_label("buy milk", exact=True).check()
    await expect(page.locator("#task-list summary")).to_have_text("Done (1)")
    await page.fill("#search-tasks", "rent")
    await expect(window.tasks).to_have_text(["pay the rent"])


async def test_everything_is_found_and_a_lost_connection_is_shown(
    context: BrowserContext, window: Window
) -> None:
    page = window.page
    await window.talk("add buy milk")
    await page.keyboard.press("Alt+n")
    await window.talk("hello")
    links = page.locator("#conversation-list .open")

    await page.fill("#search-conversations", "added milk")
    await expect(links).to_have_text(["add buy milk"])
    await page.fill("#search-conversations", "nowhere")
    await expect(page.locator("#conversation-list")).to_contain_text("Nothing found.")
    await page.fill("#search-conversations", "")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("buy milk")
    await window.shoot("palette")
    await page.keyboard.press("Enter")
    await expect(page.locator("#conversation-title")).to_have_text("add buy milk")

    await context.set_offline(True)
    await expect(page.locator("#connection")).to_contain_text("Reconnecting")
    await window.shoot("reconnecting")
    await context.set_offline(False)
    await expect(page.locator("#connection")).to_be_hidden()


HOSTILE = """<script>window.hit = 1</script><img src=x onerror="window.hit = 2">
![picture](https://evil.example/steal.png) [click](javascript:alert(1)) **bold** `code`
[fine](https://example.com/page) <a href="javascript:alert(1)">x</a>
1. first
2. second"""


MARKDOWN = """Two **bold** plans for the week:
1. first
2. second"""


@pytest.mark.requirement("SERVER-SAFE-PAGE")
async def test_nothing_a_model_or_a_title_says_runs_or_is_fetched(
    context: BrowserContext, tmp_path: Path
) -> None:
    turns: list[TurnLike] = [call("add_task", title=HOSTILE.splitlines()[0]), reply(HOSTILE), reply(MARKDOWN)]
    async with ChatServer(tmp_path / "chat.db", client=ScriptedClient(turns)) as server:
        window = await Window.open(context, server, "ana")

        await window.talk(HOSTILE)

        words = window.answers.last.locator(".words")
        await expect(words).to_contain_text("<script>window.hit = 1</script>")
        await expect(window.tasks).to_contain_text(["<script>"])
        assert await window.page.evaluate("window.hit") is None
        assert await window.page.locator("#transcript :is(img, script, iframe)").count() == 0
        await window.talk("What would you do in spring?")
        words = window.answers.last.locator(".words")
        await expect(words).to_contain_text("Two bold plans")
        await expect(words.locator("ol li")).to_have_text(["first", "second"])
        assert window.errors == []
