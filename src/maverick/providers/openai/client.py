"""Chat Completions: the client ``openai:…``, for OpenAI and for every server that speaks its protocol.

That is Ollama, vLLM, llama.cpp, LM Studio and many more; ``base_url`` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from maverick.exceptions import InvalidInputError
from maverick.model import ModelInfo, Price, Request
from maverick.providers.client import requested_model
from maverick.providers.http.client import Connection, HttpClient
from maverick.providers.http.transport import MAX_ANSWER_BYTES, Reply, Timeouts, Transport
from maverick.providers.openai.request import RequestEncoder
from maverick.providers.openai.response import CompletionAccumulator, read_completion
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    import ssl

_BASE_URL = "https://api.openai.com/v1"
_MISSING_KEY = (
    "There is no key for OpenAI. Set OPENAI_API_KEY in the environment, or pass api_key. For another server, pass its "
    "base_url; without any, the 'offline:' model works."
)


class OpenAIClient(HttpClient):
    """A client of OpenAI, or of any server with a Chat Completions API.

    Args:
        model: The model, as the server calls it.
        api_key: The key. Only OpenAI itself always requires one.
        base_url: The address of the API, such as ``http://localhost:11434``; by default OpenAI's own. An address
            without a path gets ``/v1``.
        headers: Headers to add to every request, such as ``OpenAI-Organization``, or ``api-key`` for Azure.
        timeouts: How long to wait.
        tls: TLS settings, for a private certificate authority or client certificates.
        transport: What sends the requests, in place of one made from ``timeouts``, ``tls`` and ``max_answer_bytes``.
            It may be shared, and stays open when the client is closed.
        max_answer_bytes: The most that is read of one streamed answer; of one that comes whole, a sixteenth.
        prices: What models cost, for those that Maverick does not know and for servers that are not OpenAI's.
        max_tokens: The most tokens of an answer when a request does not say; 0 leaves it to the server.
        thoughts_field: The field in which a model's thoughts are sent back to it, such as ``reasoning_content`` for
            models that go on thinking between tool calls; by default they are not sent back.
        extra: Fields to add to every request as the API names them, such as ``{"reasoning_effort": "low"}``.

    Raises:
        InvalidInputError: ``base_url`` is not an address.
    """

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
        max_tokens: int = 0,
        thoughts_field: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._server = server = _Server(base_url or _BASE_URL)
        key = (api_key or "").strip()
        super().__init__(
            f"openai:{model.removeprefix('openai:')}",
            service=server.name,
            api="a Chat Completions API",
            read=read_completion,
            accumulator=CompletionAccumulator,
            # The same name may be another model at another price on a server that is not OpenAI's.
            prices=PriceTable(prices, list_prices=server.is_openai),
            headers={"authorization": f"Bearer {key}"} if key else {},
            own_headers=headers,
            connection=Connection(transport, timeouts, tls, max_answer_bytes),
            missing_key=_MISSING_KEY if server.is_openai else "",
        )
        self._encoder = RequestEncoder(
            limit_field=server.limit_field,
            max_tokens=max_tokens,
            thoughts_field=thoughts_field,
            extra=extra,
        )

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model. It supports structured output; of other servers' models no more is known."""
        return replace(self._prices.find(model.removeprefix("openai:")), thinks=False, native_output=True)

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        body = self._encoder.encode(request, model=requested_model(request, self.model), stream=stream)
        headers = self._headers
        if stream and not self._server.is_encrypted:
            # llama.cpp promises to keep connections and closes them after a stream, when the next request may be on
            # its way already. Servers without TLS are near: a connection for each request costs next to nothing.
            headers = {**headers, "connection": "close"}
        return await self._post(self._server.url, headers, body)


connect = OpenAIClient
"""What ``maverick.connect`` calls."""


class _Server:
    """The server behind an address, and what depends on whose it is."""

    __slots__ = ("is_encrypted", "is_openai", "limit_field", "name", "url")

    def __init__(self, base_url: str) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host = parts.hostname or ""
        except ValueError:  # such as a bracket that is not closed
            parts, host = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not host:
            raise InvalidInputError(
                f"base_url: {base_url!r} is not an http:// or https:// address with a host.", field="base_url"
            )
        path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
        self.url = parts._replace(path=f"{path}/chat/completions").geturl()
        self.is_encrypted = parts.scheme == "https"
        self.is_openai = _belongs_to(host, "api.openai.com")
        self.name = "OpenAI" if self.is_openai else parts.netloc.rpartition("@")[2]
        # OpenAI's reasoning models refuse the old name, and most other servers know no other.
        new_name = self.is_openai or _belongs_to(host, "openai.azure.com")
        self.limit_field = "max_completion_tokens" if new_name else "max_tokens"


def _belongs_to(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
