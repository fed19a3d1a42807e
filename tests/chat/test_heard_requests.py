"""Requests that were heard: remembered as long as they could be sent again, and no longer than their conversation."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlmodel import select

from maverick.chat import Database
from maverick.chat.confirmations import REMEMBERED_FOR, ConfirmationStore
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import owned_session
from maverick.chat.migrations import CHAT, Schema
from maverick.chat.tables import Confirmation, HeardRequest, now

pytestmark = pytest.mark.requirement("CHAT-FORGETTING")


def hear(database: Database, request: str, at: datetime, user: str = "ana", where: str = "talk") -> None:
    with owned_session(database.session, user, writes=True) as session:
        ConfirmationStore(session, user, where, at=at).check_message("hello", request)


def heard(database: Database, user: str = "ana") -> list[str]:
    with owned_session(database.session, user) as session:
        return sorted(session.exec(select(HeardRequest.request).where(HeardRequest.user_id == user)))


def test_requests_too_old_to_be_sent_again_are_forgotten_when_the_user_says_more(
    any_database: Database,
) -> None:
    today = now()
    hear(any_database, "ancient", today - REMEMBERED_FOR - timedelta(days=9))
    hear(any_database, "old", today - REMEMBERED_FOR - timedelta(minutes=1))
    hear(any_database, "recent", today - REMEMBERED_FOR + timedelta(hours=1))
    hear(any_database, "other", today - REMEMBERED_FOR - timedelta(days=9), user="bob")

    hear(any_database, "new", today, where="elsewhere")

    assert heard(any_database) == ["new", "recent"]
    assert heard(any_database, "bob") == ["other"]


def test_a_conversation_takes_what_was_heard_and_asked_in_it_along(any_database: Database) -> None:
    for user in ("ana", "bob"):
        for where in ("one", "two"):
            with owned_session(any_database.session, user, writes=True) as session:
                ConversationStore(session, user).create(where)
                ConfirmationStore(session, user, where).ask("delete_task", "binding", "yes", "Really?")
            hear(any_database, f"request-{where}", now(), user, where)

    with owned_session(any_database.session, "ana", writes=True) as session:
        ConversationStore(session, "ana").delete("one")

    assert heard(any_database) == ["request-two"]
    assert heard(any_database, "bob") == ["request-one", "request-two"]
    for user, left in (("ana", ["two"]), ("bob", ["one", "two"])):
        with owned_session(any_database.session, user) as session:
            query = select(Confirmation.conversation_id).where(Confirmation.user_id == user)
            assert sorted(session.exec(query)) == left


@pytest.mark.requirement("CHAT-MIGRATIONS")
def test_what_was_heard_before_that_was_dated_is_remembered_as_long_as_the_rest(
    any_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(any_database, "_schemas", [Schema("chat", CHAT.migrations[:2])])
        with owned_session(any_database.session, "ana", writes=True) as session:
            session.connection().execute(text("INSERT INTO heard_requests VALUES ('ana', 'r1')"))
        any_database.close()

    with owned_session(any_database.session, "ana", writes=True) as session:
        ConfirmationStore(session, "ana", "talk").ask("delete_task", "binding", "yes", "Really?")
        heard_again = ConfirmationStore(session, "ana", "talk").check_message("yes", "r1")
        (request,) = session.exec(select(HeardRequest).where(HeardRequest.user_id == "ana"))

    assert not heard_again
    assert abs(request.heard_at - now()) < timedelta(hours=1)
    hear(any_database, "r2", now() + REMEMBERED_FOR + timedelta(hours=2))
    assert heard(any_database) == ["r2"]
