"""What an editor is shown of a conversation that it loads."""

from __future__ import annotations

import pytest
from acp import embedded_text_resource, resource_block, text_block

from cli.editor import editor
from cli.folder import Folder


@pytest.mark.requirement("007-ACP")
async def test_what_the_user_pointed_at_is_shown_to_them_without_the_marks_that_are_for_the_model(
    folder: Folder,
) -> None:
    page = resource_block(embedded_text_resource("wiki://tides", "The sea comes and goes."))
    async with editor(folder.path, "general", "--model", "offline:") as made:
        session = await made.new(folder.path)
        await made.prompt(session, text_block("When is low tide?"), page)
    async with editor(folder.path, "general", "--model", "offline:") as again:
        await again.agent.load_session(cwd=str(folder.path), session_id=session, mcp_servers=[])

    shown = again.said(kind="user_message_chunk")
    assert shown == "When is low tide?\n\nThe sea comes and goes."
    (info,) = made.updates("session_info_update")
    assert info["title"] == "When is low tide? The sea comes and goes."
