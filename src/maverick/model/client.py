"""The provider-neutral interface to a model: one request, one response, no loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import date
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from maverick.config.model_settings import MODEL_SETTINGS, Thinking, is_set
from maverick.exceptions import InvalidInputError
from maverick.misuse import refuse
from maverick.model.media import Document, Image
from maverick.model.message import Message
from maverick.model.request import DEFAULT_CONFIG, Request, RequestConfig
from maverick.model.response import Response, StreamItem
from maverick.model.usage import Price


@runtime_checkable
class LLMClient(Protocol):
    """Sends one request to a model.

    A client holds no conversation and never retries: both are the caller's. It raises
    :class:`~maverick.exceptions.AgentError` and nothing else, and when its task is cancelled it stops at once.

    Executors take a client that has ``run()`` alone, too: its answers come as one piece.

    A client may also have ``model``, the ``provider:model`` it asks when a request names none, ``defaults``, the
    :class:`RequestDefaults` of requests that set nothing, ``model_info(model) -> ModelInfo``, ``check(request)``, which
    refuses settings before a run begins, ``async aclose()``, and ``for_run()``, an async context manager that is entered
    for the length of a run and gives a :class:`RunScope`.
    """

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        ...


class RequestDefaults(Struct, frozen=True):
    """What holds for a request that does not say otherwise."""

    config: RequestConfig = DEFAULT_CONFIG
    """The settings; its model does not count."""
    request_timeout: float | None = None
    """How many seconds one model call of a run may take."""
    given: dict[str, Any] = {}
    """The settings that say anything, by name."""

    def __post_init__(self) -> None:
        values = ((name, getattr(self.config, name)) for name in MODEL_SETTINGS)
        force_setattr(self, "given", {name: value for name, value in values if is_set(value)})

    def completed(self, config: RequestConfig) -> RequestConfig:
        """The settings of a request with what they leave open.

        A request that is to be answered without tools gets none of the provider's either.
        """
        changes = {name: value for name, value in self.given.items() if not is_set(getattr(config, name))}
        if config.tool_choice == "none":
            changes.pop("server_tools", None)
        return replace(config, **changes) if changes else config

    def applied_to(self, request: Request) -> Request:
        """The request with what it leaves open."""
        config = self.completed(request.config)
        return request if config is request.config else replace(request, config=config)


NO_DEFAULTS = RequestDefaults()


def own_model(client: LLMClient) -> str:
    """The ``provider:model`` that the client asks when a request names none; empty if it does not say."""
    model = getattr(client, "model", "")
    return model if isinstance(model, str) else ""


def request_defaults(client: LLMClient) -> RequestDefaults:
    """What the client fills in for requests that set nothing."""
    defaults = getattr(client, "defaults", NO_DEFAULTS)
    return defaults if isinstance(defaults, RequestDefaults) else NO_DEFAULTS


class ModelInfo(Struct, frozen=True, omit_defaults=True):
    """What a client knows of a model. ``None`` is "not known", never a guess."""

    context_window: int | None = None
    """The most tokens a request and its answer may have together."""
    price: Price | None = None
    """What it costs."""
    thinks: bool = False
    """Whether it thinks unless it is told not to; what it thinks counts towards ``max_tokens``."""
    native_output: bool = False
    """Whether the provider itself holds the answer to ``Request.output``."""
    max_output: int | None = None
    """The most tokens an answer may have."""
    media: tuple[str, ...] | None = None
    """What it reads besides text: ``image``, ``document``."""
    effort: tuple[str, ...] | None = None
    """The levels of effort it takes."""
    thinking: tuple[str, ...] | None = None
    """The ways of thinking it takes: ``adaptive``, ``between_tools``, ``off``, and ``budget`` for a number of tokens."""
    sampling: bool | Literal["thinking off"] | None = None
    """Whether it takes a temperature and ``top_p``, or does so only where ``thinking`` is ``off``."""
    forced_tools: bool | None = None
    """Whether it can be made to call a tool."""
    retires: date | None = None
    """From which day it does not answer any more."""
    successor: str = ""
    """The model to use in its place then."""
    needs_price: bool = False
    """Whether what an answer costs can only be known from the price: without one, no limit on money can be kept."""
    native_compaction: bool = False
    """Whether the provider itself compacts a conversation when ``Request.compact`` asks for it."""
    least_output: int = 1
    """The fewest tokens that an answer may be limited to."""

    def essentials(self, thinking: Thinking = None) -> ModelInfo:
        """What a run is decided by, and its journal keeps; a budget for thinking has to leave room for an answer."""
        return ModelInfo(
            self.context_window,
            self.price,
            thinks=self.thinks,
            native_output=self.native_output,
            native_compaction=self.native_compaction,
            least_output=max(self.least_output, thinking + 1 if type(thinking) is int else 1),
        )


UNKNOWN_MODEL = ModelInfo()


def model_info(client: LLMClient, model: str) -> ModelInfo:
    """What the client knows of the model, if it says."""
    describe = getattr(client, "model_info", None)
    return UNKNOWN_MODEL if describe is None else describe(model)


_MEDIA = {Image: "image", Document: "document"}
_NO_SAMPLING: Sequence[Literal[False, "thinking off"]] = (False, "thinking off")


def check_settings(
    config: RequestConfig, info: ModelInfo, model: str, tools: Collection[str] | None = None
) -> None:
    """Refuse settings that a model does not take; the error names the setting and what the model takes instead.

    ``tools`` are the names of the tools on offer, for the choice of one.
    """
    if config.effort is not None:
        _check("effort", config.effort, info.effort, model)
    if config.thinking is not None:
        mode = "budget" if isinstance(config.thinking, int) else config.thinking
        _check("thinking", mode, info.thinking, model)
    _check_sampling(config, info, model)
    if info.max_output is not None and (config.max_tokens or 0) > info.max_output:
        refuse("max_tokens", f"{model} writes at most {info.max_output:,} tokens, got {config.max_tokens:,}.")
    choice = config.tool_choice
    if choice in (None, "auto", "none"):
        return
    if info.forced_tools is False:
        refuse(
            "tool_choice",
            f"{model} cannot be made to call a tool. Leave it at 'auto', and ask for the call in the prompt.",
        )
    if tools is not None and (not tools or (choice != "required" and choice not in tools)):
        named = ", ".join(sorted(tools)) or "none"
        refuse(
            "tool_choice",
            f"expected 'auto', 'none', 'required' or a tool on offer ({named}), got {choice!r}.",
        )


def _check_sampling(config: RequestConfig, info: ModelInfo, model: str) -> None:
    named = [name for name in ("temperature", "top_p") if getattr(config, name) is not None]
    if named and info.sampling is False:
        _check(named[0], "", (), model)
    if named and info.sampling == "thinking off" and config.thinking != "off":
        refuse(
            named[0], f"{model} takes it only where it does not think. Leave it out, or set thinking='off'."
        )


def check_request(client: LLMClient, request: Request) -> None:
    """Let the client refuse a request with settings that its service does not take, without sending it."""
    check = getattr(client, "check", None)
    if check is not None:
        check(request)


def check_media(messages: Iterable[Message], info: ModelInfo, model: str) -> None:
    """Refuse images and documents that a model does not read."""
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
        sampling=next(
            (limit for limit in _NO_SAMPLING if any(info.sampling == limit for info in infos)), None
        ),
        forced_tools=False if any(info.forced_tools is False for info in infos) else None,
        needs_price=any(info.needs_price for info in infos),
        least_output=max(info.least_output for info in infos),
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


class RunScope(Protocol):
    """What a client gets to know of a run that it keeps something open for."""

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        """A tool call of the run has its result, or was refused with this as its result."""
        ...


def run_scope(client: LLMClient) -> AbstractAsyncContextManager[RunScope | None]:
    """What the client keeps open for the length of a run, if it keeps anything."""
    keep = getattr(client, "for_run", None)
    return nullcontext() if keep is None else keep()
