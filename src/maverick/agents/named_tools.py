"""Tools by name: the coding tools and those of configured MCP servers, and what Claude Code calls its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maverick.config.mcp_server import group_of, server_of
from maverick.config.own_files import persons_home
from maverick.loop.definition import AgentDefinition, AgentTool
from maverick.model import ToolContext
from maverick.runtime.approver import ApprovalRequest, Approver, ask
from maverick.runtime.consent import QUESTION, SAMPLING
from maverick.runtime.watchdog import watchdog
from maverick.tools import ToolRegistry

if TYPE_CHECKING:
    from maverick.config.mcp_server import MCPServer
    from maverick.tools.mcp import AskModel, ConfiguredServer


BUILTIN_TOOLS: frozenset[str] = frozenset({
    "Read", "Write", "Edit", "Bash", "Glob", "Grep", "NotebookEdit", "WebFetch", "WebSearch", "TodoWrite", "BashOutput",
    "KillBash", "Task", "ExitPlanMode", "ListMcpResources", "ReadMcpResource",
})  # fmt: skip
"""The CLI's own tools that any agent may be allowed."""
LATER_TOOLS: frozenset[str] = frozenset({
    "Agent", "AskUserQuestion", "Monitor", "Skill", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
    "TaskUpdate", "ToolSearch",
})  # fmt: skip
"""Tools that today's CLI has besides."""

CLAUDE_MODELS: Mapping[str, str] = {
    "sonnet": "claude:claude-sonnet-5-5",
    "opus": "claude:claude-opus-5-5",
    "haiku": "claude:claude-haiku-5-5",
}
"""The models that its agent files name in short."""

CLAUDE_TOOLS: Mapping[str, str] = {
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "Glob": "list_files",
    "LS": "list_files",
    "Grep": "grep",
    "Bash": "shell",
    "WebFetch": "web_fetch",
    "TodoWrite": "update_plan",
}
"""Our tools for those of Claude Code."""

CODING_TOOLS: tuple[str, ...] = tuple(dict.fromkeys(CLAUDE_TOOLS.values()))
"""The tools for coding, which an agent file has by default."""
MEMORY = "memory"
"""The tool for notes, which an agent file can name too."""

_TOOL = re.compile(r"[\w.*-]+")
_NOT_IN_NAMES = r"[^a-zA-Z0-9_-]"  # what the CLI makes an underscore of in a server's name
_ESCAPED = r"\\."


def names_tools(definition: AgentDefinition[Any]) -> bool:
    """Whether an agent, or one of its subagents, refers to tools by name."""
    return any(_named(definition))


def names_coding_tools(definition: AgentDefinition[Any]) -> bool:
    """Whether an agent, or one of its subagents, refers to tools by name that are not an MCP server's."""
    return any(server_of(name) is None for name in _named(definition))


def servers_named(definition: AgentDefinition[Any]) -> list[str]:
    """The MCP servers whose tools an agent, or one of its subagents, refers to."""
    servers = (server_of(name) for name in _named(definition))
    return list(dict.fromkeys(server for server in servers if server is not None))


@asynccontextmanager
async def named_tools(
    definition: AgentDefinition[Any],
    folder: Path,
    *,
    on_output: Callable[[ToolContext, str], object] | None = None,
    on_remark: Callable[[str], object] | None = None,
    readable: Sequence[Path] = (),
    servers: Sequence[MCPServer] = (),
    approve: Approver | None = None,
    ask_model: AskModel | None = None,
) -> AsyncIterator[ToolRegistry]:
    """The tools an agent refers to; its MCP servers stay connected inside the ``async with`` block.

    Coding tools do not leave the folder, and its configuration may define servers. Commands in the sandbox may read the
    folders ``readable`` too. ``servers`` are connected besides; one of them that cannot be is remarked and left out.
    Where the settings of a server let it ask, ``approve`` asks a person, and ``ask_model`` a model if the person
    agrees.

    Raises:
        MaverickError: A server is not configured, its project is not trusted, or it cannot be connected.
    """
    coding = names_coding_tools(definition)
    registry = coding_registry(folder, on_output, readable) if coding else ToolRegistry()
    names = servers_named(definition)
    if not names and not servers:
        yield registry
        return
    from maverick.config.mcp_servers import load_mcp_servers  # here, since most agents name no server

    known = load_mcp_servers(folder)
    others = [server for server in servers if server.name not in names]
    needed = [known.find(name) for name in names]
    async with _connected(needed, others, on_remark, registry, approve, ask_model) as connected:
        for one in connected:
            registry.register_group(group_of(one.server.name), one.tools)
            if one.quarantined and on_remark is not None:
                on_remark(
                    f"(MCP server {one.server.name}: these tools are new or changed, and left out until you accept them: "
                    f"{', '.join(one.quarantined)}. Run: maverick mcp accept {one.server.name})"
                )
        yield registry


def coding_registry(
    folder: Path, on_output: Callable[[ToolContext, str], object] | None = None, readable: Sequence[Path] = ()
) -> ToolRegistry:
    """The coding tools, and the memory of the folder, by name."""
    from maverick.tools.coding.sandbox import python_folders  # here, since not every agent has them
    from maverick.tools.coding.toolbox import coding_tools
    from maverick.tools.coding.workspace import Workspace
    from maverick.tools.memory import memory_tool, project_memory

    folders = [*python_folders(), *readable]
    registry = ToolRegistry(coding_tools(Workspace(folder), readable=folders, on_output=on_output))
    if (home := persons_home()) is not None:
        registry.register(memory_tool(project_memory(home, folder), asks=True))
    return registry


def _connected(
    servers: list[MCPServer],
    others: list[MCPServer],
    on_remark: Callable[[str], object] | None,
    registry: ToolRegistry,
    approve: Approver | None,
    ask_model: AskModel | None,
) -> AbstractAsyncContextManager[list[ConfiguredServer]]:
    from maverick.tools.mcp import Question, connected_servers  # here, since it brings MCP with it

    async def put(question: Question) -> dict[str, Any] | None:
        """Ask as about a call whose arguments are the answer: every front end shows them, and lets a person change them."""
        assert approve is not None  # noqa: S101 - else no one is asked
        fields = {"url": question.url} if question.url else question.fields
        kind = SAMPLING if question.asks_model else QUESTION
        request = ApprovalRequest(
            tool_name=f"{kind}{question.server}: {' '.join(question.message.split())}",
            arguments=fields,
            reason=f"the MCP server {question.server} asks this in the middle of a call.",
            run_id="",
            form=question.form,
        )
        with ExitStack() as stack:
            # The server does not say in which of its calls it asks.
            its_tools = (tool for tool in registry if getattr(tool, "server", None) == question.server)
            for run in watchdog.runs_with(its_tools):
                stack.enter_context(run.waiting)
            answer = await ask(approve, request)
        return (fields if answer.arguments is None else answer.arguments) if answer.approved else None

    asked = None if approve is None else put
    return connected_servers(servers, others, on_remark or (lambda _: None), asked, ask_model)


def _named(definition: AgentDefinition[Any]) -> Iterator[str]:
    for tool in definition.tool_config.tools:
        if isinstance(tool, str):
            yield tool
        elif isinstance(tool, AgentTool):
            yield from _named(tool.definition)


def find_invalid_tool(tools: Iterable[object], servers: Iterable[str]) -> str | None:
    """The first tool that does not exist or is not written as one, in words; ``None`` if each is valid.

    A tool is one of the CLI's, alone or with a rule such as ``Bash(git:*)``, or ``mcp__<server>__<tool>``, or
    ``mcp__<server>`` for all tools of a server.
    """
    prefixes = {prefix for server in servers for prefix in (f"mcp__{server}", server_prefix(server))}
    for tool in tools:
        if not isinstance(tool, str) or not (_is_built_in(tool) or _is_of_a_server(tool, prefixes)):
            return str(tool)
    return None


def server_prefix(server: str) -> str:
    """What the names of all tools of an MCP server begin with in the CLI."""
    return f"mcp__{re.sub(_NOT_IN_NAMES, '_', server)}"


def _is_built_in(tool: str) -> bool:
    name, bracket, rest = tool.partition("(")
    if name not in BUILTIN_TOOLS and name not in LATER_TOOLS:
        return False
    return not bracket or (rest not in {"", ")"} and _closes_at_the_end(rest))


def _closes_at_the_end(rest: str) -> bool:
    """Whether the bracket that was opened before this is closed by its last character and not earlier."""
    depth = 1
    for place, character in enumerate(plain := re.sub(_ESCAPED, "", rest)):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(plain) - 1
    return False


def _is_of_a_server(tool: str, prefixes: Iterable[str]) -> bool:
    return any(
        tool == prefix or (tool.startswith(f"{prefix}__") and _TOOL.fullmatch(tool, len(prefix) + 2))
        for prefix in prefixes
    )


def tools_for(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Our tools for those of Claude Code, and the names of those that have none here."""
    named = list(names)  # "Bash(git:*)" is less than Bash, so it has none
    ours = dict.fromkeys(CLAUDE_TOOLS[name] for name in named if name in CLAUDE_TOOLS)
    return tuple(ours), tuple(name for name in named if name not in CLAUDE_TOOLS)
