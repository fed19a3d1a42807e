"""What MCP servers ask in the middle of a call, in an editor: in its own form, or as a call to allow."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from acp.schema import McpServerStdio

from cli.editor import Editor, editor
from cli.folder import Folder
from cli.shop import PROGRAM, Shop

pytestmark = pytest.mark.requirement("MCP-ELICITATION")

AGENT = """
from maverick import AgentDefinition, AgentExecutor
from maverick.model import Role
from maverick.testing import ScriptedClient, call, reply

def answer(request):
    last = request.messages[-1]
    return reply(last.content) if last.role is Role.TOOL_RESULT else call("mcp__shop__book")

clerk = AgentDefinition(name="clerk", description="Books.")

def executor(definition, user_id):
    return AgentExecutor(ScriptedClient(answer))
"""
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def asked(folder: Folder, schema: dict[str, Any], made: Editor) -> str:
    """What a server of the editor is told that asks the user for something."""
    question = ["elicitation/create", {"message": "Who books?", "requestedSchema": schema}]
    Shop(folder, tools={"book": "Books."}, asks={"book": question}, reads=["book"])
    server = McpServerStdio(name="shop", command=sys.executable, args=[PROGRAM, "shop.json"], env=[])
    await made.prompt(await made.new(folder.path, server), "book")
    return made.said()


@pytest.fixture
def office(folder: Folder) -> Path:
    folder.write("clerk.py", AGENT)
    return folder.path


@pytest.mark.parametrize(
    ("filled", "told"),
    [({"name": "Ana"}, '"action": "accept", "content": {"name": "Ana"}'), (None, '"action": "decline"')],
)
async def test_an_editor_that_shows_forms_has_the_user_fill_it_in(
    filled: dict[str, Any] | None, told: str, office: Path, folder: Folder
) -> None:
    async with editor(office, "clerk.py", "--mode", "yolo", shows_forms=True) as made:
        made.filled.append(filled)
        answer = await asked(folder, NAME, made)

    ((message, schema),) = made.forms
    assert message == "Answer to shop: Who books?"
    assert (list(schema.properties), schema.required) == (["name"], ["name"])
    assert (told in answer, made.asked) == (True, [])


async def test_where_no_form_is_shown_a_question_that_needs_one_is_refused_with_the_reason(
    office: Path, folder: Folder
) -> None:
    async with editor(office, "clerk.py", "--mode", "yolo") as made:
        answer = await asked(folder, NAME, made)

    assert "this editor shows no forms, and the question needs name." in answer
    assert made.asked == []


async def test_what_a_server_suggests_is_allowed_as_a_call_that_the_editor_knows(
    office: Path, folder: Folder
) -> None:
    suggested = {**NAME, "properties": {"name": {"type": "string", "default": "Ana"}}}
    async with editor(office, "clerk.py", "--mode", "yolo") as made:
        made.answers.append("allow")
        answer = await asked(folder, suggested, made)

    (request,) = made.asked
    known = {call["toolCallId"]: call["title"] for call in made.updates("tool_call")}
    assert known[request.tool_call.tool_call_id] == "Answer to shop: Who books?"
    assert json.dumps({"name": "Ana"}) in answer
