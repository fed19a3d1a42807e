"""Writes what models cost, and how long their context is, from the package genai-prices into the table that Maverick reads.

Run ``make prices``. The package is for development only: see ``docs/design/dependencies.md``.
"""
# ruff: noqa: INP001 - a script beside the documents, not part of a package

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parent.parent / "src" / "maverick" / "providers" / "prices.json"
_NAMES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
}


def table(today: date) -> str:
    """The table as JSON, a model on each line.

    Args:
        today: The day whose prices are wanted.
    """
    vendors = []
    providers = import_module("genai_prices.data").providers
    for provider in providers:
        models = [
            f"    {_json(model.id)}: {_json(_entry(model, today))}"
            for model in sorted(provider.models, key=lambda model: str(model.id))
        ]
        head = {"fallback": provider.fallback_model_providers or []}
        listed = ",\n".join(models)
        vendors.append(f'  {_json(provider.id)}: {_json(head)[:-1]}, "models": {{\n{listed}\n  }}}}')
    whole = ",\n".join(vendors)
    apis = _json({provider.id: provider.api_pattern for provider in providers})
    return f'{{"as_of": "{today}", "apis": {apis}, "vendors": {{\n{whole}\n}}}}\n'


def _entry(model: Any, today: date) -> dict[str, Any]:  # noqa: ANN401 - the package is loaded by name
    # A prefix would also match the names of models that are not out yet, and guess their price.
    names = [
        clause.equals for clause in getattr(model.match, "or_", [model.match]) if hasattr(clause, "equals")
    ]
    entry = {
        "names": [name for name in names if name != model.id],
        "context_window": model.context_window,
        "price": _price(_prices_of(model, today)),
    }
    return {name: value for name, value in entry.items() if value}


def _prices_of(model: Any, today: date) -> Any:  # noqa: ANN401 - the package is loaded by name
    """The prices of a day; nothing if they depend on the hour."""
    if not isinstance(model.prices, list):
        return model.prices
    found = None
    for price in model.prices:
        start = today if price.constraint is None else getattr(price.constraint, "start_date", None)
        if start is None:
            return None
        if start <= today:
            found = price.prices
    return found


def _price(prices: Any) -> dict[str, Any] | None:  # noqa: ANN401 - the package is loaded by name
    found = {
        ours: value for theirs, ours in _NAMES.items() if (value := getattr(prices, theirs, None)) is not None
    }
    starts = {tier.start for value in found.values() for tier in getattr(value, "tiers", ())}
    if not {"input", "output"} <= found.keys() or len(starts) > 1:
        return None
    price: dict[str, Any] = {name: _number(getattr(value, "base", value)) for name, value in found.items()}
    if starts:
        price["long"] = {
            name: _number(value.tiers[0].price if hasattr(value, "tiers") else value)
            for name, value in found.items()
        }
        price["long_from"] = starts.pop()
    return price


def _number(value: Any) -> float:  # noqa: ANN401 - a decimal
    return int(value) if value == int(value) else float(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    TABLE.write_text(table(datetime.now(UTC).date()), encoding="utf-8")
