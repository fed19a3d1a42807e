"""Requests for approval that answers wait for: who may see and decide them is what the agent's executor says."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

from msgspec.structs import replace

from maverick.exceptions import ApprovalError, InvalidInputError, RunNotFoundError
from maverick.journal import Approval, ApprovalStatus
from maverick.journal.approvals import edited_json, is_expired
from maverick.server.answer import AnswerStatus, ApprovalBody
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import AgentAnswerer, in_order, may_decide, pending_approval
from maverick.server.errors import RequestRefusedError, log_in_full, not_found
from maverick.tools.threads import run_in_thread

_MOST_SHOWN = 100


class Approvals:
    """The requests in the journal of the agents."""

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._agents = store.agents

    async def waits_for(self, user_id: str, run_id: str) -> ApprovalBody | None:
        """What an answer of the user waits for, if it cannot continue yet."""
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
        ((shown, is_allowed),) = await _shown(answerer, user_id, [asked], user_id)
        return ApprovalBody.of(shown, agent, conversation_id, may_decide=is_allowed)

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
        """Decide on a request, if the user may; returns whose answer it belongs to, and the answer's id.

        The model is told a reason not to agree. Arguments are what the tool is called with in place of the model's.
        """
        try:
            edited = edited_json(arguments) if arguments is not None and approved else ""
        except InvalidInputError as error:
            raise RequestRefusedError(422, "invalid", str(error)) from error
        asked, owner, answerer = await self._find(approval_id)
        run_id = asked.run_id.partition("/")[0]
        # Raises if it is no answer of this server's.
        answer, _ = await run_in_thread(self._store.get, owner, run_id)
        as_decided = replace(asked, edited_json=edited)
        versions = [asked, as_decided] if edited else [asked]
        is_allowed = [may for _, may in await _shown(answerer, owner, versions, user_id)]
        if not is_allowed[0] and owner != user_id:
            raise not_found("approval")
        if not all(is_allowed):
            raise RequestRefusedError(
                403, "not_allowed", "Someone else has to decide this. The answer waits until they do."
            )
        if asked.status is not ApprovalStatus.PENDING:
            if (asked.decided_by, asked.approved, asked.edited_json) != (user_id, approved, edited):
                raise RequestRefusedError(409, "decided", "This was decided before. A decision counts once.")
            return owner, run_id  # it was sent again
        if answer.status not in (AnswerStatus.WAITING, AnswerStatus.RUNNING):
            raise RequestRefusedError(409, "ended", "The answer that asked for this has ended. Ask again.")
        try:
            async with answerer.agent.executor(owner) as executor:
                if approved:
                    definition = answerer.agent.definition  # what edited arguments have to fit
                    await executor.approve(
                        approval_id, by=user_id, arguments=arguments, definition=definition
                    )
                else:
                    await executor.deny(approval_id, by=user_id, reason=reason)
        except ApprovalError as error:
            raise RequestRefusedError(409, "decided", str(error)) from error
        except InvalidInputError as error:
            raise RequestRefusedError(422, "invalid", str(error)) from error
        return owner, run_id

    async def _find(self, approval_id: str) -> tuple[Approval, str, AgentAnswerer]:
        """A request with its owner, and who answers them."""
        journal = self._agents.journal
        if journal is None:
            raise not_found("approval")
        try:
            asked = await journal.get_approval(approval_id)
            agent = (await journal.get(asked.run_id.partition("/")[0])).agent
        except (ApprovalError, RunNotFoundError) as error:
            raise not_found("approval") from error
        answerer = self._agents.find(agent)
        if asked.user_id is None or not isinstance(answerer, AgentAnswerer):
            raise not_found("approval")
        return asked, asked.user_id, answerer

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
            found += [
                ApprovalBody.of(one, agent, "", for_other=True)
                for one, may_decide_it in await _shown(answerer, owner, of_agent, user_id)
                if may_decide_it
            ]
        return found


async def _shown(
    answerer: AgentAnswerer, owner: str, asked: Sequence[Approval], user_id: str
) -> list[tuple[Approval, bool]]:
    """An owner's requests as they are shown, and whether a user may decide each: not while the agent cannot be run."""
    try:
        async with answerer.agent.executor(owner) as executor:
            return [
                (in_order(executor, answerer.agent.definition, one), await may_decide(executor, one, user_id))
                for one in asked
            ]
    except Exception as error:  # noqa: BLE001 - the module of an agent may raise anything
        log_in_full("agent_not_available", error, agent=answerer.name)
        return [(one, False) for one in asked]
