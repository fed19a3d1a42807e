"""The tools of a definition, made ready to run: looked up and inspected once, not in every run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from maverick.config.mcp_server import server_of
from maverick.exceptions import InvalidToolError
from maverick.loop.config import check_tool
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.run_settings import RunSettings
from maverick.loop.tool_round import PlannedCall
from maverick.model import Effect, Outcome, Tool, ToolContext
from maverick.tools import FunctionTool, ToolRegistry
from maverick.tools.deferred import deferral_tools, deferred_names


class ReadyTool:
    """A tool with everything settled that running it needs."""

    def __init__(self, tool: Tool, timeout: float, max_output: int) -> None:
        self.tool = tool
        self.agent = tool.definition if isinstance(tool, AgentTool) else None
        """The definition, when the tool is an agent."""
        self.timeout: float = getattr(tool, "timeout", None) or timeout
        self.max_output: int = getattr(tool, "max_output", None) or max_output
        self.effect = Effect(getattr(tool, "effect", Effect.IRREVERSIBLE))
        self.untrusted: bool = getattr(tool, "untrusted", False)
        """Whether what it returns was written by others."""
        self.sequential: bool = getattr(tool, "sequential", False)
        """Whether a call of it waits for those before it in the turn, and those after wait for it."""
        self.reconcile: Callable[[dict[str, Any], ToolContext], Awaitable[Outcome]] | None = getattr(
            tool, "reconciler", None
        )
        """Asks after a crash whether a call took effect, if the tool can tell."""
        self.execute: Callable[..., Awaitable[Any]] = tool.execute
        self.validates = isinstance(tool, FunctionTool)
        """Whether it makes values of its own from the arguments, and leaves them as they are."""
        self.takes_context = _takes_context(tool)
        """Whether ``execute`` has a second parameter, for the :class:`~maverick.model.ToolContext`."""


class Guidance(Struct, frozen=True):
    """What the agents that work in a folder are told there, besides their own prompts.

    It is for agents that refer to tools by name, and recorded with each run. It is not part of what an agent is: a run can
    be resumed after it has changed (promise P10 is about the agent).
    """

    instructions: str = ""
    """What is added to the system prompt of a new run."""
    tools: tuple[Tool, ...] = ()
    """Tools that the instructions need."""

    def is_for(self, definition: AgentDefinition[Any]) -> bool:
        """Whether an agent is told; one that brings all its tools along has nothing to do with the folder."""
        return any(isinstance(tool, str) and server_of(tool) is None for tool in definition.tool_config.tools)


class Toolset:
    """A definition's tools by name, and what the folder adds to them; names that are unknown, or taken, are refused."""

    __slots__ = ("_added", "_fingerprint", "_hooks", "instructions", "ready", "settings", "tools")

    def __init__(
        self,
        definition: AgentDefinition[Any],
        registry: ToolRegistry,
        guidance: Guidance | None = None,
        hooks: tuple[str, ...] = (),
    ) -> None:
        config = definition.tool_config
        self._fingerprint: Fingerprint | None = None
        self._hooks = hooks
        self.tools: dict[str, Tool] = {}
        for named in config.tools:
            for tool in registry.find(named) if isinstance(named, str) else (named,):
                self._add(tool)
        if deferred := deferred_names(config.defer, self.tools):
            for tool in deferral_tools(tool for name, tool in self.tools.items() if name in deferred):
                self._add(tool)
        guided = guidance if guidance is not None and guidance.is_for(definition) else Guidance()
        self.instructions = guided.instructions
        """What is added to the system prompt of a new run."""
        self._added = {tool.name: tool for tool in guided.tools if tool.name not in self.tools}
        self.tools |= self._added
        self.settings = RunSettings.of(definition, self.tools, deferred)
        """What a run with these tools is decided by."""
        self.ready = {
            name: ReadyTool(tool, config.timeout, config.max_output) for name, tool in self.tools.items()
        }

    def of_begun(self, planned: PlannedCall) -> ReadyTool | None:
        """The tool of a call that was running when the process stopped, if it is still there."""
        ready, was_agent = self.ready.get(planned.call.tool_name), planned.grant is not None
        return None if ready is None or (ready.agent is not None) is not was_agent else ready

    def may_run_again(self, planned: PlannedCall) -> bool:
        """Whether a call that was running when the process stopped may be run once more (promise P2)."""
        ready = self.of_begun(planned)
        return ready is not None and (
            ready.agent is not None or ready.effect is not Effect.IRREVERSIBLE or ready.reconcile is not None
        )

    def _add(self, tool: Tool) -> None:
        name = check_tool("tool_config.tools", tool)
        if self.tools.setdefault(name, tool) is not tool:
            raise InvalidToolError(
                f"Two tools are named {name!r}: one the agent brings, and one it names. Rename one of them.",
                tool_name=name,
            )

    def fingerprint(self, definition: AgentDefinition[Any]) -> Fingerprint:
        """What the agent is, in hashes; made once."""
        if self._fingerprint is None:
            own = {name: tool for name, tool in self.tools.items() if name not in self._added}
            self._fingerprint = Fingerprint.of(definition, own, self._hooks)
        return self._fingerprint


def _takes_context(tool: Tool) -> bool:
    if isinstance(tool, FunctionTool):
        return tool.takes_context
    parameters = inspect.signature(tool.execute).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
