"""The short way to a definition, for the many agents that need only a few of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, overload

from typing_extensions import TypeForm, Unpack

from maverick.loop.definition import AgentDefinition, OutputConfig, PromptConfig, RunConfig, T, ToolConfig
from maverick.loop.model_config import ModelConfig
from maverick.misuse import explained
from maverick.model import Message, Tool


class _Parts(TypedDict, total=False):
    """The parts that are the same whatever the output is."""

    description: str
    messages: Sequence[str | Message]
    model: str | ModelConfig | None
    tools: Sequence[Tool | str]
    limits: RunConfig | None


@overload
def define_agent(
    name: str, system_prompt: str = "", *, output: Mapping[str, Any], **parts: Unpack[_Parts]
) -> AgentDefinition[dict[str, Any]]: ...
@overload
def define_agent(
    name: str, system_prompt: str = "", *, output: OutputConfig[T], **parts: Unpack[_Parts]
) -> AgentDefinition[T]: ...
@overload
def define_agent(
    name: str,
    system_prompt: str = "",
    *,
    output: TypeForm[T] = str,  # type: ignore[assignment]  # what T is by default
    **parts: Unpack[_Parts],
) -> AgentDefinition[T]: ...
@explained()
def define_agent(
    name: str,
    system_prompt: str = "",
    *,
    description: str = "",
    messages: Sequence[str | Message] = ("${prompt}",),
    model: str | ModelConfig | None = None,
    tools: Sequence[Tool | str] = (),
    output: Any = str,
    limits: RunConfig | None = None,
) -> AgentDefinition[Any]:
    """An :class:`AgentDefinition` from its most used parts.

    Args:
        name: What the agent is called: letters, digits, ``_`` and ``-``, beginning with a letter.
        system_prompt: What the model is told; ``${variable}`` stands for an input.
        description: What the agent does, for people and for agents that use it as a tool; by default its name. Unlike
            the system prompt, it is shown to whoever talks to the agent.
        messages: The first messages of the conversation.
        model: The model's name, or its settings.
        tools: Tools, or names of tools in the executor's registry.
        output: The type of the answer, or a JSON Schema of an object, or an :class:`OutputConfig`; by default the answer
            is text (``str``).
        limits: The limits of a run.

    Raises:
        InvalidInputError: A part is wrong; the error names it.
    """
    output_config = output if isinstance(output, OutputConfig) else None
    if output_config is None and output is not str:
        output_config = OutputConfig("output", output)
    return AgentDefinition(
        name,
        description or name,
        PromptConfig(system_prompt, messages),
        model if isinstance(model, ModelConfig) else ModelConfig(model),
        limits or RunConfig(),
        ToolConfig(tools),
        output_config=output_config,
    )
