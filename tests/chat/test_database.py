"""Where the chat keeps its data: made by migrations, by path or by address."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlmodel import SQLModel, select

from maverick.chat import Database
from maverick.chat.contract import ToolCallRecord
from maverick.chat.conversations import ConversationBusyError, ConversationStore
from maverick.chat.database import owned_session
from maverick.chat.migrations import CHAT, Migration, Schema, migrate
from maverick.chat.tables import ChatMessage, Conversation, Task, now
from maverick.exceptions import InvalidInputError, StorageError


@pytest.mark.requirement("CHAT-MIGRATIONS")
def test_the_migrations_make_the_tables_that_the_program_uses(any_database: Database) -> None:
    inspector = inspect(any_database.engine)

    for name in (
        "tasks",
        "conversations",
        "messages",
        "tool_calls",
        "changes",
        "confirmations",
        "heard_requests",
    ):
        made = {column["name"]: column for column in inspector.get_columns(name)}
        used = SQLModel.metadata.tables[name].columns
        assert made.keys() == {column.name for column in used}
        for column in used:
            assert column.primary_key or made[column.name]["nullable"] == column.nullable, column


@pytest.mark.requirement("CHAT-MIGRATIONS")
def test_a_migration_is_applied_once(any_database: Database) -> None:
    extra = Schema("extra", (Migration(("CREATE TABLE extras (id {number}, user_id VARCHAR NOT NULL)",)),))

    assert migrate(any_database.engine, CHAT) == 0
    assert [migrate(any_database.engine, extra) for _ in range(2)] == [1, 0]


@pytest.mark.requirement("CHAT-MIGRATIONS")
def test_a_database_of_a_newer_version_is_left_alone(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("INSERT INTO schema_versions VALUES ('chat', 99)"))

    with pytest.raises(StorageError, match="Update Maverick"):
        migrate(database.engine, CHAT)


def test_two_processes_that_start_at_once_make_one_database(tmp_path: Path) -> None:
    databases = [Database(tmp_path / "chat.db") for _ in range(4)]
    threads = [threading.Thread(target=lambda each=each: each.engine) for each in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with databases[0].session() as session:
        assert session.execute(text("SELECT count(*) FROM schema_versions")).scalar_one() == len(
            CHAT.migrations
        )
    for database in databases:
        database.close()


def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "chat.db"
    database = Database(file)
    database.session().close()
    database.close()

    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_connection_that_is_in_use_when_the_database_is_closed_is_closed_after_it(
    database: Database,
) -> None:
    with database.session() as session:
        connection = session.connection().connection.dbapi_connection
        assert isinstance(connection, sqlite3.Connection)
        database.close()
        assert session.execute(text("SELECT 1")).scalar_one() == 1

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_place_that_can_not_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StorageError, match="cannot be opened"):
        Database(tmp_path / "file" / "chat.db").session()
    with pytest.raises(InvalidInputError, match="expected a path or a postgresql:// address"):
        Database("://").session()
    with pytest.raises(StorageError, match="cannot be opened"):
        Database("postgresql://nobody@127.0.0.1:1/none").session()


def test_a_moment_is_the_same_moment_when_it_comes_back(any_database: Database) -> None:
    moment = datetime(2026, 3, 4, 1, 30, tzinfo=timezone(timedelta(hours=5)))
    with owned_session(any_database.session, "ana", writes=True) as session:
        session.add(Task(user_id="ana", title="x", created_at=moment))
    with owned_session(any_database.session, "ana") as session:
        found = session.get(Task, 1)

    assert found is not None
    assert found.created_at == moment
    assert found.created_at.tzinfo is UTC


def test_what_was_not_finished_has_not_happened(any_database: Database) -> None:
    def give_up_halfway() -> None:
        with owned_session(any_database.session, "ana", writes=True) as session:
            session.add(Task(user_id="ana", title="x"))
            session.flush()
            raise KeyError

    with pytest.raises(KeyError):
        give_up_halfway()
    with owned_session(any_database.session, "ana") as session:
        assert session.get(Task, 1) is None


def test_conversations_are_listed_renamed_and_deleted(any_database: Database) -> None:
    record = ToolCallRecord("add_task", {"title": "x"}, {"success": True, "data": {}}, 3)
    with owned_session(any_database.session, "ana", writes=True) as session:
        store = ConversationStore(session, "ana")
        store.save_user_message("one", "add x")
        store.save_assistant_message("one", "Got it!", tool_calls=[record])
        store.save_user_message("two", "hello")
        store.rename("one", "Shopping")
    with owned_session(any_database.session, "bob", writes=True) as session:
        others = ConversationStore(session, "bob")
        assert (others.get("one"), others.newest(), others.history("one")) == (None, [], [])
        assert (others.rename("one", "mine"), others.delete("one")) == (None, False)
    with owned_session(any_database.session, "ana", writes=True) as session:
        store = ConversationStore(session, "ana")
        assert [each.title for each in store.newest()] == ["hello", "Shopping"]
        history = store.history("one")
        assert [said["content"] for said in history] == ["add x", "Got it!"]
        assert history[1]["tool_calls"][0]["parameters"] == {"title": "x"}
        assert [said["content"] for said in store.recall("one", 1)] == ["Got it!"]
        assert store.delete("one")
        assert (store.get("one"), store.messages("one"), store.tool_calls("one")) == (None, [], {})
        assert len(store.messages("two")) == 1


def test_one_run_at_a_time_writes_into_a_conversation(any_database: Database) -> None:
    with owned_session(any_database.session, "ana", writes=True) as session:
        store = ConversationStore(session, "ana")
        assert store.begin("one", "run-1", "hello", now(), create=True) == ("one", "tasks", None, None)
        with pytest.raises(ConversationBusyError, match="run-1"):
            store.begin("one", "run-2", "hello", now())
        store.end("one", "run-2", "an answer that nobody waits for", now(), ())
        with pytest.raises(ConversationBusyError, match="run-1"):
            store.begin("one", "run-2", "hello", now())
        store.end("one", "run-1", "Hello!", now(), ())
        assert store.begin("one", "run-2", "hello", now()) == ("one", "tasks", None, None)
        assert store.begin("one", "run-3", "hello", now(), displaced="run-2") == ("one", "tasks", None, None)
        assert ConversationStore(session, "bob").begin("one", "run-4", "hello", now()) is None


def test_two_users_may_use_the_same_conversation_id(database: Database) -> None:
    for user in ("ana", "bob"):
        with owned_session(database.session, user, writes=True) as session:
            ConversationStore(session, user).save_user_message("same", f"I am {user}")
    with database.session() as session:
        assert len(session.exec(select(Conversation)).all()) == 2
        assert len(session.exec(select(ChatMessage)).all()) == 2
