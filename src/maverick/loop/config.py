"""The parts of a definition that are plain settings: its prompts, model, limits and tools; and the checks they share."""

from __future__ import annotations

import math
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from types import FunctionType, MethodType
from typing import Any, NoReturn, cast

from maverick.config.model_settings import MODEL_SETTINGS, CacheLifetime, Effort, ThinkingMode, is_set
from maverick.config.provider_names import NEED_A_MODEL, model_name_problem
from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.loop.limits import Limits
from maverick.misuse import refuse
from maverick.model import Message, Tool
from maverick.model.request import RequestConfig
from maverick.model.tool import is_tool

_MOST_SHOWN = 200
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def reject(field: str, expected: str, value: object, instead: str = "") -> NoReturn:
    """Refuse the value of a field; ``instead`` says in a sentence what to write."""
    refuse(field, f"expected {expected}, got {shown(value)}. {instead}".rstrip())


def shown(value: object) -> str:
    """A value as it was written, but not a page of it."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, FunctionType | MethodType):
        return f"the function {value.__name__}"
    text = repr(value)
    # What has no form of its own would be shown as an address in memory, and an agent as all of its settings.
    return text if len(text) <= _MOST_SHOWN and " object at 0x" not in text else f"a {type(value).__name__}"


def check_text(field: str, value: object, expected: str = "a non-empty string") -> None:
    """Refuse what is no text, or an empty one."""
    if not isinstance(value, str) or not value.strip():
        reject(field, expected, value)


def check_whole(field: str, value: object, *, minimum: int, optional: bool = False) -> None:
    """Refuse what is no whole number, or too small a one."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        reject(field, f"a whole number of at least {minimum}", value)


def check_seconds(field: str, value: object, *, positive: bool = True, optional: bool = False) -> None:
    """Refuse what is no number of seconds."""
    if optional and value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= cast("float", value) < math.inf) or (positive and value == 0):
        reject(field, f"a number of seconds{' above 0' if positive else ', 0 or more'}", value)


def check_type(field: str, value: object, kind: type, instead: str = "") -> None:
    """Refuse what is of another type; ``instead`` is how to write it."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        reject(field, f"{article} {kind.__name__}{instead and f', such as {instead}'}", value)


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
class ModelConfig:
    """Which model answers, and how. ``None`` is what the client is set up with, or else the provider's default."""

    model: str | None = None
    """``provider:model``, such as ``claude:claude-sonnet-5-5``, ``openai:gpt-6.1-sol`` or ``offline:``. By default the client
    decides; an executor without a client connects to the model in the settings."""
    temperature: float | None = None
    """Sampling temperature; -1 is the default, too."""
    max_tokens: int | None = None
    """The most tokens of one answer; 0 is the default, too."""
    context_window: int | None = None
    """How many tokens the model can read; by default what the client knows."""
    request_timeout: float | None = None
    """The seconds that one model call may take from when it is sent; by default the client's own timeouts hold."""
    effort: Effort | None = None
    """How much work the model puts into an answer: ``low``, ``medium``, ``high`` or ``max``."""
    thinking: ThinkingMode | None = None
    """When the model thinks: ``adaptive`` (as it sees fit), ``between_tools`` or ``off``; or for how many tokens at most."""
    stop_sequences: Sequence[str] | None = None
    """Texts that end the answer."""
    tool_choice: str | None = None
    """``auto``, ``required``, ``none``, or the name of the tool to call. A choice that forces a call holds for the first
    turn only."""
    top_p: float | None = None
    """How much of the probability mass the model samples from."""
    cache: CacheLifetime | None = None
    """How long the provider is to keep the prompt in its cache: ``5m``, ``1h`` or ``off``."""
    server_tools: Sequence[str | dict[str, Any]] | None = None
    """Tools that the provider runs itself: names, such as ``web_search``, or definitions as the provider documents them."""
    extra: Mapping[str, Any] | None = None
    """Fields for each request as the provider names them; one that is set by other means is refused."""
    request_config: RequestConfig = field(init=False, repr=False, compare=False)
    """The settings as a request has them."""

    def __post_init__(self) -> None:
        if self.model is not None:
            check_text("model_config.model", self.model)
            if problem := model_name_problem(self.model):
                refuse("model_config.model", problem)
            if self.model.strip() in NEED_A_MODEL:
                reject("model_config.model", f"a model after {self.model!r}", self.model)
        try:
            settings = {name: getattr(self, name) for name in MODEL_SETTINGS}
            config = RequestConfig(model=self.model or "", **settings)
        except InvalidInputError as error:
            raise InvalidInputError(f"model_config.{error}", field=f"model_config.{error.field}") from error
        object.__setattr__(self, "request_config", config)
        for name in MODEL_SETTINGS:
            value = getattr(config, name)
            object.__setattr__(self, name, value if is_set(value) else None)
        check_whole("model_config.context_window", self.context_window, minimum=1000, optional=True)
        check_seconds("model_config.request_timeout", self.request_timeout, optional=True)


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
    """How many tool calls of one answer are run; the others are refused, and the run continues."""
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
        check_whole("run_config.max_tool_calls", self.max_tool_calls, minimum=0, optional=True)
        for limit in ("max_turns", "timeout_ms", "max_calls_per_turn", "max_total_tokens"):
            check_whole(f"run_config.{limit}", getattr(self, limit), minimum=1, optional=True)
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


def check_tool(where: str, tool: object) -> str:
    """Check that an object can be offered to a model as a tool, and return its name."""
    if isinstance(tool, type) or not is_tool(tool):
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


def _not_a_tool(where: str, thing: Any) -> str:  # noqa: ANN401 - anything but a tool
    if isinstance(thing, type):
        return f"{where}: {thing.__name__} is a class; make an instance of it."
    if hasattr(thing, "as_tool") and hasattr(thing, "name"):
        return f"{where}: to offer the agent {thing.name!r} as a tool, write {thing.name}.as_tool()."
    if callable(thing):
        title = getattr(thing, "__name__", "the function")
        if title == "as_tool":
            return f"{where}: as_tool is a method; write as_tool()."
        return f"{where}: {title} is a plain function; decorate it with @tool."
    if isinstance(thing, Coroutine):
        thing.close()
        name = getattr(thing, "__name__", "tool")
        return f"{where}: {name}(…) is a call of the tool. Give the tool itself: {name}, without parentheses."
    lacks = [name for name in ("name", "description", "parameters", "execute") if not hasattr(thing, name)]
    return f"{where}: {shown(thing)} is not a tool: it has no {', '.join(lacks)}. Decorate a function with @tool."
