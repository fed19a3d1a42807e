"""What the dialects of JSON Schema that models can be held to have in common."""

from __future__ import annotations

from typing import Any


class InexpressibleError(Exception):
    """The dialect has no words for the schema."""


def with_limits_told(strict: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """The schema with the limits that the dialect does not know in its description, where the model still reads them."""
    if not limits:
        return strict
    told = ", ".join(f"{name}: {value}" for name, value in limits.items())
    return {**strict, "description": f"{strict.get('description', '')}\n\n({told})".strip()}
