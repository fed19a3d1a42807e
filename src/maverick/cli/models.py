"""``maverick models``: what is known of models, such as what they cost and when they are retired."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fnmatch import fnmatch

from msgspec import to_builtins

from maverick.cli.formatting import columns_of, json_text, table
from maverick.cli.parser import name_lines
from maverick.cli.screen import Screen
from maverick.exceptions import InvalidInputError
from maverick.model import ModelInfo
from maverick.providers.prices import listed_models, prices_as_of, retirement_notice
from maverick.tui.figures import counted

_COLUMNS = columns_of("MODEL", ">WINDOW", ">IN", ">OUT", ">CACHED", "RETIRES", "TAKES…")
_PREFIXES = {"anthropic": "claude:", "openai": "openai:"}
"""The providers of the vendors that are reached without an address; of another one, the name is shown."""


def list_models(options: argparse.Namespace) -> None:
    """List models: the current ones of Claude and OpenAI, or those of any vendor that match a pattern."""
    found = _all_models()
    if options.pattern in (None, "list"):  # as other commands have it
        shown = current_models()
    else:
        pattern = options.pattern if "*" in options.pattern else f"*{options.pattern}*"
        shown = [(name, info) for name, info in found if fnmatch(name, pattern)]
        if not shown:
            raise InvalidInputError(f"No model matches {options.pattern!r}.", field="pattern")
    screen = Screen.of_process()
    if options.names:
        screen.say(name_lines(name for name, _ in shown))
        return
    if options.as_json:
        screen.say(f"{json_text([{'model': name, **_fields(info)} for name, info in shown])}\n")
        return
    rows = [_row(name, info) for name, info in shown]
    screen.say(table(_COLUMNS, rows))
    screen.remark(
        f"US dollars per million tokens, as of {prices_as_of()}; {counted(len(found), 'model')} are known"
    )


def offered_models(provider: str) -> list[str]:
    """The current models of a provider, as ``provider:model``."""
    return [name for name, _ in current_models() if name.startswith(f"{provider}:")]


def current_models() -> list[tuple[str, ModelInfo]]:
    """The models of Claude and OpenAI that are not retired, by their full names."""
    return [
        (name, info)
        for name, info in _all_models()
        if info.media and "was retired" not in retirement_notice("", info)
    ]


def _all_models() -> list[tuple[str, ModelInfo]]:
    return [(f"{_PREFIXES.get(vendor, f'{vendor}/')}{name}", info) for vendor, name, info in listed_models()]


def _fields(info: ModelInfo) -> dict[str, object]:
    known: dict[str, object] = to_builtins(info)
    known.pop("needs_price", None)
    return known


def _row(name: str, info: ModelInfo) -> tuple[str, ...]:
    price = info.price
    figures = (None, None, None) if price is None else (price.input, price.output, price.cache_read)
    return (
        name,
        "?" if info.context_window is None else f"{info.context_window:,}",
        *("?" if figure is None else f"{figure:g}" for figure in figures),
        "" if info.retires is None else str(info.retires),
        ", ".join(_takes(info)),
    )


def _takes(info: ModelInfo) -> Iterator[str]:
    if info.effort:
        yield f"effort to {info.effort[-1]}"
    if info.thinking:
        yield f"thinking {'/'.join(info.thinking)}"
    yield from (f"{kind}s" for kind in info.media or ())
