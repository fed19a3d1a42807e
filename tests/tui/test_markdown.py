"""Answers as the Markdown they are: section by section, as soon as each is complete."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from maverick.tui.block import Speaker, Words
from maverick.tui.conversation import ConversationModel
from maverick.tui.layout import ConversationLayout
from maverick.tui.message_lines import MessageLines
from maverick.tui.plain_text import plain
from maverick.tui.renderer import LONGEST, Renderer
from tui.telling import Teller

pytestmark = pytest.mark.requirement("007-TUI-MARKDOWN")

PIECES = (
    *(
        "word",
        " ",
        "\n",
        "\n\n",
        "    ",
        "語😀",
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~~",
        "#",
        "# ",
        "- ",
        "1. ",
        "> ",
    ),
    *("|", "|-|\n", "[a](b)", "<", "\\", "{", '"a": 1', "}", "---"),
)
DEADLINE = 3
"""Seconds of this thread's CPU, several times what is needed: machines differ, and only what is quadratic misses it."""
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
RENDERER = Renderer({"markdown.h1": Style(underline=True), "markdown.link": Style(underline=True)})


def lines_of(text: str, width: int = 40) -> list[str]:
    return [line.plain for line in RENDERER.markdown(text, width)]


def styles_of(text: str, width: int = 40) -> dict[str, Style]:
    """The style of each piece of text."""
    return {
        segment.text.strip(): segment.style or Style.null()
        for line in RENDERER.markdown(text, width)
        for segment in RENDERER.segments(line)
        if segment.text.strip()
    }


def streamed(*pieces: str, width: int = 40, ended: bool = True) -> list[str]:
    """The lines of an answer that comes in pieces, laid out after each of them."""
    words = Words(run_id="run", turn=1, speaker=Speaker.ANSWER)
    message = MessageLines(words, width, RENDERER, apart=False)
    for piece in pieces:
        words.say(piece)
        message.update()
    if ended:
        words.end()
        message.update()
        message.update()  # which changes nothing
    return [line.plain for part in message.update() for line in part.lines]


def test_words_are_strong_code_or_links_and_lines_break_where_they_did() -> None:
    text = "A **bold** and *slanted* `word`,\n~~not this~~ [there](https://a.example/b), <https://c.example>"

    assert lines_of(text, 80) == [
        "A bold and slanted word,",
        "not this there (https://a.example/b), https://c.example",
    ]
    styles = styles_of(text, 80)
    assert styles["bold"].bold
    assert styles["slanted"].italic
    assert styles["word"].color
    assert styles["not this"].strike
    assert styles["there"].underline


def test_names_with_underscores_keep_them() -> None:
    assert lines_of("See __init__.py and some_long_name.") == ["See __init__.py and some_long_name."]


def test_headings_lists_quotes_and_rules_have_their_shape() -> None:
    text = (
        "# Plan\nFirst:\n- look\n  1. here\n  2. there\n- change\n"
        "---\n## Then\n> as\n> said\n\n10. ten\n11. eleven"
    )

    assert lines_of(text, 24) == [
        *("Plan", "", "First:", "", " • look", "    1 here", "    2 there", " • change", ""),
        *("─" * 24, "", "Then", "", "▌ as", "▌ said", "", " 10 ten", " 11 eleven"),
    ]
    assert styles_of(text)["Plan"].underline


def test_code_is_highlighted_if_its_language_is_known() -> None:
    code = 'def f():\n    return "x"  # why'

    styles = styles_of(f"```python\n{code}\n```")

    assert lines_of(f"```python\n{code}\n```") == ["  def f():", '      return "x"  # why']
    assert len({str(styles[word].color) for word in ("def", "f", "# why")}) == 3
    assert (
        lines_of(f"```nonsense\n{code}\n```")
        == lines_of(f"```\n{code}\n```")
        == lines_of(f"```python\n{code}\n```")
    )
    assert "return" not in styles_of(f"```nonsense\n{code}\n```")  # all in one colour


def test_a_diff_in_an_answer_has_its_colours() -> None:
    styles = styles_of("```diff\n@@ -1 +1 @@\n-old\n+new\n```")

    assert len({str(style.color) for style in styles.values()}) == 3


def test_a_table_has_columns_that_are_wrapped_where_there_is_no_room() -> None:
    text = "| file | lines |\n|---|--:|\n| `a.py` | 12 |\n| one with a long name | 3 |"

    assert [line.strip() for line in lines_of(text, 80)] == [
        "file                  lines",
        "───────────────────────────",
        "a.py                     12",
        "one with a long name      3",
    ]
    assert [line.strip() for line in lines_of(text, 21)] == [
        "file          lines",
        "───────────────────",
        "a.py             12",
        "one with a        3",
        "long name",
    ]
    assert lines_of(text, 14)[0] == "| file | lines"  # no room for columns


def test_an_answer_that_is_json_is_shown_as_that() -> None:
    text = '{\n  "file_name": "a_b_c",\n  "count": 3\n}'

    assert lines_of(text) == text.split("\n")
    assert styles_of(text)["3"].color
    assert lines_of("[not json](x)") == ["not json (x)"]


@pytest.mark.requirement("007-TUI-SAFE")
def test_what_markdown_could_hide_or_make_is_shown_as_it_was_written() -> None:
    text = "a <b onclick=x>c</b> &#27;[2J &#x202e; [red]d[/red] <!-- e -->\n\n[1]: https://f.example"

    assert "\n".join(lines_of(text, 100)) == text


@pytest.mark.requirement("007-TUI-SAFE")
def test_an_encoded_address_reaches_the_terminal_as_no_command() -> None:
    shown = "".join(lines_of("<https://a.example/%1b[2J%c2%9b%E2%80%AE>", 80))

    assert shown.startswith("https://a.example/")
    assert not {"\x1b", "\x9b", "\u202e"} & {*shown}


@given(text=MARKDOWN, width=st.integers(2, 60))
def test_no_line_is_wider_than_the_screen_whatever_is_written(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in lines_of(plain(text), width))


@given(text=MARKDOWN, width=st.integers(2, 60))
def test_no_word_of_an_answer_is_lost(text: str, width: int) -> None:
    text = re.sub("`{3,}", "`", re.sub("~{3,}", "~", text)).replace(
        "|", "/"
    )  # a language, or a cell too many

    shown = "".join(lines_of(text, width))

    for word in ("word", "語", "😀"):
        assert "".join(shown.split()).replace("│", "").count(word[0]) >= text.count(word)


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_what_is_nested_too_deep_is_shown_as_it_was_written(mark: str) -> None:
    text = mark * 60 + "word"

    assert "".join("".join(lines_of(text)).split()) == "".join(text.split())


@pytest.mark.requirement("007-TUI-SAFE")
@pytest.mark.parametrize(
    "hostile",
    ["[", "![", "[a *b* ", "![*_", "[<a", "[a](", "[`", "*a ", "**a *b ", "[\\]", "|[", "語"],
)
def test_no_section_keeps_the_screen_waiting_whatever_is_written(hostile: str) -> None:
    sections = [(hostile * LONGEST)[:LONGEST], "![" * 100 + (hostile * LONGEST)[: LONGEST - 200]]
    began = time.thread_time()

    for section in sections:
        lines_of(section, 80)

    assert time.thread_time() - began < DEADLINE


@pytest.mark.requirement("007-TUI-SAFE")
@pytest.mark.parametrize(
    ("language", "hostile"),
    [("java", "a "), ("perl", "m{ "), ("autoit", "  \n "), ("ini", " = "), ("js", '"\\')],
)
def test_code_that_takes_too_long_to_colour_is_shown_without(language: str, hostile: str) -> None:
    lines = [hostile * (300 // len(hostile))] * (LONGEST // 310)
    codes = ["\n".join(lines), hostile * (LONGEST // len(hostile) - 20)]
    began = time.thread_time()

    shown = ["".join(lines_of(f"```{language}\nx{code}x\n```", 400)) for code in codes]

    assert time.thread_time() - began < DEADLINE
    assert ["".join(each.split()) for each in shown] == [f"x{''.join(code.split())}x" for code in codes]


@pytest.mark.requirement("007-TUI-SAFE")
@pytest.mark.parametrize("columns", [15, 1500])
def test_a_table_of_cells_that_nobody_wrote_is_shown_as_it_was_written(columns: int) -> None:
    table = ("|a" * columns + "|\n" + "|-" * columns + "|\n" + "|\n" * LONGEST)[:LONGEST]
    began = time.thread_time()

    shown = "".join(lines_of(table, 80))

    assert time.thread_time() - began < DEADLINE / 2
    assert "".join(shown.split()) == "".join(table.split())


def test_json_on_one_line_has_its_colours_however_long_that_is() -> None:
    assert styles_of(f'{{"words": ["{"word " * 500}", 3]}}', 4000)["3"].color


def test_what_is_too_much_work_in_one_paragraph_leaves_those_before_it_as_they_are() -> None:
    text = "# A *title*\n> a [link](b)\n\n" + "[*" * 3000

    title, _, quote, blank, *rest = lines_of(text)

    assert (title, quote, blank) == ("A title", "▌ a link (b)", "")
    assert "".join(rest) == "[*" * 3000


@given(text=MARKDOWN, cuts=st.lists(st.integers(0, 80), max_size=6))
@pytest.mark.requirement("007-TUI-STREAM")
def test_an_answer_that_comes_in_pieces_ends_up_as_if_it_had_come_at_once(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(places)]

    assert streamed(*pieces) == streamed(text)


@pytest.mark.requirement("007-TUI-STREAM")
def test_a_section_is_shown_as_it_comes_until_it_is_complete() -> None:
    assert streamed("**One**", ".\n\nT", "**wo**", ended=False) == ["One.", "", "T**wo**"]
    assert streamed("**One**", ".\n\nT", "**wo**") == ["One.", "", "Two"]


@pytest.mark.requirement("007-TUI-STREAM")
def test_blank_lines_in_code_and_in_lists_end_no_section() -> None:
    text = "1. first\n\n   ~~~~ python\n   a\n\n   ~~~\n\n   b = *c*\n   ~~~~\n\n   so\n\n2. second\n\nend"

    assert [line.strip() for line in streamed(*text)] == [
        *("1 first", "a", "", "~~~", "", "b = *c*", "so", "", "2 second", "", "end"),
    ]


@pytest.mark.requirement("007-TUI-STREAM")
@pytest.mark.parametrize(
    "long", ["**word** " * (LONGEST // 3), "**word**\n" * (LONGEST // 3), "語" * 3 * LONGEST]
)
def test_a_section_too_long_to_be_read_at_once_is_shown_as_it_was_written(long: str) -> None:
    lines = streamed(long, f"\n\n**next** {long[:5]}")

    assert "".join("".join(lines[:-2]).split()) == "".join(long.split())
    assert lines[-2:] == ["", f"next {long[:5]}"]
    pairs = [*map("".join, pairwise(long[:6_000]))]  # they overlap: more than one section of them
    assert streamed(*pairs) == streamed("".join(pairs))


def test_only_answers_are_read_as_markdown() -> None:
    teller = Teller(ConversationModel())
    teller.begin("**mine**")
    teller.turn(1)
    teller.think("**thought**")
    teller.say("**answer**")
    teller.model.leave()

    assert laid_out(teller.model, 40) == [
        "› **mine**",
        "",
        "── turn 1 " + "─" * 30,
        "**thought**",
        "",
        "answer",
    ]


@pytest.mark.requirement("007-TUI-SEARCH")
def test_what_is_searched_for_is_found_in_what_is_shown() -> None:
    teller = Teller(ConversationModel())
    teller.begin("Go.")
    teller.say("Some **bold** words.\n\n| a | needle |\n|---|---|\n\n")
    teller.end()
    layout = ConversationLayout(teller.model)
    layout.update(40)

    assert [layout.line(y).plain for y in layout.find("bold words")] == ["Some bold words."]
    assert [layout.line(y).plain for y in layout.find("needle")] == [" a  needle"]


def test_a_narrower_screen_lays_markdown_out_again() -> None:
    teller = Teller(ConversationModel())
    teller.say("- one **two** three")
    teller.end()

    assert laid_out(teller.model, 40)[0] == " • one two three"
    assert laid_out(teller.model, 16)[:2] == [" • one two three", "· complete: 2"]
    assert laid_out(teller.model, 10)[:2] == ["- one", "**two**"]


@pytest.mark.parametrize("event", ["tool", "turn", "end", "left", "other run"])
def test_an_answer_is_whole_when_something_else_comes(event: str) -> None:
    teller = Teller(ConversationModel())
    teller.begin("Go.")
    teller.subagent("clerk", "run_1/1/0").say("- **sub**")
    teller.say("- **word**")
    match event:
        case "tool":
            teller.call("call_1", "look")
        case "turn":
            teller.turn(2)
        case "end":
            teller.end()
        case "left":
            teller.model.leave()
        case _:
            teller.model.become("run_2", "forked")

    assert " • word" in laid_out(teller.model, 40)


def test_a_subagents_answer_is_whole_when_it_ends() -> None:
    teller = Teller(ConversationModel())
    teller.begin("Go.")
    clerk = teller.subagent("clerk", "run_1/1/0")
    clerk.say("- **sub**")
    clerk.end()

    assert "   • sub" in laid_out(teller.model, 40)


def laid_out(model: ConversationModel, width: int) -> list[str]:
    layout = ConversationLayout(model)
    layout.update(width)
    layout.settle(0, 0, 1_000)
    return [layout.line(y).plain.rstrip() for y in range(layout.height)]
