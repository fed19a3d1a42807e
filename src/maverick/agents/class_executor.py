"""Runs agents that are classes where any other agent is run: with a journal, permissions, limits and another model.

Running such an agent is entering its ``execute()``. Each prompt in it is a run of its own: the first has the id of the
whole, ``ID``, and those after it ``ID.2``, ``ID.3`` and so on. Resuming enters ``execute()`` again with what it was given.
Prompts that are done answer from the journal, the one that was cut short continues, and the others are run.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from maverick.agents.base import MaverickAgent
from maverick.agents.class_definition import (
    PromptRunner,
    definition_name,
    for_prompt,
    is_on_the_cli,
    mode_for,
    prompt_runner,
    with_own_tools,
)
from maverick.agents.context import AgentContext
from maverick.agents.named_tools import CLAUDE_TOOLS, coding_registry
from maverick.agents.query import QueryEvents
from maverick.agents.registry import Agent, make_class_agent
from maverick.exceptions import AbortedError, InvalidInputError
from maverick.loop import AgentDefinition, Input, InputConfig, OutputConfig, PromptConfig, TerminateReason
from maverick.loop.entries import Execution
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.policy import Policy, PolicyDecision
from maverick.loop.result import AgentResult, AgentUsage, ResultMetadata
from maverick.model import Message, Tool, ToolCall
from maverick.providers.claude_cli.tool import CliTool
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.arguments import new_run_id
from maverick.runtime.replay import load_beginning
from maverick.tools import ToolRegistry
from maverick.tools.permissions import Mode, load_permissions

if TYPE_CHECKING:
    from claude_agent_sdk import Message as SDKMessage
    from pydantic import BaseModel

_GRACE_SECONDS = 0.5
"""How long an ``execute()`` that is stopped may take to return a result of its own."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassDefinition(AgentDefinition[Any]):
    """An agent that is a class, where a definition is wanted; :func:`define_class` makes one."""

    agent: MaverickAgent
    context: AgentContext
    """Where it works."""


def define_class(name: str, cls: type[Agent], context: AgentContext, **options: Any) -> ClassDefinition:
    """A class of agents as a definition that a :class:`ClassExecutor` can run.

    Args:
        name: What it is registered as.
        cls: The class; a :class:`~maverick.agents.MaverickAgent`.
        context: Where it works; what it is asked with comes with each run.
        options: What the class's constructor takes.

    Raises:
        InvalidInputError: The class has no prompts that could be run, or its constructor failed.
    """
    agent = make_class_agent(name, cls, **options)
    if not isinstance(agent, MaverickAgent):
        raise InvalidInputError(
            f"{name}: expected a class that derives from MaverickAgent, got {cls!r}.", field="cls"
        )
    own = agent.definition(context)
    given: dict[str, Any] = {field.name: getattr(own, field.name) for field in fields(own) if field.init}
    inputs: Mapping[str, Input] = getattr(cls, "inputs", {"prompt": Input(str, "What to do.", default="")})
    output_type = getattr(cls, "output_type", None)
    given |= {
        "name": definition_name(name),
        "prompt_config": PromptConfig(
            own.prompt_config.system_prompt, ["${prompt}" if "prompt" in inputs else "Do your work."]
        ),
        "input_config": InputConfig(inputs),
        "output_config": None if output_type is None else OutputConfig("answer", output_type),
    }
    return ClassDefinition(**given, agent=agent, context=context)


class ClassExecutor(AgentExecutor):
    """An :class:`~maverick.AgentExecutor` that runs classes too, and takes the same arguments.

    A definition that :func:`define_class` has made is run by entering its agent's ``execute()``; any other is run as it is.
    Without a ``tool_registry``, a class on another model than the CLI's has our coding tools in its folder, under the
    user's permissions.
    """

    async def execute(
        self,
        definition: AgentDefinition[Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        messages: Sequence[Message] = (),
        run_id: str | None = None,
        **options: Any,
    ) -> AgentResult[Any]:
        """Run an agent to its end; see :meth:`AgentExecutor.execute`."""
        if not isinstance(definition, ClassDefinition):
            return await super().execute(
                definition, inputs=inputs, messages=messages, run_id=run_id, **options
            )
        if messages and inputs and "prompt" in inputs:  # a conversation continues, without the class
            executor, prompted = self._for_prompt(definition)
            prompt = {"prompt": inputs["prompt"]}
            return await executor.execute(
                prompted, inputs=prompt, messages=messages, run_id=run_id, **options
            )
        inspect.signature(super().execute).bind(definition, **options)  # refuses what it does not know
        # The inputs in a form that a journal can keep.
        kept: dict[str, Any] = msgspec.to_builtins(dict(inputs or {}), enc_hook=str, str_keys=True)
        execution = Execution(run_id or new_run_id(), 1, kept)
        return await _Prompts(self, definition, execution, options, resumes=False).enter(dict(inputs or {}))

    async def resume(self, run_id: str, definition: AgentDefinition[Any], **options: Any) -> AgentResult[Any]:
        """Continue a run; see :meth:`AgentExecutor.resume`."""
        if not isinstance(definition, ClassDefinition):
            return await super().resume(run_id, definition, **options)
        execution = (await load_beginning(self._kept_runs(), run_id)).execution
        if execution is None:  # a fork, or a conversation that continued without the class
            executor, prompted = self._for_prompt(definition)
            return await executor.resume(run_id, prompted, **options)
        inspect.signature(super().resume).bind(run_id, definition, **options)
        return await _Prompts(self, definition, execution, options, resumes=True).enter(
            dict(execution.inputs)
        )

    async def fork(self, run_id: str, definition: AgentDefinition[Any], **options: Any) -> AgentResult[Any]:
        """Run a prompt again from a turn on; see :meth:`AgentExecutor.fork`."""
        if not isinstance(definition, ClassDefinition):
            return await super().fork(run_id, definition, **options)
        executor, prompted = self._for_prompt(definition)
        return await executor.fork(run_id, prompted, **options)

    def fingerprint(self, definition: AgentDefinition[Any]) -> Fingerprint:
        """What an agent is here; see :meth:`AgentExecutor.fingerprint`."""
        if not isinstance(definition, ClassDefinition):
            return super().fingerprint(definition)
        executor, prompted = self._for_prompt(definition)
        return executor.fingerprint(prompted)

    def _for_prompt(self, definition: ClassDefinition) -> tuple[AgentExecutor, AgentDefinition[Any]]:
        return self.for_prompt(definition.agent, definition, definition.context)

    def for_prompt(
        self,
        agent: MaverickAgent,
        definition: AgentDefinition[Any],
        context: AgentContext | None,
        report: dict[str, Any] | None = None,
        output_type: type[Any] | None = None,
    ) -> tuple[AgentExecutor, AgentDefinition[Any]]:
        """What runs a prompt, and the definition it is run with: on the agent's CLI, or with our tools elsewhere."""
        options = self.options.copy()
        folder = Path.cwd() if context is None else context.cwd
        if options["client"] is None and is_on_the_cli(definition):
            options["client"] = agent.cli_client(context, report)
            if (policy := options["permissions"]) is not None:
                options["permissions"] = _ForCliTools(policy, coding_registry(folder))
        else:
            definition = with_own_tools(definition)
            if options["settings"] is None and context is not None:
                options["settings"] = context.config.agent
            if options["tool_registry"] is None:
                options["tool_registry"] = coding_registry(folder)
                if options["permissions"] is None:
                    options["permissions"] = load_permissions(
                        usual=mode_for(agent.permission_mode), project=folder
                    )
        return AgentExecutor.like(self, **options), for_prompt(definition, output_type)

    async def has(self, run_id: str) -> bool:
        """Whether the journal has a run."""
        return await self._has(run_id)


def needed_tools(definition: AgentDefinition[Any]) -> tuple[AgentDefinition[Any], Mode | None]:
    """An agent with the tools it has on its model, and the mode that applies when none is given.

    With the CLI's tools that is up to the CLI's rules. With ours, it is what the class lets the CLI do.
    """
    if not isinstance(definition, ClassDefinition) or is_on_the_cli(definition):
        return definition, None
    return with_own_tools(definition), mode_for(definition.agent.permission_mode)


class _Prompts:
    """Runs the prompts of one ``execute()``, each under its number."""

    def __init__(
        self,
        executor: ClassExecutor,
        definition: ClassDefinition,
        execution: Execution,
        options: Mapping[str, Any],
        *,
        resumes: bool,
    ) -> None:
        self._executor = executor
        self._definition = definition
        self._execution = execution
        self._options = options
        self._resumes = resumes
        self._count = 0
        self._events = QueryEvents(definition.name, execution.run_id)

    async def enter(self, inputs: dict[str, Any]) -> AgentResult[Any]:
        """Do the agent's work."""
        agent, signal = self._definition.agent, self._options.get("signal")
        token = prompt_runner.set(PromptRunner(self._run, self._hear, signal))
        try:
            return await until_stopped(agent.execute(replace(self._definition.context, extra=inputs)), signal)
        finally:
            prompt_runner.reset(token)

    def _hear(self, sdk_message: SDKMessage) -> None:
        """Tell of a query, which is no run and is kept nowhere."""
        if (listener := self._options.get("on_activity")) is not None:
            for event in self._events.of(sdk_message):
                listener(event)

    async def _run(
        self,
        agent: MaverickAgent,
        prompt: str,
        context: AgentContext | None,
        output_type: type[BaseModel] | None,
        signal: AbortSignal | None,
    ) -> AgentResult[Any]:
        """Run the next prompt, or take its answer from the journal."""
        self._count += 1
        execution = msgspec.structs.replace(self._execution, prompt=self._count)
        is_own = agent is self._definition.agent
        definition: AgentDefinition[Any] = self._definition if is_own else agent.definition(context)
        report: dict[str, Any] = {}
        executor, prompted = self._executor.for_prompt(agent, definition, context, report, output_type)
        given = {**self._options, **({} if signal is None else {"signal": signal})}
        if self._resumes and await self._executor.has(execution.prompt_run_id):
            result = await executor.resume(execution.prompt_run_id, prompted, **given)
        else:
            given.pop("accept_changes", None)
            given |= {"run_id": execution.prompt_run_id, "execution": execution}
            result = await executor.execute(prompted, inputs={"prompt": prompt}, **given)
        return replace(result, metadata=ResultMetadata(result.metadata | report))


class _ForCliTools:
    """Holds the CLI's tools to a policy that is about ours: a rule about ``shell`` holds for ``Bash``."""

    def __init__(self, policy: Policy, ours: ToolRegistry) -> None:
        self._policy = policy
        self._ours = ours

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """The stricter of what the policy says of the call, and of the same call of our tool."""
        decision = self._policy.decide(call, tool)
        name = CLAUDE_TOOLS.get(tool.name) if isinstance(tool, CliTool) else None
        if name is None:
            return decision
        (ours,) = self._ours.find(name)
        arguments = {("path" if key == "file_path" else key): value for key, value in call.arguments.items()}
        same = self._policy.decide(ToolCall(call.id, name, arguments), ours)
        return max(decision, same, key=lambda one: one.verdict.strictness)


async def until_stopped(
    work: Coroutine[Any, Any, AgentResult[Any]], signal: AbortSignal | None
) -> AgentResult[Any]:
    """The result of an ``execute()``, or of its being stopped: at once where it does not end by itself."""
    running = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_later(_GRACE_SECONDS, running.cancel)

    unsubscribe: Callable[[], None] = (lambda: None) if signal is None else signal.subscribe(stop)
    try:
        return await running
    except asyncio.CancelledError:
        if signal is None or not signal.aborted or not running.cancelled():
            running.cancel()
            await asyncio.wait([running])
            raise
        stopped = AbortedError("The agent was stopped.", reason=signal.reason)
        nothing = AgentResult.failure_result([stopped], AgentUsage(0, 0, None, 0))
        return replace(nothing, terminate_reason=TerminateReason.ABORTED)
    finally:
        unsubscribe()
