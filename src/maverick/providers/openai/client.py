"""The clients of OpenAI and of every server that speaks one of its two APIs.

``openai:…`` speaks Responses with OpenAI itself and with Azure, and Chat Completions with any other ``base_url``: Ollama,
vLLM, llama.cpp, LM Studio, Gemini, xAI and many more. ``openai-responses:…`` and ``openai-chat:…`` choose one of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from maverick.misuse import refuse
from maverick.model import ModelInfo, Price, Request, StreamItem
from maverick.model.secret_names import secrets_in
from maverick.providers.client import requested_model
from maverick.providers.http.client import Connection, HttpClient
from maverick.providers.http.transport import MAX_ANSWER_BYTES, Timeouts, Transport
from maverick.providers.openai.chat_request import ChatEncoder
from maverick.providers.openai.chat_response import CompletionAccumulator, read_completion
from maverick.providers.openai.responses_request import LEAST_OUTPUT, ResponsesEncoder
from maverick.providers.openai.responses_response import ResponseAccumulator, read_response
from maverick.providers.openai.wire import RequestEncoder, reasons
from maverick.providers.prices import PriceTable, vendor_at

if TYPE_CHECKING:
    import ssl

_BASE_URL = "https://api.openai.com/v1"
_AZURE = ("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com")
_PATHS = ("/chat/completions", "/responses")
_MISSING_KEY = (
    "There is no key for OpenAI. Set OPENAI_API_KEY in the environment, or pass api_key. For another server, pass its "
    "base_url; without any, the 'offline:' model works."
)


class OpenAIClient(HttpClient):
    """A client of OpenAI, or of any server that speaks Responses or Chat Completions.

    Args:
        model: The model, as the server calls it; on Azure the name of the deployment.
        api_key: The key. Only OpenAI itself always requires one.
        base_url: The address of the API, such as ``http://localhost:11434`` or
            ``https://NAME.openai.azure.com/openai/v1``; by default OpenAI's own. An address without a path gets ``/v1``.
        max_tokens: The most tokens of an answer when a request does not say; 0 leaves it to the server.
        extra: Fields to add to every request as the API names them, such as ``{"reasoning_effort": "low"}``.

    The others are those of :class:`~maverick.providers.catalog.ConnectOptions`.

    Raises:
        InvalidInputError: ``base_url`` is not an address, or ``thoughts_field`` is set for Responses.
    """

    provider: ClassVar[str] = "openai"
    """The name before the colon."""
    _responses: ClassVar[bool | None] = None
    """Whether to speak Responses, if that does not depend on the server."""

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
        # An old address of Azure has the deployment in its path, and nothing but Chat Completions below it.
        is_openai = server.is_openai or server.is_azure
        responses = is_openai and not server.is_deployment if self._responses is None else self._responses
        self._speaks_responses = responses
        if responses and thoughts_field:
            refuse(
                "thoughts_field",
                "Responses takes thoughts back by itself. Leave it out, or use openai-chat:.",
            )
        super().__init__(
            f"{self.provider}:{model.removeprefix(f'{self.provider}:')}",
            service=server.name,
            api="a Responses API" if responses else "a Chat Completions API",
            read=read_response if responses else read_completion,
            accumulator=ResponseAccumulator if responses else CompletionAccumulator,
            # The same name may be another model at another price on a server that is not OpenAI's.
            prices=PriceTable(prices, vendor=vendor_at((base_url or _BASE_URL).strip())),
            headers=server.key_headers((api_key or "").strip()),
            own_headers=headers,
            connection=Connection(transport, timeouts, tls, max_answer_bytes),
            missing_key=_MISSING_KEY if server.is_openai else "",
        )
        self._other_secrets += tuple(secrets_in(extra))
        self._encoder: RequestEncoder
        if responses:
            self._encoder = ResponsesEncoder(max_tokens=max_tokens, extra=extra)
        else:
            self._encoder = ChatEncoder(
                thoughts_field=thoughts_field, is_openai=is_openai, max_tokens=max_tokens, extra=extra
            )

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model. It supports structured output; of other servers' models no more is known."""
        name = model.removeprefix(f"{self.provider}:")
        known = self._prices.find(name)
        if self._server.is_openai or self._server.is_azure:
            known = replace(known, thinks=known.thinks or reasons(name))
        if not self._speaks_responses:
            return replace(known, native_output=True)
        return replace(known, native_output=True, native_compaction=True, least_output=LEAST_OUTPUT)

    def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        return self._compact(request) if request.compact else super().stream(request)

    async def _compact(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        yield await self.run(request)  # the API has no stream of it

    def _encoded(self, request: Request, *, stream: bool) -> tuple[str, Mapping[str, str], Sequence[bytes]]:
        body = self._encoder.encode(request, model=requested_model(request, self.model), stream=stream)
        headers: Mapping[str, str] = self._headers
        if stream and not self._server.is_encrypted:
            # llama.cpp promises to keep connections and closes them after a stream, when the next request may be on
            # its way already. Servers without TLS are near: a connection for each request costs next to nothing.
            headers = {**headers, "connection": "close"}
        path = "/chat/completions"
        if self._speaks_responses:
            path = "/responses/compact" if request.compact else "/responses"
        return self._server.at(path), headers, body


class OpenAIResponsesClient(OpenAIClient):
    """A client that speaks Responses whatever the server is; its arguments are those of :class:`OpenAIClient`."""

    provider: ClassVar[str] = "openai-responses"
    _responses = True


class OpenAIChatClient(OpenAIClient):
    """A client that speaks Chat Completions whatever the server is; its arguments are those of :class:`OpenAIClient`."""

    provider: ClassVar[str] = "openai-chat"
    _responses = False


connect = OpenAIClient
"""What ``maverick.connect`` calls."""


class _Server:
    """The server behind an address, and what depends on whose it is."""

    __slots__ = ("_urls", "is_azure", "is_deployment", "is_encrypted", "is_openai", "name")

    def __init__(self, base_url: str) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host = parts.hostname or ""
        except ValueError:  # such as a bracket that is not closed
            parts, host = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not host:
            refuse("base_url", f"{base_url!r} is not an http:// or https:// address with a host.")
        self.is_encrypted = parts.scheme == "https"
        self.is_openai = _belongs_to(host, "api.openai.com")
        self.is_azure = any(_belongs_to(host, domain) for domain in _AZURE)
        self.name = "OpenAI" if self.is_openai else parts.netloc.rpartition("@")[2]
        root = parts.path.rstrip("/")
        for path in _PATHS:
            root = root.removesuffix(path)
        root = root or ("/openai/v1" if self.is_azure else "/v1")
        self.is_deployment = "/deployments/" in root
        self._urls = {
            path: parts._replace(path=root + path).geturl() for path in (*_PATHS, "/responses/compact")
        }

    def at(self, path: str) -> str:
        """The address of one of the API's paths."""
        return self._urls[path]

    def key_headers(self, key: str) -> dict[str, str]:
        """How the key is sent; Azure takes one for a user's token where others have it."""
        if not key:
            return {}
        return {"api-key": key} if self.is_azure else {"authorization": f"Bearer {key}"}


def _belongs_to(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
