"""The Claude Messages API: the default client, ``claude:…``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from maverick.model import ModelInfo, Price, Request
from maverick.providers.claude.request import API_VERSION, RequestEncoder, compacts, request_headers
from maverick.providers.claude.response import API, SERVICE, MessageAccumulator, read_message
from maverick.providers.client import requested_model
from maverick.providers.http.client import Connection, HttpClient
from maverick.providers.http.transport import MAX_ANSWER_BYTES, Timeouts, Transport
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    import ssl

_BASE_URL = "https://api.anthropic.com"
_MISSING_KEY = (
    "There is no key for Claude. Set ANTHROPIC_API_KEY in the environment, or pass api_key. Without a key, the "
    "'offline:' model works."
)


class ClaudeClient(HttpClient):
    """A client of the Claude Messages API, or of any service that speaks it.

    Args:
        model: The model, such as ``claude-sonnet-5-5``.
        api_key: The key.
        base_url: The address of the API, with or without ``/v1``; by default Anthropic's own.

    The others are those of :class:`~maverick.providers.catalog.ConnectOptions`.
    """

    provider: ClassVar[str] = "claude"
    """The name before the colon."""

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        key = (api_key or "").strip()
        super().__init__(
            f"{self.provider}:{model.removeprefix(f'{self.provider}:')}",
            service=SERVICE,
            api=API,
            read=read_message,
            accumulator=MessageAccumulator,
            prices=PriceTable(prices),
            headers={"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})},
            own_headers=headers,
            connection=Connection(transport, timeouts, tls, max_answer_bytes),
            missing_key=_MISSING_KEY,
        )
        self._url = (base_url or _BASE_URL).rstrip("/").removesuffix("/v1") + "/v1/messages"
        self._encoder = RequestEncoder()

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and what the API does for it."""
        name = model.removeprefix(f"{self.provider}:")
        return replace(self._prices.find(name), native_output=True, native_compaction=compacts(name))

    def _encoded(self, request: Request, *, stream: bool) -> tuple[str, Mapping[str, str], Sequence[bytes]]:
        body = self._encoder.encode(request, model=requested_model(request, self.model), stream=stream)
        headers = request_headers(request, self._headers.get("anthropic-beta", ""))
        return self._url, {**self._headers, **headers} if headers else self._headers, body


connect = ClaudeClient
"""What ``maverick.connect`` calls."""
