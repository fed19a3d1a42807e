"""The names that may stand before the colon of ``provider:model``: our own, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from maverick.exceptions import describe_unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "maverick.providers"


class Vendor(NamedTuple):
    """A company whose models are reached with its own key and address, whichever provider asks them."""

    name: str
    key_variable: str
    address_variable: str


VENDORS: Mapping[str, Vendor] = {
    "claude": Vendor("Claude", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": Vendor("OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
}


class BuiltIn(NamedTuple):
    """A provider of this package: where its code is and what it needs."""

    module: str
    vendor: str = ""
    """Whose key and address it uses, by the name in :data:`VENDORS`."""
    extra: str = ""
    """The optional dependency of Maverick it needs, if any."""
    factory: str = "connect"
    """What makes a client, as the module names it."""
    needs_model: bool = True
    """Whether it has several models and chooses none by itself."""


_OPENAI = "maverick.providers.openai.client"
BUILT_IN: Mapping[str, BuiltIn] = {
    "cassette": BuiltIn("maverick.runtime.cassette"),
    "claude": BuiltIn("maverick.providers.claude.client", "claude"),
    "claude-code": BuiltIn(
        "maverick.providers.claude_cli.client", "claude", "claude-code", needs_model=False
    ),
    "claude-sdk": BuiltIn("maverick.providers.claude.sdk", "claude", "claude-sdk"),
    "local": BuiltIn("maverick.providers.local", extra="local"),
    "offline": BuiltIn("maverick.providers.offline", needs_model=False),
    "openai": BuiltIn(_OPENAI, "openai"),
    "openai-chat": BuiltIn(_OPENAI, "openai", factory="OpenAIChatClient"),
    "openai-responses": BuiltIn(_OPENAI, "openai", factory="OpenAIResponsesClient"),
}
NEED_A_MODEL = tuple(f"{name}:" for name, provider in BUILT_IN.items() if provider.needs_model)
"""Names of models that name none, of providers that choose none by themselves."""

_DOUBLES = ("scripted",)
"""Names of clients that are passed to an executor and never connected to by name."""

_MODEL_FAMILIES = {"claude-": "claude", "gpt-": "openai", "chatgpt-": "openai"}
_OTHER_NAMES = {
    "anthropic": "'claude:…'",
    "bedrock": "'claude-sdk:…', with the settings of Bedrock",
    "vertex": "'claude-sdk:…', with the settings of Vertex",
    "google": "'openai:…', with the base_url of Gemini's OpenAI-compatible endpoint",
    "gemini": "'openai:…', with the base_url of Gemini's OpenAI-compatible endpoint",
    "azure": "'openai:…', with the base_url of your Azure resource",
    "ollama": "'openai:…', with the base_url of Ollama, such as http://localhost:11434/v1",
}
"""What others call the providers."""
_FILE_ENDINGS = {".gguf": "local", ".json": "cassette"}


def model_name_problem(model: str) -> str | None:
    """Why a text does not name a model as ``provider:model``, with a provider that exists; nothing if it does."""
    provider, colon, _ = model.partition(":")
    if not colon:
        return _explain_missing(model)
    if provider in BUILT_IN or provider in _DOUBLES:
        return None  # without a look at the packages, which reads a file of each of them
    if provider in installed_providers():
        return None
    return unknown_provider(provider)


def unknown_provider(provider: str) -> str:
    """Why there is no such provider: what it is called here, or those there are."""
    if (ours := _OTHER_NAMES.get(provider.lower())) is not None:
        return f"There is no provider named {provider!r}: write {ours}."
    return describe_unknown("provider", provider, provider_names())


def is_near_provider(name: str) -> bool:
    """Whether a name is likely a mistyped provider."""
    from difflib import get_close_matches  # here, since few names of models have a colon

    # A letter more or less: openchat, a model, is as near to openai-chat as a typing error would be.
    alike = [known for known in provider_names() if abs(len(known) - len(name)) <= 1]
    return bool(get_close_matches(name.lower(), alike, n=1, cutoff=0.8))


def provider_names() -> list[str]:
    """The providers that can be connected to, built-in and installed, in order."""
    return sorted({*BUILT_IN, *installed_providers()})


@cache
def installed_providers() -> Mapping[str, tuple[EntryPoint, ...]]:
    """What the installed packages provide; looked up once, because it reads a file of every package."""
    from importlib.metadata import entry_points

    found = entry_points(group=ENTRY_POINT_GROUP)
    return {name: tuple(found.select(name=name)) for name in found.names}


def _explain_missing(model: str) -> str:
    guesses = (
        *(
            (model, "…" if f"{model}:" in NEED_A_MODEL else "")
            for known in provider_names()
            if model == known
        ),
        *((provider, model) for start, provider in _MODEL_FAMILIES.items() if model.startswith(start)),
        *((provider, model) for ending, provider in _FILE_ENDINGS.items() if model.endswith(ending)),
    )
    problem = f"{model!r} does not say which provider to use."
    if guesses:
        return f"{problem} Write it as {':'.join(guesses[0])!r}."
    return f"{problem} Write it as 'provider:model'; the providers are {', '.join(provider_names())}."
