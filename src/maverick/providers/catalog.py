"""The list of providers, and ``connect``, which makes a client from a ``provider:model`` string.

A provider is a function ``connect(model, **options) -> Client``. The built-in ones are modules of this package, which
are imported on use. Another package adds its own through an entry point::

    [project.entry-points."maverick.providers"]
    acme = "acme_maverick"              # a module with such a function, or "acme_maverick:connect" itself

A package cannot replace a built-in provider: installed packages are not searched for its name, since that reads a file
of each of them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from msgspec.structs import replace

from maverick.config import DEFAULT, AgentConfig, Secret, load_config
from maverick.config.installation import extra_needed
from maverick.config.model_settings import MODEL_SETTINGS, CacheLifetime, Effort, ThinkingMode
from maverick.config.provider_names import BUILT_IN, installed_providers
from maverick.exceptions import AgentError, ErrorKind, InvalidInputError, describe_unknown
from maverick.model import Price
from maverick.model.client import RequestDefaults
from maverick.providers.client import Client
from maverick.providers.http.transport import Timeouts, Transport
from maverick.providers.resolve import ResolvedModel, resolve
from maverick.telemetry import logger

if TYPE_CHECKING:
    import ssl

    from maverick.providers.claude.sdk import SDKClient

_FOR_ALL = (*MODEL_SETTINGS, "request_timeout")
"""Options that every provider has: they apply to requests that set nothing else."""


class ModelSettings(TypedDict, total=False):
    """Settings of :class:`~maverick.loop.ModelConfig` that apply where a definition leaves them open."""

    temperature: float | None
    stop_sequences: Sequence[str] | None
    tool_choice: str | None
    top_p: float | None
    server_tools: Sequence[str | dict[str, Any]] | None
    extra: Mapping[str, Any] | None


class ConnectOptions(ModelSettings, total=False):
    """What :func:`~maverick.providers.connect` takes besides its named parameters; each provider takes some of it."""

    headers: Mapping[str, str] | None
    """Headers to add to each request, such as ``anthropic-beta``. One with a key replaces ``api_key``."""
    timeouts: Timeouts | None
    """How long to wait for a connection, the first content, and the next."""
    tls: ssl.SSLContext | None
    """Whom to trust; by default the authorities that the system trusts."""
    transport: Transport | None
    """What sends requests, in place of our own HTTP client with ``timeouts``, ``tls`` and ``max_answer_bytes``. It may be
    shared, and stays open when the client is closed."""
    max_answer_bytes: int
    """The most that is read of one streamed answer; of one that comes whole, a sixteenth."""
    prices: Mapping[str, Price] | None
    """Prices that replace, or add to, those that Maverick knows; needed for models of servers that it does not know."""
    thoughts_field: str
    """``openai-chat:``: the field in which a model's thoughts are sent back to it, such as ``reasoning_content`` for models
    that continue thinking between tool calls; by default they are not sent back."""
    client: SDKClient | None
    """``claude-sdk:``: a client of the official SDK, set up elsewhere."""
    cwd: str | os.PathLike[str] | None
    """``claude-code:``: the folder that the CLI works in."""
    cli_path: str | os.PathLike[str] | None
    """``claude-code:``: the program, in place of the one that comes with the SDK."""
    env: Mapping[str, str] | None
    """``claude-code:``: variables to add to the CLI's environment."""
    context_window: int
    """``local:``: how many tokens the model reads."""
    threads: int | None
    """``local:``: how many threads compute."""
    gpu_layers: int | None
    """``local:``: how many layers are on the GPU."""
    load_timeout: float
    """``local:``: the seconds that loading the model may take."""
    live: str | None
    """``cassette:``: the ``provider:model`` to ask for what was not recorded."""
    pace: float
    """``offline:``: the seconds between two words."""


def connect(
    model: str | None = None,
    /,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    effort: Effort | None = None,
    thinking: ThinkingMode | None = None,
    cache: CacheLifetime | None = None,
    request_timeout: float | None = None,
    settings: AgentConfig | None = None,
    **options: Unpack[ConnectOptions],
) -> Client:
    """Make a client of a model, such as ``connect("claude:claude-sonnet-5-5")``.

    The client opens its connections on first use. Use it as ``async with connect(…) as client``, or call
    ``await client.aclose()`` when done.

    Args:
        model: ``provider:model``; what the second half means is up to the provider (``cassette:run.json``
            is a file, ``offline:`` needs none). By default the model in the settings.
        api_key: The key; by default the one in the settings or the environment.
        base_url: The address of the API; by default the one in the settings, or else the provider's.
        max_tokens: The most tokens of one answer, as in :class:`~maverick.loop.ModelConfig`; so are the next three. They
            apply to requests that set nothing else.
        effort: How much work the model puts into an answer.
        thinking: When the model thinks, or for how many tokens at most.
        cache: How long the provider is to keep the prompt in its cache.
        request_timeout: The seconds that one model call may take.
        settings: What applies where no option is given: the key and the address if they are set for this provider,
            the timeout, and what requests leave open. By default the settings of files and environment.
        **options: The other settings of a model, and what only some providers have: see
            :class:`~maverick.providers.catalog.ConnectOptions`. A provider of another package may take other ones.

    Raises:
        InvalidInputError: There is no such provider, or it has no such option.
        ConfigError: The settings are wrong; or no model is named and there is no key for the configured one.
        AgentError: The provider cannot be used as it is installed; its ``kind`` is ``invalid``.
    """
    resolved = resolve(load_config().agent if settings is None else settings, wanted=model)
    used = replace(resolved, base_url=base_url or resolved.base_url)
    if api_key is not None:
        sources = {**resolved.sources, "api_key": "api_key="}
        used = replace(used, api_key=Secret(api_key), sources=sources)
    used.check() if api_key is None and model is None else used.check_key_owner()
    named = {
        "api_key": api_key,
        "base_url": base_url,
        "max_tokens": max_tokens,
        "effort": effort,
        "thinking": thinking,
        "cache": cache,
        "request_timeout": request_timeout,
    }
    return open_client(
        resolved, **{name: given for name, given in named.items() if given is not None}, **options
    )


def open_client(resolved: ResolvedModel, **options: Any) -> Client:
    """Make a client of a resolved model; options take precedence over it. The errors are those of :func:`connect`."""
    name = resolved.provider
    if resolved.is_stand_in:
        logger.warning("the offline model answers: %s", resolved.stand_in_reason)
    built_in = BUILT_IN.get(name)
    extra = built_in.extra if built_in else ""
    with extra_needed(extra, f"The provider {name!r}") if extra else nullcontext():
        factory = _factory(name)
        takes = dict(list(inspect.signature(factory).parameters.items())[1:])  # the first is the model
        defaults = _defaults(resolved, options, limits_itself="timeouts" in takes)
        for option in _FOR_ALL:
            # What a client of ours adds to each request is a default like any other, for a definition to replace.
            if option not in takes or (option == "extra" and built_in):
                options.pop(option, None)
        _check_options(name, factory, takes, options)
        client = factory(resolved.name, **_connection(resolved, takes, options), **options)
    if not isinstance(client, Client):
        raise AgentError(
            f"The provider {name!r} made a {type(client).__name__}, not a maverick.providers.Client. "
            "Report this to the author of the package that provides it.",
            kind=ErrorKind.INVALID,
        )
    if name != "cassette":  # it answers what it was asked when it was recorded
        client.defaults = defaults
    return client


def _factory(name: str) -> Callable[..., object]:
    built_in = BUILT_IN.get(name)
    target = _of_package(name) if built_in is None else import_module(built_in.module)
    attribute = "connect" if built_in is None else built_in.factory
    factory: object = getattr(target, attribute, None) if isinstance(target, ModuleType) else target
    if not callable(factory):
        raise AgentError(
            f"The provider {name!r} is neither a function nor a module with a function 'connect'. "
            "Report this to the author of the package that provides it.",
            kind=ErrorKind.INVALID,
        )
    return factory


def _of_package(name: str) -> Any:  # noqa: ANN401 - whatever the package names
    claims = installed_providers()[name]
    if len(claims) > 1:
        packages = ", ".join(claim.dist.name if claim.dist else claim.value for claim in claims)
        problem = f"Several packages provide {name!r}: {packages}. Uninstall those that you do not need."
        raise AgentError(problem, kind=ErrorKind.INVALID)
    return claims[0].load()


def _defaults(resolved: ResolvedModel, options: Mapping[str, Any], *, limits_itself: bool) -> RequestDefaults:
    given = {name: options[name] for name in MODEL_SETTINGS if name in options}
    # A client may limit the time of an answer that comes whole by itself, and of silence in one that is streamed.
    unlimited = limits_itself and resolved.sources["request_timeout"] == DEFAULT
    timeout = options.get("request_timeout", None if unlimited else resolved.request_timeout)
    return RequestDefaults(replace(resolved.config, **given), timeout)  # which checks them


def _connection(
    resolved: ResolvedModel, takes: Collection[str], options: Collection[str]
) -> dict[str, object]:
    """The resolved key, address and timeouts, where the provider takes them and none is given."""
    key = resolved.api_key
    found: dict[str, object] = {
        "api_key": None if key is None else key.get_secret_value(),
        "base_url": resolved.base_url,
        "timeouts": None if "transport" in options or resolved.timeouts == Timeouts() else resolved.timeouts,
    }
    wanted = {name for name in takes if name not in options}
    return {name: value for name, value in found.items() if name in wanted and value is not None}


def _check_options(
    name: str,
    factory: Callable[..., object],
    takes: Mapping[str, inspect.Parameter],
    options: Mapping[str, object],
) -> None:
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in takes.values()):
        for option in options:
            if option not in takes:
                what = describe_unknown("option", option, list(takes))
                raise InvalidInputError(f"{name}: {what}", field=option)
    try:
        inspect.signature(factory).bind("", **options)
    except TypeError as error:
        raise InvalidInputError(f"The options of {name!r} do not fit: {error}.", field="options") from error
