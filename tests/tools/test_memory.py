from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ApprovalRequest, ToolConfig
from maverick.agents.markdown import read_agent
from maverick.agents.named_tools import coding_registry
from maverick.exceptions import InvalidInputError
from maverick.loop import ModelConfig
from maverick.model import Message, Request, Role, ToolContext
from maverick.providers.claude.request import RequestEncoder
from maverick.testing import ScriptedClient, call, reply
from maverick.tools import memory_tool
from maverick.tools.memory import LARGEST_NOTE, MOST_NOTES, Memory
from maverick.tools.permissions import Permissions

CONTEXT: dict[str, Any] = {
    "run_id": "r", "trace_id": "t", "agent": ("a",), "turn": 1, "call_id": "c", "idempotency_key": "k", "deadline": 1e9,
}  # fmt: skip


async def asked(folder: Path, *calls: dict[str, Any], user_id: str | None = None) -> list[str]:
    """What the model is told when it makes these calls, in a run of its own."""
    client = ScriptedClient([*(call("memory", **arguments) for arguments in calls), reply("done")])
    agent = AgentDefinition("a", "Remembers.", tool_config=ToolConfig(tools=[memory_tool(folder)]))
    result = await AgentExecutor(client).execute(agent, inputs={"prompt": "Go."}, user_id=user_id)
    assert result.success
    assert {request.system for request in client.requests} == {client.requests[0].system}
    return [message.content for message in result.messages if message.role is Role.TOOL_RESULT]


@pytest.mark.requirement("MEMORY-PREFIX")
async def test_notes_outlast_a_conversation_and_come_back_only_as_results(tmp_path: Path) -> None:
    note = "/memories/facts/people.md"
    empty, *_ = await asked(
        tmp_path / "notes",
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": note, "file_text": "Ana likes tea.\nBo likes rain."},
        {"command": "str_replace", "path": note, "old_str": "tea", "new_str": "coffee"},
        {"command": "insert", "path": note, "insert_line": 0, "insert_text": "People:\n"},
    )
    listed, shown, part, moved, old, deleted, again = await asked(
        tmp_path / "notes",
        {"command": "view"},
        {"command": "view", "path": note},
        {"command": "view", "path": note, "view_range": [2, 2]},
        {"command": "rename", "old_path": note, "new_path": "/memories/people.md"},
        {"command": "view", "path": note},
        {"command": "delete", "path": "/memories/facts"},
        {"command": "view"},
    )

    assert empty == "/memories is empty."
    assert listed == f"bytes\tfile\n40\t{note}"
    assert "1\tPeople:\n2\tAna likes coffee.\n3\tBo likes rain." in shown
    assert "Ana likes coffee." in part
    assert "Bo" not in part
    assert moved == f"{note} is /memories/people.md now."
    assert "does not exist" in old
    assert deleted == "/memories/facts was deleted."
    assert again == "bytes\tfile\n40\t/memories/people.md"


@pytest.mark.requirement("MEMORY-CONFINED", "P6")
@pytest.mark.parametrize(
    "path",
    ["/memories/../../secret", "/etc/passwd", "../secret", "/memoriesx/a", "secret", "/memories/link", "/memories/a\0b", "",
     "/memories/..", "/memories/linked/secret", "/memories/%2e%2e/%2e%2e/secret"],
)  # fmt: skip
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "delete", "rename"])
async def test_no_command_leaves_the_folder(tmp_path: Path, path: str, command: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    own = tmp_path / "notes/own"
    own.mkdir(parents=True)
    (own / "link").symlink_to(secret)
    (own / "linked").symlink_to(tmp_path)
    arguments = {"command": command, "path": path, "file_text": "x", "old_str": "the", "new_str": "no"}
    if command == "rename":
        arguments = {"command": command, "old_path": path, "new_path": "/memories/mine"}

    (told,) = await asked(tmp_path / "notes", arguments)

    assert "the secret" not in told
    assert "root:" not in told
    assert secret.read_text() == "the secret"
    assert not (own / "mine").is_file()


@pytest.mark.requirement("MEMORY-CONFINED", "P6")
async def test_each_user_has_notes_of_their_own(tmp_path: Path) -> None:
    for user in ("ana", "bo", None):
        await asked(
            tmp_path,
            {"command": "create", "path": "/memories/me", "file_text": f"I am {user}."},
            user_id=user,
        )

    told = [
        (await asked(tmp_path, {"command": "view", "path": "/memories/me"}, user_id=user))[0]
        for user in ("ana", "bo", None)
    ]

    assert ["I am ana." in told[0], "I am bo." in told[1], "I am None." in told[2]] == [True] * 3


@pytest.mark.requirement("MEMORY-CONFINED")
async def test_a_memory_that_is_full_and_commands_that_do_not_fit_say_so(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / ".git").mkdir()
    for number in range(MOST_NOTES):
        (own / (f".git/{number}" if number > 9 else str(number))).touch()
    full, odd, large, exists, missing, line = await asked(
        tmp_path,
        {"command": "create", "path": "/memories/more", "file_text": "x"},
        {"command": "create", "path": "/memories/a\x1b[2J\n9\t/memories/b", "file_text": "x"},
        {
            "command": "insert",
            "path": "/memories/1",
            "insert_line": 0,
            "insert_text": "x" * (LARGEST_NOTE + 1),
        },
        {"command": "create", "path": "/memories/1", "file_text": "x"},
        {"command": "str_replace", "path": "/memories/1", "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": "/memories/1", "insert_line": 7, "insert_text": "x"},
    )

    assert all("The memory is full" in told for told in (full, large))
    assert "is not a path of a note" in odd
    assert "exists. Change it with str_replace" in exists
    assert "occurs 0 times" in missing
    assert "expected 0 to 1" in line


@pytest.mark.parametrize(
    ("arguments", "happened"),
    [
        ({"command": "view"}, False),
        ({"command": "create", "path": "/memories/there", "file_text": "text"}, True),
        ({"command": "create", "path": "/memories/new", "file_text": "text"}, False),
        ({"command": "delete", "path": "/memories/there"}, False),
        ({"command": "delete", "path": "/memories/gone"}, True),
        ({"command": "rename", "old_path": "/memories/gone", "new_path": "/memories/there"}, True),
        ({"command": "insert", "path": "/memories/there", "insert_line": 0, "insert_text": "x"}, None),
    ],
)
async def test_after_a_crash_the_notes_say_whether_a_call_took_effect(
    tmp_path: Path, arguments: dict[str, Any], happened: bool | None
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/there").write_text("text")

    outcome = await Memory(tmp_path).was_done(arguments, ToolContext(**CONTEXT))

    assert outcome.happened is happened


async def test_an_agent_file_names_the_memory_and_its_user_is_asked_before_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "scribe.md"
    file.write_text("---\ndescription: Keeps notes.\ntools: [memory]\n---\nYou keep notes.\n")
    wrong = tmp_path / "wrong.md"
    wrong.write_text("---\ndescription: Keeps notes.\ntools: [memories]\n---\nYou keep notes.\n")
    questions: list[str] = []

    async def approve(request: ApprovalRequest) -> bool:
        questions.append(f"{request.arguments['command']}: {request.reason}")
        return True

    client = ScriptedClient(
        [
            call("memory", command="view"),
            call("memory", command="create", path="/memories/a", file_text="x"),
            reply("done"),
        ]
    )
    executor = AgentExecutor(
        client, coding_registry(tmp_path), approve=approve, permissions=Permissions("ask")
    )
    await executor.execute(read_agent(file).definition, inputs={"prompt": "Go."})

    assert questions == ["create: memory: it changes what agents remember, also in later conversations."]
    assert [path.read_text() for path in (tmp_path / ".maverick/memory").rglob("a")] == ["x"]
    with pytest.raises(InvalidInputError, match="Did you mean 'memory'"):
        read_agent(wrong)


def test_on_claude_it_can_be_the_vendors_own_memory_tool(tmp_path: Path) -> None:
    config = ModelConfig(model="claude:claude-sonnet-5-5", server_tools=["memory"]).request_config
    request = Request((Message.user("Hi"),), (memory_tool(tmp_path),), config)

    head = b"".join(RequestEncoder().encode(request, model="claude-sonnet-5-5", stream=False))

    assert head.count(b'"name":"memory"') == 1
    assert b'"type":"memory_20250818"' in head
