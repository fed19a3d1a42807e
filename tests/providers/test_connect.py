from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from maverick import ModelConfig
from maverick.config.installation import install_command
from maverick.config.provider_names import BUILT_IN, installed_providers, provider_names
from maverick.exceptions import AgentError, ErrorKind, InvalidInputError
from maverick.model import Message, Request, RequestConfig, Response, StreamItem
from maverick.providers import Client, connect
from maverick.providers.catalog import ConnectOptions

ACME = """
from maverick.providers import Client

class Acme(Client):
    def __init__(self, model, *, region="eu"):
        self.model, self.region = model, region
    async def run(self, request): ...
    def stream(self, request): ...

def connect(model, *, region="eu"):
    return Acme(model, region=region)

answer = 42
"""

Install = Callable[..., None]


class Plain(Client):
    """A client that only remembers what it was made with."""

    def __init__(self, model: str, **options: Any) -> None:
        self.model = model
        self.options = options

    async def run(self, request: Request) -> Response:
        raise NotImplementedError

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def _fresh_entry_points() -> Iterator[None]:
    installed_providers.cache_clear()
    yield
    installed_providers.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package that provides clients, as pip would."""

    def add(name: str, target: str, package: str = "acme-maverick") -> None:
        (tmp_path / "acme_maverick.py").write_text(ACME)
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[maverick.providers]\n{name} = {target}\n")
        monkeypatch.delitem(sys.modules, "acme_maverick", raising=False)

    monkeypatch.syspath_prepend(tmp_path)
    return add


def provide(monkeypatch: pytest.MonkeyPatch, provider: str, function: Callable[..., Any]) -> None:
    """Puts a module of our own in the place of a built-in one."""
    module = ModuleType(BUILT_IN[provider].module)
    module.connect = function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("claude:claude-sonnet-4-5", "claude", "claude-sonnet-4-5"),
        ("claude-sdk:claude-opus-4", "claude-sdk", "claude-opus-4"),
        ("openai:qwen3:8b", "openai", "qwen3:8b"),
        ("local:models/small.gguf", "local", "models/small.gguf"),
        ("offline:", "offline", ""),
    ],
)
def test_the_part_before_the_first_colon_is_the_provider_and_the_rest_is_its_own_business(
    monkeypatch: pytest.MonkeyPatch, text: str, provider: str, model: str
) -> None:
    provide(monkeypatch, provider, Plain)

    client = connect(text, api_key="k")

    assert isinstance(client, Plain)
    assert client.model == model
    assert client.options == {"api_key": "k"}


def test_importing_the_package_loads_no_provider_and_nothing_heavy() -> None:
    code = (
        "import sys, maverick.providers\n"
        "heavy = {'aiohttp', 'pydantic', 'anthropic', 'importlib.metadata', 'maverick.runtime.cassette'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


def test_a_definition_may_name_every_provider_that_can_be_connected_to() -> None:
    for name in BUILT_IN:
        assert ModelConfig(model=f"{name}:a").model == f"{name}:a"


def test_an_unknown_provider_is_refused_with_the_nearest_name_and_all_names() -> None:
    with pytest.raises(InvalidInputError) as caught:
        connect("cluade:sonnet")

    assert caught.value.field == "model"
    assert "Did you mean 'claude'?" in str(caught.value)
    for name in BUILT_IN:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("claude-sonnet-4-5", "'claude:claude-sonnet-4-5'"),
        ("gpt-5", "'openai:gpt-5'"),
        ("small.gguf", "'local:small.gguf'"),
        ("run.json", "'cassette:run.json'"),
        ("offline", "'offline:'"),
        ("claude", "'claude:…'"),
        ("sonnet", "'provider:model'"),
    ],
)
def test_a_string_without_a_provider_is_refused_with_what_to_write(text: str, advice: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        connect(text)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("openai:ft:gpt-4o-mini-2024-07-18:acme::abc", None),
        ("openai:gpt-4o-prod", "https://acme.openai.azure.com/openai/v1"),
    ],
)
def test_a_model_that_its_user_has_named_is_not_taken_for_a_mistyped_one(
    model: str, base_url: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    connect(model, api_key="made-up", base_url=base_url)

    assert not caplog.records


@pytest.mark.requirement("WHO-ANSWERS")
@pytest.mark.parametrize("provider", ["claude:", "claude: ", "claude-sdk:", "openai:", "openai-responses:"])
async def test_a_request_that_leaves_the_model_to_a_client_without_one_is_not_sent(provider: str) -> None:
    client = connect(provider, api_key="made-up", base_url="http://127.0.0.1:9")

    with pytest.raises(InvalidInputError, match="names a model") as caught:
        await client.run(Request([Message.user("Hello")]))

    assert caught.value.field == "model"
    named = Request([Message.user("Hello")], config=RequestConfig(model=f"{provider.strip()}one"))
    assert isinstance(client, Client)
    assert client.completed(named).config.model == f"{provider.strip()}one"
    await client.aclose()


def test_an_unknown_option_is_named_with_the_nearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(model: str, *, api_key: str = "", base_url: str = "") -> Client:
        return Plain(model)

    provide(monkeypatch, "claude", make)
    with pytest.raises(InvalidInputError) as caught:
        connect("claude:sonnet", apikey="k")  # type: ignore[call-arg]

    assert caught.value.field == "apikey"
    assert "Did you mean 'api_key'?" in str(caught.value)


def test_a_missing_option_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(model: str, *, region: str) -> Client:
        return Plain(model, region=region)

    provide(monkeypatch, "claude", make)
    with pytest.raises(InvalidInputError, match="region"):
        connect("claude:sonnet")


def test_a_type_error_inside_a_provider_is_not_taken_for_a_wrong_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(model: str) -> Client:
        raise TypeError("a bug of the provider")

    provide(monkeypatch, "claude", make)
    with pytest.raises(TypeError, match="a bug of the provider"):
        connect("claude:sonnet")


@pytest.mark.requirement("P8")
def test_a_missing_extra_is_answered_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(model: str) -> Client:
        import anthropic  # noqa: F401

        return Plain(model)

    monkeypatch.setitem(sys.modules, "anthropic", None)
    provide(monkeypatch, "claude-sdk", make)
    with pytest.raises(AgentError) as caught:
        connect("claude-sdk:sonnet")

    assert install_command("claude-sdk") in str(caught.value)
    assert caught.value.kind is ErrorKind.INVALID
    assert isinstance(caught.value.cause, ModuleNotFoundError)


def test_an_import_that_fails_in_a_provider_without_an_extra_is_not_masked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(model: str) -> Client:
        import no_such_module_of_the_provider  # type: ignore[import-not-found]  # noqa: F401

        return Plain(model)

    provide(monkeypatch, "claude", make)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_the_provider"):
        connect("claude:sonnet")


@pytest.mark.parametrize("target", ["acme_maverick", "acme_maverick:connect", "acme_maverick:Acme"])
def test_a_package_adds_a_provider_as_a_module_a_function_or_a_class(install: Install, target: str) -> None:
    install("acme", target)

    client = connect("acme:fast", region="us")  # type: ignore[call-arg]  # its own

    assert (client.model, getattr(client, "region", None)) == ("fast", "us")
    assert "acme" in provider_names()
    assert ModelConfig("acme:fast").model == "acme:fast"


def test_a_package_is_not_imported_before_its_provider_is_asked_for(install: Install) -> None:
    install("acme", "acme_maverick")
    assert "acme" in provider_names()
    assert "acme_maverick" not in sys.modules


def test_an_added_provider_is_offered_for_a_misspelt_name(install: Install) -> None:
    install("acme", "acme_maverick")
    with pytest.raises(InvalidInputError, match="Did you mean 'acme'"):
        connect("acm:fast")


def test_a_package_cannot_take_over_a_built_in_name(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(monkeypatch, "claude", Plain)
    install("claude", "acme_maverick")

    client = connect("claude:sonnet")

    assert isinstance(client, Plain)
    assert "acme_maverick" not in sys.modules


def test_two_packages_cannot_share_a_name(install: Install) -> None:
    install("acme", "acme_maverick")
    install("acme", "acme_maverick", package="acme-two")

    with pytest.raises(AgentError) as caught:
        connect("acme:fast")

    assert "acme-maverick" in str(caught.value)
    assert "acme-two" in str(caught.value)


def test_an_entry_point_that_is_no_provider_is_reported_as_its_authors_mistake(install: Install) -> None:
    install("acme", "acme_maverick:answer")
    with pytest.raises(AgentError, match="neither a function nor a module"):
        connect("acme:fast")


def test_a_provider_that_makes_something_else_than_a_client_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(model: str) -> str:
        return model

    provide(monkeypatch, "claude", make)
    with pytest.raises(AgentError, match=r"made a str, not a maverick\.providers\.Client"):
        connect("claude:sonnet")


def test_every_option_of_a_built_in_provider_is_one_that_connect_declares() -> None:
    declared = inspect.signature(connect).parameters.keys() | ConnectOptions.__annotations__.keys()

    for name, provider in BUILT_IN.items():
        factory = getattr(import_module(provider.module), provider.factory)
        takes = inspect.signature(factory).parameters.keys() - {"model", "path"}
        assert takes <= declared, name
