"""Text and Markdown as lines of the screen's width, in styles whose colours come from the screen.

Markdown is read by markdown-it and drawn by Rich, with bounds on the work that a hostile text can cause.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments.lexer import Lexer  # type: ignore[import-untyped] # it comes with Textual, without types
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Token as CodeToken  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from maverick.tui.block import LineStyle
from maverick.tui.plain_text import plain

LONGEST = 10_000
"""Characters of a text that is read as Markdown: a longer one would make the screen halt."""
_NARROWEST = 12
"""Cells that a text needs inside of lists and quotes; with less room, all of it is shown as it was written."""
_DEEPEST = 20
"""The level of nesting that is shown as such; a list in a list is two levels deeper."""
_INDENTS = {"bullet_list": 3, "ordered_list": 6, "blockquote": 4}
"""Cells by which Rich indents the content, for numbers of up to four digits."""
_LARGEST_NUMBER = 9_000
_NARROWEST_COLUMN = 5
_MOST_NESTING = 100
"""The nesting that the parser looks at: it counts a list in a list several times, and brackets in brackets too."""
_MOST_WORK = 20_000
"""Looks at a mark, in search of the ends of links, that a text may take: less than a tenth of a second."""
_MOST_CELLS = 5_000
"""Cells of a table that is shown as one: twice as many as can have anything in them."""
_LONGEST_CODE_LINE = 400
"""Characters of a line in code that is highlighted: most of what takes a lexer long is on one line. Not so for JSON,
which programs write on one line, and whose lexer looks at each character once."""
_HIGHLIGHT_TIME = 0.25
"""Seconds of CPU that highlighting may take; a page of code takes a tenth of that. Many lexers are quadratic at worst."""


class Renderer:
    """Makes lines of text."""

    def __init__(self, styles: Mapping[str, Style] | None = None, *, dark: bool = True) -> None:
        self._console = Console(
            file=io.StringIO(),
            theme=Theme(styles),
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
            _environ={},
        )
        self._code_theme = "ansi_dark" if dark else "ansi_light"

    def wrap(self, text: str, width: int, style: LineStyle = LineStyle.PLAIN) -> list[Text]:
        """The lines of a text."""
        return list(Text(plain(text), style).wrap(self._console, max(width, 1), overflow="fold"))

    def markdown(self, text: str, width: int) -> list[Text]:
        """The lines of a Markdown text; one that cannot be shown as Markdown is shown as it was written."""
        lines = render_markdown(plain(text), width, self._console, self._code_theme)
        return self.wrap(text.strip("\n"), width) if lines is None else lines

    def segments(self, line: Text) -> Iterable[Segment]:
        """A line as Textual draws it."""
        base = self._console.get_style(line.style, default="none")
        return Segment.apply_style(line.render(self._console), base)


def render_markdown(text: str, width: int, console: Console, code_theme: str) -> list[Text] | None:
    """The lines of a Markdown text, or of a text in JSON; ``None`` if it should be shown as it was written."""
    if len(text) > LONGEST:
        return None
    if _is_json(text):
        return list(highlight(text.strip(), "json", code_theme).wrap(console, width))
    tokens = parse_markdown(text, width)
    if not _fits(tokens, width):
        return None
    options = console.options.update(width=width, height=None)
    lines = console.render_lines(_Markdown(tokens, code_theme), options, pad=False)
    # An address that was percent-encoded may have control characters again.
    drawn = [Text.assemble(*((plain(part.text), part.style or "") for part in line)) for line in lines]
    for line in drawn:
        line.rstrip()
    return list(_without_extra_blanks(drawn))


def parse_markdown(text: str, width: int) -> list[Token]:
    """Read a Markdown text; a table that has no room, or far more cells than text, stays as it was written."""
    columns = max(line.count("|") for line in text.split("\n"))
    has_room = columns * _NARROWEST_COLUMN <= width and columns * text.count("\n") <= _MOST_CELLS
    return _parser(tables=has_room).parse(text)


def highlight(code: str, language: str, code_theme: str) -> Text:
    """Code in colours, if its language is known and that does not take too long."""
    code = code.rstrip()
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        lexer = None
    if lexer is None or (language != "json" and max(map(len, code.split("\n"))) > _LONGEST_CODE_LINE):
        return Text(code, "markdown.code_block")
    text = Syntax(code, _BoundedLexer(lexer), theme=code_theme, word_wrap=True).highlight(code)
    text.rstrip()
    text.style = ""  # without the background of the theme
    return text


def _is_json(text: str) -> bool:
    """Whether a text is an object or a list in JSON, as the answers of agents with structured output are."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _fits(tokens: Sequence[Token], width: int) -> bool:
    """Whether there is room for what is nested, so that no word is cut off."""
    indent = 0
    for token in tokens:
        indent += token.nesting * _INDENTS.get(token.type.rpartition("_")[0], 0)
        number = int(token.attrs.get("start", 0))
        if token.level > _DEEPEST or width - indent < _NARROWEST or number > _LARGEST_NUMBER:
            return False
    return True


def _without_extra_blanks(lines: list[Text]) -> Iterator[Text]:
    """The lines without blank ones at the beginning, at the end, or after another."""
    blank: Text | None = None
    started = False
    for line in lines:
        if not line.plain:
            blank = line
            continue
        if blank is not None and started:
            yield blank
        blank, started = None, True
        yield line


@cache
def _parser(*, tables: bool) -> MarkdownIt:
    """Reads Markdown without what would leave out or replace some of the text: HTML, entities, references."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MOST_NESTING})
    parser.core.ruler.at("inline", _read_paragraphs)
    parser.enable(["strikethrough", "table"] if tables else ["strikethrough"])
    # An underlined line is not a heading: models write --- for a rule, with or without a line before it.
    return parser.disable(["entity", "reference", "lheading"])


@cache
def _line_parser() -> MarkdownIt:
    """Reads nothing but where lines end."""
    return MarkdownIt("zero").enable("newline")


def _read_paragraphs(state: StateCore) -> None:
    """Read the marks in each paragraph; once that has been too much work, the rest stays as it was written."""
    work = 0
    for token in state.tokens:
        if token.type == "inline":
            # From each bracket that is not closed, the parser goes through all marks up to the end.
            brackets = min(token.content.count("["), _MOST_NESTING)
            work += brackets * len(state.md.inline.terminator_re.findall(token.content)) if brackets else 0
            reader = state.md if work <= _MOST_WORK else _line_parser()
            children: list[Token] = []
            reader.inline.parse(token.content, reader, state.env, children)
            token.children = list(_adapted(children))


def _adapted(tokens: list[Token]) -> Iterator[Token]:
    """The tokens of a paragraph for Rich: nothing is hidden, and lines break where they did."""
    says_address = False
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.type == "softbreak":
            token.type = "hardbreak"
        elif token.type == "link_open":
            text = following.content if following else ""
            says_address = token.markup == "autolink" or text == token.attrs["href"]
        elif token.type == "image":
            yield _text(f"{token.content} ({token.attrs['src']})")
            continue
        elif token.markup.startswith("_") and token.nesting:  # more often part of a name, such as __init__
            yield _text(token.markup)
            continue
        if not (says_address and token.type in ("link_open", "link_close")):
            yield token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


class _BoundedLexer(Lexer):  # type: ignore[misc] # Pygments has no types
    """A lexer that gives up when it has taken too long: the rest of the code has no colours."""

    def __init__(self, lexer: Lexer) -> None:
        super().__init__(stripnl=False)
        self._lexer = lexer

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        began = time.thread_time()
        for at, kind, token in self._lexer.get_tokens_unprocessed(text):
            if time.thread_time() - began > _HIGHLIGHT_TIME:
                yield at, CodeToken.Text, text[at:]
                return
            yield at, kind, token


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _CodeBlock(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(highlight(self.text.plain, self.lexer_name, self.theme), (0, 0, 0, 2))


class _Rule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr")


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table) and self.header is not None and self.header.row is not None:
                for column, cell in zip(table.columns, self.header.row.cells, strict=True):
                    column.justify = cell.justify
                    column.overflow = "fold"
            yield table


class _Markdown(Markdown):
    """Rich's Markdown of tokens that were read by a parser of ours."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "hr": _Rule,
        "table_open": _Table,
    }

    def __init__(self, tokens: list[Token], code_theme: str) -> None:
        super().__init__("", code_theme=code_theme, hyperlinks=False)
        self.parsed = tokens
