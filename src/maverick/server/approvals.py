"""Requests for approval that answers wait for: who may see and decide them is what the agent's executor says."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from maverick.exceptions import ApprovalError, InvalidInputError, RunNotFoundError
from maverick.journal import Approval, ApprovalStatus, Journal
from maverick.journal.approvals import is_expired
from maverick.runtime import AgentExecutor
from maverick.server.agents import Agents
from maverick.server.answer_body import ApprovalBody
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import AgentAnswerer, may_decide, pending_approval
from maverick.server.errors import RequestRefusedError, not_found
from maverick.tools.threads import run_in_thread

_MOST_SHOWN = 100


class Approvals:
    """The requests in the journal of the agents."""

    def __init__(self, agents: Agents, store: AnswerStore) -> None:
        self._agents = agents
        self._store = store

    @property
    def journal(self) -> Journal | None:
        """Where the runs of the agents are kept that are not the task chat."""
        return self._agents.journal

    async def waits_for(self, user_id: str, run_id: str) -> ApprovalBody | None:
        """What an answer of the user waits for, if it cannot go on yet."""
        journal = self._agents.journal
        found = (await run_in_thread(self._store.waiting, user_id)).get(run_id)
        if journal is None or found is None:
            return None
        asked = await pending_approval(journal, run_id)
        if asked is None or is_expired(asked, time.time()):
            return None
        conversation_id, agent = found
        async with self._answerer(agent).agent.executor(user_id) as executor:
            is_allowed = may_decide(executor, asked, user_id)
        return ApprovalBody.of(asked, agent, conversation_id, may_decide=is_allowed)

    async def pending(self, user_id: str) -> list[ApprovalBody]:
        """What waits for the user's decision: in their own answers, and in those of others if they may decide that."""
        own = [
            await self.waits_for(user_id, run) for run in await run_in_thread(self._store.waiting, user_id)
        ]
        return [body for body in own if body is not None and body.may_decide] + await self._of_others(user_id)

    async def decide(
        self,
        user_id: str,
        approval_id: str,
        *,
        approved: bool,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> tuple[str, str]:
        """Decide on a request; returns whose answer it belongs to, and the answer's id.

        Args:
            user_id: The user who decides.
            approval_id: The request.
            approved: Whether they agree.
            reason: Why they do not, for the model.
            arguments: What to call the tool with, in place of the model's arguments.

        Raises:
            RequestRefusedError: There is none that the user may see, or it is decided already.
        """
        journal = self._agents.journal
        if journal is None:
            raise not_found("approval")
        try:
            asked = await journal.get_approval(approval_id)
            run_id = asked.run_id.partition("/")[0]
            agent = (await journal.get(run_id)).agent
        except (ApprovalError, RunNotFoundError) as error:
            raise not_found("approval") from error
        owner = asked.user_id or ""
        if asked.user_id is None or not isinstance(self._agents.find(agent), AgentAnswerer):
            raise not_found("approval")
        await run_in_thread(self._store.get, owner, run_id)  # raises if it is no answer of this server's
        async with self._answerer(agent).agent.executor(owner) as executor:
            is_allowed = may_decide(executor, asked, user_id)
            if not is_allowed and owner != user_id:
                raise not_found("approval")
            if not is_allowed:
                raise RequestRefusedError(
                    403, "not_allowed", "Somebody else has to decide this. It waits until they have."
                )
            if asked.status is ApprovalStatus.PENDING:
                await _decide(executor, asked, user_id, approved=approved, reason=reason, arguments=arguments)
            elif (asked.decided_by, asked.approved) != (user_id, approved):  # else it was sent again
                raise RequestRefusedError(409, "decided", "This was decided before. A decision counts once.")
        return owner, run_id

    async def _of_others(self, user_id: str) -> list[ApprovalBody]:
        found: list[ApprovalBody] = []
        for asked, agent, executor in await self._with_rules():
            if asked.user_id in (None, user_id) or not may_decide(executor, asked, user_id):
                continue
            waiting = await run_in_thread(self._store.waiting, asked.user_id or "")
            if asked.run_id.partition("/")[0] in waiting:
                found.append(ApprovalBody.of(asked, agent, "", for_other=True))
            if len(found) >= _MOST_SHOWN:
                break
        return found

    async def _with_rules(self) -> list[tuple[Approval, str, AgentExecutor]]:
        """The requests of agents with a rule on who may decide, and the executor that has it."""
        journal = self._agents.journal
        if journal is None:
            return []
        ruled: list[tuple[Approval, str, AgentExecutor]] = []
        for answerer in _agents_in(self._agents):
            async with answerer.agent.executor(None) as executor:
                if executor.options["may_approve"] is None:
                    continue
                for asked in await journal.list_approvals():
                    name = asked.run_id.partition("/")[0]
                    if (
                        not is_expired(asked, time.time())
                        and (await journal.get(name)).agent == answerer.name
                    ):
                        ruled.append((asked, answerer.name, executor))
        return ruled

    def _answerer(self, agent: str) -> AgentAnswerer:
        answerer = self._agents.of(agent)
        assert isinstance(answerer, AgentAnswerer)  # noqa: S101 - the task chat has no requests in the journal
        return answerer


def _agents_in(agents: Agents) -> Iterable[AgentAnswerer]:
    return [answerer for answerer in agents if isinstance(answerer, AgentAnswerer)]


async def _decide(
    executor: AgentExecutor,
    asked: Approval,
    user_id: str,
    *,
    approved: bool,
    reason: str,
    arguments: Mapping[str, Any] | None,
) -> None:
    try:
        if approved:
            await executor.approve(asked.approval_id, by=user_id, arguments=arguments)
        else:
            await executor.deny(asked.approval_id, by=user_id, reason=reason)
    except ApprovalError as error:
        raise RequestRefusedError(409, "decided", str(error)) from error
    except InvalidInputError as error:
        raise RequestRefusedError(422, "invalid", str(error)) from error
