"""Conversations, as they are kept."""

from __future__ import annotations

from base64 import b64encode

import pytest

from server.chat_server import ChatServer, Person


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_conversations_are_listed_the_newest_first(ana: Person) -> None:
    first = (await ana.say("Add task buy milk"))["conversation_id"]
    second = (await ana.say("hello"))["conversation_id"]
    await ana.say("show my tasks", first)

    listed = (await ana.get("/api/conversations"))["conversations"]

    assert [(found["id"], found["title"]) for found in listed] == [
        (first, "Add task buy milk"),
        (second, "hello"),
    ]


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_a_conversation_is_read_with_its_tool_calls(ana: Person) -> None:
    answer = await ana.say("Add task buy milk")

    kept = await ana.get(f"/api/conversations/{answer['conversation_id']}")

    said = kept["messages"][1]
    assert (said["content"], said["run_id"]) == (answer["response"], answer["run_id"])
    assert said["tool_calls"] == answer["tool_calls"]


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_a_conversation_is_renamed(ana: Person) -> None:
    path = f"/api/conversations/{(await ana.say('hello'))['conversation_id']}"

    renamed = await ana.ask("PATCH", path, {"title": " Small talk "})

    assert renamed["title"] == "Small talk"
    assert (await ana.get(path))["title"] == "Small talk"


@pytest.mark.requirement("SERVER-CONVERSATIONS")
@pytest.mark.parametrize("title", ["", "   ", "two\nlines", "x" * 201, "nul\0"])
async def test_a_title_is_a_line(ana: Person, title: str) -> None:
    path = f"/api/conversations/{(await ana.say('hello'))['conversation_id']}"

    refused = await ana.ask("PATCH", path, {"title": title})

    assert (refused.status, refused.body["error"]["fields"]) == (422, ["body.title"])


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_a_conversation_is_exported_as_a_file(ana: Person) -> None:
    answer = await ana.say("Add task buy milk")

    exported = await ana.get(f"/api/conversations/{answer['conversation_id']}/export")

    assert 'attachment; filename="Add task buy milk.json"' in exported.headers["Content-Disposition"]
    assert [message["role"] for message in exported["messages"]] == ["user", "assistant"]
    assert exported["messages"][1]["tool_calls"][0]["tool_name"] == "add_task"


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_a_conversation_is_exported_for_people_with_the_names_of_its_attachments(ana: Person) -> None:
    sent = {"name": "plan.txt", "data": b64encode(b"milk").decode()}
    answer = await ana.post("/api/chat", {"message": "Add task buy milk", "attachments": [sent]})
    path = f"/api/conversations/{answer['conversation_id']}"
    await ana.ask("PATCH", path, {"title": "Café: a/b"})

    exported = await ana.get(f"{path}/export?format=markdown")

    assert exported.headers["Content-Disposition"].startswith('attachment; filename="Caf a b.md"; filename*=')
    assert "Caf%C3%A9%20a%20b.md" in exported.headers["Content-Disposition"]
    assert exported.body.startswith(
        "# Café: a/b\n\n## You\n\nAdd task buy milk\n\n*Attached: plan.txt*\n\n## tasks\n"
    )
    assert "**add_task**" in exported.body
    assert answer["response"] in exported.body


@pytest.mark.requirement("SERVER-CONVERSATIONS")
async def test_a_deleted_conversation_is_gone_with_its_answers(ana: Person) -> None:
    answer = await ana.say("hello")
    path = f"/api/conversations/{answer['conversation_id']}"

    deleted = await ana.ask("DELETE", path)
    again = await ana.ask("DELETE", path)

    assert (deleted.status, again.status) == (204, 404)
    assert (await ana.get(path)).status == 404
    assert (await ana.say("still there?", answer["conversation_id"])).status == 404


@pytest.mark.requirement("SERVER-CONVERSATIONS", "SERVER-ISOLATION")
@pytest.mark.parametrize(
    ("words", "found"), [("MILK added", 1), ("hello", 1), ("hello milk", 0), ("%", 0), ("_", 0), ("", 2)]
)
async def test_conversations_are_found_by_words_of_their_own_messages(
    ana: Person, server: ChatServer, words: str, found: int
) -> None:
    for message in ("Add task buy milk", "hello"):
        await ana.say(message)
    await server.person("bob").say("hello milk, 100% added_")

    listed = await ana.get("/api/conversations", params={"search": words})

    assert len(listed["conversations"]) == found
