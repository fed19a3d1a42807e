"""The screen as it looks, kept as pictures: in the smallest terminal, and in a larger one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from maverick.runtime.consent import GrantScope, preview_call
from maverick.tui.app import MaverickApp
from maverick.tui.approval import ApprovalDialog
from maverick.tui.panels import Sidebar
from maverick.tui.questions import Question
from tui.desk import NOW, Desk, fill, until
from tui.telling import Teller

TINY, SMALL, LARGE = (60, 15), (80, 24), (120, 40)
SnapCompare = Callable[..., bool]
Play = Callable[[Pilot[Any]], Awaitable[None]]

BOTH = pytest.mark.parametrize("size", [SMALL, LARGE], ids=lambda size: "x".join(map(str, size)))

pytestmark = pytest.mark.requirement("007-TUI")


def screen() -> MaverickApp:
    """The screen of a desk with a few runs."""
    desk = Desk()
    asyncio.run(fill(desk.journal))
    return desk.app()


def asked(tool_name: str, arguments: dict[str, Any], reason: str, folder: Path | None = None) -> Question:
    preview = preview_call(tool_name, arguments, folder)
    return Question("editor", tool_name, arguments, preview, reason, tuple(GrantScope))


def app_of(pilot: Pilot[Any]) -> MaverickApp:
    assert isinstance(pilot.app, MaverickApp)
    return pilot.app


async def open_kept(pilot: Pilot[Any]) -> None:
    """Open the run that came to its end."""
    app = app_of(pilot)
    app.query_one(Sidebar).focus() if app.query_one(Sidebar).display else await pilot.press("ctrl+b")
    await pilot.press("home", "enter")
    await until(pilot, lambda: app.session.run_id == "kept")


@BOTH
def test_the_screen_at_the_start(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap_compare(screen(), terminal_size=size)


@BOTH
@pytest.mark.requirement("007-TUI-DIFF", "007-TUI-GAUGE")
def test_a_run_with_a_difference_that_came_to_its_end(
    snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    assert snap_compare(screen(), terminal_size=size, run_before=open_kept)


@BOTH
@pytest.mark.requirement("007-TUI-STREAM")
def test_a_live_run_with_subagents_and_every_kind_of_tool_call(
    snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        app = app_of(pilot)
        app.session.began_at = NOW - 12
        teller = Teller(app.session.model)
        teller.begin("Find out why the tests fail, and fix it.\nDo not touch the setup.")
        teller.turn(1)
        teller.think("The failure is ", "in the parser, probably. I should look at it before I say so.")
        teller.say("I run the tests ", "first.")
        teller.call("call_1", "shell", command="pytest -q tests/parser")
        teller.result("call_1", "2 failed")
        teller.call("call_2", "read_file", path="src/語/parser.py", first_line=1, lines=200)
        clerk = teller.subagent("clerk", "run_1/1/2")
        clerk.say("I look at the history of this file.")
        clerk.call("call_1", "grep", pattern="def parse")
        teller.turn(2)
        teller.use(6_100, context=7_400)
        teller.say("The parser takes an empty line for the end of the file. ", "I will ")
        await until(pilot, lambda: True)

    assert snap_compare(screen(), terminal_size=size, run_before=play)


MARKDOWN = """\
# What I found

The parser takes an **empty line** for the *end of the file*. See `parser.py`:

```python
def lines(text: str) -> list[str]:
    "All lines."
    while line := text.readline():  # not stripped
        yield line
```

1. Read on, as [the manual](https://manual.example/io) says
2. Add a test:
   - an empty line
   - 空の行 😀

| case | before | after |
|------|-------:|------:|
| empty line | 1 | 3 |

I will now change **this"""


@BOTH
@pytest.mark.requirement("007-TUI-MARKDOWN")
def test_an_answer_in_markdown(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        app = app_of(pilot)
        app.session.began_at = NOW - 12
        teller = Teller(app.session.model)
        teller.begin("Why do the tests fail?")
        teller.turn(1)
        teller.say(*MARKDOWN.splitlines(keepends=True))
        await until(pilot, lambda: True)

    assert snap_compare(screen(), terminal_size=size, run_before=play)


@BOTH
@pytest.mark.requirement("007-TUI-APPROVAL")
def test_a_question_about_a_tool_call(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await open_kept(pilot)
        arguments = {"path": "greet.py", "content": "def greet():\n\treturn 'Hi\u200b'\n", "force": True}
        question = asked("write_file", arguments, "the file is not in a folder it may write to")
        await pilot.app.push_screen(ApprovalDialog(question, 0))

    assert snap_compare(screen(), terminal_size=size, run_before=play)


@pytest.mark.requirement("007-TUI-APPROVAL")
def test_an_edit_is_shown_as_a_difference_before_it_is_made(
    snap_compare: SnapCompare, tmp_path: Path
) -> None:
    old, new = '    return "Hi " + name\n', '    return f"Hello, {name}!"\n'
    (tmp_path / "greet.py").write_text(f"def greet(name):\n{old}", encoding="utf-8")

    async def play(pilot: Pilot[Any]) -> None:
        arguments = {"path": "greet.py", "old": old, "new": new}
        await pilot.app.push_screen(ApprovalDialog(asked("edit_file", arguments, "", tmp_path), 0))

    assert snap_compare(screen(), terminal_size=SMALL, run_before=play)


@pytest.mark.requirement("007-TUI-APPROVAL")
def test_a_long_question_in_a_terminal_that_is_too_small(snap_compare: SnapCompare) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        question = asked("shell", {"command": "make all-of-it && " * 40 + "true"}, "it changes files")
        await pilot.app.push_screen(ApprovalDialog(question, 0))

    assert snap_compare(screen(), terminal_size=TINY, run_before=play)


@pytest.mark.requirement("007-TUI-SEARCH")
def test_a_search(snap_compare: SnapCompare) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await open_kept(pilot)
        await pilot.press("ctrl+f", *"greet")

    assert snap_compare(screen(), terminal_size=SMALL, run_before=play)


@pytest.mark.requirement("007-TUI-FORK")
def test_a_fork(snap_compare: SnapCompare) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        await open_kept(pilot)
        await pilot.press("tab", "home", *"/fork", "enter")

    assert snap_compare(screen(), terminal_size=SMALL, run_before=play)


@pytest.mark.requirement("007-TUI-KEYS")
@pytest.mark.parametrize("keys", ["slash", "f2", "f3", "ctrl+b"])
def test_what_can_be_chosen(snap_compare: SnapCompare, keys: str) -> None:
    assert snap_compare(screen(), press=[keys], terminal_size=SMALL)


@pytest.mark.requirement("007-TUI-KEYS")
def test_the_help(snap_compare: SnapCompare) -> None:
    assert snap_compare(screen(), press=["f1"], terminal_size=SMALL)


@pytest.mark.requirement("007-TUI-ERRORS")
def test_an_error(snap_compare: SnapCompare) -> None:
    async def play(pilot: Pilot[Any]) -> None:
        app = app_of(pilot)
        app.session.agent = "nobody"
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: app.session.model.blocks)

    assert snap_compare(screen(), terminal_size=SMALL, run_before=play)
