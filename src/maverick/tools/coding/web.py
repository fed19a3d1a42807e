"""Fetches a page from the web; loaded on use, since aiohttp is slow to load.

Only public addresses are reached, so that no model looks around inside a network (SSRF).
What is sent is exactly the address that the permissions have allowed. A redirection is followed to the same
page only, with encryption or with a slash at its end: another page is another call, for the permissions to check. The
name is resolved once a hop, and the connection goes to the address that was checked, so an answer that changes between
check and use gains nothing. No proxy is used, since it would resolve names for us, and no cookie is kept.

A page may be hostile, so its text is read from its beginning to its end and no piece of it twice: what is begun and never
ended, such as a tag or a comment, takes the rest of the page with it, as it does in a browser. The parser of the
standard library looks for the end again and again, which takes minutes for a page that is made for that.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from socket import AF_INET, AddressFamily
from typing import TypeAlias
from urllib.parse import urljoin

from aiohttp import ClientError, ClientResponse, ClientSession, DummyCookieJar, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from maverick.exceptions import ToolError
from maverick.model.untrusted import mark_untrusted
from maverick.tools.permissions.web_address import WebAddress
from maverick.tools.threads import run_in_thread

Address: TypeAlias = IPv4Address | IPv6Address
Reachable: TypeAlias = Callable[[Address], bool]
"""Says whether an address may be reached."""

_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""IPv6 addresses behind which a translator puts IPv4 ones."""

_MOST_HOPS = 5
_MOST_BYTES = 2_000_000
_MOST_CHARACTERS = 40_000
_SECONDS = 30.0
_USUAL_CHARSET = "utf-8"
_CHARSETS = (
    "utf-8", "utf-16", "ascii", "iso8859", "cp", "mac", "koi8", "gb", "big5", "euc", "shift_jis", "iso2022",
)  # fmt: skip
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")

_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>"  # in quotes, a > ends nothing
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)|<(?!!--)(?:[!?]|/(?![a-zA-Z]))[^>]*+>", re.DOTALL)
"""A comment, or what a browser takes for one."""
_REFERENCE = re.compile(
    r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9a-fA-F]{1,6}(?![0-9a-fA-F])|[^\t\n\f <&#;]{1,32});?"
)
_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "noscript", "iframe")
}
"""The ends of elements whose content is neither markup nor visible."""
_UNSEEN = frozenset({"template", "svg", "object"})
_INLINE = frozenset({
    "a", "abbr", "b", "cite", "code", "em", "i", "kbd", "q", "s", "small", "span", "strong", "sub", "sup", "td", "th", "u",
    "wbr",
})  # fmt: skip
"""Tags in the middle of a line; every other one begins a new line."""


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet, in whatever wrapping it comes."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and any(address in network for network in _TRANSLATED):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be reached. The connection is made to what was checked, and to nothing else."""

    def __init__(self, reachable: Reachable, inner: AbstractResolver | None = None) -> None:
        self._reachable = reachable
        self._inner = ThreadedResolver() if inner is None else inner

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        """The addresses of a host; a host that mixes them with ones that may not be reached is not to be trusted."""
        found = await self._inner.resolve(host, port, family)
        for result in found:
            self.check(result["host"], host)
        return found

    def check(self, address: str, host: str) -> None:
        """Refuse an invalid address, or one of a host that may not be reached."""
        try:
            parsed = ip_address(address.partition("%")[0])
        except ValueError as error:
            raise ToolError(f"{host} has an address that cannot be read.") from error
        if not self._reachable(parsed):
            raise ToolError(f"{host} is not on the public internet, so it may not be fetched.")

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()


async def fetch_page(url: str, reachable: Reachable = is_public) -> str:
    """The text of a page, marked as untrusted content; a ``ToolError`` if it cannot be fetched, or may not be."""
    resolver = GuardedResolver(reachable)
    try:
        async with (
            asyncio.timeout(_SECONDS),
            ClientSession(
                connector=TCPConnector(resolver=resolver, use_dns_cache=False),
                cookie_jar=DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                headers={"Accept": "text/*", "Accept-Encoding": "identity"},
            ) as session,
        ):
            page = await _follow(session, url, resolver)
    except TimeoutError as error:
        raise ToolError(f"{url} did not answer within {_SECONDS:g} seconds.") from error
    except (ClientError, OSError, ValueError) as error:
        raise ToolError(f"{url} could not be fetched: {type(error).__name__}.") from error
    return mark_untrusted(str(page.address), await page.words())


async def _follow(session: ClientSession, url: str, resolver: GuardedResolver) -> _Page:
    asked = address = _checked(url, resolver)
    for _ in range(_MOST_HOPS + 1):
        async with session.get(URL(str(address), encoded=True), allow_redirects=False) as response:
            if response.status in (301, 302, 303, 307, 308) and "Location" in response.headers:
                target = WebAddress.read(urljoin(str(address), response.headers["Location"]))
                if target is None:
                    raise ToolError(f"{address} redirects to something that cannot be fetched.")
                if target not in asked.same_page:
                    raise ToolError(f"{address} redirects to {target}. Fetch that, if it is what you want.")
                address = target
                continue
            return await _read(response, address)
    raise ToolError(f"{url} still redirects after {_MOST_HOPS} redirections.")


def _checked(url: str, resolver: GuardedResolver) -> WebAddress:
    """The parsed address, if its scheme and host are allowed; a name is checked again when it is resolved."""
    address = WebAddress.read(url)
    if address is None or address.scheme not in ("http", "https"):
        raise ToolError(f"{url[:200]} is not a valid address. Use https://host/path.")
    host = address.host.strip("[]")
    try:
        ip_address(host)
    except ValueError:
        return address
    resolver.check(host, host)
    return address


@dataclass(frozen=True, slots=True)
class _Page:
    """The answer of a server."""

    address: WebAddress
    status: int
    is_html: bool
    text: str
    goes_on: bool
    """Whether it was cut."""

    async def words(self) -> str:
        """The text, with notes on its status and length."""
        text = await _text_of(self.text) if self.is_html else self.text
        status = "" if self.status == 200 else f"[status {self.status}]\n"
        more = "\n[the page continues]" if len(text) > _MOST_CHARACTERS or self.goes_on else ""
        return f"{status}{text[:_MOST_CHARACTERS]}{more}"


async def _text_of(html: str) -> str:
    unwanted = threading.Event()
    try:
        return await run_in_thread(text_of_page, html, unwanted)
    finally:
        unwanted.set()  # a thread cannot be stopped, but it can be told to give up


async def _read(response: ClientResponse, address: WebAddress) -> _Page:
    kind = response.content_type
    if response.headers.get("Content-Encoding", "identity") != "identity":
        # A few bytes of it may be gigabytes.
        raise ToolError(f"{address} was sent compressed, which was not asked for.")
    if not kind.startswith(_TEXTS):
        raise ToolError(f"{address} is {kind}, not text.")
    body = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        body += chunk
        if len(body) > _MOST_BYTES:
            break
    text = bytes(body[:_MOST_BYTES]).decode(_charset(response), "replace")
    return _Page(address, response.status, "html" in kind, text, len(body) > _MOST_BYTES)


def _charset(response: ClientResponse) -> str:
    """The encoding of a text; other codecs of Python are not allowed, since some take forever."""
    try:
        name = codecs.lookup(response.charset or _USUAL_CHARSET).name
    except LookupError:
        return _USUAL_CHARSET
    return name if name.startswith(_CHARSETS) else _USUAL_CHARSET


def text_of_page(page: str, unwanted: threading.Event | None = None) -> str:
    """What a person would read of a page, without its scripts and styles."""
    pieces = []
    for piece in _pieces(page):
        if unwanted is not None and unwanted.is_set():
            return ""
        pieces.append(piece)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _pieces(page: str) -> Iterator[str]:
    """The text of a page bit by bit, with a line break for each tag that makes one; nothing for what is not seen."""
    place = unseen = 0
    while (sign := _MARKUP.search(page, place)) is not None:
        yield "" if unseen else _said(page[place : sign.start()])
        tag = _TAG.match(page, sign.start())
        if (markup := tag or _COMMENT.match(page, sign.start())) is None:
            return
        place = markup.end()
        if tag is None:
            continue
        name = tag["name"].lower()
        if name not in _INLINE:
            yield "\n"
        if name in _UNSEEN:
            begins, ends = not tag["end"], bool(tag["end"]) or tag["rest"].endswith("/")
            unseen = max(0, unseen + begins - ends)
        elif name in _ENDS and not tag["end"]:
            if (end := _ENDS[name].search(page, place)) is None:
                return
            place = end.start()
    yield "" if unseen else _said(page[place:])


def _said(text: str) -> str:
    return _REFERENCE.sub(lambda reference: unescape(reference[0]), text) if "&" in text else text
