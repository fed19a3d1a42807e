"""What an agent is, as data: its prompt, model, limits, tools, inputs and output.

A definition is checked when it is made, in full; a definition that exists can be run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, overload

from typing_extensions import TypeForm, TypeVar

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.loop.inputs import Input, MessageTemplate, Template, bind_inputs, inputs_schema
from maverick.loop.limits import Limits
from maverick.loop.model_config import (
    ModelConfig,
    check_seconds,
    check_text,
    check_type,
    check_whole,
    reject,
    shown,
)
from maverick.loop.output import OutputFormat, OutputValidator
from maverick.misuse import explain_arguments
from maverick.model import Message, Tool

T = TypeVar("T", default=str)

_NO_MODEL = ModelConfig()
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """The agent's prompts: ``${variable}`` stands for an input."""

    system_prompt: str = ""
    """What the model is told first; ``${variable}`` stands for an input."""
    initial_messages: Sequence[str | Message] = ("${prompt}",)
    """The first messages of the conversation; a string is a message from the user. Variables stand for inputs in
    the text of a :class:`Message` too."""

    def __post_init__(self) -> None:
        check_type("prompt_config.system_prompt", self.system_prompt, str)
        if isinstance(self.initial_messages, str) or not isinstance(self.initial_messages, Sequence):
            reject("prompt_config.initial_messages", "a list, such as ['Hello!']", self.initial_messages)
        if not self.initial_messages:
            reject("prompt_config.initial_messages", "a list of at least one message", self.initial_messages)
        for index, message in enumerate(self.initial_messages):
            if not isinstance(message, Message):
                where = f"prompt_config.initial_messages[{index}]"
                check_text(where, message, "a non-empty string, or Message.user(…) or Message.assistant(…)")
        object.__setattr__(self, "initial_messages", tuple(self.initial_messages))


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The limits of a run. They hold for the run and its subagents together; ``None`` is no limit."""

    max_turns: int | None = 50
    """How many model calls the run may make."""
    timeout_ms: int | None = 600_000
    """The time of the whole run, in milliseconds; ``RunConfig(timeout=60)`` says it in seconds, as everywhere else."""
    max_tool_calls: int | None = None
    """How many tool calls the run may make."""
    max_calls_per_turn: int | None = 128
    """How many tool calls of one answer are run; the others are refused, and the run goes on."""
    max_total_tokens: int | None = None
    """How many tokens the run may use, input and output together."""
    max_cost_usd: float | None = None
    """What the run may cost, in US dollars."""
    max_retries: int = 3
    """How often a failed model call is tried again."""
    retry_delay: float = 0.5
    """The seconds before the first retry; they double each time, with jitter."""
    timeout: InitVar[float | None] = None
    """The time of the whole run, in seconds, in place of ``timeout_ms``."""

    def __post_init__(self, timeout: float | None) -> None:
        if timeout is not None:
            check_seconds("run_config.timeout", timeout)
            object.__setattr__(self, "timeout_ms", max(round(timeout * 1000), 1))
        check_whole("run_config.max_turns", self.max_turns, minimum=1, optional=True)
        check_whole("run_config.timeout_ms", self.timeout_ms, minimum=1, optional=True)
        check_whole("run_config.max_tool_calls", self.max_tool_calls, minimum=0, optional=True)
        check_whole("run_config.max_calls_per_turn", self.max_calls_per_turn, minimum=1, optional=True)
        check_whole("run_config.max_total_tokens", self.max_total_tokens, minimum=1, optional=True)
        cost = self.max_cost_usd
        if cost is not None and (isinstance(cost, bool) or not isinstance(cost, int | float) or not cost > 0):
            reject("run_config.max_cost_usd", "a number above 0", cost)
        check_whole("run_config.max_retries", self.max_retries, minimum=0)
        check_seconds("run_config.retry_delay", self.retry_delay, positive=False)

    @property
    def limits(self) -> Limits:
        """The limits in the units the ledger counts."""
        seconds = None if self.timeout_ms is None else self.timeout_ms / 1000
        return Limits(self.max_turns, seconds, self.max_total_tokens, self.max_cost_usd, self.max_tool_calls)


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """Which tools the agent has, and how they run."""

    tools: Sequence[Tool | str] = ()
    """Tools, or names of tools in the executor's registry."""
    max_parallel: int = 32
    """How many tool calls of one turn run at once."""
    timeout: float = 120
    """The seconds that a tool may take that sets no ``timeout`` of its own."""
    max_output: int = 50_000
    """How many characters of a tool's output are kept, unless it sets ``max_output`` itself."""
    defer: bool | Sequence[str] | None = None
    """The tools that the model is not offered but finds with ``search_tools`` and calls with ``call_tool``: all, none, or
    these tools and servers; by default those of MCP servers with more than 30."""

    def __post_init__(self) -> None:
        if isinstance(self.tools, str) or not isinstance(self.tools, Sequence):
            reject("tool_config.tools", "a list of tools, such as [get_weather]", self.tools)
        object.__setattr__(self, "tools", tuple(self.tools))
        names: set[str] = set()
        for index, tool in enumerate(self.tools):
            where = f"tool_config.tools[{index}]"
            name = _checked_name(where, tool) if isinstance(tool, str) else check_tool(where, tool)
            if name in names:
                raise InvalidToolError(
                    f"tool_config.tools: two tools are named {name!r}; give one of them another name.",
                    tool_name=name,
                    field=where,
                )
            names.add(name)
        check_whole("tool_config.max_parallel", self.max_parallel, minimum=1)
        check_seconds("tool_config.timeout", self.timeout)
        check_whole("tool_config.max_output", self.max_output, minimum=100)
        if self.defer is not None and not isinstance(self.defer, bool):
            named = isinstance(self.defer, list | tuple) and all(isinstance(name, str) for name in self.defer)
            if not named:
                reject("tool_config.defer", "True, False, or a list of names of tools", self.defer)
            object.__setattr__(self, "defer", tuple(self.defer))


@dataclass(frozen=True, slots=True)
class InputConfig:
    """The inputs a definition takes: names with a type, a default and a description."""

    inputs: Mapping[str, Input | type]
    """The inputs of the agent, by name."""

    def __post_init__(self) -> None:
        check_type("input_config.inputs", self.inputs, Mapping)
        for name in self.inputs:
            if not isinstance(name, str) or not name.isidentifier():
                reject("input_config.inputs", "names made of letters, digits and '_'", name)
        declared = {
            name: spec if isinstance(spec, Input) else Input(spec) for name, spec in self.inputs.items()
        }
        object.__setattr__(self, "inputs", declared)


@dataclass(frozen=True, slots=True)
class OutputConfig(Generic[T]):
    """The type of the agent's answer.

    Args:
        output_name: What the answer is called, such as ``report``.
        schema: A Pydantic model, or any type Pydantic can validate: ``list[Item]``, ``Report | Refusal``, a dataclass; or
            a JSON Schema of an object as a dict: then the output is a dict that fits it.
        max_repairs: How often the model is shown what is wrong with an answer and asked again.
        validators: Functions ``(output, ctx)`` that check an answer of the declared type, in order, with what the
            type cannot say: each returns ``None``, or another output, or raises ``RetryOutput`` with what to tell the model.
    """

    output_name: str = "output"
    schema: TypeForm[T] | Mapping[str, Any] = None  # type: ignore[assignment]  # required, although it follows a name
    max_repairs: int = 2
    validators: Sequence[OutputValidator[T]] = ()
    format: OutputFormat[T] = field(init=False, repr=False, compare=False)
    """Reads answers; built from the schema."""

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: OutputConfig[dict[str, Any]],
            output_name: str = "output",
            *,
            schema: Mapping[str, Any],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[dict[str, Any]]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self: OutputConfig[dict[str, Any]],
            output_name: str,
            schema: Mapping[str, Any],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[dict[str, Any]]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self,
            output_name: str = "output",
            *,
            schema: TypeForm[T],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[T]] = (),
        ) -> None: ...
        @overload
        def __init__(
            self,
            output_name: str,
            schema: TypeForm[T],
            max_repairs: int = 2,
            validators: Sequence[OutputValidator[T]] = (),
        ) -> None: ...
        def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def __post_init__(self) -> None:
        check_text("output_config.output_name", self.output_name)
        check_whole("output_config.max_repairs", self.max_repairs, minimum=0)
        if self.schema is None:
            reject("output_config.schema", "the type of the output, such as a Pydantic model", None)
        _check_validators(self.validators)
        object.__setattr__(self, "validators", tuple(self.validators))
        object.__setattr__(self, "format", OutputFormat(self.output_name, self.schema))


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
    prompt_config: PromptConfig = PromptConfig()
    model_config: ModelConfig = _NO_MODEL
    run_config: RunConfig = RunConfig()
    tool_config: ToolConfig = ToolConfig()
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
        for part, kind in _PARTS.items():
            given = getattr(self, part)
            if given is not None or part not in ("input_config", "output_config"):
                check_type(part, given, kind, _EXAMPLES.get(part, ""))
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
            raise InvalidInputError(
                f"prompt_config: the variable ${{{unknown[0]}}} is not declared in input_config; "
                f"declared are: {', '.join(sorted(declared)) or 'none'}.",
                field="prompt_config",
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


_PARTS = {
    "prompt_config": PromptConfig,
    "model_config": ModelConfig,
    "run_config": RunConfig,
    "tool_config": ToolConfig,
    "input_config": InputConfig,
    "output_config": OutputConfig,
}
_EXAMPLES = {
    "prompt_config": "PromptConfig(system_prompt='Be brief.')",
    "model_config": "ModelConfig(model='claude:claude-sonnet-5-5')",
    "run_config": "RunConfig(max_turns=10)",
    "tool_config": "ToolConfig(tools=[get_weather])",
    "input_config": "InputConfig({'city': str})",
    "output_config": "OutputConfig(output_name='report', schema=Report)",
}
_OTHER_NAMES = {
    "instructions": "system_prompt",
    "prompt": "system_prompt",
    "system": "system_prompt",
    "messages": "initial_messages",
    "model_name": "model",
    "max_iterations": "max_turns",
    "timeout": "timeout_ms",
    "output": "schema",
    "output_type": "schema",
    "response_format": "schema",
}
"""What other libraries call parts of an agent."""


def _home_of(name: str, given_to: type) -> str:
    """Where an argument belongs that was given to a part of a definition that has no such argument."""
    name = _OTHER_NAMES.get(name, name)
    if name in _names(given_to):
        return f"{name}=…"
    for part, kind in _PARTS.items():
        if name in _names(kind):
            return f"{part}={kind.__name__}({name}=…)"
    return ""


def _names(kind: Any) -> set[str]:  # noqa: ANN401 - typeshed has no type of dataclasses
    return {one.name for one in fields(kind) if one.init}


for _kind in (AgentDefinition, *_PARTS.values()):
    explain_arguments(_kind, hint=partial(_home_of, given_to=_kind))


def _check_validators(validators: object) -> None:
    where = "output_config.validators"
    if not isinstance(validators, list | tuple):
        reject(where, "a list of functions (output, ctx)", validators)
    for check in validators:
        try:
            inspect.signature(check).bind("output", "ctx")
        except (TypeError, ValueError):
            reject(where, "functions that take the output and a ToolContext", check)


def check_tool(where: str, tool: object) -> str:
    """Check that an object can be offered to a model as a tool, and return its name."""
    if isinstance(tool, type) or not isinstance(tool, Tool):
        raise InvalidToolError(_not_a_tool(where, tool), tool_name=str(tool), field=where)
    name = _checked_name(where, tool.name)
    if not isinstance(tool.parameters, Mapping) or tool.parameters.get("type") != "object":
        raise InvalidToolError(
            f'{where}: the parameters of {name!r} have to be a JSON Schema with "type": "object".',
            tool_name=name,
            field=where,
        )
    return name


def _checked_name(where: str, name: object) -> str:
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise InvalidToolError(
            f"{where}: a tool's name is 1 to 128 letters, digits, '_' or '-', not {name!r}.",
            tool_name=str(name),
            field=where,
        )
    return name


def _not_a_tool(where: str, thing: object) -> str:
    if isinstance(thing, AgentDefinition):
        return f"{where}: to offer the agent {thing.name!r} as a tool, write {thing.name}.as_tool()."
    if isinstance(thing, type):
        return f"{where}: {thing.__name__} is a class; make an instance of it."
    if callable(thing):
        title = getattr(thing, "__name__", "the function")
        return f"{where}: {title} is a plain function; decorate it with @tool."
    if isinstance(thing, Coroutine):
        thing.close()
        name = getattr(thing, "__name__", "tool")
        return f"{where}: {name}(…) is a call of the tool. Give the tool itself: {name}, without parentheses."
    lacks = [name for name in ("name", "description", "parameters", "execute") if not hasattr(thing, name)]
    return f"{where}: {shown(thing)} is not a tool: it has no {', '.join(lacks)}. Decorate a function with @tool."
