"""The help has every key, and the page about the screen has the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.binding import Binding

from maverick.tui.app import MaverickApp
from maverick.tui.approval import ApprovalDialog
from maverick.tui.conversation_view import ConversationView
from maverick.tui.keys import GROUPS, MARKS
from maverick.tui.prompt import PromptBox, SearchBar

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "tui.md"
BOUND = (MaverickApp, ConversationView, PromptBox, SearchBar, ApprovalDialog)


@pytest.mark.requirement("007-TUI-KEYS")
def test_every_key_that_does_something_is_in_the_help() -> None:
    helped = {(key.key, key.action) for _, keys in GROUPS for key in keys if key.key}
    bound = {
        (binding.key, binding.action)
        for part in BOUND
        for binding in part.BINDINGS
        if isinstance(binding, Binding)
    }

    assert bound == helped


@pytest.mark.requirement("007-TUI-KEYS")
def test_the_page_about_the_screen_has_the_keys_of_the_help() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]+) \|$", page, re.MULTILINE)

    told = [
        (key.shown, f"/{key.slash}" if key.slash else "", key.description)
        for _, keys in GROUPS
        for key in keys
    ]
    assert [tuple(map(str.strip, row)) for row in written if row[0] != "key"] == told
    assert all(f"`{mark}`" in page for mark in MARKS)
