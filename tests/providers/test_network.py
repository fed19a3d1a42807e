from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from canary import CANARY
from maverick.exceptions import ErrorKind, NetworkError
from maverick.providers.network import allow_network, check_network_allowed, forbid_network

LIVE = "https://api.example.com/v1/messages"


@pytest.fixture(autouse=True)
def _switch_restored() -> Iterator[None]:
    with allow_network():
        yield


def is_allowed(url: str = LIVE) -> bool:
    try:
        check_network_allowed("claude", url)
    except NetworkError:
        return False
    return True


def test_the_network_is_allowed_until_it_is_forbidden() -> None:
    assert is_allowed()
    forbid_network()
    assert not is_allowed()
    allow_network()
    assert is_allowed()


def test_as_a_context_manager_it_ends_with_its_block_even_when_that_fails() -> None:
    def fail_while_forbidden() -> None:
        with forbid_network():
            assert not is_allowed()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_while_forbidden()

    assert is_allowed()


def test_blocks_nest() -> None:
    with forbid_network():
        with allow_network():
            assert is_allowed()
        assert not is_allowed()
        with forbid_network():
            assert not is_allowed()
        assert not is_allowed()


def test_it_holds_in_threads_that_were_already_running() -> None:
    go, seen = threading.Event(), []

    def look_later() -> None:
        go.wait(10)
        seen.append(is_allowed())

    thread = threading.Thread(target=look_later)
    thread.start()

    with forbid_network():
        go.set()
        thread.join(10)

    assert seen == [False]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://127.8.9.10",
        "http://[::1]:9000/",
        "http://localhost:11434",
        "https://LOCALHOST/",
        "http://models.localhost:1",
    ],
)
def test_addresses_of_this_machine_stay_reachable(url: str) -> None:
    with forbid_network():
        assert is_allowed(url)


@pytest.mark.parametrize(
    "url",
    [
        LIVE,
        "http://10.0.0.1",
        "http://[2001:db8::1]/",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com/",
        "not a url",
        "http://[::1",
        "",
    ],
)
def test_every_other_address_is_refused(url: str) -> None:
    with forbid_network():
        assert not is_allowed(url)


def test_the_error_names_provider_and_host_and_the_way_out_but_no_secret_of_the_address() -> None:
    with forbid_network(), pytest.raises(NetworkError) as caught:
        check_network_allowed("openai", f"https://user:{CANARY}@api.example.com/v1?key=s3cret")

    message = str(caught.value)
    assert "'openai'" in message
    assert "api.example.com" in message
    assert "allow_network()" in message
    assert CANARY not in message
    assert "s3cret" not in message
    assert caught.value.kind is ErrorKind.NETWORK
    assert not caught.value.retryable
