from __future__ import annotations

import stat
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import msgspec
import pytest

from canary import lookout
from maverick.config.mcp_server import MCPServer
from maverick.exceptions import NetworkError
from maverick.tools.mcp import ConfiguredServer
from maverick.tools.mcp.oauth import check_address, sign_in
from maverick.tools.mcp.stored_tokens import TokenStore
from tools.mcp.sign_in_server import SignInServer, browse

ELSEWHERE = "http://stranger.example"


@pytest.fixture(scope="module")
def server() -> Iterator[SignInServer]:
    server = SignInServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def wiki(server: SignInServer) -> SignInServer:
    server.forget()
    return server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home, on a machine without a keyring."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return tmp_path


async def shown(address: str) -> None:
    assert "You are signed in." in await browse(address)


async def tools_of(wiki: SignInServer) -> list[str]:
    server = ConfiguredServer(MCPServer.read("wiki", {"url": wiki.url}, "mcp.json"))
    try:
        await server.connect()
        return [tool.remote_name for tool in server.tools]
    finally:
        await server.aclose()


def kept(home: Path) -> Path:
    (file,) = (home / ".maverick/mcp-sign-ins").glob("*.json")
    return lookout.plant(file, file.read_text())


def expire(home: Path) -> None:
    """Let the hours pass after which the kept token is not valid any more."""
    file = kept(home)
    expired = msgspec.json.decode(file.read_bytes()) | {"expires_at": time.time() - 1}
    lookout.plant(file, msgspec.json.encode(expired).decode())


@pytest.mark.requirement("MCP-OAUTH", "P9")
async def test_a_sign_in_in_the_browser_gives_tokens_that_later_connections_use_and_refresh(
    wiki: SignInServer, home: Path
) -> None:
    with pytest.raises(NetworkError, match=r"HTTP 401\. Sign in with `maverick mcp login wiki`"):
        await tools_of(wiki)

    assert await sign_in(wiki.url, shown)
    wiki.accounts.access.clear()
    expire(home)
    first = await tools_of(wiki)
    again = await tools_of(wiki)

    assert first == again == ["search"]
    assert wiki.accounts.refreshed == 1, "an expired token is refreshed once, and the new one is kept"
    assert stat.S_IMODE(kept(home).stat().st_mode) == 0o600
    assert stat.S_IMODE(kept(home).parent.stat().st_mode) == 0o700
    (client,) = wiki.accounts.clients.values()
    assert [urlsplit(str(uri)).hostname for uri in client.redirect_uris or ()] == ["127.0.0.1"]


@pytest.mark.requirement("MCP-OAUTH")
async def test_a_token_that_was_revoked_is_refreshed_once_before_a_new_sign_in_is_asked_for(
    wiki: SignInServer, home: Path
) -> None:
    await sign_in(wiki.url, shown)
    wiki.accounts.access.clear()

    found = await tools_of(wiki)
    wiki.accounts.access.clear()
    wiki.accounts.refresh.clear()

    assert kept(home).exists()
    assert (found, wiki.accounts.refreshed) == (["search"], 1)
    with pytest.raises(NetworkError, match=r"HTTP 401\. Sign in with `maverick mcp login wiki`"):
        await tools_of(wiki)


@pytest.mark.requirement("MCP-OAUTH")
async def test_a_token_that_cannot_be_refreshed_asks_for_a_new_sign_in(
    wiki: SignInServer, home: Path
) -> None:
    await sign_in(wiki.url, shown)
    wiki.accounts.access.clear()
    wiki.accounts.refresh.clear()
    with pytest.raises(NetworkError, match="maverick mcp login wiki"):
        await tools_of(wiki)
    expire(home)
    with pytest.raises(NetworkError, match="maverick mcp login wiki"):
        await tools_of(wiki)

    await sign_in(wiki.url, shown)
    signed_in = await tools_of(wiki)
    removed = TokenStore(wiki.url).remove(), TokenStore(wiki.url).remove()

    assert signed_in == ["search"]
    assert removed == (True, False)
    with pytest.raises(NetworkError, match="maverick mcp login wiki"):
        await tools_of(wiki)


def forged(change: dict[str, str | None]) -> Callable[[str], Awaitable[None]]:
    """Another page in the browser sends an answer before the person does."""

    async def show(address: str) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        answer = {"code": "theirs", "state": asked["state"], **change}
        query = urlencode({name: value for name, value in answer.items() if value is not None})
        async with httpx2.AsyncClient() as browser:
            # Cookies of all the servers of this machine come along.
            cookies = {"Cookie": f"session={'x' * 10_000}"}
            refused = await browser.get(f"{asked['redirect_uri']}?{query}", headers=cookies)
            wrong = await browser.post(asked["redirect_uri"], content=b"x")
        assert (refused.status_code, wrong.status_code) == (400, 400)
        assert "not an answer to the sign-in" in refused.text
        await shown(address)

    return show


@pytest.mark.requirement("MCP-OAUTH")
@pytest.mark.parametrize("change", [{"state": "guessed"}, {"state": None}, {"state": ""}])
async def test_an_answer_that_is_not_for_this_sign_in_is_refused_and_the_right_one_still_counts(
    wiki: SignInServer, home: Path, change: dict[str, str | None]
) -> None:
    assert await sign_in(wiki.url, forged(change))
    assert await tools_of(wiki) == ["search"]
    kept(home)


@pytest.mark.requirement("MCP-OAUTH")
@pytest.mark.parametrize(
    "field",
    ["authorization_endpoint", "token_endpoint", "registration_endpoint", "issuer", "resource", "moved"],
)
async def test_a_server_that_sends_us_elsewhere_is_refused_before_anything_is_sent_there(
    wiki: SignInServer, home: Path, field: str
) -> None:
    at = "/.well-known/oauth-authorization-server"
    truth = {
        "issuer": wiki.origin,
        "authorization_endpoint": f"{wiki.origin}/authorize",
        "token_endpoint": f"{wiki.origin}/token",
        "registration_endpoint": f"{wiki.origin}/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }
    if field == "resource":
        wiki.metadata["/.well-known/oauth-protected-resource/mcp"] = {
            "resource": f"{ELSEWHERE}/mcp",
            "authorization_servers": [wiki.origin],
        }
    elif field == "moved":
        wiki.redirects["/token"] = f"{ELSEWHERE}/token"
    else:
        wiki.metadata[at] = {**truth, field: f"{ELSEWHERE}/there"}

    with pytest.raises(NetworkError, match=r"sign-in (was refused|failed)"):
        await sign_in(wiki.url, shown)

    assert not (home / ".maverick/mcp-sign-ins").exists()


@pytest.mark.parametrize("end", ["#fragment", "?state=x"])
async def test_an_address_that_would_lose_our_state_is_refused(
    wiki: SignInServer, home: Path, end: str
) -> None:
    wiki.metadata["/.well-known/oauth-authorization-server"] = {
        "issuer": wiki.origin,
        "authorization_endpoint": f"{wiki.origin}/authorize{end}",
        "token_endpoint": f"{wiki.origin}/token",
        "registration_endpoint": f"{wiki.origin}/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }

    with pytest.raises(NetworkError, match="sign-in was refused"):
        await sign_in(wiki.url, shown)


@pytest.mark.parametrize(
    ("server", "address", "is_refused"),
    [
        ("https://mcp.example/mcp", "https://login.example/", False),
        ("https://mcp.example/mcp", "http://login.example/", True),
        *(
            ("https://mcp.example/mcp", f"https://{host}/", True)
            for host in ("localhost.", "127.1", "2130706433", "[::ffff:127.0.0.1]", "10.0.0.5", "[fd00::1]")
        ),
        ("https://10.0.0.4/mcp", "https://10.0.0.5/", False),
        ("https://10.0.0.4/mcp", "https://127.0.0.1/", True),
        ("http://127.0.0.1:1/mcp", "http://localhost:2/", False),
        ("http://127.0.0.1:1/mcp", "https://login.example/", False),
    ],
)
def test_no_server_sends_us_nearer_than_it_is(server: str, address: str, is_refused: bool) -> None:
    with pytest.raises(NetworkError) if is_refused else nullcontext():
        check_address(server, address)


async def test_a_sign_in_that_is_refused_late_or_not_needed_says_so(wiki: SignInServer, home: Path) -> None:
    async def waits(_: str) -> None:
        """Nobody comes."""

    async def browsed(address: str) -> None:
        await browse(address)

    wiki.accounts.says_no = True
    with pytest.raises(NetworkError, match="The sign-in was refused: access_denied"):
        await sign_in(wiki.url, browsed)
    with pytest.raises(NetworkError, match="No one signed in within"):
        await sign_in(wiki.url, waits, patience=0.5)
    with pytest.raises(NetworkError, match="cannot be reached"):
        await sign_in("http://127.0.0.1:9/mcp", waits)
    wiki.metadata["/mcp"] = {"jsonrpc": "2.0", "id": 1, "result": {}}

    assert await sign_in(wiki.url, waits) is False


@pytest.mark.requirement("MCP-OAUTH")
async def test_tokens_are_kept_in_the_keyring_where_there_is_one(
    wiki: SignInServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets: dict[tuple[str, str], str] = {}
    keyring = SimpleNamespace(
        get_keyring=lambda: SimpleNamespace(priority=5),
        get_password=lambda service, user: secrets.get((service, user)),
        set_password=lambda service, user, secret: secrets.update({(service, user): secret}),
        delete_password=lambda service, user: secrets.pop((service, user)),
    )
    monkeypatch.setitem(sys.modules, "keyring", keyring)

    await sign_in(wiki.url, shown)
    (file,) = (home / ".maverick/mcp-sign-ins").glob("*.json")
    found = await tools_of(wiki)
    content = file.read_text()
    TokenStore(wiki.url).remove()

    assert found == ["search"]
    assert content == '{"in_keyring":true}'
    assert secrets == {}
