"""The options of the built-in providers that are used less often, for :func:`~maverick.providers.connect`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from maverick.model import Price
from maverick.providers.http.transport import Timeouts, Transport

if TYPE_CHECKING:
    import ssl

    from maverick.providers.claude.sdk import SDKClient


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
    """Headers to add to each request."""
    timeouts: Timeouts | None
    """How long to wait for a connection, the first content, and the next."""
    tls: ssl.SSLContext | None
    """Whom to trust; by default the authorities that the system trusts."""
    transport: Transport | None
    """What sends requests, in place of our own HTTP client."""
    max_answer_bytes: int
    """The largest answer that is read."""
    prices: Mapping[str, Price] | None
    """Prices that replace, or add to, those that Maverick knows."""
    thoughts_field: str
    """``openai-chat:``: the field in which a server takes a model's thoughts back."""
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
