"""The provider-neutral interface to a model: one request, one response, no loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import date
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from maverick.config.model_settings import MODEL_SETTINGS, is_set
from maverick.model.request import DEFAULT_CONFIG, Request, RequestConfig
from maverick.model.response import Response, StreamItem
from maverick.model.usage import Price


@runtime_checkable
class LLMClient(Protocol):
    """Sends one request to a model.

    A client holds no conversation and never retries: both are the caller's. It raises
    :class:`~maverick.exceptions.AgentError` and nothing else, and when its task is cancelled it stops at once.

    A client may also have ``model``, the ``provider:model`` it asks when a request names none, ``defaults``, the
    :class:`RequestDefaults` of requests that set nothing, ``model_info(model) -> ModelInfo``, ``async aclose()``, and
    ``for_run()``, an async context manager that is entered for the length of a run and gives a :class:`RunScope`.
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
    sampling: bool | None = None
    """Whether it takes a temperature and ``top_p``."""
    forced_tools: bool | None = None
    """Whether it can be made to call a tool."""
    retires: date | None = None
    """From which day it does not answer any more."""
    successor: str = ""
    """The model to use in its place then."""
    needs_price: bool = False
    """Whether what an answer costs can only be known from the price: without one, no limit on money can be kept."""
    native_compaction: bool = False
    """Whether the provider itself condenses a conversation when ``Request.compact`` asks for it."""

    @property
    def essentials(self) -> ModelInfo:
        """What a run is decided by, and its journal keeps."""
        return ModelInfo(
            self.context_window,
            self.price,
            thinks=self.thinks,
            native_output=self.native_output,
            native_compaction=self.native_compaction,
        )


UNKNOWN_MODEL = ModelInfo()


def model_info(client: LLMClient, model: str) -> ModelInfo:
    """What the client knows of the model, if it says."""
    describe = getattr(client, "model_info", None)
    return UNKNOWN_MODEL if describe is None else describe(model)


class RunScope(Protocol):
    """What a client gets to know of a run that it keeps something open for."""

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        """A tool call of the run has its result, or was refused with this as its result."""
        ...


def run_scope(client: LLMClient) -> AbstractAsyncContextManager[RunScope | None]:
    """What the client keeps open for the length of a run, if it keeps anything."""
    keep = getattr(client, "for_run", None)
    return nullcontext() if keep is None else keep()
