"""What every executor has: its options, and the part that decides on the tool calls that runs wait with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict, Unpack, overload

from msgspec.structs import asdict
from typing_extensions import TypeVar

from maverick.config import AgentConfig
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal
from maverick.journal.approvals import MayApprove, decided
from maverick.loop.definition import AgentDefinition
from maverick.loop.policy import Policy
from maverick.loop.result import AgentResult
from maverick.misuse import refuse
from maverick.model import LLMClient
from maverick.runtime.approver import ApprovalAnswer, Approver, as_json, check_edited
from maverick.runtime.event_log import Listener
from maverick.runtime.hooks import Hooks
from maverick.runtime.prepared_agent import AgentPreparer
from maverick.runtime.replay import check_unchanged, load_beginning
from maverick.runtime.toolset import Guidance
from maverick.tools import ToolRegistry

T = TypeVar("T", default=str)
R = TypeVar("R", default=Any)


class ExecutorOptions(TypedDict, total=False):
    """The arguments of :class:`~maverick.AgentExecutor`."""

    client: LLMClient | None
    tool_registry: ToolRegistry | None
    journal: Journal | None
    approve: Approver | None
    approval_expires_in: float | None
    permissions: Policy | None
    max_depth: int
    settings: AgentConfig | None
    deps: object
    may_approve: MayApprove | None
    hooks: Sequence[Hooks]
    guidance: Guidance | None


class _Decision(TypedDict, total=False):
    """What is the same in each way to decide."""

    by: Required[str]
    reason: str
    on_activity: Listener | None
    deps: object


class ApprovingExecutor(ABC):
    """Approves and denies tool calls, and continues their runs."""

    options: ExecutorOptions
    """The arguments it was created with."""
    _agents: AgentPreparer
    _known: dict[str, AgentDefinition[Any]]
    """The agents that were run here last, by name."""

    @abstractmethod
    async def resume(
        self,
        run_id: str,
        definition: AgentDefinition[T],
        *,
        on_activity: Listener | None = None,
        deps: object = None,
    ) -> AgentResult[T]:
        """Continue a run."""

    @overload
    async def approve(
        self,
        approval_id: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        resume: Literal[True],
        definition: AgentDefinition[R] | None = None,
        **decision: Unpack[_Decision],
    ) -> AgentResult[R]: ...
    @overload
    async def approve(
        self,
        approval_id: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        resume: bool = False,
        definition: AgentDefinition[Any] | None = None,
        **decision: Unpack[_Decision],
    ) -> AgentResult[Any] | None: ...
    async def approve(
        self,
        approval_id: str,
        *,
        by: str,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
        resume: bool = False,
        definition: AgentDefinition[Any] | None = None,
        on_activity: Listener | None = None,
        deps: object = None,
    ) -> AgentResult[Any] | None:
        """Agree to a tool call that a run waits with; with ``resume=True``, continue the run at once.

        Args:
            approval_id: The request, as in ``journal.list_approvals()`` and ``ApprovalRequested``.
            by: Who decides.
            reason: Why.
            arguments: All the arguments to make the call with, in place of the model's; the model is told so. They have to
                fit the tool, and the permissions are asked about them.
            resume: Whether to continue the run at once.
            definition: The agent of the run; by default the one of its name that this executor has run last.
            on_activity: Called with each event of the run that continues.
            deps: What its tools find in ``ToolContext.deps``.

        Returns:
            How the run ended, if it continued.

        Raises:
            ApprovalError: It is unknown, already decided, expired, or not this person's to decide (``may_approve``).
            InvalidInputError: This executor has not run the agent yet, and was not given its ``definition``; or the
                edited arguments do not fit the tool.
            RunChangedError: The run cannot continue at once, since its agent has changed; nothing was decided.
        """
        answer = ApprovalAnswer(approved=True, reason=reason, arguments=as_json(arguments), by=by)
        return await self._decide(approval_id, answer, definition, on_activity, deps, resume=resume)

    @overload
    async def deny(
        self,
        approval_id: str,
        *,
        resume: Literal[True],
        definition: AgentDefinition[R] | None = None,
        **decision: Unpack[_Decision],
    ) -> AgentResult[R]: ...
    @overload
    async def deny(
        self,
        approval_id: str,
        *,
        resume: bool = False,
        definition: AgentDefinition[Any] | None = None,
        **decision: Unpack[_Decision],
    ) -> AgentResult[Any] | None: ...
    async def deny(
        self,
        approval_id: str,
        *,
        by: str,
        reason: str = "",
        resume: bool = False,
        definition: AgentDefinition[Any] | None = None,
        on_activity: Listener | None = None,
        deps: object = None,
    ) -> AgentResult[Any] | None:
        """Refuse a tool call that a run waits with; the model sees the ``reason``. See :meth:`approve`."""
        answer = ApprovalAnswer(approved=False, reason=reason, by=by)
        return await self._decide(approval_id, answer, definition, on_activity, deps, resume=resume)

    async def _decide(
        self,
        approval_id: str,
        decision: ApprovalAnswer,
        definition: AgentDefinition[Any] | None,
        on_activity: Listener | None,
        deps: object,
        *,
        resume: bool,
    ) -> AgentResult[Any] | None:
        journal, may_approve = self._kept_runs(), self.options["may_approve"]
        asked = await journal.get_approval(approval_id)
        run_id = asked.run_id.partition("/")[0]
        name = (await journal.get(run_id)).agent
        agent = definition or self._known.get(name)
        if resume and agent is None:  # looked for first: a decision counts once
            refuse("definition", f"give the agent {name!r} too, to continue its run.")
        if decision.arguments is not None and agent is not None:
            path = (await journal.get(asked.run_id)).agent.split("/")
            check_edited(self._agents.tool_of(agent, path, asked.tool_name), decision.arguments)
        if resume and agent is not None:  # whatever refuses it does so before the decision
            decided(asked, may_approve=may_approve, **asdict(decision))
            begun = await load_beginning(journal, run_id)
            check_unchanged(begun, self._agents.prepare(agent).fingerprint, accept_changes=False)
        await journal.decide(approval_id, may_approve=may_approve, **asdict(decision))
        if not resume or agent is None:
            return None
        return await self.resume(run_id, agent, on_activity=on_activity, deps=deps)

    def _kept_runs(self) -> Journal:
        """The journal; without one, an InvalidInputError."""
        if (journal := self.options["journal"]) is None:
            raise InvalidInputError(
                "This executor has no journal. Create it with AgentExecutor(client, journal=SqliteJournal(…)).",
                field="journal",
            )
        return journal
