"""Saves questions before they are worked on, and answers when they are complete."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from maverick.chat import AgentContext, phrases
from maverick.chat.confirmations import ConfirmationStore, pending_confirmation
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import SessionFactory, act_for, owned_session
from maverick.chat.prompt import REMEMBERED_MESSAGES
from maverick.chat.tables import ChatMessage, ToolCall, now, storable
from maverick.exceptions import StorageError
from maverick.journal import ApprovalStatus
from maverick.server.agents import Agents
from maverick.server.answer import (
    AnswerBody,
    AnswerJob,
    AnswerRecord,
    AnswerStatus,
    ApprovalBody,
    Question,
    Reply,
    ToolCallBody,
)
from maverick.server.errors import key_reused, not_found, too_many
from maverick.server.limits import ServerLimits
from maverick.server.tables import AnswerRecords

_EVENTS_A_MILLISECOND = 1024
"""More than there can be."""
DENIAL = "No, leave it as it is."
"""The message of a user who does not agree."""


class TooManyAnswersError(Exception):
    """A user has as many answers in progress as they may."""

    def __init__(self, run_ids: Sequence[str]) -> None:
        super().__init__(*run_ids)
        self.run_ids = run_ids


class AnswerStore:
    """Reads and writes the answers of all users, each through a session that acts for one of them.

    All methods block: call them in a thread.
    """

    def __init__(self, session_factory: SessionFactory, limits: ServerLimits, agents: Agents) -> None:
        self.agents = agents
        self._session_factory = session_factory
        self._limits = limits

    def admit(
        self, user_id: str, question: Question, request_key: str | None, displaced: str | None = None
    ) -> AnswerJob | AnswerRecord:
        """Save a question and start its answer; or find the answer, if the request was sent before.

        An answer that is displaced is one in the conversation that no process works on any more: it has failed.

        Raises:
            RequestRefusedError: The conversation is not the user's, or a limit is reached.
            ConversationBusyError: Another answer is in progress in the conversation.
            TooManyAnswersError: The user has as many in progress as they may.
        """
        try:
            return self._admit(user_id, question, request_key, displaced)
        except StorageError as error:
            if not isinstance(error.cause, IntegrityError):
                raise
        # It came twice at the same time: one of them has been saved by now.
        return self._admit(user_id, question, request_key, displaced)

    def _admit(
        self, user_id: str, question: Question, request_key: str | None, displaced: str | None
    ) -> AnswerJob | AnswerRecord:
        with owned_session(self._session_factory, user_id, writes=True) as session:
            digest, records = question.digest(), AnswerRecords(session, user_id)
            if request_key is not None and (known := records.of_key(request_key)) is not None:
                if known.request_hash != digest:
                    raise key_reused()
                return known
            at, run_id = now(), f"run_{secrets.token_hex(16)}"
            self._check_limits(records, at.date(), displaced)
            question = _decided(session, user_id, question)
            conversations = ConversationStore(session, user_id)
            agent = self.agents.of(question.agent or self.agents.default).name
            begun = conversations.begin(
                question.conversation_id,
                run_id,
                question.shown,
                at,
                create=question.may_create,
                displaced=displaced,
                agent=agent,
            )
            if begun is None:
                raise not_found("conversation")
            conversation_id = begun.conversation_id
            if displaced is not None and (
                said := _messages(session, user_id, conversation_id, displaced).get("user")
            ):
                records.finish(displaced, AnswerStatus.FAILED, later_event(said.created_at))
            if question.replaces is not None and not conversations.rewind(conversation_id, question.replaces):
                raise not_found("message")
            before = conversations.recall(conversation_id, REMEMBERED_MESSAGES)
            inputs = self.agents.check(begun.agent, question, begun.inputs, is_first=not before)
            if inputs and inputs != begun.inputs:
                conversations.keep(conversation_id, inputs=dict(inputs))
            if question.model is not None and question.model != begun.model:
                conversations.keep(conversation_id, model=question.model)
            earlier = conversations.last_answer(conversation_id) if before else None
            number = conversations.say(
                conversation_id, "user", question.shown, run_id, at, attachments=question.attachments
            )
            ConfirmationStore(session, user_id, conversation_id).check_message(question.message)
            record = AnswerRecord(run_id, conversation_id, digest, request_key)
            records.add(record)
            context = AgentContext.from_request(user_id, conversation_id, before)
            asked = (record, context, storable(question.shown), number, at, question.attachments)
            return AnswerJob(*asked, begun.agent, inputs, earlier, question.model or begun.model)

    def _check_limits(
        self, records: AnswerRecords, day: date, displaced: str | None = None, *, is_new: bool = True
    ) -> None:
        """Make sure that the user may have another answer made, whichever processes make the others."""
        records.lock()
        running = [run_id for run_id in records.running() if run_id != displaced]
        if len(running) >= self._limits.answers:
            raise TooManyAnswersError(running)
        if is_new and len(records.waiting()) >= self._limits.undecided:
            raise too_many("Too many answers wait for a decision. Decide on one, or stop one.", 60)
        limit = self._limits.spend_usd_per_day
        if limit is not None and records.spent(day) + (len(running) + 1) * self._limits.answer_usd > limit:
            raise too_many("Today's budget for answers is spent. It resets at midnight UTC.", 3600)

    def reopen(self, user_id: str, run_id: str, *, to_stop: bool = False) -> bool:
        """Have an answer continue that waited for a decision; returns whether it waited.

        At a limit, it waits on; to be stopped, it may always continue.

        Raises:
            RequestRefusedError: The user's budget is spent.
            TooManyAnswersError: The user has as many in progress as they may.
        """
        with owned_session(self._session_factory, user_id, writes=True) as session:
            records = AnswerRecords(session, user_id)
            reopened = records.reopen(run_id)
            if reopened and not to_stop:
                self._check_limits(records, now().date(), run_id, is_new=False)
            return reopened

    def waiting(self, user_id: str) -> dict[str, tuple[str, str]]:
        """The user's answers that wait for a decision: the conversation of each, and its agent."""
        with owned_session(self._session_factory, user_id) as session:
            return AnswerRecords(session, user_id).waiting()

    def request_stop(self, user_id: str, run_id: str) -> None:
        """Ask for an answer to be stopped, whichever process makes it."""
        with owned_session(self._session_factory, user_id, writes=True) as session:
            AnswerRecords(session, user_id).request_stop(run_id)

    def to_stop(self, running: Mapping[str, Sequence[str]]) -> set[str]:
        """The answers to stop, of those in progress for each user."""
        found: set[str] = set()
        with owned_session(self._session_factory, "") as session:
            for user_id, run_ids in running.items():
                act_for(session, user_id)
                found |= AnswerRecords(session, user_id).to_stop(run_ids)
        return found

    def save(self, job: AnswerJob, reply: Reply, last_event: int) -> AnswerBody:
        """Save an answer and free its conversation; an answer that was saved before stays as it is."""
        user_id, record = job.user_id, job.record
        with owned_session(self._session_factory, user_id, writes=True) as session:
            records, at = AnswerRecords(session, user_id), now()
            approval = _question(session, user_id, record.conversation_id) if reply.may_ask else None
            if reply.approval is not None:
                approval = ApprovalBody.of(
                    reply.approval, job.agent, record.conversation_id, may_decide=reply.may_decide
                )
            body = AnswerBody(
                run_id=record.run_id,
                conversation_id=record.conversation_id,
                status=reply.status,
                response=reply.response,
                reason=reply.reason,
                output=reply.output,
                tool_calls=[ToolCallBody.model_validate(call) for call in reply.tool_calls],
                approval=approval,
                user_message_id=job.user_message_id,
            )
            # The event of an approval comes before the last one, and has a number too.
            is_first = records.finish(
                record.run_id,
                reply.status,
                last_event + (approval is not None),
                reply.reason,
                cost_usd=reply.cost_usd,
            )
            if not is_first and (saved := records.get(record.run_id)) is not None:
                return _body(session, user_id, saved)  # another process has made it, and counted its cost
            if more := reply.cost_usd - record.cost_usd:
                records.spend(at.date(), more)
            if not is_first:
                return body  # it was deleted in the meantime
            number = ConversationStore(session, user_id).end(
                record.conversation_id,
                record.run_id,
                reply.response,
                at,
                reply.tool_calls,
                output=reply.output,
                parts=reply.parts,
                again=job.goes_on,
                goes_on=reply.status is AnswerStatus.WAITING,
            )
        return body.model_copy(update={"message_id": number, "created_at": at})

    def get(self, user_id: str, run_id: str) -> tuple[AnswerRecord, AnswerBody | AnswerJob]:
        """An answer of the user as it is saved, or what is needed to make it if it is in progress."""
        with owned_session(self._session_factory, user_id) as session:
            record = AnswerRecords(session, user_id).get(run_id)
            if record is None:
                raise not_found("answer")
            if record.status != AnswerStatus.RUNNING:
                return record, _body(session, user_id, record)
            asked = _messages(session, user_id, record.conversation_id, run_id).get("user")
            if asked is None or asked.id is None:
                raise not_found("answer")
            conversations = ConversationStore(session, user_id)
            before = conversations.recall(record.conversation_id, REMEMBERED_MESSAGES, before=asked.id)
            sent = conversations.attachments(asked.id) if asked.attachments else ()
            earlier = conversations.last_answer(record.conversation_id, before=asked.id)
            found = conversations.get(record.conversation_id)
        assert found is not None  # noqa: S101 - it has a message
        context = AgentContext.from_request(user_id, record.conversation_id, before)
        asked_for = (record, context, asked.content, asked.id, asked.created_at, sent)
        return record, AnswerJob(*asked_for, found.agent, found.inputs, earlier, found.model)


def later_event(asked_at: datetime) -> int:
    """A number for the next event of an answer: larger than those of all events since it was asked for."""
    return round((now() - asked_at) / timedelta(milliseconds=1)) * _EVENTS_A_MILLISECOND


def _decided(session: Session, user_id: str, question: Question) -> Question:
    """The message that stands for a decision, which is saved with it."""
    if question.approval_id is None:
        return question
    asked = pending_confirmation(session, user_id, question.approval_id)
    if asked is None:
        raise not_found("approval")
    ConfirmationStore(session, user_id, asked.conversation_id).decide(asked.id, approved=question.approved)
    message = asked.phrase if question.approved else DENIAL
    return replace(question, message=message, conversation_id=asked.conversation_id)


def _question(session: Session, user_id: str, conversation_id: str) -> ApprovalBody | None:
    asked = ConfirmationStore(session, user_id, conversation_id).open()
    if asked is None or asked.status != ApprovalStatus.PENDING:
        return None
    return ApprovalBody.of_task_chat(asked)


def _body(session: Session, user_id: str, record: AnswerRecord) -> AnswerBody:
    """A saved answer."""
    said = _messages(session, user_id, record.conversation_id, record.run_id)
    asked, answer = said.get("user"), said.get("assistant")
    made = select(ToolCall).where(ToolCall.user_id == user_id, ToolCall.message_id == (answer and answer.id))
    return AnswerBody(
        run_id=record.run_id,
        conversation_id=record.conversation_id,
        status=AnswerStatus(record.status),
        response=phrases.TROUBLE if answer is None else answer.content,
        reason=record.reason,
        output=None if answer is None else answer.output,
        tool_calls=[
            ToolCallBody.model_validate(call) for call in session.exec(made.order_by(col(ToolCall.id)))
        ],
        approval=_question(session, user_id, record.conversation_id),
        user_message_id=None if asked is None else asked.id,
        message_id=None if answer is None else answer.id,
        created_at=None if answer is None else answer.created_at,
    )


def _messages(session: Session, user_id: str, conversation_id: str, run_id: str) -> dict[str, ChatMessage]:
    """The question and the answer of a run, by their role."""
    query = select(ChatMessage).where(
        ChatMessage.user_id == user_id,
        ChatMessage.conversation_id == conversation_id,
        ChatMessage.run_id == run_id,
    )
    return {message.role: message for message in session.exec(query)}
