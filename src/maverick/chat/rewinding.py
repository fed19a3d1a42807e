"""Going back in a conversation: what a message and everything after it said is taken out."""

from __future__ import annotations

from sqlalchemy import delete
from sqlmodel import Session, col, select

from maverick.chat.tables import ChatMessage, ToolCall


def rewind(session: Session, user_id: str, conversation_id: str, message_id: int) -> bool:
    """Take a message of the user, and all that was said after it, out of a conversation.

    What the tools did stays done.

    Args:
        session: The session to work in; committing it is the caller's.
        user_id: The user.
        conversation_id: The conversation.
        message_id: The message; one the user wrote.

    Returns:
        Whether the user wrote such a message there.
    """
    in_conversation = (
        col(ChatMessage.user_id) == user_id,
        col(ChatMessage.conversation_id) == conversation_id,
    )
    wrote = select(ChatMessage.id).where(
        *in_conversation, col(ChatMessage.id) == message_id, col(ChatMessage.role) == "user"
    )
    if session.exec(wrote).first() is None:
        return False
    later = (*in_conversation, col(ChatMessage.id) >= message_id)
    gone = select(ChatMessage.id).where(*later)
    session.execute(
        delete(ToolCall).where(col(ToolCall.user_id) == user_id, col(ToolCall.message_id).in_(gone))
    )
    session.execute(delete(ChatMessage).where(*later))
    return True
