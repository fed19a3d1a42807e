"""What is known of models: prices and context windows, what they take, and when they are retired.

``prices.json`` has list prices for standard requests, in US dollars per million tokens, from the package genai-prices
(``make prices``). ``models.json`` has what that package does not: what vendors' pages say a model takes, and when it
ends. Of a model that is in neither, nothing is known: no cost is better than a wrong one, and nothing is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from maverick.misuse import refuse
from maverick.model import ModelInfo, Price
from maverick.model.client import UNKNOWN_MODEL
from maverick.telemetry import logger

Entry = TypeVar("Entry")

_RELEASE_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_SOON = timedelta(days=60)
_warned: set[str] = set()


class PriceTable:
    """What is known of a vendor's models, by name; a name with a release date falls back to the name without it.

    ``prices`` replace, or add to, those of the vendor's list. The vendor of a service that is not known is empty.
    """

    __slots__ = ("_prices", "_vendor")

    def __init__(self, prices: Mapping[str, Price] | None = None, *, vendor: str = "anthropic") -> None:
        self._vendor = vendor
        self._prices = dict(prices or {})
        for model, price in self._prices.items():
            if not isinstance(price, Price):
                refuse(
                    "prices",
                    f"expected a Price for {model!r}, such as Price(input=1, output=2), got {price!r}.",
                )

    def find(self, model: str) -> ModelInfo:
        """What is known of the model."""
        info = (_entry(vendor_models(self._vendor), model) if self._vendor else None) or _UNKNOWN
        price = _entry(self._prices, model) if self._prices else None
        return info if price is None else msgspec.structs.replace(info, price=price)

    def nearest(self, model: str) -> str:
        """The known model whose name is nearest to this one, for an error; empty if none is near."""
        known = dict.fromkeys([*self._prices, *(vendor_models(self._vendor) if self._vendor else ())], True)
        if _entry(known, model):
            return model
        if self._vendor == "azure" or model.startswith("ft:"):  # the user has named it
            return ""
        from difflib import get_close_matches  # here, since most programs name a model that exists

        # 'sonnet-5-5' is near 'claude-sonnet-5-5'; what shares only the vendor's name is not.
        return next(iter(get_close_matches(model, known, 1, cutoff=0.74)), "")


_UNKNOWN = msgspec.structs.replace(UNKNOWN_MODEL, needs_price=True)


class _Vendor(Struct):
    fallback: list[str]
    models: dict[str, dict[str, Any]]


class _Prices(Struct):
    as_of: date
    apis: dict[str, str]
    """By vendor, what its addresses match."""
    vendors: dict[str, Raw]


@cache
def vendor_models(vendor: str) -> Mapping[str, ModelInfo]:
    """The models of a vendor by name, and those that it sells of others."""
    if vendor not in _prices().vendors:
        return {}
    listed = _vendor(vendor)
    known: dict[str, dict[str, Any]] = {}
    for name, entry in listed.models.items():
        for alias in (name, _RELEASE_DATE.sub("", name), *entry.pop("names", ())):
            known.setdefault(alias, entry)
    for facts in _facts().get(vendor, ()):
        named = set(facts["models"])
        for name in {*named, *(name for name in known if _RELEASE_DATE.sub("", name) in named)}:
            known[name] = {**known.get(name, {}), **facts}
    found = {
        name: msgspec.convert({**entry, "needs_price": True}, ModelInfo) for name, entry in known.items()
    }
    for other in listed.fallback:
        found = {**vendor_models(other), **found}
    return found


def vendor_at(base_url: str) -> str:
    """The vendor whose API is at an address; empty if it is not known."""
    if not base_url:  # the table takes milliseconds to load
        return ""
    return next((name for name, pattern in _prices().apis.items() if re.match(pattern, base_url)), "")


def listed_models() -> Iterator[tuple[str, str, ModelInfo]]:
    """Every model that is known: its vendor, its name, and what is known of it."""
    for vendor in _prices().vendors:
        named = {
            *_vendor(vendor).models,
            *(name for facts in _facts().get(vendor, ()) for name in facts["models"]),
        }
        models = vendor_models(vendor)
        yield from ((vendor, name, models[name]) for name in sorted(named))


def prices_as_of() -> date:
    """The day whose prices the table has."""
    return _prices().as_of


def retirement_notice(model: str, info: ModelInfo, today: date | None = None) -> str:
    """What to say of a model that is retired, or will be soon; empty for any other."""
    day = today or datetime.now(UTC).date()
    if info.retires is None or day < info.retires - _SOON:
        return ""
    when = "was retired" if info.retires <= day else "will be retired"
    return f"{model} {when} on {info.retires}. Use {info.successor} in its place."


def warn_of_retirement(model: str, info: ModelInfo) -> None:
    """Log that a model is retired, or will be soon: once in a process for each model."""
    if model not in _warned and (notice := retirement_notice(model, info)):
        _warned.add(model)
        logger.warning(notice)


def _entry(entries: Mapping[str, Entry], model: str) -> Entry | None:
    return entries.get(model) or entries.get(_RELEASE_DATE.sub("", model))


@cache
def _prices() -> _Prices:
    return msgspec.json.decode(_read("prices.json"), type=_Prices)


@cache
def _vendor(name: str) -> _Vendor:
    return msgspec.json.decode(_prices().vendors[name], type=_Vendor)


@cache
def _facts() -> dict[str, list[dict[str, Any]]]:
    return msgspec.json.decode(_read("models.json"), type=dict[str, list[dict[str, Any]]])


def _read(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()
