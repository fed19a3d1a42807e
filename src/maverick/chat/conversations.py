"""The conversations of one user: what was said, which tools were called for it, and which run may write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, case, delete, insert, null, or_, select, update
from sqlmodel import Session, SQLModel, col
from sqlmodel import select as select_rows

from maverick.chat.contract import ToolCallRecord
from maverick.chat.tables import (
    TASKS_AGENT,
    Attachment,
    ChatMessage,
    Confirmation,
    Conversation,
    HeardRequest,
    ToolCall,
    now,
    storable,
)
from maverick.model import Document, Image
from maverick.model.media import media_from_bytes

_TITLE_LENGTH = 60
_MOST_SHOWN = 100
_MOST_WORDS = 8
"""Words that are searched for at once."""
_MOST_ATTACHED = 2
"""The newest messages with images or documents whose content is sent to the model again."""

# A server executes these for every message, so they are built once: building them took most of its time.
_conversations = SQLModel.metadata.tables[Conversation.__tablename__]
_messages = SQLModel.metadata.tables[ChatMessage.__tablename__]
_of_user = (_conversations.c.user_id == bindparam("owner"), _conversations.c.id == bindparam("conversation"))
_BEGIN = (
    update(_conversations)
    .where(
        *_of_user,
        or_(_conversations.c.active_run.is_(None), _conversations.c.active_run == bindparam("displaced")),
    )
    .values(
        active_run=bindparam("run"),
        updated_at=bindparam("at"),
        title=case((_conversations.c.title == "", bindparam("first_words")), else_=_conversations.c.title),
    )
    .returning(_conversations.c.agent, _conversations.c.inputs, _conversations.c.model)
)
_END = (
    update(_conversations)
    .where(*_of_user)
    .values(
        updated_at=bindparam("at"),
        active_run=case(
            (_conversations.c.active_run == bindparam("run"), null()), else_=_conversations.c.active_run
        ),
    )
)
_said_before = (
    _messages.c.user_id == bindparam("owner"),
    _messages.c.conversation_id == bindparam("conversation"),
    _messages.c.id < bindparam("before", type_=BigInteger),
)
_LAST_ANSWER = (
    select(_messages.c.run_id)
    .where(*_said_before, _messages.c.role == "assistant")
    .order_by(_messages.c.id.desc())
    .limit(1)
)
_ACTIVE_RUN = select(_conversations.c.active_run).where(*_of_user)
_CREATE = insert(_conversations)
_SAY = insert(_messages).returning(_messages.c.id)
_RECALL = (
    select(
        _messages.c.id,
        _messages.c.role,
        _messages.c.content,
        _messages.c.created_at,
        _messages.c.attachments.is_not(null()),
    )
    .where(*_said_before)
    .order_by(_messages.c.id.desc())
    .limit(bindparam("most"))
)
_NEVER = 2**62
"""A number no message has."""


class Begun(NamedTuple):
    """A conversation that a run may write into."""

    conversation_id: str
    agent: str
    inputs: dict[str, Any] | None
    """What its agent was given with the first message."""
    model: str | None = None
    """The model that was chosen for it last."""


class ConversationBusyError(Exception):
    """Another run writes into the conversation."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id


class ConversationStore:
    """Reads and writes the conversations of one user, in a session that the caller commits.

    Another user's conversation does not exist for it.
    """

    def __init__(self, session: Session, user_id: str) -> None:
        self._session = session
        self._user_id = user_id

    def create(self, conversation_id: str | None = None) -> Conversation:
        """The conversation of this id, made if it is not there yet."""
        if conversation_id is not None and (there := self.get(conversation_id)) is not None:
            return there
        made = Conversation(user_id=self._user_id, id=conversation_id or str(uuid.uuid4()))
        self._session.add(made)
        self._session.flush()
        return made

    def get(self, conversation_id: str) -> Conversation | None:
        """The conversation, if the user has it."""
        return self._session.get(Conversation, (self._user_id, conversation_id))

    def newest(self, words: Iterable[str] = ()) -> list[Conversation]:
        """The newest conversations whose title or messages contain all of the words, and not more than a page shows."""
        query = select_rows(Conversation).where(Conversation.user_id == self._user_id)
        for word in list(words)[:_MOST_WORDS]:
            said = select(col(ChatMessage.conversation_id)).where(
                col(ChatMessage.user_id) == self._user_id,
                col(ChatMessage.content).icontains(word, autoescape=True),
            )
            query = query.where(
                or_(col(Conversation.title).icontains(word, autoescape=True), col(Conversation.id).in_(said))
            )
        newest = query.order_by(col(Conversation.updated_at).desc()).limit(_MOST_SHOWN)
        return list(self._session.exec(newest))

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
        self._forget(*self._in(conversation_id))
        for table in (Confirmation, HeardRequest):
            own = col(table.user_id) == self._user_id
            self._session.execute(delete(table).where(own, col(table.conversation_id) == conversation_id))
        self._session.delete(conversation)
        self._session.flush()
        return True

    def rewind(self, conversation_id: str, message_id: int) -> bool:
        """Take a message, and all that was said after it, out of a conversation; says whether the user wrote it there.

        What the tools did stays done.
        """
        wrote = select_rows(ChatMessage.id).where(
            *self._in(conversation_id), col(ChatMessage.id) == message_id, col(ChatMessage.role) == "user"
        )
        if self._session.exec(wrote).first() is None:
            return False
        self._forget(*self._in(conversation_id), col(ChatMessage.id) >= message_id)
        return True

    def messages(self, conversation_id: str) -> list[ChatMessage]:
        """What was said, oldest first."""
        query = select_rows(ChatMessage).where(*self._in(conversation_id))
        return list(self._session.exec(query.order_by(col(ChatMessage.id))))

    def tool_calls(self, conversation_id: str) -> dict[int, list[ToolCall]]:
        """The tool calls made in a conversation, by the message they were made for."""
        said = select(col(ChatMessage.id)).where(*self._in(conversation_id))
        query = (
            select_rows(ToolCall)
            .where(ToolCall.user_id == self._user_id, col(ToolCall.message_id).in_(said))
            .order_by(col(ToolCall.id))
        )
        calls: dict[int, list[ToolCall]] = {}
        for call in self._session.exec(query):
            calls.setdefault(call.message_id, []).append(call)
        return calls

    def history(self, conversation_id: str) -> list[dict[str, Any]]:
        """What was said, in the form :meth:`AgentContext.from_request` takes."""
        calls = self.tool_calls(conversation_id)
        return [
            {
                "role": message.role,
                "content": message.content,
                "timestamp": message.created_at,
                **({} if message.output is None else {"output": message.output}),
                "tool_calls": [
                    call.model_dump(include={"tool_name", "parameters", "result", "duration_ms"})
                    for call in calls.get(message.id or 0, ())
                ]
                or None,
            }
            for message in self.messages(conversation_id)
        ]

    def recall(self, conversation_id: str, limit: int, *, before: int = _NEVER) -> list[dict[str, Any]]:
        """The last of what was said before a message, oldest first, without the tool calls."""
        values = {"conversation": conversation_id, "before": before, "most": limit}
        rows = self._execute(_RECALL, values).all()
        with_media = [number for number, *_, has_media in rows if has_media][:_MOST_ATTACHED]
        return [
            {"role": role, "content": content, "timestamp": at}
            | ({"attachments": self.attachments(number)} if number in with_media else {})
            for number, role, content, at, _ in rows[::-1]
        ]

    def attachments(self, message_id: int) -> list[Image | Document]:
        """What was sent with a message."""
        query = select_rows(Attachment).where(
            Attachment.user_id == self._user_id, Attachment.message_id == message_id
        )
        kept = self._session.exec(query.order_by(col(Attachment.id)))
        return [media_from_bytes(each.data, name=each.name) for each in kept]

    def begin(
        self,
        conversation_id: str | None,
        run_id: str,
        message: str,
        at: datetime,
        *,
        create: bool = False,
        displaced: str | None = None,
        agent: str = TASKS_AGENT,
    ) -> Begun | None:
        """Let a run write into a conversation, or into a new one if none is named.

        It is ``None`` if the user has no such conversation and it is not to be created. The message names a conversation
        that has no title. A run that is ``displaced`` is known to be dead, and its right to write is over.

        Raises:
            ConversationBusyError: Another run writes into it.
        """
        title = storable(message)[:_TITLE_LENGTH]
        if conversation_id is not None:
            values = {"conversation": conversation_id, "run": run_id, "at": at, "displaced": displaced}
            begun = self._execute(_BEGIN, {**values, "first_words": title}).first()
            if begun is not None:
                return Begun(conversation_id, begun.agent, begun.inputs, begun.model)
            found = self._execute(_ACTIVE_RUN, {"conversation": conversation_id}).first()
            if found is not None:
                raise ConversationBusyError(found.active_run)
            if not create:
                return None
        conversation_id = conversation_id or str(uuid.uuid4())
        values = {
            "id": conversation_id,
            "title": title,
            "active_run": run_id,
            "created_at": at,
            "agent": agent,
        }
        self._session.connection().execute(_CREATE, {**values, "user_id": self._user_id, "updated_at": at})
        return Begun(conversation_id, agent, None)

    def keep(self, conversation_id: str, **chosen: Any) -> None:
        """Keep the ``inputs`` of a conversation's agent, or the ``model`` that was chosen for it."""
        statement = update(_conversations).where(*_of_user).values(chosen)
        self._execute(statement, {"conversation": conversation_id})

    def last_answer(self, conversation_id: str, *, before: int = _NEVER) -> str | None:
        """The run of the last answer before a message, if there was one."""
        found = self._execute(_LAST_ANSWER, {"conversation": conversation_id, "before": before}).first()
        return None if found is None else found.run_id

    def end(
        self,
        conversation_id: str,
        run_id: str,
        answer: str,
        at: datetime,
        calls: Iterable[ToolCallRecord],
        *,
        output: Any = None,  # noqa: ANN401 - any JSON
        parts: list[dict[str, Any]] | None = None,
        again: bool = False,
        goes_on: bool = False,
    ) -> int | None:
        """Write a run's answer down and let others write; returns the message's number, if the conversation is there.

        ``output`` is the answer as JSON values, if it has a type, and ``parts`` is what it is made of, if that is more than
        its last words. It is written ``again`` in place of a part that was written before. While the run ``goes_on``, no
        other may write.
        """
        values = {"conversation": conversation_id, "run": None if goes_on else run_id, "at": at}
        if not self._execute(_END, values).rowcount:
            return None
        if again:
            said = (*self._in(conversation_id), col(ChatMessage.run_id) == run_id)
            self._forget(*said, col(ChatMessage.role) == "assistant")
        return self.say(conversation_id, "assistant", answer, run_id, at, calls, output=output, parts=parts)

    def say(
        self,
        conversation_id: str,
        role: str,
        content: str,
        run_id: str | None,
        at: datetime,
        calls: Iterable[ToolCallRecord] = (),
        attachments: Iterable[Image | Document] = (),
        output: Any = None,  # noqa: ANN401 - any JSON
        parts: list[dict[str, Any]] | None = None,
    ) -> int:
        """Write down what was said, and the tools that were called for it; returns the number of the message."""
        media = [(storable(part.name), part) for part in attachments]
        shown = [{"name": name, "media_type": part.media_type} for name, part in media]
        more = {"output": output, "parts": parts or None, "attachments": shown or None}
        said = {
            "user_id": self._user_id,
            "conversation_id": conversation_id,
            "role": role,
            "content": storable(content),
            "run_id": run_id,
            "created_at": at,
            **{name: value for name, value in more.items() if value is not None},
        }
        number = int(self._session.connection().execute(_SAY, said).scalar_one())
        made = [ToolCall(user_id=self._user_id, message_id=number, **asdict(call)) for call in calls]
        sent = [
            Attachment(user_id=self._user_id, message_id=number, name=name, data=part.blob.data)
            for name, part in media
            if part.blob is not None
        ]
        if made or sent:
            self._session.add_all([*made, *sent])
            self._session.flush()
        return number

    def save_user_message(self, conversation_id: str, content: str) -> int:
        """Write down what the user said; the conversation is made if it is not there yet."""
        return self._save(conversation_id, "user", content)

    def save_assistant_message(
        self, conversation_id: str, content: str, *, tool_calls: Iterable[ToolCallRecord] = ()
    ) -> int:
        """Write down what the agent said, and the tools it called for it."""
        return self._save(conversation_id, "assistant", content, tool_calls)

    def _save(
        self, conversation_id: str, role: str, content: str, calls: Iterable[ToolCallRecord] = ()
    ) -> int:
        conversation = self.create(conversation_id)
        if role == "user":
            conversation.title = conversation.title or storable(content)[:_TITLE_LENGTH]
        at = conversation.updated_at = now()
        self._session.flush()
        return self.say(conversation_id, role, content, None, at, calls)

    def _forget(self, *which: Any) -> None:
        """Remove messages, with their tool calls and attachments."""
        gone = select(col(ChatMessage.id)).where(*which)
        for table in (ToolCall, Attachment):
            own = col(table.user_id) == self._user_id
            self._session.execute(delete(table).where(own, col(table.message_id).in_(gone)))
        self._session.execute(delete(ChatMessage).where(*which))

    def _in(self, conversation_id: str) -> tuple[Any, Any]:
        return col(ChatMessage.user_id) == self._user_id, col(ChatMessage.conversation_id) == conversation_id

    def _execute(self, statement: Any, values: dict[str, Any]) -> Any:  # noqa: ANN401 - a cursor's result, whatever it has
        return self._session.connection().execute(statement, {"owner": self._user_id, **values})
