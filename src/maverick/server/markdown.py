"""Markdown as HTML that is safe to put into the page: read by markdown-it, coloured by Pygments, bounded in work.

Nothing of the text becomes an element or an attribute except as Markdown says: HTML in it stays text, links lead to web and
mail addresses alone, and pictures are links, so that nothing is fetched until somebody follows one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore, linkify
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped] # Pygments has no types
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

_LONGEST = 200_000
"""Characters of a text that is read as Markdown; a longer one is shown as it was written."""
_MOST_NESTING = 20
_MOST_MARKS = 2_000
"""Characters of a paragraph that may mean something in Markdown; one with more stays as it was written."""
_MOST_WORK = 20_000
"""Looks at a mark, in search of the ends of links, that a paragraph may take: the same."""
_MOST_CELLS = 5_000
"""Cells of all tables of a text: rows are filled up to the width of the table, so that a short text can have very many."""
_LONGEST_PARAGRAPH = 10_000
"""Characters of a paragraph in which bare addresses are found."""
_LONGEST_CODE_LINE = 2_000
_HIGHLIGHT_SECONDS = 0.1
"""CPU time that the colours of one piece of code may take: many lexers are quadratic at worst."""
_SHARE = 16
"""An unfinished block is rendered again when it has grown by one part in this many, so that the work stays linear."""


def render_markdown(text: str) -> list[str]:
    """The HTML of a Markdown text: one element for each of its blocks."""
    return [html for _, html in _blocks(text.replace("\r", ""))]


class MarkdownStream:
    """A Markdown text that is rendered while it is written, again only from its last unfinished block on."""

    def __init__(self) -> None:
        self._settled = ""
        self._tail = ""
        self._count = 0
        self._unshown = 0

    @property
    def unsettled(self) -> int:
        """How many characters the next rendering reads."""
        return len(self._tail)

    def feed(self, text: str) -> tuple[int, list[str]] | None:
        """Add to the text; returns from which block on it is different now, and those; ``None`` if that can wait."""
        self._tail += text.replace("\r", "")
        self._unshown += len(text)
        if self._unshown * _SHARE < len(self._tail):
            return None
        return self.flush()

    def flush(self) -> tuple[int, list[str]] | None:
        """What is different since the last time, if anything is."""
        if not self._unshown:
            return None
        first, found, lines = self._count, _blocks(self._tail), self._tail.split("\n")
        self._unshown = 0
        # What is before a block cannot change any more once the first line of that block is over.
        begun = [at for at, _ in found if at < len(lines) - 1]
        if len(begun) > 1:
            self._settled += "\n".join(lines[: begun[-1]]) + "\n"
            self._tail = "\n".join(lines[begun[-1] :])
            self._count += len(begun) - 1
        return first, [html for _, html in found]

    def whole(self) -> tuple[int, list[str]]:
        """All blocks, for a reader who may have seen them divided in another way."""
        self._unshown = 0
        return 0, render_markdown(self._settled + self._tail)


def _blocks(text: str) -> list[tuple[int, str]]:
    """The blocks of a text: the line each begins in, and its HTML."""
    if len(text) > _LONGEST:
        return [(0, f'<p class="plain-text">{escape(text)}</p>')]
    parser = _parser()
    env: EnvType = {}
    return [
        (block[0].map[0] if block[0].map else 0, parser.renderer.render(block, parser.options, env))
        for block in _top_level(parser.parse(text, env))
    ]


def _top_level(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    begun = 0
    for at, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            yield tokens[begun : at + 1]
            begun = at + 1


_OUTSIDE = {"target": "_blank", "rel": "noopener noreferrer nofollow"}
_TASK = re.compile(r"\[([ xX])\] ")


class _Renderer(RendererHTML):
    """The elements of the page: code with its language and a button, tables that scroll, links that tell no one."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002 - markdown-it's
        info = tokens[idx].info.split()
        return _code(tokens[idx].content, info[0] if info else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002 - markdown-it's
        return _code(tokens[idx].content, "")

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002 - markdown-it's
        """A link, since a picture would be fetched."""
        source = str(tokens[idx].attrs["src"])
        words = escape(tokens[idx].content or source)
        leads = _is_link(source) and not tokens[idx].meta.get("in_link")  # links do not nest
        link = "".join(f' {name}="{escape(value)}"' for name, value in {"href": source, **_OUTSIDE}.items())
        return f"<a{link}>{words}</a>" if leads else words

    def table_open(self, *_: object) -> str:
        return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'

    def table_close(self, *_: object) -> str:
        return "</table></div>"


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt(
        "commonmark",
        {"html": False, "linkify": True, "breaks": True, "maxNesting": _MOST_NESTING},
        renderer_cls=_Renderer,
    )
    # A reference may be defined after its use, so a block would change when it is over. An underlined line is no heading:
    # models write --- for a rule.
    parser.enable(["table", "strikethrough", "linkify"]).disable(["reference", "lheading"])
    parser.validateLink = _is_link  # type: ignore[method-assign]  # markdown-it documents this as the way to do it
    if parser.linkify is not None:
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    parser.block.ruler.at("table", _read_table, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.at("inline", _read_paragraphs)
    parser.core.ruler.at("linkify", _find_addresses)
    parser.core.ruler.push("page", _adapt)
    return parser


@cache
def _plain_parser() -> MarkdownIt:
    return MarkdownIt("zero", {"breaks": True}).enable("newline")


def _is_link(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://", "mailto:"))


def _read_table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A table, as long as there are not too many cells; the others stay as they were written."""
    if silent:
        return table(state, first, end, silent)
    after = next((line for line in range(first, end) if state.isEmpty(line)), end)
    columns = state.src.count("|", state.bMarks[first], state.eMarks[first]) + 1
    cells = state.env.get("cells", 0) + columns * (after - first)
    if cells > _MOST_CELLS or not table(state, first, end, silent):
        return False
    state.env["cells"] = cells
    return True


def _read_paragraphs(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline":
            # From each bracket that is not closed, the parser goes through all marks up to the end.
            marks = len(state.md.inline.terminator_re.findall(token.content))
            is_bounded = marks <= _MOST_MARKS and marks * token.content.count("[") <= _MOST_WORK
            reader = state.md if is_bounded else _plain_parser()
            token.children = []
            reader.inline.parse(token.content, reader, state.env, token.children)


def _find_addresses(state: StateCore) -> None:
    everything = state.tokens
    state.tokens = [token for token in everything if len(token.content) <= _LONGEST_PARAGRAPH]
    linkify(state)
    state.tokens = everything


def _adapt(state: StateCore) -> None:
    """Attributes and levels as the page has them."""
    for at, token in enumerate(state.tokens):
        if token.type == "inline" and at > 1 and state.tokens[at - 2].type == "list_item_open":
            _tick(state.tokens[at - 2], token)
        if token.type in ("heading_open", "heading_close"):
            token.attrs = {"class": f"heading {token.tag}"} if token.nesting > 0 else {}
            token.tag = "h2"  # the page's own title is above it, whatever level a text begins with
        elif token.type in ("th_open", "td_open"):
            side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            if side:  # the page's policy allows no style in an element
                token.attrs["class"] = f"align-{side}"
        leads, links = True, 0
        for child in token.children or ():
            links += child.nesting if child.type in ("link_open", "link_close") else 0
            if child.type == "image":
                child.meta["in_link"] = links > 0
            if child.type == "link_open":
                href = str(child.attrs["href"])
                leads = _is_link(href)
                child.attrs = {"href": href, **_OUTSIDE} if leads else {}
            if child.type in ("link_open", "link_close") and not leads:
                child.tag = "span"  # links do not nest


def _tick(item: Token, words: Token) -> None:
    """A task of a list: its box as a character, so that it is read out and copied like the words."""
    first = words.children[0] if words.children else None
    found = None if first is None or first.type != "text" else _TASK.match(first.content)
    if first is not None and found:
        item.attrs["class"] = "task-item"
        first.content = f"{'☐' if found[1] == ' ' else '☑'} {first.content[found.end() :]}"


def _code(code: str, language: str) -> str:
    name = escape(language[:30])
    return (
        f'<div class="code"><div class="code-head"><span>{name}</span>'
        '<button type="button" class="plain small copy-code">Copy</button></div>'
        f'<pre tabindex="0" role="group" aria-label="Code"><code>{"".join(_coloured(code, language))}</code></pre></div>'
    )


def _coloured(code: str, language: str) -> Iterator[str]:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = None
    if lexer is None or max(map(len, code.split("\n"))) > _LONGEST_CODE_LINE:
        yield escape(code)
        return
    began = time.thread_time()
    for at, kind, piece in lexer.get_tokens_unprocessed(code):
        if time.thread_time() - began > _HIGHLIGHT_SECONDS:
            yield escape(code[at:])
            return
        name = STANDARD_TYPES.get(kind, "")[:1]
        yield f'<span class="{name}">{escape(piece)}</span>' if name in "kscmno" and name else escape(piece)
