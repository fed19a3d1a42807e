"""Fetching pages: what comes back, and that no hop leads into a private network."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from maverick.exceptions import ToolError
from maverick.tools.coding import web as fetching_module
from maverick.tools.coding.web import Address, GuardedResolver, fetch_page, is_public
from maverick.tools.permissions import UrlSubject
from maverick.tools.permissions.web_address import WebAddress

HERE = ip_address("127.0.0.1")


def only_here(address: Address) -> bool:
    """Stands for the public internet in these tests: one address, and none beside it."""
    return address == HERE


@dataclass
class Site:
    """A server on this machine, and what it was asked for."""

    port: int
    asked: list[str]
    sent: list[str]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


async def without_slash(request: web.Request) -> web.StreamResponse:
    raise web.HTTPMovedPermanently(f"/folder/?{request.query_string}")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    asked: list[str] = []
    sent: list[str] = []

    async def page(request: web.Request) -> web.StreamResponse:  # noqa: PLR0911 - one page, one return
        asked.append(request.path)
        sent.append(request.raw_path)
        match request.path:
            case "/page":
                html = "<title>T</title><style>x{}</style><h1>Head</h1><p>One <b>two</b></p><script>no()</script>"
                return web.Response(text=html, content_type="text/html")
            case "/to":
                return web.Response(status=302, headers={"Location": request.query["url"]})
            case "/loop":
                raise web.HTTPFound("/loop")
            case "/image":
                return web.Response(body=b"\x89PNG", content_type="image/png")
            case "/long":
                return web.Response(text="x" * 3_000_000)
            case "/bomb":
                return web.Response(
                    body=b"x", headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"}
                )
            case "/missing":
                return web.Response(text="gone", status=404)
            case "/odd":
                kind = f"text/plain; charset={request.query['charset']}"
                return web.Response(body=b"caf\xe9", headers={"Content-Type": kind})
            case _:
                return web.Response(text=f"headers: {sorted(request.headers)}")

    app = web.Application()
    app.router.add_get("/folder", without_slash)
    app.router.add_get("/{path:.*}", page)
    async with TestServer(app, host="127.0.0.1") as started:
        assert started.port is not None
        yield Site(started.port, asked, sent)


@pytest.mark.requirement("C-FETCH", "C-UNTRUSTED")
async def test_a_page_comes_back_as_its_words_and_marked_as_somebody_elses(site: Site) -> None:
    answer = await fetch_page(site.url("/page"), only_here)

    assert answer.splitlines()[1:-1] == ["T", "", "Head", "", "One two"]
    assert answer.startswith(f'<untrusted from="{site.url("/page")}"')


@pytest.mark.requirement("C-FETCH")
async def test_a_status_is_told_and_what_is_too_long_is_cut(site: Site) -> None:
    fetch = partial(fetch_page, reachable=only_here)

    assert "[status 404]\ngone" in await fetch(site.url("/missing"))
    assert (await fetch(site.url("/long"))).count("x") == 40_000


@pytest.mark.requirement("C-FETCH")
@pytest.mark.parametrize("charset", ["klingon", "zlib", "rot13", "punycode", "idna"])
async def test_an_encoding_that_is_none_of_a_page_is_read_as_the_usual_one(charset: str, site: Site) -> None:
    answer = await fetch_page(site.url(f"/odd?charset={charset}"), only_here)

    assert "caf\N{REPLACEMENT CHARACTER}" in answer


@pytest.mark.requirement("C-FETCH", "C-PERMISSIONS")
@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("/a/../b", "/b"),
        ("/%61/%2e%2e/%7eb%2fc", "/~b%2Fc"),
        ("/caf\u00e9?q=%61&r=[1]#top", "/caf%C3%A9?q=a&r=%5B1%5D"),
        ("", "/"),
        ("//x//", "//x//"),
    ],
)
async def test_the_address_that_is_sent_is_the_one_that_rules_look_at(
    url: str, sent: str, site: Site
) -> None:
    answer = await fetch_page(site.url(url), only_here)

    assert site.sent == [sent]
    assert UrlSubject("url").exact(site.url(url)) == site.url(sent)
    assert answer.startswith(f'<untrusted from="{site.url(sent)}"')


@pytest.mark.requirement("C-FETCH")
async def test_a_folder_is_fetched_although_its_address_lacks_the_slash(site: Site) -> None:
    answer = await fetch_page(site.url("/folder?a=b"), only_here)

    assert answer.startswith(f'<untrusted from="{site.url("/folder/?a=b")}"')
    assert site.sent == ["/folder/?a=b"]


@pytest.mark.requirement("C-FETCH", "C-PERMISSIONS")
def test_only_encryption_and_a_slash_at_the_end_make_no_other_page_of_an_address() -> None:
    page = WebAddress.read("http://example.org/a?b")
    assert page is not None

    assert set(map(str, page.same_page)) == {
        "http://example.org/a?b",
        "http://example.org/a/?b",
        "https://example.org/a?b",
        "https://example.org/a/?b",
    }


@pytest.mark.requirement("C-FETCH", "C-PERMISSIONS")
@pytest.mark.parametrize("place", ["/page", "page?a=b", "/to/", "../%70age", "//{host}/page"])
async def test_a_redirection_is_told_and_not_followed_so_that_the_permissions_rule_on_it(
    place: str, site: Site
) -> None:
    location = place.format(host=f"127.0.0.1:{site.port}")
    target = "/page?a=b" if "?" in place else "/to/" if place == "/to/" else "/page"

    with pytest.raises(ToolError, match="redirects to ") as caught:
        await fetch_page(site.url(f"/to?url={quote(location)}"), only_here)

    assert f" {site.url(target)}. " in str(caught.value)
    assert site.asked == ["/to"]


REFUSALS = ["not on the public internet", "not a valid address", "could not be fetched", "redirects to"]
PRIVATE = [
    "http://127.0.0.2/",
    "http://localhost/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[fd00::1]/",
    "http://0.0.0.0/",
    "http://0x7f.2/",
    "http://2130706434/",
    "http://127.2/",
    "http://user@127.0.0.1/",
    "http://127.0.0.1\\@10.0.0.1/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1/",
    "//10.0.0.1/",
    "http://[::1/",
    "javascript:alert(1)",
]


@pytest.mark.requirement("C-FETCH")
async def test_an_address_that_is_not_public_is_refused_on_every_hop(site: Site) -> None:
    for target in PRIVATE:
        for address in (target, site.url(f"/to?url={quote(target)}")):
            with pytest.raises(ToolError, match="|".join(REFUSALS)):
                await fetch_page(address, only_here)

    assert site.asked == ["/to"] * len(PRIVATE)


@pytest.mark.requirement("C-FETCH", "C-PERMISSIONS")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]"])
async def test_another_host_is_another_call_for_the_permissions_to_check(host: str, site: Site) -> None:
    with pytest.raises(ToolError, match="redirects to"):
        await fetch_page(site.url(f"/to?url=http://{host}/"), lambda _: True)

    assert site.asked == ["/to"]


@pytest.mark.requirement("C-FETCH")
async def test_a_name_that_resolves_to_a_private_address_is_refused_before_anything_is_asked(
    site: Site,
) -> None:
    with pytest.raises(ToolError, match="not on the public internet"):
        await fetch_page(f"http://localhost:{site.port}/page")

    assert site.asked == []


@pytest.mark.requirement("C-FETCH")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/loop", "after 5 redirections"),
        ("/image", "image/png, not text"),
        ("/bomb", "sent compressed"),
    ],
)
async def test_what_is_no_page_is_explained(path: str, words: str, site: Site) -> None:
    with pytest.raises(ToolError, match=words):
        await fetch_page(site.url(path), only_here)


@pytest.mark.requirement("C-FETCH")
async def test_a_page_that_nobody_waits_for_any_more_is_not_read_to_its_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, told = threading.Event(), threading.Event()

    def read(_page: str, unwanted: threading.Event) -> str:
        reading.set()
        if unwanted.wait(30):
            told.set()
        return ""

    monkeypatch.setattr(fetching_module, "text_of_page", read)
    fetching = asyncio.ensure_future(fetch_page(site.url("/page"), only_here))
    assert await asyncio.to_thread(reading.wait, 30)
    fetching.cancel()

    assert await asyncio.to_thread(told.wait, 30)


@pytest.mark.requirement("C-FETCH")
async def test_a_host_that_is_not_there_is_explained() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ToolError, match="could not be fetched"):
            await fetch_page(f"http://127.0.0.1:{taken.getsockname()[1]}/", only_here)


@pytest.mark.requirement("C-FETCH", "P9")
async def test_no_cookie_or_proxy_of_ours_goes_along(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    answer = await fetch_page(site.url("/headers"), only_here)

    assert "['Accept', 'Accept-Encoding', 'Host', 'User-Agent']" in answer


class Names(AbstractResolver):
    """Answers with another address each time it is asked, as somebody would who wants to get in."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self.answers.pop(0)
        ]

    async def close(self) -> None:
        return


@pytest.mark.requirement("C-FETCH")
async def test_a_name_that_has_a_private_address_among_others_is_refused() -> None:
    resolver = GuardedResolver(
        is_public, Names(["93.184.216.34"], ["93.184.216.34", "10.0.0.1"], ["nonsense"])
    )

    assert [found["host"] for found in await resolver.resolve("rebinding.example")] == ["93.184.216.34"]
    with pytest.raises(ToolError, match="not on the public internet"):
        await resolver.resolve("rebinding.example")
    with pytest.raises(ToolError, match="cannot be read"):
        await resolver.resolve("rebinding.example")


@pytest.mark.requirement("C-FETCH")
@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("::ffff:93.184.216.34", True),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("fe80::1", False),
        ("fec0::1", False),
        ("::", False),
        ("ff0e::1", False),
    ],
)
def test_public_addresses_are_told_from_all_others(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public
