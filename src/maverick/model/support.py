"""Whether a model takes what it is asked with, as far as that is known; what is not known is let through."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from maverick.exceptions import InvalidInputError
from maverick.model.client import ModelInfo
from maverick.model.media import Document, Image
from maverick.model.message import Message
from maverick.model.request import RequestConfig

_MEDIA = {Image: "image", Document: "document"}


def check_settings(
    config: RequestConfig, info: ModelInfo, model: str, tools: Collection[str] | None = None
) -> None:
    """Refuse settings that a model does not take.

    Args:
        config: The settings.
        info: What is known of the model.
        model: Its name, for the error.
        tools: The names of the tools on offer; not checked if it is not given.

    Raises:
        InvalidInputError: A setting does not fit; the message names it and what the model takes instead.
    """
    if config.effort is not None:
        _check("effort", config.effort, info.effort, model)
    if config.thinking is not None:
        mode = "budget" if isinstance(config.thinking, int) else config.thinking
        _check("thinking", mode, info.thinking, model)
    if info.sampling is False:
        for name in ("temperature", "top_p"):
            if getattr(config, name) is not None:
                _check(name, "", (), model)
    if info.max_output is not None and (config.max_tokens or 0) > info.max_output:
        raise InvalidInputError(
            f"max_tokens: {model} writes at most {info.max_output:,} tokens, got {config.max_tokens:,}.",
            field="max_tokens",
        )
    choice = config.tool_choice
    if choice in (None, "auto", "none"):
        return
    if info.forced_tools is False:
        raise InvalidInputError(
            f"tool_choice: {model} cannot be made to call a tool. Leave it at 'auto', and ask for the call in the prompt.",
            field="tool_choice",
        )
    if tools is not None and (not tools or (choice != "required" and choice not in tools)):
        named = ", ".join(sorted(tools)) or "none"
        raise InvalidInputError(
            f"tool_choice: expected 'auto', 'none', 'required' or a tool on offer ({named}), got {choice!r}.",
            field="tool_choice",
        )


def check_media(messages: Iterable[Message], info: ModelInfo, model: str) -> None:
    """Refuse images and documents that a model does not read.

    Raises:
        InvalidInputError: There is one.
    """
    if info.media is None:
        return
    for message in messages:
        for part in message.parts:
            kind = _MEDIA.get(type(part))
            if kind is not None and kind not in info.media:
                raise InvalidInputError(
                    f"{model} reads no {kind}s. Leave them out, or choose another model.", field="messages"
                )


def common_info(infos: Sequence[ModelInfo]) -> ModelInfo:
    """What holds for each of several models; the price is that of the first, if none lacks one that it needs."""
    return ModelInfo(
        min((info.context_window for info in infos if info.context_window is not None), default=None),
        None if any(info.needs_price and info.price is None for info in infos) else infos[0].price,
        thinks=any(info.thinks for info in infos),
        native_output=all(info.native_output for info in infos),
        max_output=min((info.max_output for info in infos if info.max_output is not None), default=None),
        media=_common([info.media for info in infos]),
        effort=_common([info.effort for info in infos]),
        thinking=_common([info.thinking for info in infos]),
        sampling=False if any(info.sampling is False for info in infos) else None,
        forced_tools=False if any(info.forced_tools is False for info in infos) else None,
        needs_price=any(info.needs_price for info in infos),
    )


def _common(taken: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    known = [choices for choices in taken if choices is not None]
    return (
        tuple(choice for choice in known[0] if all(choice in choices for choices in known)) if known else None
    )


def _check(name: str, value: str, taken: tuple[str, ...] | None, model: str) -> None:
    if taken is None or value in taken:
        return
    if not taken:
        problem = f"{name}: {model} does not take it. Leave it out, or choose another model."
    else:
        choices = ", ".join(repr(choice) if choice != "budget" else "a number of tokens" for choice in taken)
        got = "a number of tokens" if value == "budget" else repr(value)
        problem = f"{name}: {model} takes {choices}, not {got}."
    raise InvalidInputError(problem, field=name)
