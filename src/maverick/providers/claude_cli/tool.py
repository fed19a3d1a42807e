"""The Claude Code CLI's own tools, as tools of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from maverick.exceptions import InvalidToolError, ToolError, describe_unknown
from maverick.model import Effect, ToolCall, ToolContext

_READING = frozenset({"Glob", "Grep", "LS", "NotebookRead", "Read", "WebFetch", "WebSearch"})
_ACCESS = {
    **dict.fromkeys(("Edit", "MultiEdit", "NotebookEdit", "Write"), "edit"),
    **dict.fromkeys(("WebFetch", "WebSearch"), "network"),
    "TodoWrite": "read",
}
"""How far tools reach that neither only look nor may do anything."""
_AGENTS = frozenset({"Agent", "Task"})


class CliToolRunner(Protocol):
    """Runs tool calls in a CLI."""

    async def perform(self, call: ToolCall, *, approved: bool) -> str:
        """Run a call in the CLI, and return its result."""
        ...


current_run: ContextVar[CliToolRunner | None] = ContextVar("maverick_claude_cli_run", default=None)
"""The run of this context; the tasks of its tools inherit it."""


@dataclass(eq=False, repr=False)
class CliTool:
    """A tool of the CLI; :func:`cli_tool` makes one.

    The CLI describes it to the model and runs it. The loop decides when and whether it runs, as for every other tool:
    limits, approvals, events and the journal treat it the same.
    """

    name: str
    effect: Effect
    approval: bool | str = False
    timeout: float | None = None
    max_output: int | None = None
    optional: bool = False
    """Whether a CLI may be without it, as newer ones are without some of the older tools."""
    access: str | None = None
    """How far it reaches, for permissions; by default what its effect says."""
    narrowed: bool = False
    """Whether a rule such as ``Bash(git:*)`` allows only some of its calls."""
    editable: ClassVar[bool] = False
    """Whether a person may approve a call with other arguments: the CLI runs it with those of its model."""
    parameters: ClassVar[Mapping[str, Any]] = {"type": "object"}

    @property
    def description(self) -> str:
        """It says no more than the name: the CLI itself describes the tool to the model."""
        return f"The tool {self.name} of the Claude Code CLI."

    async def execute(self, args: dict[str, Any], context: ToolContext | None = None, /) -> str:
        """Run the call in the CLI of this run."""
        run = current_run.get()
        if run is None or context is None:
            raise ToolError(
                f"{self.name} is a tool of the Claude Code CLI, but this run does not use it. "
                "Give the agent a 'claude-code:…' model.",
                tool_name=self.name,
            )
        return await run.perform(ToolCall(context.call_id, self.name, args), approved=bool(self.approval))

    def __repr__(self) -> str:
        return f"<cli tool {self.name}>"


class McpServerTool(CliTool):
    """All tools of an MCP server that the CLI itself connects to, and whose names are known to the CLI alone.

    A call has two arguments: ``tool``, as the CLI names it, which begins with this tool's name, and its ``arguments``.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, Effect.IRREVERSIBLE, optional=True)

    def wrapped(self, call: ToolCall) -> ToolCall | None:
        """The call of this tool that a call of the CLI's model stands for; ``None`` if it is no call of this server's."""
        if not call.tool_name.startswith(f"{self.name}__"):
            return None
        return ToolCall(
            call.id, self.name, {"tool": call.tool_name, "arguments": call.arguments}, call.malformed
        )


def unwrapped(call: ToolCall) -> ToolCall:
    """A call as the CLI knows it."""
    match call.arguments:
        case {"tool": str(name), "arguments": dict(arguments)} if name.startswith(f"{call.tool_name}__"):
            return ToolCall(call.id, name, arguments, call.malformed)
    return call


def class_tools(names: Iterable[str], servers: Iterable[str]) -> list[CliTool]:
    """The tools of an agent that is a class. Which calls of them may run is up to the rules the CLI was started with.

    ``names`` are the CLI's own tools and those of MCP servers; with each of ``servers`` begin the names of all its tools.
    """
    wanted = dict.fromkeys(names)
    if wanted.keys() & _AGENTS:  # the CLI has had both names for one tool
        wanted |= dict.fromkeys(sorted(_AGENTS))
    tools = [CliTool(name, _usual_effect(name), optional=True, access=_ACCESS.get(name)) for name in wanted]
    return [*tools, *map(McpServerTool, servers)]


def cli_tool(
    name: str,
    *,
    effect: Effect | str | None = None,
    approval: bool | str = False,
    timeout: float | None = None,
    max_output: int | None = None,
) -> CliTool:
    """A tool of the CLI, such as ``cli_tool("Bash", approval=True)``, for ``ToolConfig(tools=[…])``.

    Args:
        name: The CLI's name for it.
        effect: What running it again would do; by default ``pure`` for tools that only read, ``irreversible`` for
            all others.
        approval: Whether a person has to approve each call, or the reason why. A call that the CLI itself considers
            dangerous runs only if it had to be approved.
        timeout: The seconds a call may take.
        max_output: How many characters of its output are kept.

    Raises:
        InvalidToolError: The effect is unknown, or the tool starts subagents of the CLI.
    """
    if name in _AGENTS:
        raise InvalidToolError(
            f"The CLI's tool {name!r} starts subagents whose turns, tools and costs cannot be limited. "
            "Use an agent of your own as a tool: definition.as_tool().",
            tool_name=name,
        )
    if effect is None:
        effect = _usual_effect(name)
    if effect not in list(Effect):
        raise InvalidToolError(describe_unknown("effect", str(effect), list(Effect)), tool_name=name)
    return CliTool(name, Effect(effect), approval, timeout, max_output)


def _usual_effect(name: str) -> Effect:
    return Effect.PURE if name in _READING else Effect.IRREVERSIBLE
