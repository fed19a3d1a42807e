"""The lines of a conversation: wrapped, folded, coloured, and laid out again only where something changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from maverick.loop.limits import Limits
from maverick.model import Message
from maverick.tui.block import LineStyle, ToolUse, Words
from maverick.tui.conversation import ConversationModel
from maverick.tui.layout import ConversationLayout
from maverick.tui.renderer import Renderer
from tui.desk import DIFF
from tui.telling import Teller

WORDS = st.text(alphabet=st.sampled_from("ab é語😀 \n"), max_size=60)


@given(text=WORDS, width=st.integers(2, 20))
def test_no_line_is_wider_than_the_screen_and_no_word_is_lost(text: str, width: int) -> None:
    lines = [line.plain for line in Renderer().wrap(text, width)]

    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def laid_out(model: ConversationModel, width: int = 40, *, thinking: bool = True) -> list[Text]:
    layout = ConversationLayout(model)
    layout.update(width, thinking=thinking)
    return lines_of(layout)


def lines_of(layout: ConversationLayout) -> list[Text]:
    """All lines, laid out."""
    layout.settle(0, 0, 10_000_000)
    return [layout.line(y) for y in range(layout.height)]


def shown(model: ConversationModel, width: int = 40) -> list[str]:
    return [line.plain.rstrip() for line in laid_out(model, width)]


@pytest.fixture
def teller() -> Teller:
    teller = Teller(ConversationModel())
    teller.begin("Go.")
    teller.turn(1)
    return teller


@pytest.mark.requirement("007-TUI-FOLD")
def test_a_folded_call_is_a_line_with_its_arguments_outcome_and_duration(teller: Teller) -> None:
    teller.call("call_1", "grep", pattern="x", path="src")
    running = shown(teller.model)[-1]
    teller.result("call_1", "found it\nhere")

    assert running.endswith("… running")
    assert shown(teller.model)[-1] == "▸ grep pattern=x, path=src       ✓ 1.5 s"


@pytest.mark.requirement("007-TUI-FOLD")
def test_what_a_tool_says_while_it_runs_is_shown_until_its_result_is_there(teller: Teller) -> None:
    teller.call("call_1", "shell", command="make")
    for number in range(2_000):
        teller.model.show_output("run_1", "call_1", f"line {number}\n")
    running = shown(teller.model)
    teller.result("call_1", "all done")

    assert running[-5:] == [f"  │ line {number}" for number in range(1_995, 2_000)]
    assert shown(teller.model)[-1] == "▸ shell make                     ✓ 1.5 s"


@pytest.mark.requirement("007-TUI-FOLD")
def test_an_unfolded_call_has_arguments_result_and_outcome_in_full(teller: Teller) -> None:
    teller.call("call_1", "write", path="a.txt", content="one\ntwo", count=3)
    teller.result("call_1", "written")
    (tool,) = (block for block in teller.model.blocks if isinstance(block, ToolUse))
    teller.model.fold(tool, folded=False)

    assert shown(teller.model)[-8:] == [
        "▾ write                          ✓ 1.5 s",
        "  │ path: a.txt",
        "  │ content:",
        "  │   one",
        "  │   two",
        "  │ count: 3",
        "  ├─ finished after 1.5 s",
        "  │ written",
    ]


@pytest.mark.requirement("007-TUI-DIFF")
def test_the_lines_of_a_difference_have_their_colours(teller: Teller) -> None:
    teller.call("call_1", "edit", path="greet.py")
    teller.result("call_1", DIFF)

    styles = {
        line.plain.strip(" │"): line.spans[-1].style for line in laid_out(teller.model, 60) if line.spans
    }
    assert styles['-    return "Hi " + name'] == LineStyle.REMOVED
    assert styles['+    return f"Hello, {name}!"'] == LineStyle.ADDED
    assert styles["@@ -1,3 +1,3 @@"] == LineStyle.HUNK
    assert styles["def greet(name):"] == LineStyle.DIM  # of the margin alone


@pytest.mark.requirement("007-TUI-MODEL")
def test_thinking_is_dimmed_and_can_be_hidden(teller: Teller) -> None:
    teller.think("Hm.")
    teller.say("So.")

    assert LineStyle.THINKING in {line.style for line in laid_out(teller.model)}
    hidden = laid_out(teller.model, thinking=False)
    assert "Hm." not in "".join(line.plain for line in hidden)
    assert hidden[-1].plain == "So."


def test_subagents_are_indented(teller: Teller) -> None:
    clerk = teller.subagent("clerk", "run_1/1/0")
    clerk.say("I look.")
    clerk.call("call_1", "look")

    assert [line[:2] for line in shown(teller.model)[-2:]] == ["  ", "  "]


@pytest.mark.requirement("007-TUI-STREAM")
def test_a_hundred_thousand_pieces_are_shown_as_they_were_sent(teller: Teller) -> None:
    layout, pieces = ConversationLayout(teller.model), [f"w{number} " for number in range(100_000)]
    for begin in range(0, len(pieces), 1_000):
        teller.say(*pieces[begin : begin + 1_000])
        layout.update(80)

    (answer,) = (block for block in teller.model.blocks if isinstance(block, Words) and block.turn == 1)
    assert answer.text == "".join(pieces)
    shown_lines = " ".join(line.plain for line in lines_of(layout)[layout.top_of(answer) :])
    assert shown_lines.split() == "".join(pieces).split()


@pytest.mark.requirement("007-TUI-LARGE")
def test_of_what_a_person_said_at_great_length_the_beginning_is_laid_out_and_the_rest_counted() -> None:
    model = ConversationModel()
    model.begin("run", [Message.user("word " * 200_000)], Limits(), None)
    layout = ConversationLayout(model)
    layout.update(80)
    lines = [line.plain for line in lines_of(layout)]

    assert len(lines) < 500
    assert lines[1].startswith("  word word")
    assert "980,000 more characters" in lines[-1]
    assert len(model.blocks[0].text) == 1_000_000


@pytest.mark.requirement("007-TUI-STREAM")
def test_only_what_has_changed_is_laid_out_again(teller: Teller) -> None:
    teller.say("word " * 1_003, "\n\n", "last")
    layout = ConversationLayout(teller.model)
    layout.update(40)
    before = lines_of(layout)
    teller.say(" and more")
    layout.update(40)
    after = lines_of(layout)

    assert all(old is new for old, new in zip(before[:-2], after, strict=False))
    assert after[-1].plain == "last and more"


def test_a_narrower_screen_lays_everything_out_again(teller: Teller) -> None:
    teller.say("word " * 20)
    layout = ConversationLayout(teller.model)
    layout.update(40)
    tall = layout.height
    layout.update(20)

    assert layout.height > tall


def test_a_line_is_found_again_on_a_narrower_screen_and_below_what_has_grown(teller: Teller) -> None:
    teller.say("word " * 50)
    teller.call("call_1", "look", path="a")
    teller.result("call_1", "one\ntwo")
    teller.say("some words, then the needle, and then some more words that nobody searches for")
    layout = ConversationLayout(teller.model)
    layout.update(30)
    mark = layout.bookmark(layout.find("needle")[0])
    (tool,) = (block for block in teller.model.blocks if isinstance(block, ToolUse))

    assert mark is not None
    for width in (30, 15, 60):
        teller.model.fold(tool, folded=not tool.folded)
        layout.update(width)
        line = layout.line_at(mark)
        assert line is not None
        assert "needle" in "".join(layout.line(y).plain for y in range(line - 1, line + 2))
    teller.model.blocks.pop()
    layout.update(30)
    assert layout.line_at(mark) is None
    assert layout.bookmark(layout.height) is None


@pytest.mark.requirement("007-TUI-SEARCH")
def test_lines_are_found_whatever_their_case(teller: Teller) -> None:
    teller.say("One Needle\nhay\nanother NEEDLE")
    layout = ConversationLayout(teller.model)
    layout.update(40)

    assert [layout.line(y).plain for y in layout.find("needle")] == ["One Needle", "another NEEDLE"]
    assert isinstance(layout.block_at(layout.find("hay")[0]), Words)
    assert layout.block_at(layout.height) is None


@pytest.mark.requirement("007-TUI-SAFE")
def test_nothing_a_model_or_a_tool_says_reaches_the_terminal_as_a_command(teller: Teller) -> None:
    wild = "\x1b[2J\x1b]0;owned\x07\x9b1A\r\u202egnp\u2066 \ud800 語\tx"
    teller.think(wild)
    teller.say(wild[:3], wild[3:])
    teller.call("call_1", wild, **{wild: wild})
    teller.result("call_1", wild)
    teller.ask("call_2", "rm", wild, path=wild)
    teller.model.remark(wild)
    for block in teller.model.blocks:
        if isinstance(block, ToolUse):
            teller.model.fold(block, folded=False)

    text = "".join(line.plain for line in laid_out(teller.model))
    assert not {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\ud800"} & {*text}
    text.encode()


@pytest.mark.requirement("007-TUI-APPROVAL")
def test_what_a_person_decides_on_hides_nothing(teller: Teller) -> None:
    teller.ask("call_1", "shell", command="ls\u200b \x1b[8m; rm -rf ~")

    assert "ls\\u200b \\x1b[8m; rm -rf ~" in "".join(line.plain for line in laid_out(teller.model, 80))


@pytest.mark.requirement("007-TUI-LARGE")
def test_of_a_very_long_conversation_only_what_is_in_view_is_laid_out() -> None:
    model = ConversationModel()
    messages = [Message.user(f"question {number}\n\nwith **more**") for number in range(2_000)]
    model.begin("run", messages, Limits(), None)
    layout = ConversationLayout(model)
    layout.update(80)

    last = layout.settle(layout.height - 1, 20, 1)
    shown = [layout.line(y).plain for y in range(last - 20, layout.height)]
    found = layout.find("question 17 ")
    again = layout.find("question 17")

    assert "  with **more**" in shown
    assert layout.height > 6_000
    assert found == []
    assert layout.line(again[0]).plain == "› question 17"
