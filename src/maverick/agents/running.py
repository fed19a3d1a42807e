"""The executor of an agent that was found by its name or file: the same for command line, TUI, server and workers.

A module of agents may have a function ``executor(definition, user_id)`` that returns an ``AgentExecutor``: its agents are
then run with that one's client, tools, permissions and approver. What it leaves open comes from the settings.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maverick.agents.discovery import DiscoveredAgent, Discovery, Origin
from maverick.agents.named_tools import named_tools, names_coding_tools, names_tools
from maverick.agents.python_source import definitions_in, describe_failure, load_python
from maverick.agents.registry import registry
from maverick.config import MaverickConfig
from maverick.exceptions import InvalidInputError, MaverickError
from maverick.journal import Journal
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, PromptConfig, RunConfig
from maverick.model import Message, ToolContext
from maverick.runtime import AgentExecutor
from maverick.runtime.approver import Approver
from maverick.runtime.consent import Grants, granted
from maverick.runtime.toolset import Guidance
from maverick.tools.permissions import Mode, ModeSwitch, StrictestPolicy, SwitchedPolicy, load_permissions

if TYPE_CHECKING:
    from maverick.config.mcp_server import MCPServer
    from maverick.tools.mcp import Sample

_HOOK = "executor"


def has_own_executor(found: DiscoveredAgent) -> bool:
    """Whether the agent's module says with which executor its agents are run."""
    return callable(found.namespace.get(_HOOK))


def mode_of(found: DiscoveredAgent, definition: AgentDefinition[Any], mode: str | None = None) -> Mode:
    """What an agent may do without asking in the current folder, in the mode that was asked for or in its usual one."""
    usual = Mode.YOLO if has_own_executor(found) else _usual_mode(definition)[1]
    return load_permissions(mode, usual=usual).mode


def _usual_mode(definition: AgentDefinition[Any]) -> tuple[AgentDefinition[Any], Mode]:
    """The agent with the tools that it needs, and its mode if the user sets none."""
    usual = None
    if type(definition) is not AgentDefinition:
        from maverick.agents.class_executor import needed_tools  # here, since few agents are classes

        definition, usual = needed_tools(definition)
    return definition, usual or (Mode.ASK if names_tools(definition) else Mode.YOLO)


@asynccontextmanager
async def agent_executor(
    found: DiscoveredAgent,
    config: MaverickConfig,
    journal: Journal | None,
    user_id: str | None = None,
    *,
    mode: str | ModeSwitch | None = None,
    approve: Approver | None = None,
    grants: Grants | None = None,
    on_output: Callable[[ToolContext, str], object] | None = None,
    on_remark: Callable[[str], object] | None = None,
    cwd: Path | None = None,
    servers: Sequence[MCPServer] = (),
) -> AsyncIterator[AgentExecutor]:
    """What runs an agent, for the length of an ``async with`` block; one executor serves any number of its runs.

    An agent that names tools gets those for coding, in the folder, and those of the MCP servers it names. One with coding
    tools is told the instructions of the user and the project, and which skills there are. The user's
    permissions apply to every agent, besides those of its module. Tools that an agent brings along need no approval
    unless a mode is given; tools that it only names do, unless its module has permissions of its own.

    Args:
        found: The agent.
        config: The settings.
        journal: Where its runs are kept, whatever its module says.
        user_id: The verified user that the runs act for, for the agent's module.
        mode: What it may do without asking; a switch can be changed while runs are in progress.
        approve: Asks a person about a tool call, unless its module says who is asked; without it, the run waits in its
            journal.
        grants: What the user has allowed in the folder, which holds also where no one can be asked.
        on_output: Called with the output of the agent's commands as it comes.
        on_remark: Called with what the user should know about tools that are left out.
        cwd: The folder of its coding tools; by default the current one.
        servers: MCP servers that are connected besides those it names; one that cannot be is remarked and left out.

    Raises:
        InvalidInputError: The agent is a class that has no runs; or its module's ``executor`` fails, or returns
            something else than an executor.
        ConfigError: A file with permissions cannot be read, or is wrong.
        MaverickError: An MCP server that the agent names cannot be used.
    """
    definition = found.runnable(config)
    if definition is None:
        raise InvalidInputError(f"The agent {found.name!r} is a class that has no runs.", field="agent")
    own = _own_executor(found, definition, user_id) if has_own_executor(found) else AgentExecutor()
    kind = type(own)
    if type(definition) is not AgentDefinition:
        from maverick.agents.class_executor import ClassExecutor  # here, since few agents are classes

        kind = kind if issubclass(kind, ClassExecutor) else ClassExecutor
    definition, usual = _usual_mode(definition)
    folder = Path.cwd() if cwd is None else cwd
    given = own.options
    brought, rules = given["tool_registry"], given["permissions"]
    usual = usual if rules is None else Mode.YOLO
    permissions = (
        SwitchedPolicy(mode, project=folder, usual=usual)
        if isinstance(mode, ModeSwitch)
        else load_permissions(mode, usual=usual, project=folder)
    )
    guidance, readable = given["guidance"], list[Path]()
    if brought is None and guidance is None and names_coding_tools(definition):
        guidance, readable = _guidance(folder, on_remark)
    asked = given["approve"] or approve
    settings = given["settings"] or config.agent

    async def ask_model(server: str, sample: Sample) -> AgentResult[Any]:
        plain = AgentExecutor.like(
            own, tool_registry=None, journal=journal, permissions=None, settings=settings, guidance=None
        )
        async with plain as executor:
            return await _sampled(executor, definition, server, sample, user_id)

    tools = (
        named_tools(
            definition,
            folder,
            on_output=on_output,
            on_remark=on_remark,
            readable=readable,
            servers=servers,
            approve=asked,
            ask_model=ask_model,
        )
        if brought is None
        else nullcontext(brought)
    )
    async with (
        tools as tool_registry,
        kind.like(
            own,
            tool_registry=tool_registry,
            journal=journal,
            approve=asked or (None if grants is None else granted(grants, folder)),
            permissions=permissions if rules is None else StrictestPolicy((permissions, rules)),
            settings=settings,
            guidance=guidance,
        ) as executor,
    ):
        yield executor


async def _sampled(
    executor: AgentExecutor,
    definition: AgentDefinition[Any],
    server: str,
    sample: Sample,
    user_id: str | None,
) -> AgentResult[str]:
    """What an agent's model says to an MCP server: in a run of one turn, without tools, that is kept like any other."""
    *earlier, last = sample.messages
    made = {"user": Message.user, "assistant": Message.assistant}
    asked: AgentDefinition[str] = AgentDefinition(
        "mcp-sampling",
        f"Answers what the MCP server {server} asks.",
        prompt_config=PromptConfig("${system}" if sample.system else "", ["${prompt}"]),
        model_config=ModelConfig(model=definition.model_config.model, max_tokens=sample.max_tokens),
        run_config=RunConfig(max_turns=1),
    )
    system = {"system": sample.system} if sample.system else {}
    return await executor.execute(
        asked,
        inputs={"prompt": last.content, **system},
        messages=[made[message.role](message.content) for message in earlier],
        user_id=user_id,
    )


def _guidance(folder: Path, on_remark: Callable[[str], object] | None) -> tuple[Guidance, list[Path]]:
    """What agents are told in a folder, and the folders of skills outside of it, whose scripts commands may read."""
    from maverick.agents.skills import guidance_in, load_skills  # here, since not every agent needs them

    skills = load_skills(folder)
    if on_remark is not None:
        for problem in skills.problems:
            on_remark(f"({problem})")
    folders = (skill.folder for skill in skills.by_name.values())
    outside = [place for place in folders if not place.is_relative_to(folder.absolute())]
    return guidance_in(folder, skills), outside


def offered_agents(
    config: MaverickConfig, sources: Iterable[str] = (), on_remark: Callable[[str], object] | None = None
) -> dict[str, DiscoveredAgent]:
    """The agents that a worker offers, by name: those of Markdown files, Python files and modules, or all found here.

    What is wrong with one that is found here is remarked; a source that is wrong, or has no agents, or one whose name
    another source has, is an error.
    """
    sources = list(sources)
    if not sources:
        return _all_agents(config, on_remark or (lambda _: None))
    offered: dict[str, DiscoveredAgent] = {}
    for source in sources:
        agents = [agent for agent in _agents_in(source) if agent.runnable(config) is not None]
        if not agents:
            raise InvalidInputError(f"{source} has no agents that can be run.", field="agents")
        for agent in agents:
            first = offered.setdefault(agent.name, agent)
            if first.agent is not agent.agent:
                raise InvalidInputError(
                    f"{source}: {first.where} already has an agent named {agent.name!r}. Rename one of them.",
                    field="agents",
                )
    return offered


def _all_agents(config: MaverickConfig, on_remark: Callable[[str], object]) -> dict[str, DiscoveredAgent]:
    discovery = Discovery(modules=config.agents)
    offered: dict[str, DiscoveredAgent] = {}
    for found in discovery.all():
        try:
            if found.runnable(config) is not None:
                offered[found.name] = found
        except MaverickError as error:  # one that cannot be made does not keep the others from being offered
            on_remark(f"The agent {found.name!r} is left out: {error}")
    for problem in discovery.problems:
        on_remark(str(problem))
    return offered


def _agents_in(source: str) -> Iterable[DiscoveredAgent]:
    if source.endswith(".md"):
        from maverick.agents.markdown import read_agent  # here, since few agents are files

        read, missing = read_agent(Path(source))
        yield DiscoveredAgent(read.name, read, Origin.PROJECT, source, missing)
        return
    known = registry.get_all()
    module = load_python(source)
    names = vars(module)
    for definition in definitions_in(module):
        yield DiscoveredAgent(definition.name, definition, Origin.REGISTERED, source, namespace=names)
    for name, agent in registry.get_all().items():
        namespace = registry.namespace_of(name)
        if name not in known or namespace is names:
            yield DiscoveredAgent(name, agent, Origin.REGISTERED, source, namespace=namespace)


def _own_executor(
    found: DiscoveredAgent, definition: AgentDefinition[Any], user_id: str | None
) -> AgentExecutor:
    """What the agent's module returns; it is not used itself, since it may be shared with other journals."""
    try:
        made = found.namespace[_HOOK](definition, user_id)
    except Exception as error:  # foreign code may raise anything
        file = found.namespace.get("__file__") or found.where
        raise InvalidInputError(
            f"{found.where}: executor(definition, user_id) failed. {describe_failure(error, Path(file).parent)}",
            field=_HOOK,
        ) from error
    if isinstance(made, AgentExecutor):
        return made
    if inspect.iscoroutine(made):
        made.close()
    problem = "is async" if inspect.isawaitable(made) else f"returned {type(made).__name__}"
    raise InvalidInputError(
        f"{found.where}: executor(definition, user_id) {problem}. It must be a plain function that returns an "
        "AgentExecutor.",
        field=_HOOK,
    )
