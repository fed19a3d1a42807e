"""What a person is shown before they consent to a tool call, and what "always" covers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from maverick.runtime import ApprovalAnswer, ApprovalRequest
from maverick.runtime.consent import CallPreview, Grants, GrantScope, consent, preview_call

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

    shown = preview_call(tool, arguments, tmp_path)

    assert shown.title == title
    if lines is not None:
        assert list(shown.lines) == lines


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
    ],
)
@pytest.mark.parametrize("scope", GrantScope)
async def test_always_covers_what_it_says_and_asks_about_everything_else(
    first: ApprovalRequest, later: ApprovalRequest, is_covered: bool, scope: GrantScope, tmp_path: Path
) -> None:
    (folder := tmp_path / "project").mkdir()
    (folder / "a").write_text("x")
    asked: list[str] = []

    async def yes(preview: CallPreview) -> tuple[ApprovalAnswer, GrantScope]:
        asked.append(preview.always)
        return first.approve(), scope

    grants = Grants(folder, tmp_path)
    assert (await consent(first, grants, yes, folder)).approved
    if scope is GrantScope.PROJECT:
        grants = Grants(folder, tmp_path)

    assert (await consent(later, grants, yes, folder)).approved

    assert len(asked) == (1 if is_covered else 2)
    assert not list(folder.glob(".maverick"))
    assert not Grants(tmp_path, tmp_path).of_project()  # another folder has nothing of it
    assert grants.revoke() is (scope is GrantScope.PROJECT)
