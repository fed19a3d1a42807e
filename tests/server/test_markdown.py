"""Markdown as HTML: complete, and safe whatever the text is."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maverick.server.markdown import MarkdownStream, render_markdown

pytestmark = pytest.mark.requirement("SERVER-SAFE-PAGE")

ALLOWED: dict[str, set[str]] = {
    **{key: {"class"} for key in ("p", "h2", "div", "pre", "span", "td", "th", "button", "li")},
    **{
        key: set()
        for key in (
            "em",
            "strong",
            "s",
            "code",
            "ul",
            "blockquote",
            "hr",
            "br",
            "table",
            "thead",
            "tbody",
            "tr",
        )
    },
    "ol": {"start"},
    "a": {"href", "target", "rel"},
}
"""Every element there may be, and its attributes; besides those that the renderer itself writes."""
OWN = {"tabindex", "role", "aria-label", "type"}
PIECES = (
    *("<script>", "</script>", "<img src=x onerror=alert(1)>", "<a href='javascript:x'>", "<!--", "-->", "&lt;", "&#60;"),
    *("[x](", ")", "javascript:alert(1)", "data:text/html,x", "https://example.org/", '"onclick="x', "mailto:a@b.c", "<https://a.b>"),
    *("![", "]", "**", "*", "_", "~~", "`", "```", "```py\n", "\n", "\n\n", "    ", "> ", "- ", "- [ ] ", "1. ", "# ", "| a | b |\n", "|-|-|\n"),
    *("word ", "\\", "\t", "\r\n", "\0", "é", "---\n", "class='x'", "[x]: javascript:alert(1)\n", "<b>", "{", "&"),
)  # fmt: skip


class Elements(HTMLParser):
    """Sees to it that there is nothing but what is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert name in ALLOWED[tag] | OWN, (tag, name)
            assert name != "href" or (value or "").startswith(("http://", "https://", "mailto:")), value
        self.names.append(tag)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def elements(blocks: list[str]) -> list[str]:
    seen = Elements()
    seen.feed("".join(blocks))
    seen.close()
    return seen.names


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text_is_safe_and_the_same_whether_it_comes_whole_or_in_pieces(pieces: list[str]) -> None:
    whole = render_markdown("".join(pieces))

    stream, shown = MarkdownStream(), list[str]()
    for changed in (*map(stream.feed, pieces), stream.flush()):
        if changed is not None:
            shown[changed[0] :] = changed[1]

    elements(whole)
    assert shown == whole == stream.whole()[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a | b |\n|---|--:|\n| 1 | 2 |", ["div", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]),
        ("1. a\n   - b\n2. c", ["ol", "li", "ul", "li", "li"]),
        ("> a\n> > b", ["blockquote", "p", "blockquote", "p"]),
        ("# a\n\nb\nc", ["h2", "p", "br"]),
        ("see https://example.org.", ["p", "a"]),
        ("![x](https://example.org/x.png)", ["p", "a"]),
        ("[x](javascript:alert(1))", ["p"]),
        ("```nonsense\n<b>\n```", ["div", "div", "span", "button", "pre", "code"]),
        ("```python\nif x: pass\n```", ["div", "div", "span", "button", "pre", "code", *["span"] * 3]),
    ],
)  # fmt: skip
def test_markdown_has_its_elements(text: str, expected: list[Any]) -> None:
    assert elements(render_markdown(text)) == expected


def test_the_cells_of_all_tables_together_are_bounded() -> None:
    def table(columns: int, rows: int) -> str:
        return f"|{'a|' * columns}\n|{'-|' * columns}\n" + "|\n" * rows + "\n"

    few, many = elements(render_markdown(table(10, 20))), elements(render_markdown(table(250, 262)))
    often = elements(render_markdown(table(50, 20) * 100))

    assert few.count("td") == 10 * 20
    assert not many.count("td")
    assert 0 < often.count("td") <= 5_000
    assert elements(render_markdown(table(250, 262) + table(2, 2))).count("td") == 4


def test_tasks_have_boxes_and_pictures_are_links() -> None:
    [tasks, picture] = render_markdown("- [ ] a\n- [x] b\n- [y] c\n\n![a **b**](https://example.org/x.png)!")

    assert tasks.split("\n")[1:4] == [
        '<li class="task-item">☐ a</li>',
        '<li class="task-item">☑ b</li>',
        "<li>[y] c</li>",
    ]
    assert picture.startswith('<p><a href="https://example.org/x.png"')
    assert picture.endswith(">a **b**</a>!</p>\n")


@pytest.mark.parametrize("evil", ["*a ", "[a](", "http://", "~~a", "&#", "**a", "<", "|", "`", "a@b."])
def test_no_text_takes_long(evil: str) -> None:
    began = time.process_time()

    render_markdown(evil * (60_000 // len(evil)))

    assert time.process_time() - began < 5  # minutes, without bounds
