"""What Claude refuses together with thinking, by the vendor's documentation."""

from __future__ import annotations

from maverick.misuse import refuse
from maverick.model.request import RequestConfig

_LEAST_BUDGET = 1024
_LEAST_TOP_P = 0.95


def check_thinking(config: RequestConfig) -> None:
    """Refuse a budget that Claude does not take, and sampling that it does not take while it thinks."""
    if config.thinking is None or config.thinking == "off":
        return
    if isinstance(config.thinking, int):
        _check_budget(config.thinking, config.max_tokens)
    if config.temperature not in {None, 1}:
        refuse("temperature", "Claude takes none but 1 while it thinks. Leave it out, or turn thinking off.")
    if config.top_p is not None and config.top_p < _LEAST_TOP_P:
        refuse(
            "top_p",
            f"Claude takes {_LEAST_TOP_P} to 1 while it thinks, got {config.top_p:g}. "
            "Leave it out, or turn thinking off.",
        )


def _check_budget(budget: int, max_tokens: int | None) -> None:
    if budget < _LEAST_BUDGET:
        refuse(
            "thinking",
            f"Claude takes a budget of at least {_LEAST_BUDGET} tokens, got {budget}. Raise it, or turn thinking off.",
        )
    if max_tokens and budget >= max_tokens:
        refuse(
            "thinking",
            f"a budget of {budget} tokens leaves none of max_tokens ({max_tokens}) for the answer. "
            "Raise max_tokens, or lower the budget.",
        )
