"""What the CLI has used besides the turns of its conversation, such as a small model that reads a web page for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from maverick.model import Usage

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage


def hidden_usage(result: ResultMessage, charged: Usage) -> Usage:
    """What the CLI says it has used since it was started, less what its turns have said.

    Args:
        result: How the CLI sums up.
        charged: What its turns have used, and what of this was found earlier.
    """
    used = _used((result.model_usage or {}).values())
    hidden = Usage(
        max(used.input_tokens - charged.input_tokens, 0),
        max(used.output_tokens - charged.output_tokens, 0),
        max(used.cache_read_tokens - charged.cache_read_tokens, 0),
        max(used.cache_write_tokens - charged.cache_write_tokens, 0),
    )
    if not hidden.total_tokens or result.total_cost_usd is None or charged.cost_usd is None:
        return hidden
    return replace(hidden, cost_usd=max(result.total_cost_usd - charged.cost_usd, 0.0))


def _used(models: Iterable[Mapping[str, Any]]) -> Usage:
    total = Usage()
    for model in models:
        read, written = model["cacheReadInputTokens"], model["cacheCreationInputTokens"]
        total += Usage(model["inputTokens"] + read + written, model["outputTokens"], read, written)
    return total
