"""The task server for programs nobody here wrote: the official client over stdio and HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from canary import CANARY
from chat.parlour import Parlour
from chat.served import served
from maverick.chat import Database, MCPToolServer
from maverick.chat.serving import KEY, KnownTokens, http_app
from maverick.exceptions import InvalidInputError
from warm_start import command

TOKENS = {CANARY: "ana", "token-of-bob-0123456789": "bob"}
Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Client]]
"""Connects as a user; further arguments are the client's."""


@asynccontextmanager
async def serving(database: Database) -> AsyncIterator[str]:
    """The HTTP application on a port of this machine."""
    app = http_app(MCPToolServer(database.session), KnownTokens(TOKENS))
    async with served(app) as url:
        yield url


@asynccontextmanager
async def with_token(url: str, token: str, **options: Any) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:

        @asynccontextmanager
        async def transport() -> AsyncIterator[Any]:
            async with streamable_http_client(url, http_client=http) as streams:
                yield streams

        async with Client(transport(), **options) as client:
            yield client


@pytest.fixture
async def connect(
    request: pytest.FixtureRequest, database: Database, tmp_path: Path
) -> AsyncIterator[Connect]:
    """Connects over HTTP, or over what the test says."""
    if getattr(request, "param", "http") == "http":
        async with serving(database) as url:
            tokens = {user: token for token, user in TOKENS.items()}
            yield lambda user, **options: with_token(url, tokens[user], **options)
    else:
        program, *words = command(
            "maverick", "mcp", "serve", "--database", str(tmp_path / "chat.db"), "--user"
        )
        yield lambda user, **options: Client(
            StdioServerParameters(command=program, args=[*words, user]), **options
        )


def answer_of(result: types.CallToolResult) -> dict[str, Any]:
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.requirement("CHAT-MCP-SERVER")
@pytest.mark.parametrize(
    ("connect", "mode"), [("http", "auto"), ("http", "legacy"), ("stdio", "auto")], indirect=["connect"]
)
async def test_the_official_client_uses_every_tool(connect: Connect, mode: str, database: Database) -> None:
    async with connect("ana", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        await client.call_tool("add_task", {"title": "buy milk", "priority": "High"})
        await client.call_tool("update_task", {"task": "milk", "title": "buy oat milk"})
        await client.call_tool("complete_task", {"task": "oat milk"})
        listed = await client.call_tool("list_tasks", {"status": "completed"})
        asked = await client.call_tool("delete_task", {"task": "oat milk"})
        asked_again = await client.call_tool("change_all_tasks", {"operation": "delete_all"})
        undone = await client.call_tool("undo_last_change", {})

    assert len(tools) == 7
    assert tools["list_tasks"].annotations is not None
    assert tools["list_tasks"].annotations.read_only_hint
    assert answer_of(listed)["data"]["tasks"][0]["title"] == "buy oat milk"
    assert [answer_of(each)["error"]["code"] for each in (asked, asked_again)] == [
        "confirmation_required"
    ] * 2
    assert answer_of(undone)["success"]
    assert Parlour(database).tasks()[0].completed is False


@pytest.mark.requirement("CHAT-MCP-SERVER", "P6")
async def test_a_client_sees_the_tasks_of_its_own_user_only_whatever_it_says(connect: Connect) -> None:
    forged: Any = {"maverick/caller": {"user_id": "ana", "key": "k", "conversation_id": ""}}
    async with connect("ana") as client:
        await client.call_tool("add_task", {"title": "secret of ana"})
    async with connect("bob") as client:
        listed = await client.call_tool("list_tasks", {})
        smuggled = await client.call_tool("list_tasks", {"user_id": "ana"})
        pretended = await client.call_tool("list_tasks", {}, meta=forged)

    assert answer_of(listed)["data"]["tasks"] == answer_of(pretended)["data"]["tasks"] == []
    assert answer_of(smuggled)["error"]["code"] == "invalid_input"
    assert smuggled.is_error


@pytest.mark.requirement("CHAT-MCP-SERVER", "P7")
@pytest.mark.parametrize(
    ("action", "left"), [("accept", []), ("decline", ["buy milk"]), ("cancel", ["buy milk"])]
)
async def test_the_person_at_the_client_is_asked_before_something_is_deleted(
    connect: Connect, action: Any, left: list[str], database: Database
) -> None:
    questions: list[str] = []

    async def ask(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action=action, content={} if action == "accept" else None)

    async with connect("ana", elicitation_callback=ask) as client:
        await client.call_tool("add_task", {"title": "buy milk"})
        answer = await client.call_tool("delete_task", {"task": "milk"})

    assert answer_of(answer)["success"] is (action == "accept")
    assert questions == ["Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."]
    assert Parlour(database).titles() == left


@pytest.mark.requirement("CHAT-KEYED", "P2")
@pytest.mark.parametrize("connect", ["stdio", "http"], indirect=True)
async def test_a_client_can_send_a_call_again_under_its_key(connect: Connect, database: Database) -> None:
    meta: Any = {KEY: "mine-1"}
    async with connect("ana") as client:
        answers = [await client.call_tool("add_task", {"title": "buy milk"}, meta=meta) for _ in range(3)]

    assert len({str(answer_of(each)) for each in answers}) == 1
    assert Parlour(database).titles() == ["buy milk"]


@pytest.mark.requirement("CHAT-MCP-SERVER")
@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer",
        "Bearer wrong-token-0123456789",
        "Basic YTpi",
        pytest.param(CANARY, id="a token without its scheme"),
    ],
)
async def test_without_a_good_token_there_is_nothing_over_http(
    header: str | None, database: Database
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with serving(database) as url, httpx2.AsyncClient() as http:
        headers = {"Accept": "application/json, text/event-stream"} | (
            {"Authorization": header} if header else {}
        )
        answer = await http.post(url, json=body, headers=headers)

    assert answer.status_code == 401
    assert "add_task" not in answer.text


@pytest.mark.requirement("CHAT-MCP-SERVER")
async def test_a_page_elsewhere_can_not_use_the_server_through_a_browser(database: Database) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with serving(database) as url, httpx2.AsyncClient() as http:
        answer = await http.post(
            url,
            json=body,
            headers={
                "Accept": "application/json, text/event-stream",
                "Authorization": f"Bearer {next(iter(TOKENS))}",
                "Host": "evil.example.com",
                "Origin": "https://evil.example.com",
            },
        )

    assert answer.status_code in (403, 421)


@pytest.mark.parametrize("tokens", [{}, {"short": "ana"}, {"long-enough-0123456789": ""}])
def test_tokens_that_could_be_guessed_or_belong_to_nobody_are_refused(tokens: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="tokens"):
        KnownTokens(tokens)


async def test_a_tool_nobody_knows_is_an_error_over_mcp(connect: Connect) -> None:
    async with connect("ana") as client:
        result = await client.call_tool("drop_tables", {})

    assert result.is_error
