"""What an agent is, as data: its prompt, model, limits, tools, inputs and output.

A definition is checked when it is made, in full; a definition that exists can be run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Generic, NoReturn, TypedDict, overload

from typing_extensions import TypeForm, TypeVar, Unpack

from maverick.exceptions import InvalidToolError
from maverick.loop.config import (
    ModelConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    check_text,
    check_type,
    reject,
)
from maverick.loop.inputs import Input, InputConfig, MessageTemplate, Template, bind_inputs, inputs_schema
from maverick.loop.output import OutputConfig
from maverick.misuse import explain_arguments, explained, refuse
from maverick.model import Message, Tool

T = TypeVar("T", default=str)

_PROMPT, _MODEL, _LIMITS, _TOOLS = PromptConfig(), ModelConfig(), RunConfig(), ToolConfig()
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PARTS = {
    "prompt_config": (PromptConfig, "PromptConfig(system_prompt='Be brief.')"),
    "model_config": (ModelConfig, "ModelConfig(model='claude:claude-sonnet-5-5')"),
    "run_config": (RunConfig, "RunConfig(max_turns=10)"),
    "tool_config": (ToolConfig, "ToolConfig(tools=[get_weather])"),
    "input_config": (InputConfig, "InputConfig({'city': str})"),
    "output_config": (OutputConfig, "OutputConfig(output_name='report', schema=Report)"),
}
"""The parts of a definition, each with an example."""
_OTHER_NAMES = {
    "instructions": "system_prompt",
    "prompt": "system_prompt",
    "system": "system_prompt",
    "messages": "initial_messages",
    "model_name": "model",
    "max_iterations": "max_turns",
    "output": "schema",
    "output_type": "schema",
    "response_format": "schema",
}
"""What other libraries call parts of an agent."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class AgentDefinition(Generic[T]):
    """An agent as data.

    Args:
        name: What it is called: letters, digits, ``_`` and ``-``, beginning with a letter.
        description: What it does, for people and for agents that use it as a tool.
        prompt_config: Its prompts.
        model_config: Which model answers.
        run_config: Its limits.
        tool_config: Its tools.
        input_config: Its inputs; by default one text for each ``${variable}`` of the prompts.
        output_config: The type of its answer; by default the answer is text.
    """

    name: str
    description: str
    prompt_config: PromptConfig = _PROMPT
    model_config: ModelConfig = _MODEL
    run_config: RunConfig = _LIMITS
    tool_config: ToolConfig = _TOOLS
    input_config: InputConfig | None = None
    output_config: OutputConfig[T] | None = None
    inputs: Mapping[str, Input] = field(init=False, repr=False, compare=False)
    """The inputs it takes, declared or found in the prompts."""
    _system: Template = field(init=False, repr=False, compare=False)
    _messages: tuple[MessageTemplate, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_text("name", self.name)
        if not _AGENT_NAME.fullmatch(self.name):
            reject("name", "a letter, then up to 63 letters, digits, '_' or '-'", self.name)
        check_text("description", self.description)
        for part, (kind, example) in _PARTS.items():
            given = getattr(self, part)
            if given is not None or part not in ("input_config", "output_config"):
                check_type(part, given, kind, example)
        self._parse_prompts()

    def _parse_prompts(self) -> None:
        prompt = self.prompt_config
        system = Template(prompt.system_prompt, "prompt_config.system_prompt")
        messages = tuple(
            MessageTemplate(message, f"prompt_config.initial_messages[{index}]")
            for index, message in enumerate(prompt.initial_messages)
        )
        used = system.variables.union(*(message.variables for message in messages))
        declared = None if self.input_config is None else self.input_config.inputs
        if declared is None:
            inputs: Mapping[str, Any] = {name: Input() for name in sorted(used)}
        elif unknown := sorted(used - declared.keys()):
            refuse(
                "prompt_config",
                f"the variable ${{{unknown[0]}}} is not declared in input_config; "
                f"declared are: {', '.join(sorted(declared)) or 'none'}.",
            )
        else:
            inputs = declared
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "_system", system)
        object.__setattr__(self, "_messages", messages)

    def render(self, inputs: Mapping[str, Any] | None = None) -> tuple[str, tuple[Message, ...]]:
        """The system prompt and the first messages, with the inputs in their places.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type.
        """
        values = bind_inputs(self.inputs, inputs or {})
        return self._system.render(values), tuple(message.render(values) for message in self._messages)

    def as_tool(self, name: str | None = None, description: str | None = None) -> Tool:
        """This agent as a tool of another; its inputs are the arguments, its answer is the result."""
        return AgentTool(self, name or self.name, description or self.description)


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A definition that another agent can call. The driver runs it as a run of its own, nested in the caller's."""

    definition: AgentDefinition[Any]
    """The agent that it runs."""
    name: str
    """What the model calls it."""
    description: str
    """What the model reads about it."""
    parameters: Mapping[str, Any] = field(init=False, repr=False)
    """The JSON Schema of its arguments, made of the agent's inputs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", inputs_schema(self.definition.inputs))

    async def execute(self, args: dict[str, Any], /) -> NoReturn:  # noqa: ARG002 - the shape of a Tool
        """Refuse: an agent needs a driver to run it.

        Raises:
            InvalidToolError: Always.
        """
        raise InvalidToolError(
            f"The agent {self.name!r} runs inside an AgentExecutor; put it into a ToolConfig there.",
            tool_name=self.name,
        )


def _home_of(name: str, given_to: type) -> str:
    """Where an argument belongs that was given to a part of a definition that has no such argument."""
    name = _OTHER_NAMES.get(name, name)
    if name in signature(given_to).parameters:
        return f"{name}=…"
    for part, (kind, _) in _PARTS.items():
        if name in signature(kind).parameters:
            return f"{part}={kind.__name__}({name}=…)"
    return ""


for _kind in (AgentDefinition, *(kind for kind, _ in _PARTS.values())):
    explain_arguments(_kind, hint=partial(_home_of, given_to=_kind))


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
        limits or _LIMITS,
        ToolConfig(tools),
        output_config=output_config,
    )
