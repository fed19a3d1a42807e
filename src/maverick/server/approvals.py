"""Requests for approval that answers wait for: who may see and decide them is what the agent's executor says."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

from maverick.exceptions import ApprovalError, InvalidInputError, RunNotFoundError
from maverick.journal import Approval, ApprovalStatus, Journal
from maverick.journal.approvals import edited_json, is_expired
from maverick.runtime import AgentExecutor
from maverick.server.agents import Agents
from maverick.server.answer_body import AnswerStatus, ApprovalBody
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import AgentAnswerer, in_order, may_decide, pending_approval
from maverick.server.errors import RequestRefusedError, log_in_full, not_found
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
        conversation_id, agent = found
        answerer = self._agents.find(agent)
        if not isinstance(answerer, AgentAnswerer):  # see is_served
            return None
        asked = await pending_approval(journal, run_id)
        if asked is None or is_expired(asked, time.time()):
            return None
        is_allowed = bool(await _decidable(answerer, user_id, [asked], user_id))
        return ApprovalBody.of(
            in_order(answerer.agent.definition, asked), agent, conversation_id, may_decide=is_allowed
        )

    async def is_served(self, user_id: str, run_id: str) -> bool:
        """Whether this server has the agent of an answer of the user that waits."""
        found = (await run_in_thread(self._store.waiting, user_id)).get(run_id)
        return found is None or isinstance(self._agents.find(found[1]), AgentAnswerer)

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
        owner, answerer = asked.user_id, self._agents.find(agent)
        if owner is None or not isinstance(answerer, AgentAnswerer):
            raise not_found("approval")
        # Raises if it is no answer of this server's.
        answer, _ = await run_in_thread(self._store.get, owner, run_id)
        is_allowed = bool(await _decidable(answerer, owner, [asked], user_id))
        if not is_allowed and owner != user_id:
            raise not_found("approval")
        if not is_allowed:
            raise RequestRefusedError(
                403, "not_allowed", "Somebody else has to decide this. It waits until they have."
            )
        if asked.status is not ApprovalStatus.PENDING:
            if not _is_same(asked, user_id, approved, arguments):  # else it was sent again
                raise RequestRefusedError(409, "decided", "This was decided before. A decision counts once.")
            return owner, run_id
        if answer.status not in (AnswerStatus.WAITING, AnswerStatus.RUNNING):
            raise RequestRefusedError(409, "ended", "The answer that asked for this has ended. Ask again.")
        async with answerer.agent.executor(owner) as executor:
            await _decide(
                executor, answerer, asked, user_id, approved=approved, reason=reason, arguments=arguments
            )
        return owner, run_id

    async def _of_others(self, user_id: str) -> list[ApprovalBody]:
        """What waits in the answers of others: some of each user, so that no one's requests hide another's."""
        journal = self._agents.journal
        if journal is None:
            return []
        now, by_owner = time.time(), defaultdict[str, list[Approval]](list)
        for asked in await journal.list_approvals():
            if asked.has_rule and asked.user_id not in (None, user_id) and not is_expired(asked, now):
                by_owner[asked.user_id or ""].append(asked)
        bodies = [await self._of_other(owner, asked, user_id) for owner, asked in by_owner.items()]
        in_turns = chain.from_iterable(zip_longest(*bodies))
        return list(islice((body for body in in_turns if body is not None), _MOST_SHOWN))

    async def _of_other(self, owner: str, asked: list[Approval], user_id: str) -> list[ApprovalBody]:
        """Those of one user's requests that another may decide, by the rule that deciding asks, too."""
        waiting = await run_in_thread(self._store.waiting, owner)
        found: list[ApprovalBody] = []
        for agent in {agent for _, agent in waiting.values()}:
            answerer = self._agents.find(agent)
            if not isinstance(answerer, AgentAnswerer):
                continue
            of_agent = [
                one for one in asked if waiting.get(one.run_id.partition("/")[0], ("", ""))[1] == agent
            ]
            decidable = await _decidable(answerer, owner, of_agent, user_id)
            found += [
                ApprovalBody.of(in_order(answerer.agent.definition, one), agent, "", for_other=True)
                for one in decidable
            ]
        return found


async def _decidable(
    answerer: AgentAnswerer, owner: str, asked: Sequence[Approval], user_id: str
) -> list[Approval]:
    """Those of an owner's requests that a user may decide: none while the agent cannot be run for the owner."""
    try:
        async with answerer.agent.executor(owner) as executor:
            return [one for one in asked if may_decide(executor, one, user_id)]
    except Exception as error:  # noqa: BLE001 - the module of an agent may raise anything
        log_in_full("agent_not_available", error, agent=answerer.name)
        return []


def _is_same(asked: Approval, user_id: str, approved: bool, arguments: Mapping[str, Any] | None) -> bool:
    """Whether a decision is the one that was made before."""
    try:
        edited = edited_json(arguments) if arguments is not None and approved else ""
    except InvalidInputError:
        return False
    return (asked.decided_by, asked.approved, asked.edited_json) == (user_id, approved, edited)


async def _decide(
    executor: AgentExecutor,
    answerer: AgentAnswerer,
    asked: Approval,
    user_id: str,
    *,
    approved: bool,
    reason: str,
    arguments: Mapping[str, Any] | None,
) -> None:
    try:
        if approved:
            definition = answerer.agent.definition  # what edited arguments have to fit
            await executor.approve(asked.approval_id, by=user_id, arguments=arguments, definition=definition)
        else:
            await executor.deny(asked.approval_id, by=user_id, reason=reason)
    except ApprovalError as error:
        raise RequestRefusedError(409, "decided", str(error)) from error
    except InvalidInputError as error:
        raise RequestRefusedError(422, "invalid", str(error)) from error
