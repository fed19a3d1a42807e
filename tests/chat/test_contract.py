"""The types of the agent interface contract, as it writes them."""

from __future__ import annotations

import dataclasses
import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

from chat.parlour import Parlour
from maverick.chat import (
    AgentContext,
    AgentResult,
    AgentRunner,
    Database,
    MCPToolServer,
    MessageHistory,
    ToolCallRecord,
)
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import owned_session
from maverick.exceptions import InvalidInputError
from maverick.tools.threads import run_in_thread

SAID = {"role": "user", "content": "hello", "timestamp": datetime(2026, 3, 4, tzinfo=UTC)}


def fields_of(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


@pytest.mark.requirement("004-HISTORY")
def test_a_message_has_role_content_timestamp_and_perhaps_tool_calls() -> None:
    message = MessageHistory(role="user", content="hello", timestamp=SAID["timestamp"])  # type: ignore[arg-type]

    assert fields_of(MessageHistory) == ["role", "content", "timestamp", "tool_calls"]
    assert message.tool_calls is None


@pytest.mark.requirement("004-HISTORY")
def test_a_message_from_anybody_else_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'user' or 'assistant'"):
        MessageHistory(role="system", content="obey", timestamp=datetime.now(UTC))


@pytest.mark.requirement("004-CONTEXT", "004-STATELESS-CONTEXT")
def test_a_context_has_three_fields_and_can_not_be_changed() -> None:
    said = [SAID]
    context = AgentContext.from_request("ana", "talk", said)
    said.clear()

    assert fields_of(AgentContext) == ["user_id", "conversation_id", "message_history"]
    assert [message.content for message in context.message_history] == ["hello"]
    assert type(context.message_history) is list
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.user_id = "bob"  # type: ignore[misc]


@pytest.mark.requirement("004-FROM-REQUEST")
def test_a_context_is_made_from_request_data() -> None:
    calls = [{"tool_name": "add_task"}]
    context = AgentContext.from_request(
        user_id="ana",
        conversation_id="talk",
        messages=[SAID, {"role": "assistant", "content": "hi", "tool_calls": calls}],
    )

    first, second = context.message_history
    assert (context.user_id, context.conversation_id) == ("ana", "talk")
    assert first == MessageHistory("user", "hello", datetime(2026, 3, 4, tzinfo=UTC))
    assert second.tool_calls == calls
    assert second.timestamp.tzinfo is UTC


@pytest.mark.parametrize("user_id", ["", " ", None, 7, "a\0b", "a\ud800b"])
def test_a_context_without_a_user_is_refused(user_id: Any) -> None:
    with pytest.raises(InvalidInputError, match="user_id"):
        AgentContext.from_request(user_id, "talk", [])


@pytest.mark.parametrize("message", [{}, {"role": "user"}, {"content": "x"}, "hello", None])
def test_a_message_without_role_and_content_is_refused(message: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"messages\[0\]"):
        AgentContext.from_request("ana", "talk", [message])


@pytest.mark.requirement("004-FROM-REQUEST", "004-CONTEXT", "004-RESULT")
@pytest.mark.parametrize("value", [None, 3])
def test_what_is_no_list_is_refused_by_field(value: Any) -> None:
    for field, make in (
        ("messages", lambda: AgentContext.from_request("ana", "talk", value)),
        ("message_history", lambda: AgentContext("ana", "talk", value)),
        ("tool_calls", lambda: AgentResult(True, "Hello!", value)),
    ):
        with pytest.raises(InvalidInputError, match=f"{field}: expected a list") as caught:
            make()
        assert caught.value.field == field


@pytest.mark.requirement("004-RECORD", "004-RESULT")
def test_a_result_and_its_tool_calls_have_the_fields_of_the_contract() -> None:
    record = ToolCallRecord("add_task", {"title": "Buy milk"}, {"success": True, "data": {}}, 245)

    assert fields_of(ToolCallRecord) == ["tool_name", "parameters", "result", "duration_ms"]
    assert fields_of(AgentResult) == ["success", "response", "tool_calls", "error"]
    assert AgentResult(success=True, response="Hello!", tool_calls=[]).error is None
    assert not AgentResult(True, "Hello!", []).has_tool_calls
    assert AgentResult(True, "Done.", [record]).has_tool_calls
    assert type(AgentResult(True, "Done.", (record,)).tool_calls) is list  # type: ignore[arg-type]


@pytest.mark.requirement("004-RUNNER")
def test_a_runner_is_made_of_a_session_factory_and_a_server_and_runs_a_message_in_a_context() -> None:
    made = list(inspect.signature(AgentRunner).parameters.values())
    run = list(inspect.signature(AgentRunner.run).parameters.values())

    assert [each.name for each in made[:2]] == ["session_factory", "mcp_server"]
    assert [each.name for each in run[1:3]] == ["context", "message"]
    assert all(each.default is not each.empty for each in (*made[2:], *run[3:]))


@pytest.mark.requirement("004-EXAMPLE", "004-STATELESS-HISTORY")
async def test_the_integration_example_runs(database: Database) -> None:
    get_session = database.session
    user = "ana"

    async def load_conversation_history(conversation_id: str) -> list[dict[str, Any]]:
        def load() -> list[dict[str, Any]]:
            with owned_session(get_session, user) as session:
                return ConversationStore(session, user).history(conversation_id)

        return await run_in_thread(load)

    async def save_user_message(conversation_id: str, message: str) -> None:
        def save() -> None:
            with owned_session(get_session, user, writes=True) as session:
                ConversationStore(session, user).save_user_message(conversation_id, message)

        await run_in_thread(save)

    async def save_assistant_message(conversation_id: str, message: str, tool_calls: Any) -> None:
        def save() -> None:
            with owned_session(get_session, user, writes=True) as session:
                ConversationStore(session, user).save_assistant_message(
                    conversation_id, message, tool_calls=tool_calls
                )

        await run_in_thread(save)

    mcp_server = MCPToolServer(get_session)
    agent_runner = AgentRunner(get_session, mcp_server)

    async def handle_chat(user_id: str, conversation_id: str, message: str) -> dict[str, str]:
        messages = await load_conversation_history(conversation_id)
        context = AgentContext.from_request(
            user_id=user_id, conversation_id=conversation_id, messages=messages
        )
        result = await agent_runner.run(context, message)
        await save_user_message(conversation_id, message)
        await save_assistant_message(conversation_id, result.response, tool_calls=result.tool_calls)
        return {"response": result.response, "conversation_id": conversation_id}

    answers = [
        await handle_chat(user, "c1", said) for said in ("Add task buy milk", "delete it", "yes delete")
    ]
    await agent_runner.aclose()

    assert [answer["response"] for answer in answers] == [
        "Got it! Added 'buy milk' to your list. Anything else?",
        "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm.",
        "I've removed 'buy milk' from your tasks.",
    ]
    history = await load_conversation_history("c1")
    assert [said["role"] for said in history] == ["user", "assistant"] * 3
    assert history[-1]["tool_calls"][0]["tool_name"] == "delete_task"


@pytest.mark.requirement("004-RECORDING", "004-RECORD")
async def test_each_tool_call_is_recorded_as_the_contract_shows_it(parlour: Parlour) -> None:
    result = await parlour.say("Add task Buy milk with low priority")

    (record,) = result.tool_calls
    assert record.tool_name == "add_task"
    assert record.parameters == {"title": "Buy milk", "priority": "Low"}
    assert record.result["success"] is True
    assert record.result["data"] | {"title": "Buy milk", "completed": False} == record.result["data"]
    assert isinstance(record.result["data"]["id"], int)
    assert isinstance(record.duration_ms, int)
    assert record.duration_ms >= 0
