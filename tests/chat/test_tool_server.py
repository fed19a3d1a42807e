"""The task tools: what each takes, does and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client

from chat.parlour import Parlour
from chat.utterance import TODAY
from maverick.chat import Database, MCPToolServer
from maverick.chat.task_protocol import RequestContext, protocol_server
from maverick.chat.task_session import Caller


class Hands:
    """Uses the tools for one user, each call with a key of its own."""

    def __init__(self, server: MCPToolServer, user: str = "ana") -> None:
        self._server = server
        self._user = user
        self._calls = 0

    async def __call__(self, tool_name: str, **arguments: Any) -> dict[str, Any]:
        self._calls += 1
        return await self._server.call(tool_name, arguments, Caller(self._user, f"k{self._calls}", "talk"))


@pytest.fixture
def hands(database: Database) -> Hands:
    return Hands(MCPToolServer(database.session, today=lambda: TODAY))


@pytest.mark.requirement("CHAT-TOOLS")
async def test_a_task_has_all_its_fields(hands: Hands) -> None:
    answer = await hands(
        "add_task", title="Buy milk", description="two litres", priority="high", due_date="2026-03-05"
    )

    data = answer["data"]
    assert answer["success"] is True
    assert data.pop("message") == (
        "Got it! Added 'Buy milk' to your list. Anything else?\n"
        "Noted: Buy milk (high priority, due tomorrow, two litres)."
    )
    assert sorted(data) == [
        *("completed", "created_at", "description", "due_date", "id", "priority", "title", "updated_at"),
    ]
    assert (data["priority"], data["due_date"], data["completed"]) == ("High", "2026-03-05", False)
    assert json.loads(json.dumps(answer)) == answer


@pytest.mark.requirement("CHAT-TOOLS")
async def test_what_a_task_cannot_be_is_refused_with_a_question(hands: Hands) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "title"),
        ({"title": ""}, "title"),
        ({"title": " \n\t "}, "title"),
        ({"title": "x" * 256}, "title"),
        ({"title": 7}, "title"),
        ({"title": "x", "description": "y" * 1001}, "description"),
        ({"title": "x", "priority": "Huge"}, "priority"),
        ({"title": "x", "due_date": "soon"}, "due_date"),
        ({"title": "x", "user_id": "bob"}, "user_id"),
        ({"title": "x", "id": 1}, "id"),
    ]
    for arguments, field in refused:
        answer = await hands("add_task", **arguments)

        error = answer["error"]
        assert answer["success"] is False
        assert sorted(error) == ["code", "details", "message"]
        assert error["code"] == "invalid_input"
        assert error["details"] == {"fields": [field]}
        assert error["message"].startswith("Could you provide more details about ")
    assert (await hands("list_tasks"))["data"]["count"] == 0


@pytest.mark.requirement("CHAT-TOOLS")
async def test_the_longest_title_and_description_fit(hands: Hands) -> None:
    answer = await hands("add_task", title="x" * 255, description="y" * 1000)

    assert answer["success"]


@pytest.mark.requirement("CHAT-TOOLS")
async def test_lists_are_filtered_by_status_priority_and_due_date(hands: Hands) -> None:
    await hands("add_task", title="whenever")
    await hands("add_task", title="weekend", due_date="2026-03-07", priority="Low")
    await hands("add_task", title="now", due_date="2026-03-04", priority="High")
    await hands("add_task", title="next", due_date="2026-03-05")
    await hands("add_task", title="late", due_date="2026-03-02")
    await hands("add_task", title="done", due_date="2026-03-03")
    await hands("complete_task", task="done")
    lists: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["late", "now", "next", "weekend", "whenever", "done"]),
        ({"status": "open"}, ["late", "now", "next", "weekend", "whenever"]),
        ({"status": "completed"}, ["done"]),
        ({"priority": "High"}, ["now"]),
        ({"due": "today"}, ["late", "now"]),
        ({"due": "today", "status": "completed"}, []),
        ({"due": "by 2026-03-05"}, ["late", "now", "next", "done"]),
        ({"due": "tomorrow"}, ["next"]),
        ({"due": "this_week"}, ["late", "now", "next", "weekend", "done"]),
        ({"due": "overdue"}, ["late"]),
        ({"due": "none"}, ["whenever"]),
        ({"due": "2026-03-07"}, ["weekend"]),
        ({"status": "open", "priority": "Low", "due": "this_week"}, ["weekend"]),
    ]
    for filters, titles in lists:
        answer = await hands("list_tasks", **filters)

        assert [task["title"] for task in answer["data"]["tasks"]] == titles


async def test_a_task_that_is_open_is_not_added_twice(hands: Hands) -> None:
    await hands("add_task", title="buy milk")

    dated = await hands("add_task", title="Buy milk!", due_date="2026-03-05", priority="High")
    other = await hands("add_task", title="buy milk", due_date="2026-03-07")
    await hands("complete_task", task="buy milk")
    again = await hands("add_task", title="buy milk")

    assert dated["data"]["message"] == (
        "Updated! 'buy milk' now has high priority and a due date of tomorrow."
    )
    assert other["data"]["message"].startswith(
        "'buy milk' (high priority, due tomorrow) is already on your list."
    )
    assert other["data"]["due_date"] == "2026-03-05"
    assert again["data"]["message"] == "Got it! Added 'buy milk' to your list. Anything else?"


@pytest.mark.requirement("CHAT-TOOLS")
async def test_a_task_can_be_changed_in_every_way(hands: Hands) -> None:
    await hands("add_task", title="buy milk")

    changed = await hands(
        "update_task",
        task="milk",
        title="buy oat milk",
        description="vanilla",
        priority="Low",
        due_date="2026-03-06",
        completed=True,
    )
    cleared = await hands("update_task", task="oat milk", due_date="none", completed=False)
    nothing = await hands("update_task", task="oat milk")

    assert changed["data"]["message"] == (
        "Updated! 'buy oat milk' now has a new title (it was 'buy milk'), a new description, low priority, a due date of Friday and the "
        "status complete."
    )
    assert (cleared["data"]["due_date"], cleared["data"]["completed"]) == (None, False)
    assert nothing["error"]["message"] == "Could you provide more details about what to change?"


@pytest.mark.requirement("CHAT-UNDO")
async def test_each_change_can_be_undone_the_last_one_first(hands: Hands) -> None:
    await hands("add_task", title="buy milk")
    await hands("update_task", task="milk", priority="High")
    await hands("complete_task", task="milk")

    async def state() -> list[tuple[str, bool]]:
        tasks = (await hands("list_tasks"))["data"]["tasks"]
        return [(task["priority"], task["completed"]) for task in tasks]

    states = [await state()]
    for _ in range(3):
        assert (await hands("undo_last_change"))["success"]
        states.append(await state())

    assert states == [[("High", True)], [("High", False)], [("Medium", False)], []]
    assert (await hands("undo_last_change"))["error"]["code"] == "nothing_to_undo"


@pytest.mark.requirement("CHAT-UNDO")
async def test_a_deleted_task_comes_back_as_it_was_though_others_came_in_between(parlour: Parlour) -> None:
    parlour.add("buy milk", description="two litres")
    before = parlour.tasks()[0].model_dump(exclude={"updated_at"})
    await parlour.say("delete buy milk")
    await parlour.say("yes delete")
    parlour.add("of bob", user="bob")

    await parlour.say("undo")

    assert parlour.tasks()[0].model_dump(exclude={"updated_at"}) == before
    assert parlour.titles("bob") == ["of bob"]


async def test_a_tool_nobody_knows_is_refused(hands: Hands) -> None:
    assert (await hands("drop_tables"))["error"]["code"] == "unknown_tool"


@pytest.mark.requirement("CHAT-MCP-SERVER", "P6")
async def test_a_call_that_says_not_who_it_is_for_is_refused(database: Database) -> None:
    def nobody(_: RequestContext) -> Caller:
        raise PermissionError

    async with Client(protocol_server(MCPToolServer(database.session), nobody)) as client:
        listed = await client.list_tools()
        refused = await client.call_tool("list_tasks", {})

    assert refused.is_error
    assert refused.structured_content["error"]["code"] == "forbidden"
    assert [tool.name for tool in listed.tools] == [
        *("add_task", "list_tasks", "complete_task", "update_task", "delete_task", "change_all_tasks"),
        "undo_last_change",
    ]
    assert "user" not in json.dumps([tool.input_schema for tool in listed.tools])


@pytest.mark.requirement("CHAT-TOOLS")
async def test_several_tasks_are_changed_postponed_and_left_alone_by_their_names(hands: Hands) -> None:
    for title, due in (
        ("buy milk", "2026-03-05"),
        ("pay the rent", "2026-03-31"),
        ("water the plants", None),
    ):
        await hands("add_task", title=title, due_date=due)

    postponed = await hands("update_task", task="milk and rent", postpone_days=2, priority="High")
    undated = await hands("update_task", task="plants", postpone_days=2)
    asked = await hands("delete_task", task="'buy milk' and 'pay the rent'")
    bulk = await hands("change_all_tasks", operation="complete_all", except_tasks=["the rent"])
    found = await hands("list_tasks", about="rent")

    assert [task["due_date"] for task in postponed["data"]["tasks"]] == ["2026-03-07", "2026-04-02"]
    assert undated["error"]["message"] == "'water the plants' has no due date. Which day shall it be due?"
    assert asked["error"]["message"] == (
        "Do you really want to delete 'buy milk' and 'pay the rent'? Reply 'yes delete' to confirm."
    )
    assert bulk["error"]["message"] == (
        "I'll leave 'pay the rent' as it is. That's a big action. Confirm with 'yes complete all'."
    )
    assert [(task["title"], task["completed"]) for task in found["data"]["tasks"]] == [
        ("pay the rent", False)
    ]
