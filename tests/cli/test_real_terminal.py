"""What a person sees of a run in a real terminal: the question with its diff, and the answer with its Markdown drawn."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from programs import needs
from tui.terminal import Terminal

pytestmark = needs("tmux")

WRITER = """\
    from maverick import AgentDefinition, AgentExecutor, ToolConfig
    from maverick.testing import ScriptedClient, call, reply

    writer = AgentDefinition(
        name="writer", description="Writes.", tool_config=ToolConfig(tools=["edit_file", "write_file"])
    )


    def executor(definition, user_id):
        turns = [
            call("edit_file", path="notes.txt", old="two", new="2"),
            call("write_file", path="more.txt", content="more"),
            reply("## Done\\n\\nThe **notes** are tidy:\\n\\n| Line | Text |\\n|---|---|\\n| 2 | `2` |\\n"),
        ]
        return AgentExecutor(ScriptedClient(turns))
"""
ASKED = """\
Edit notes.txt?
  because edit_file changes files of the workspace.
  @@ -1,3 +1,3 @@
   one
  -two
  +2
   three
  always: edits of files in this folder
[y]es, [N]o (or say why), [a]lways in this session, or this [p]roject, [e]dit:"""
ANSWERED = """\
Done

The notes are tidy:

 Line  Text
 ──────────
 2     2
run_"""


@pytest.mark.requirement("007-RUN")
@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
def test_an_edit_is_asked_about_with_its_diff_and_the_answer_is_drawn(
    size: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "writer.py").write_text(dedent(WRITER))
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")

    with Terminal("writer.py", "-p", "tidy up", home=tmp_path, command="run", size=size) as terminal:
        terminal.expect("[e]dit:")
        asked = terminal.shown()
        terminal.type("a")
        terminal.expect("ended with 0")
        answered = terminal.shown()

    assert ASKED in asked
    assert ANSWERED in "\n".join(line.rstrip() for line in answered.splitlines())
    assert (tmp_path / "notes.txt").read_text() == "one\n2\nthree\n"
    assert (tmp_path / "more.txt").read_text() == "more"  # it was not asked about
