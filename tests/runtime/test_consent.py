"""What a person is shown before they consent to a tool call, and what "always" covers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.runtime import ApprovalAnswer, ApprovalRequest
from maverick.runtime.consent import (
    CHANGED,
    CallPreview,
    Grants,
    GrantScope,
    consent,
    preview_call,
    visible,
)
from maverick.testing import ScriptedClient, call, reply
from maverick.tools import Workspace, coding_tools
from maverick.tools.permissions import Permissions

MODE = "{} changes files of the workspace."


def request(tool: str, why: str = MODE, **arguments: object) -> ApprovalRequest:
    return ApprovalRequest(tool_name=tool, arguments=dict(arguments), reason=why.format(tool), run_id="run")


@pytest.mark.parametrize(
    ("tool", "arguments", "title", "lines"),
    [
        (
            "edit_file",
            {"path": "./a.txt", "old": "two", "new": "2\u202e"},
            "Edit a.txt",
            ["@@ -1,3 +1,3 @@", " one", "-two", "+2\\u202e", " three"],
        ),
        ("write_file", {"path": "new.txt", "content": "x\n"}, "Create new.txt", ["@@ -0,0 +1 @@", "+x"]),
        (
            "Edit",
            {"file_path": "a.txt", "old_string": "three", "new_string": "3"},
            "Edit a.txt",
            ["@@ -1,3 +1,3 @@", " one", " two", "-three", "+3"],
        ),
        # Line endings are part of a change.
        (
            "write_file",
            {"path": "a.txt", "content": "one\ntwo\r\nthree"},
            "Edit a.txt",
            [
                "@@ -1,3 +1,3 @@",
                " one",
                "-two",
                "-three",
                "+two\\r",
                "+three",
                "\\ No newline at end of file",
            ],
        ),
        (
            "write_file",
            {"path": "crlf.txt", "content": "one\r\n2\r\n"},
            "Edit crlf.txt",
            ["@@ -1,2 +1,2 @@", " one", "-two", "+2"],
        ),
        (
            "write_file",
            {"path": "crlf.txt", "content": "one\ntwo\n"},
            "Edit crlf.txt",
            ["@@ -1,2 +1,2 @@", "-one\\r", "-two\\r", "+one", "+two"],
        ),
        ("write_file", {"path": "new.txt", "content": "x\r\n"}, "Create new.txt", ["@@ -0,0 +1 @@", "+x\\r"]),
        (
            "write_file",
            {"path": "a.txt", "content": "one\ntwo\nthree\n"},
            "Edit a.txt",
            ["The text stays as it is."],
        ),
        ("shell", {"command": "ls\x1b[2K\nrm b", "seconds": 5}, "Run a command", ["ls\\x1b[2K", "rm b"]),
        ("web_fetch", {"url": "https://a.example/x"}, "Fetch a web page", ["url: https://a.example/x"]),
        (
            "send",
            {"to": "ana", "text": "a\nto: bob", "copies": [1]},
            "Call send",
            ["to: ana", "text:", "  | a", "  | to: bob", "copies: [1]"],
        ),
        # What the tool would refuse, or takes more than is known of it, is shown as it is.
        ("edit_file", {"path": "a.txt", "old": "no", "new": ""}, "Call edit_file", None),
        ("edit_file", {"path": "../a.txt", "old": "two", "new": ""}, "Call edit_file", None),
        ("write_file", {"path": "a.txt", "content": "", "force": True}, "Call write_file", None),
        ("write_file", {"path": 1, "content": ""}, "Call write_file", None),
    ],
)
def test_the_whole_effect_is_shown_and_nothing_in_it_is_invisible(
    tool: str, arguments: Mapping[str, Any], title: str, lines: list[str] | None, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")

    shown = preview_call(tool, arguments, tmp_path)

    assert shown.title == title
    if lines is not None:
        assert list(shown.lines) == lines


def test_what_an_mcp_server_asks_a_model_is_shown_message_by_message() -> None:
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello.\nWell?"}]
    sample = {"messages": messages, "max_tokens": 8000, "system": "Be brief."}

    preview = preview_call("sampling for hotel: May it ask your model this?", sample)

    assert preview.question == "May the MCP server hotel ask your model this?"
    assert preview.of_server
    assert preview.lines == (
        "instructions: Be brief.",
        "user: Hi.",
        "assistant:",
        "  | Hello.",
        "  | Well?",
        "The answer has at most 8,000 tokens.",
    )


def test_a_large_change_is_shown_in_full(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("same\n" + "old\n" * 2000)

    shown = preview_call("write_file", {"path": "a.txt", "content": "same\n" + "new\n" * 2000}, tmp_path)

    assert (shown.lines.count("-old"), shown.lines.count("+new")) == (2000, 2000)


@pytest.mark.parametrize(
    ("first", "later", "is_covered"),
    [
        (request("edit_file", path="a", old="x", new="y"), request("write_file", path="b", content=""), True),
        (request("shell", command="make"), request("shell", command="make"), True),
        (request("shell", command="make"), request("shell", command="make; rm -rf ."), False),
        (request("shell", command="make *"), request("shell", command="make x"), False),
        (request("send", why="", to="ana"), request("send", why="", to="bob"), True),
        (
            request("web_fetch", url="https://a.example/"),
            request("web_fetch", url="https://a.example/b"),
            True,
        ),
        (
            request("web_fetch", url="https://a.example/"),
            request("web_fetch", url="https://b.example/"),
            False,
        ),
        # Another reason to ask is another question.
        (
            request("write_file", path="a", content=""),
            request("write_file", "the permissions ask about write_file(b).", path="b", content=""),
            False,
        ),
        (
            request("write_file", path="a", content=""),
            request("write_file", path=".envrc", content=""),
            False,
        ),
        (
            request("write_file", path=".envrc", content=""),
            request("write_file", path=".bashrc", content=""),
            False,
        ),
        # What Claude's tools would follow or change, ours refuse.
        *(
            (request("Write", file_path="a", content=""), request("Write", file_path=path, content=""), False)
            for path in ("link", "out/b", ".git/hooks/pre-commit", ".maverick/x", "../b", "GEMINI.md")
        ),
        (
            request("Write", file_path="link", content=""),
            request("Write", file_path="link", content=""),
            False,
        ),
        (
            request("Write", file_path="../b", content=""),
            request("Write", file_path="../c", content=""),
            False,
        ),
        # Another agent's tool of the same name is another tool.
        (request("send", to="a"), replace(request("send", to="a"), agent=("other",)), False),
        (
            request("write_file", path="a", content=""),
            replace(request("write_file", path="b", content=""), agent=("other",)),
            False,
        ),
    ],
)
@pytest.mark.parametrize("scope", GrantScope)
async def test_always_covers_what_it_says_and_asks_about_everything_else(
    first: ApprovalRequest, later: ApprovalRequest, is_covered: bool, scope: GrantScope, tmp_path: Path
) -> None:
    (folder := tmp_path / "project").mkdir()
    (folder / "a").write_text("x")
    (folder / "link").symlink_to(tmp_path / ".zlogin")
    (folder / "out").symlink_to(tmp_path)
    asked: list[str] = []

    async def yes(preview: CallPreview) -> tuple[ApprovalAnswer, GrantScope]:
        asked.append(preview.always)
        assert bool(preview.always) is bool(grants.scopes(preview))
        return first.approve(), scope

    grants = Grants(folder, tmp_path)
    first, later = replace(first, workspace=folder), replace(later, workspace=folder)
    assert (await consent(first, grants, yes, folder)).approved
    if scope is GrantScope.PROJECT:
        grants = Grants(folder, tmp_path)

    assert (await consent(later, grants, yes, folder)).approved

    assert len(asked) == (1 if is_covered else 2)
    assert not list(folder.glob(".maverick"))
    assert not Grants(tmp_path, tmp_path).of_project()  # another folder has nothing of it
    assert grants.revoke() is (bool(any(asked)) and scope is GrantScope.PROJECT)


@pytest.mark.parametrize(
    "sign", "\u3164\uffa0\u115f\u2800\ufe0f\u034f\u17b4\u180b\U000e0101\u200b\u202e\u00a0\x1b\udc80"
)
def test_a_sign_that_is_drawn_as_nothing_is_shown_by_its_number(sign: str) -> None:
    assert visible(f"é {sign}") == f"é {ascii(sign)[1:-1]}"


async def test_what_is_revoked_elsewhere_is_asked_about_again(tmp_path: Path) -> None:
    (folder := tmp_path / "project").mkdir()
    asked, running = request("send", to="ana"), Grants(folder, tmp_path)
    preview = preview_call(asked.tool_name, asked.arguments, folder)
    running.add(asked, preview, GrantScope.PROJECT)
    assert running.cover(asked, preview)

    assert Grants(folder, tmp_path).revoke()

    assert not running.cover(asked, preview)


@pytest.mark.parametrize("scope", [None, *GrantScope])
@pytest.mark.parametrize(("name", "at"), [("edit_file", "path"), ("Write", "file_path")])
async def test_a_file_that_is_no_longer_the_one_shown_is_not_changed(
    scope: GrantScope | None, name: str, at: str, tmp_path: Path
) -> None:
    (tmp_path / "deploy.sh").write_text("target=staging\n")
    about = {"old": "staging", "new": "prod"} if name == "edit_file" else {"content": "target=prod\n"}
    made = replace(request(name, **{at: "deploy.sh"}, **about), workspace=tmp_path)
    grants = Grants(tmp_path, tmp_path)

    async def slow(preview: CallPreview) -> tuple[ApprovalAnswer, GrantScope | None]:
        assert preview.kind == "edit"
        (tmp_path / "deploy.sh").write_text("rm -rf $DATA\ntarget=staging\n")
        return made.approve(), scope

    answer = await consent(made, grants, slow, tmp_path)

    assert (answer.approved, answer.reason) == (False, CHANGED)
    assert not grants.cover(made, preview_call(name, made.arguments, tmp_path))


@pytest.mark.parametrize("brings_its_own", [True, False])
async def test_the_file_that_is_shown_is_the_one_of_the_tool(brings_its_own: bool, tmp_path: Path) -> None:
    for name in ("here", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"{name}\n")
    shown: list[CallPreview] = []
    here, other = tmp_path / "here", tmp_path / "other"
    grants = Grants(here, tmp_path)

    async def see(preview: CallPreview) -> tuple[ApprovalAnswer, GrantScope | None]:
        shown.append(preview)
        return ApprovalAnswer(approved=True), GrantScope.SESSION

    @tool
    async def write_file(path: str, content: str) -> str:
        """Write a file somewhere."""
        return f"{path}: {content}"

    tools = [write_file] if brings_its_own else coding_tools(Workspace(other), sandbox=False)
    agent = AgentDefinition("writer", "Writes.", tool_config=ToolConfig(tools=tools))
    client = ScriptedClient([call("write_file", path="a.txt", content="new\n"), reply("done")])
    executor = AgentExecutor(
        client,
        approve=lambda request: consent(request, grants, see, here),
        permissions=Permissions("ask"),
    )
    await executor.execute(agent, inputs={"prompt": "Write."})

    (preview,) = shown
    if brings_its_own:
        assert (preview.title, preview.kind) == ("Call write_file", "call")
    else:
        assert (preview.title, preview.before) == (f"Edit {other / 'a.txt'}", "other\n")
        assert preview.always == f"edits of files in {other}"
        usual = replace(request("write_file", path="a.txt", content=""), agent=("writer",), workspace=here)
        assert not grants.cover(usual, preview_call("write_file", usual.arguments, here, here))
