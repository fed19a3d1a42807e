"""What is written down of an answer, and when: the question before it is worked on, the answer when it is over."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from maverick.chat import AgentContext, AgentResult
from maverick.chat.confirmations import ConfirmationStore, pending_confirmation
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import SessionFactory, act_for, owned_session
from maverick.chat.prompt import REMEMBERED_MESSAGES
from maverick.chat.rewinding import rewind
from maverick.chat.tables import ChatMessage, ConfirmationStatus, ToolCall, now, storable
from maverick.chat.turns import TurnStore
from maverick.exceptions import StorageError
from maverick.server.answer_body import AnswerBody, AnswerStatus, ApprovalBody, ToolCallBody
from maverick.server.answer_records import AnswerRecord, AnswerRecords
from maverick.server.limits import ServerLimits
from maverick.server.refusal import RequestRefusedError, not_found, too_many
from maverick.server.spending import Spending

LEASE = 10.0
"""Seconds after which a run that gives no sign of life is taken for dead."""
Running: TypeAlias = Mapping[str, Sequence[AnswerRecord]]
"""The answers that a process makes, by their users."""
DENIAL = "No, leave it as it is."
"""What is said for a user who does not agree."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a user asks."""

    message: str
    conversation_id: str | None = None
    """The conversation; a new one if it is not named."""
    replaces: int | None = None
    """The message of the user that is taken back for it, with all that was said since."""
    may_create: bool = False
    """Whether a conversation that is not there is made, under the id the client chose."""
    approval_id: str | None = None
    """The question of the server that this decides."""
    approved: bool = False
    """Whether the user agrees to it."""

    @classmethod
    def deciding(cls, approval_id: str, *, approved: bool) -> Question:
        """A decision: said in the conversation it was asked for in, with the words that decide it."""
        return cls("", approval_id=approval_id, approved=approved)

    def digest(self) -> str:
        """A hash of it, to tell a request that is sent again from another one."""
        parts = (self.message, self.conversation_id, self.replaces, self.approval_id, self.approved)
        said = "\0".join(str(part) for part in parts)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is to be answered, and all that is needed for it."""

    record: AnswerRecord
    context: AgentContext
    message: str
    user_message_id: int


class AnswerStore:
    """Reads and writes the answers of all users, each through a session that acts for one of them.

    Every method blocks: call them in a thread.

    Args:
        session_factory: Makes fresh database sessions.
        limits: How much a user may ask for.
    """

    def __init__(self, session_factory: SessionFactory, limits: ServerLimits) -> None:
        self._session_factory = session_factory
        self._limits = limits

    def admit(
        self, user_id: str, question: Question, request_key: str | None, running: int
    ) -> Assignment | AnswerRecord:
        """Write a question down and take the right to answer it; or find the answer, if it was asked before.

        Args:
            user_id: The user.
            question: What they ask.
            request_key: The idempotency key of the request, if it has one.
            running: How many answers are being made for the user.

        Raises:
            RequestRefusedError: The conversation is not the user's, or is being written to; or a limit is reached.
        """
        try:
            return self._admit(user_id, question, request_key, running)
        except StorageError as error:
            if not isinstance(error.cause, IntegrityError):
                raise
        return self._admit(
            user_id, question, request_key, running
        )  # it came twice at once: one has written it

    def _admit(
        self, user_id: str, question: Question, request_key: str | None, running: int
    ) -> Assignment | AnswerRecord:
        with owned_session(self._session_factory, user_id, writes=True) as session:
            digest, records = question.digest(), AnswerRecords(session, user_id)
            known = None if request_key is None else records.of_key(request_key)
            if known is not None:
                return _same(known, digest)
            self._check_spending(session, user_id, running)
            question = _decided(session, user_id, question)
            turns, at, run_id = TurnStore(session, user_id), now(), f"run_{secrets.token_hex(16)}"
            conversation_id = turns.begin(
                question.conversation_id,
                run_id,
                question.message,
                at,
                create=question.may_create,
                seconds=LEASE,
            )
            if conversation_id is None:
                raise _not_begun(session, user_id, question.conversation_id)
            if question.replaces is not None and not rewind(
                session, user_id, conversation_id, question.replaces
            ):
                raise not_found("message")
            before = turns.said(conversation_id, REMEMBERED_MESSAGES)
            number = turns.say(conversation_id, "user", question.message, run_id, at)
            ConfirmationStore(session, user_id, conversation_id).hear(question.message)
            record = AnswerRecord(run_id, conversation_id, digest, request_key)
            records.add(record)
            return Assignment(record, _context(user_id, record, before), storable(question.message), number)

    def renew(self, running: Running) -> None:
        """Give a sign of life for the answers of each user."""
        with owned_session(self._session_factory, "", writes=True) as session:
            for user_id, records in running.items():
                act_for(session, user_id)
                conversations = ConversationStore(session, user_id)
                for record in records:
                    conversations.renew(record.conversation_id, record.run_id, seconds=LEASE)

    def want_stop(self, user_id: str, run_id: str) -> None:
        """Have an answer stopped, whichever process makes it."""
        with owned_session(self._session_factory, user_id, writes=True) as session:
            AnswerRecords(session, user_id).want_stop(run_id)

    def unwanted(self, running: Running) -> set[str]:
        """Those of the answers of each user that are not to go on."""
        found: set[str] = set()
        with owned_session(self._session_factory, "") as session:
            for user_id, records in running.items():
                act_for(session, user_id)
                found |= AnswerRecords(session, user_id).unwanted([record.run_id for record in records])
        return found

    def keep(
        self,
        user_id: str,
        assignment: Assignment,
        result: AgentResult,
        status: AnswerStatus,
        last_event: int,
        cost_usd: float,
        reason: str = "",
    ) -> AnswerBody:
        """Write an answer down and let others into the conversation again."""
        record = assignment.record
        with owned_session(self._session_factory, user_id, writes=True) as session:
            if cost_usd:
                Spending(session, user_id, now().date()).add(cost_usd)
            at = now()
            number = TurnStore(session, user_id).end(
                record.conversation_id, record.run_id, result.response, at, result.tool_calls
            )
            if number is None:  # deleted in the meantime
                return AnswerBody(
                    run_id=record.run_id,
                    conversation_id=record.conversation_id,
                    status=status,
                    response=result.response,
                    reason=reason,
                )
            # Only a tool asks; what was open before the question came was settled by it.
            may_ask = result.tool_calls or not result.success
            approval = _question(session, user_id, record.conversation_id) if may_ask else None
            # An approval is told before the end, and has a number too.
            AnswerRecords(session, user_id).finish(
                record.run_id, status, last_event + (approval is not None), reason
            )
        return AnswerBody(
            run_id=record.run_id,
            conversation_id=record.conversation_id,
            status=status,
            response=result.response,
            reason=reason,
            tool_calls=[ToolCallBody.model_validate(asdict(call)) for call in result.tool_calls],
            approval=approval,
            user_message_id=assignment.user_message_id,
            message_id=number,
            created_at=at,
        )

    def look(self, user_id: str, run_id: str) -> tuple[AnswerRecord, AnswerBody | None, bool]:
        """An answer: what is kept of it, its words if it is over, and whether it is being made.

        Raises:
            RequestRefusedError: The user has no such answer.
        """
        with owned_session(self._session_factory, user_id) as session:
            record = AnswerRecords(session, user_id).get(run_id)
            if record is None:
                raise not_found("answer")
            if record.status != AnswerStatus.RUNNING:
                return record, _body(session, user_id, record), False
            conversation = ConversationStore(session, user_id).get(record.conversation_id)
            until = None if conversation is None else conversation.active_until
            return record, None, until is not None and until > now()

    def take_over(self, user_id: str, record: AnswerRecord) -> Assignment | None:
        """Take the right to make an answer whose maker is gone; ``None`` if somebody else has it."""
        with owned_session(self._session_factory, user_id, writes=True) as session:
            conversations = ConversationStore(session, user_id)
            messages = conversations.messages(record.conversation_id)
            place = next((i for i, said in enumerate(messages) if said.run_id == record.run_id), None)
            if place is None or not AnswerRecords(session, user_id).take_over(record):
                return None
            if not conversations.claim(record.conversation_id, record.run_id, seconds=LEASE):
                return None
            taken = replace(record, attempt=record.attempt + 1)
            before = [
                {"role": old.role, "content": old.content, "timestamp": old.created_at}
                for old in messages[max(0, place - REMEMBERED_MESSAGES) : place]
            ]
            said = messages[place]
            assert said.id is not None  # noqa: S101 - it has been written
            return Assignment(taken, _context(user_id, taken, before), said.content, said.id)

    def _check_spending(self, session: Session, user_id: str, running: int) -> None:
        limit = self._limits.spend_usd_per_day
        if limit is None:
            return
        spent = Spending(session, user_id, now().date()).today()
        if spent + (running + 1) * self._limits.answer_usd > limit:
            raise too_many("Today's budget for answers is used up. It starts afresh at midnight UTC.", 3600)


def _same(known: AnswerRecord, digest: str) -> AnswerRecord:
    if known.request_hash != digest:
        raise RequestRefusedError(
            422,
            "key_reused",
            "The idempotency key was used for another request. A new request needs a new key.",
        )
    return known


def _decided(session: Session, user_id: str, question: Question) -> Question:
    """What is said for a decision, once it is written down."""
    if question.approval_id is None:
        return question
    asked = pending_confirmation(session, user_id, question.approval_id)
    if asked is None:
        raise not_found("approval")
    ConfirmationStore(session, user_id, asked.conversation_id).decide(asked.id, approved=question.approved)
    message = asked.phrase if question.approved else DENIAL
    return replace(question, message=message, conversation_id=asked.conversation_id)


def _not_begun(session: Session, user_id: str, conversation_id: str | None) -> RequestRefusedError:
    if conversation_id is None or ConversationStore(session, user_id).get(conversation_id) is None:
        return not_found("conversation")
    return RequestRefusedError(
        409, "busy", "This conversation is still being answered. Wait for the answer, or stop it."
    )


def _context(user_id: str, record: AnswerRecord, before: Sequence[Mapping[str, Any]]) -> AgentContext:
    return AgentContext.from_request(user_id, record.conversation_id, before)


def _question(session: Session, user_id: str, conversation_id: str) -> ApprovalBody | None:
    asked = ConfirmationStore(session, user_id, conversation_id).open()
    if asked is None or asked.status != ConfirmationStatus.PENDING:
        return None
    return ApprovalBody.of(asked)


def _body(session: Session, user_id: str, record: AnswerRecord) -> AnswerBody:
    """An answer that is kept."""
    query = select(ChatMessage).where(
        ChatMessage.user_id == user_id,
        ChatMessage.conversation_id == record.conversation_id,
        ChatMessage.run_id == record.run_id,
    )
    said = {message.role: message for message in session.exec(query)}
    asked, answer = said.get("user"), said.get("assistant")
    made = select(ToolCall).where(ToolCall.user_id == user_id, ToolCall.message_id == (answer and answer.id))
    return AnswerBody(
        run_id=record.run_id,
        conversation_id=record.conversation_id,
        status=AnswerStatus(record.status),
        response="" if answer is None else answer.content,
        reason=record.reason,
        tool_calls=[ToolCallBody.of(call) for call in session.exec(made.order_by(col(ToolCall.id)))],
        approval=_question(session, user_id, record.conversation_id),
        user_message_id=None if asked is None else asked.id,
        message_id=None if answer is None else answer.id,
        created_at=None if answer is None else answer.created_at,
    )
