"""The conversations of one user: what was said, and what was done for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, or_, update
from sqlmodel import Session, col, select

from maverick.chat.contract import ToolCallRecord
from maverick.chat.tables import (
    ChatMessage,
    Confirmation,
    Conversation,
    HeardRequest,
    ToolCall,
    now,
    storable,
)


class ConversationStore:
    """Reads and writes the conversations of one user. Another user's conversation does not exist for it.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def create(self, conversation_id: str | None = None, title: str = "") -> Conversation:
        """The conversation of this id, made if it is not there yet."""
        if conversation_id is not None and (there := self.get(conversation_id)) is not None:
            return there
        made = Conversation(
            user_id=self._user_id, id=conversation_id or str(uuid.uuid4()), title=storable(title)
        )
        self._session.add(made)
        self._session.flush()
        return made

    def get(self, conversation_id: str) -> Conversation | None:
        """The conversation, if the user has it."""
        return self._session.get(Conversation, (self._user_id, conversation_id))

    def newest(self, limit: int = 100) -> list[Conversation]:
        """The user's conversations, the newest first."""
        query = select(Conversation).where(Conversation.user_id == self._user_id)
        return list(self._session.exec(query.order_by(col(Conversation.updated_at).desc()).limit(limit)))

    def rename(self, conversation_id: str, title: str) -> Conversation | None:
        """Give a conversation another title; returns it, if the user has it."""
        conversation = self.get(conversation_id)
        if conversation is not None:
            conversation.title = storable(title)
            self._session.add(conversation)
            self._session.flush()
        return conversation

    def delete(self, conversation_id: str) -> bool:
        """Remove a conversation and everything said, asked and heard in it; returns whether the user had it."""
        conversation = self.get(conversation_id)
        if conversation is None:
            return False
        said = select(ChatMessage.id).where(*self._in(conversation_id))
        self._session.execute(
            delete(ToolCall).where(col(ToolCall.user_id) == self._user_id, col(ToolCall.message_id).in_(said))
        )
        for table in (ChatMessage, Confirmation, HeardRequest):
            self._session.execute(
                delete(table).where(
                    col(table.user_id) == self._user_id, col(table.conversation_id) == conversation_id
                )
            )
        self._session.delete(conversation)
        self._session.flush()
        return True

    def claim(self, conversation_id: str, run_id: str, *, seconds: float = 60) -> bool:
        """Take the right to write into a conversation; returns ``False`` while another run has it.

        A run that neither releases it nor renews it with :meth:`renew` within the seconds is taken for dead.
        """
        at = now()
        statement = (
            update(Conversation)
            .where(
                col(Conversation.user_id) == self._user_id,
                col(Conversation.id) == conversation_id,
                or_(
                    col(Conversation.active_run).is_(None),
                    col(Conversation.active_run) == run_id,
                    col(Conversation.active_until) < at,
                ),
            )
            .values(active_run=run_id, active_until=at + timedelta(seconds=seconds))
        )
        return bool(self._session.execute(statement).rowcount)  # type: ignore[attr-defined]  # of a cursor result

    def renew(self, conversation_id: str, run_id: str, *, seconds: float = 60) -> bool:
        """Keep the right to write for longer; returns ``False``, and changes nothing, once the run has it no more.

        A renewal that comes late, after the release, must not take the conversation again: nobody would release it.
        """
        return self._change_right(conversation_id, run_id, active_until=now() + timedelta(seconds=seconds))

    def release(self, conversation_id: str, run_id: str) -> None:
        """Give the right to write back."""
        self._change_right(conversation_id, run_id, active_run=None, active_until=None)

    def _change_right(self, conversation_id: str, run_id: str, **values: Any) -> bool:
        """Change the right to write that a run has; returns whether it has it."""
        statement = (
            update(Conversation)
            .where(
                col(Conversation.user_id) == self._user_id,
                col(Conversation.id) == conversation_id,
                col(Conversation.active_run) == run_id,
            )
            .values(**values)
        )
        return bool(self._session.execute(statement).rowcount)  # type: ignore[attr-defined]  # of a cursor result

    def messages(self, conversation_id: str, *, limit: int | None = None) -> list[ChatMessage]:
        """What was said, oldest first; with a limit, the last of it."""
        query = select(ChatMessage).where(*self._in(conversation_id)).order_by(col(ChatMessage.id).desc())
        return list(self._session.exec(query if limit is None else query.limit(limit)))[::-1]

    def tool_calls(self, conversation_id: str) -> dict[int, list[ToolCall]]:
        """The tool calls made in a conversation, by the message they were made for."""
        said = select(ChatMessage.id).where(*self._in(conversation_id))
        query = (
            select(ToolCall)
            .where(ToolCall.user_id == self._user_id, col(ToolCall.message_id).in_(said))
            .order_by(col(ToolCall.id))
        )
        calls: dict[int, list[ToolCall]] = {}
        for call in self._session.exec(query):
            calls.setdefault(call.message_id, []).append(call)
        return calls

    def history(self, conversation_id: str, *, limit: int | None = None) -> list[dict[str, Any]]:
        """What was said, in the form :meth:`AgentContext.from_request` takes."""
        calls = self.tool_calls(conversation_id)
        return [
            {
                "role": message.role,
                "content": message.content,
                "timestamp": message.created_at,
                "tool_calls": [
                    call.model_dump(include={"tool_name", "parameters", "result", "duration_ms"})
                    for call in calls.get(message.id or 0, ())
                ]
                or None,
            }
            for message in self.messages(conversation_id, limit=limit)
        ]

    def save_user_message(
        self, conversation_id: str, content: str, *, run_id: str | None = None
    ) -> ChatMessage:
        """Write down what the user said; the conversation is made if it is not there yet."""
        conversation = self.create(conversation_id)
        conversation.title = conversation.title or storable(content)[:60]
        return self._said(conversation, "user", content, run_id)

    def save_assistant_message(
        self,
        conversation_id: str,
        content: str,
        *,
        tool_calls: Iterable[ToolCallRecord] = (),
        run_id: str | None = None,
    ) -> ChatMessage:
        """Write down what the agent said, and the tools it called for it."""
        message = self._said(self.create(conversation_id), "assistant", content, run_id)
        assert message.id is not None  # noqa: S101 - it has just been written
        for call in tool_calls:
            self._session.add(
                ToolCall(
                    user_id=self._user_id,
                    message_id=message.id,
                    tool_name=call.tool_name,
                    parameters=call.parameters,
                    result=call.result,
                    duration_ms=call.duration_ms,
                )
            )
        self._session.flush()
        return message

    def export(self, conversation_id: str) -> dict[str, Any] | None:
        """A whole conversation as JSON values, if the user has it."""
        conversation = self.get(conversation_id)
        if conversation is None:
            return None
        messages = self.history(conversation_id)
        return {
            **conversation.model_dump(mode="json", include={"id", "title", "created_at", "updated_at"}),
            "messages": [{**said, "timestamp": said["timestamp"].isoformat()} for said in messages],
        }

    def _said(self, conversation: Conversation, role: str, content: str, run_id: str | None) -> ChatMessage:
        message = ChatMessage(
            user_id=self._user_id,
            conversation_id=conversation.id,
            role=role,
            content=storable(content),
            run_id=run_id,
        )
        conversation.updated_at = message.created_at
        self._session.add(conversation)
        self._session.add(message)
        self._session.flush()
        return message

    def _in(self, conversation_id: str) -> tuple[Any, Any]:
        return (
            col(ChatMessage.user_id) == self._user_id,
            col(ChatMessage.conversation_id) == conversation_id,
        )
