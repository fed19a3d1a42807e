"""What an executor is called with, checked: a wrong argument is met with what to write in its place."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping

from maverick.journal import Journal
from maverick.loop.config import check_type, check_whole, reject
from maverick.loop.definition import AgentDefinition
from maverick.misuse import explain_arguments, refuse
from maverick.runtime.interruption import AbortSignal
from maverick.runtime.replay import Fork
from maverick.tools import ToolRegistry

_PROMPTS = ("prompt", "input", "message", "question", "query", "user_prompt")
_INSTEAD = {
    "model": "AgentExecutor(connect(…)), or name the model in the definition's ModelConfig",
    "tools": "ToolConfig(tools=[…]) in the definition",
} | dict.fromkeys(_PROMPTS, "inputs={'prompt': …}")
"""What to write in place of arguments that an executor does not have."""


def instead_of(name: str) -> str:
    """What to write in place of an argument that runs do not have; empty if that is not known."""
    return _INSTEAD.get(name, "")


def explain_calls(executor: type) -> None:
    """Let the methods of an executor say what they take when they are called with anything else."""
    for method in ("__init__", "execute", "stream", "resume", "replay", "fork", "approve", "deny", "say"):
        explain_arguments(executor, method, hint=instead_of)


def check_client(client: object) -> None:
    """Refuse what is not a client."""
    if isinstance(client, AgentDefinition):
        instead = "AgentExecutor().execute(agent)"
        refuse("client", f"The agent is given to execute(), not to the executor: {instead}.")
    if client is not None and (isinstance(client, type) or not callable(getattr(client, "run", None))):
        named = client if isinstance(client, str) else "provider:model"
        instead = f"Write connect({named!r}), or name the model in the definition."
        reject("client", "what connect(…) returns", client, instead)


def check_stream(
    of_new: Mapping[str, object],
    of_others: Mapping[str, object],
    fork: object,
    *,
    resume: str | None,
    accept_changes: bool,
) -> None:
    """Refuse options that a run does not take which is new, resumed or forked."""
    if fork is not None:
        check_type("fork", fork, Fork, "Fork('report-42', turn=3)")
    if accept_changes and resume is None:
        refuse("accept_changes", "give resume= too, the run to continue with.")
    taken = {} if resume is None and fork is None else of_new if fork is None else {**of_new, **of_others}
    for name, value in taken.items():
        if value is not None:
            refuse(name, f"a run that is {'resumed' if fork is None else 'forked'} has its own.")


def check_parts(
    tool_registry: object,
    journal: object,
    approve: object,
    permissions: object,
    max_depth: object,
    may_approve: object = None,
) -> None:
    """Refuse other parts of an executor that are not what they should be."""
    if tool_registry is not None and not isinstance(tool_registry, ToolRegistry):
        instead = "Give the tools to the agent: ToolConfig(tools=[…])."
        reject("tool_registry", "a ToolRegistry", tool_registry, instead)
    if journal is not None and not isinstance(journal, Journal):
        reject("journal", "a SqliteJournal(…) or a PostgresJournal(…)", journal)
    if approve is not None and not callable(approve):
        reject("approve", "a function that asks a person", approve)
    decides = not isinstance(permissions, type) and callable(getattr(permissions, "decide", None))
    if permissions is not None and not decides:
        reject("permissions", "Permissions(…) of maverick.tools", permissions)
    if may_approve is not None and (not callable(may_approve) or inspect.iscoroutinefunction(may_approve)):
        reject("may_approve", "an ordinary function (approval, by) -> bool", may_approve)
    check_whole("max_depth", max_depth, minimum=0)


def check_definition(definition: object) -> None:
    """Refuse what is not a definition."""
    if not isinstance(definition, AgentDefinition):
        instead = "Define one with AgentDefinition(…)."
        if isinstance(definition, str):
            instead = "Give the definition itself; an agent that is registered by name is made with registry.create() of "
            instead += "maverick.agents."
        reject("definition", "an AgentDefinition", definition, instead)


def check_run(signal: object, user_id: object, if_exists: object) -> None:
    """Refuse arguments of a run that are not what they should be."""
    if signal is not None and not isinstance(signal, AbortSignal):
        reject("signal", "an AbortSignal", signal, "Create one with AbortSignal().")
    if user_id is not None and not isinstance(user_id, str):
        reject("user_id", "a string", user_id, "Write str(…) around it.")
    if if_exists not in ("raise", "resume"):
        reject("if_exists", "'raise' or 'resume'", if_exists)


def new_run_id() -> str:
    """A unique id for a run."""
    return f"run_{os.urandom(8).hex()}"


def checked_run_id(run_id: str | None) -> str:
    """The id of a run, or a new one; refuses what cannot be one."""
    if run_id is None or run_id == "":
        return new_run_id()
    if not isinstance(run_id, str):
        reject("run_id", "a string", run_id, "Write str(…) around it.")
    if "/" in run_id:
        refuse(
            "run_id",
            f"{run_id!r} has a '/', which is how the runs of subagents are named. Use another character.",
        )
    return run_id
