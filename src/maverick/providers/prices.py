"""What models cost and how long their context is: the table in ``prices.json``, and prices that a user adds.

The table has list prices for standard requests, in US dollars per million tokens. A model whose price depends on more
than its tokens has no price here, and of a model that is not in the table nothing is known: no cost is better than a
wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from maverick.model import ModelInfo, Price
from maverick.model.client import UNKNOWN_MODEL

Entry = TypeVar("Entry")

_RELEASE_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class PriceTable:
    """What is known of models, by name; a name with a release date falls back to the name without it.

    Args:
        prices: Prices that replace, or add to, those of the table.
        list_prices: Whether the table applies.
    """

    __slots__ = ("_known", "_prices")

    def __init__(self, prices: Mapping[str, Price] | None = None, *, list_prices: bool = True) -> None:
        self._known: Mapping[str, ModelInfo] = _table() if list_prices else {}
        self._prices = dict(prices or {})

    def find(self, model: str) -> ModelInfo:
        """What is known of the model."""
        info = _entry(self._known, model) or UNKNOWN_MODEL
        price = _entry(self._prices, model) if self._prices else None
        return info if price is None else msgspec.structs.replace(info, price=price)


def _entry(entries: Mapping[str, Entry], model: str) -> Entry | None:
    return entries.get(model) or entries.get(_RELEASE_DATE.sub("", model))


@cache
def _table() -> dict[str, ModelInfo]:
    return msgspec.json.decode(
        Path(__file__).with_name("prices.json").read_bytes(), type=dict[str, ModelInfo]
    )
