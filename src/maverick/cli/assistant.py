"""Who answers in ``maverick chat``: the model that is configured or asked for, or the offline one."""

from __future__ import annotations

from dataclasses import dataclass

from maverick.cli.connecting import WITH_KEY, connect_as_set
from maverick.cli.everyday_tools import EVERYDAY_TOOLS
from maverick.config import AgentConfig, load_config
from maverick.loop import AgentDefinition, ModelConfig, PromptConfig, RunConfig, ToolConfig
from maverick.providers import Client, connect

OFFLINE = "offline:"

_SYSTEM_PROMPT = (
    "You talk with a person in a terminal. Answer briefly, in plain text without Markdown. "
    "Use your tools for arithmetic, dates and counting instead of guessing."
)


@dataclass(frozen=True, slots=True)
class Assistant:
    """An agent to talk to, and the client of its model."""

    definition: AgentDefinition
    client: Client
    introduction: str


def choose_assistant(wanted: str | None, *, pace: float) -> Assistant:
    """The assistant on the model that was asked for, or configured, or else on the offline one.

    Args:
        wanted: A ``provider:model``, if one was asked for.
        pace: Seconds between two words of the offline model, which would otherwise answer all at once.

    Raises:
        ConfigError: A setting is wrong.
        InvalidInputError: There is no such provider.
    """
    settings = load_config().agent
    model = wanted or _configured(settings)
    if model.partition(":")[0] == "offline":
        client = connect(model, pace=pace)
        why = "" if wanted else ", since no key is set (ANTHROPIC_API_KEY)"
        introduction = f"Maverick, with the offline model{why}."
    else:
        client = connect_as_set(model, settings)
        introduction = f"Maverick, with {model}."
    definition = AgentDefinition(
        name="assistant",
        description="Talks with a person in a terminal.",
        prompt_config=PromptConfig(system_prompt=_SYSTEM_PROMPT),
        model_config=ModelConfig(
            model=model,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
            request_timeout_ms=round(settings.request_timeout * 1000),
        ),
        run_config=RunConfig(max_turns=20),
        tool_config=ToolConfig(tools=EVERYDAY_TOOLS),
    )
    return Assistant(definition, client, introduction)


def _configured(settings: AgentConfig) -> str:
    wants_key = settings.provider in WITH_KEY and settings.base_url is None
    if wants_key and settings.resolve_api_key() is None:
        return OFFLINE
    return f"{settings.provider}:{settings.model}"
