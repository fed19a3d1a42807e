"""Fetching pages: what comes back, and that no hop leads into a private network."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from maverick.exceptions import ToolError
from maverick.tools.coding.addresses import Address, is_public
from maverick.tools.coding.guarded_resolver import GuardedResolver
from maverick.tools.coding.web import Web

HERE = ip_address("127.0.0.1")


def only_here(address: Address) -> bool:
    """Stands for the public internet in these tests: one address, and none beside it."""
    return address == HERE


@dataclass
class Site:
    """A server on this machine, and what it was asked for."""

    port: int
    asked: list[str]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    asked: list[str] = []

    async def page(request: web.Request) -> web.StreamResponse:  # noqa: PLR0911 - one page, one return
        asked.append(request.path)
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
                return web.Response(body=b"caf\xe9", headers={"Content-Type": "text/plain; charset=klingon"})
            case _:
                return web.Response(text=f"headers: {sorted(request.headers)}")

    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    async with TestServer(app, host="127.0.0.1") as started:
        assert started.port is not None
        yield Site(started.port, asked)


@pytest.mark.requirement("C-FETCH", "C-UNTRUSTED")
async def test_a_page_comes_back_as_its_words_and_marked_as_somebody_elses(site: Site) -> None:
    answer = await Web(only_here).web_fetch(site.url("/page"))

    assert answer.splitlines()[1:-1] == ["T", "", "Head", "", "One two"]
    assert answer.startswith(f'<untrusted from="{site.url("/page")}"')


@pytest.mark.requirement("C-FETCH")
async def test_a_redirection_is_followed_and_a_status_is_told(site: Site) -> None:
    fetch = Web(only_here).web_fetch

    assert "Head" in await fetch(site.url(f"/to?url={site.url('/page')}"))
    assert "Head" in await fetch(site.url("/to?url=/page"))
    assert "[status 404]\ngone" in await fetch(site.url("/missing"))
    assert "caf\N{REPLACEMENT CHARACTER}" in await fetch(site.url("/odd"))
    assert (await fetch(site.url("/long"))).count("x") == 40_000


REFUSALS = ["not on the public internet", "not an address", "could not be fetched", "leads to another host"]
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
@pytest.mark.parametrize("target", PRIVATE)
@pytest.mark.parametrize("hops", [0, 1, 2])
async def test_an_address_that_is_not_public_is_refused_on_every_hop(
    target: str, hops: int, site: Site
) -> None:
    address = target
    for _ in range(hops):
        address = site.url(f"/to?url={quote(address)}")

    with pytest.raises(ToolError, match="|".join(REFUSALS)):
        await Web(only_here).web_fetch(address)

    assert site.asked == ["/to"] * hops


@pytest.mark.requirement("C-FETCH", "C-PERMISSIONS")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]"])
async def test_another_host_is_another_call_for_the_permissions_to_rule_on(host: str, site: Site) -> None:
    with pytest.raises(ToolError, match="leads to another host"):
        await Web(lambda _: True).web_fetch(site.url(f"/to?url=http://{host}/"))

    assert site.asked == ["/to"]


@pytest.mark.requirement("C-FETCH")
async def test_a_name_that_resolves_to_a_private_address_is_refused_before_anything_is_asked(
    site: Site,
) -> None:
    with pytest.raises(ToolError, match="not on the public internet"):
        await Web().web_fetch(f"http://localhost:{site.port}/page")

    assert site.asked == []


@pytest.mark.requirement("C-FETCH")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/loop", "after 5 redirections"),
        ("/image", "image/png, not a text"),
        ("/bomb", "came compressed"),
    ],
)
async def test_what_is_no_page_is_explained(path: str, words: str, site: Site) -> None:
    with pytest.raises(ToolError, match=words):
        await Web(only_here).web_fetch(site.url(path))


@pytest.mark.requirement("C-FETCH")
async def test_a_host_that_is_not_there_is_explained() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ToolError, match="could not be fetched"):
            await Web(only_here).web_fetch(f"http://127.0.0.1:{taken.getsockname()[1]}/")


@pytest.mark.requirement("C-FETCH", "P9")
async def test_no_cookie_or_proxy_of_ours_goes_along(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    answer = await Web(only_here).web_fetch(site.url("/headers"))

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
    with pytest.raises(ToolError, match="can not be read"):
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
