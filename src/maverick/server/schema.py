"""The server's own tables: accounts and sign-outs, the answers it gives, and what they cost."""

from __future__ import annotations

from maverick.chat.migrations import Migration, Schema, owned_by_user

_FIRST = Migration(
    statements=(
        """CREATE TABLE accounts (
            name VARCHAR PRIMARY KEY, user_id VARCHAR NOT NULL UNIQUE, password VARCHAR NOT NULL)""",
        """CREATE TABLE answers (
            user_id VARCHAR NOT NULL, run_id VARCHAR NOT NULL, request_key VARCHAR, request_hash VARCHAR NOT NULL,
            conversation_id VARCHAR NOT NULL, attempt INTEGER NOT NULL, status VARCHAR NOT NULL,
            last_event INTEGER NOT NULL, PRIMARY KEY (user_id, run_id), UNIQUE (user_id, request_key))""",
        """CREATE TABLE spending (
            user_id VARCHAR NOT NULL, day DATE NOT NULL, cost_usd FLOAT NOT NULL, PRIMARY KEY (user_id, day))""",
    ),
    postgres=owned_by_user("answers", "spending"),
)

_STOPS = Migration(
    statements=("ALTER TABLE answers ADD COLUMN stop_wanted BOOLEAN NOT NULL DEFAULT FALSE",),
)

_SIGN_OUTS = Migration(
    statements=("CREATE TABLE sign_outs (what VARCHAR PRIMARY KEY, until BIGINT NOT NULL)",),
)

_HEARD_AND_REASONS = Migration(
    statements=(
        "ALTER TABLE answers ADD COLUMN heard BOOLEAN NOT NULL DEFAULT FALSE",
        "ALTER TABLE answers ADD COLUMN reason VARCHAR NOT NULL DEFAULT ''",
    ),
)

_RUNS_HAVE_ONE_LEASE = Migration(
    statements=("ALTER TABLE answers DROP COLUMN attempt", "ALTER TABLE answers DROP COLUMN heard"),
    postgres=("ALTER TABLE answers ALTER COLUMN last_event TYPE BIGINT",),
)
"""The journal knows who works on a run, and every question is looked at when it is written down."""

_ANSWERS_THAT_WAIT = Migration(
    statements=(
        "ALTER TABLE answers ADD COLUMN cost_usd FLOAT NOT NULL DEFAULT 0",
        "CREATE INDEX ix_answers_open ON answers (user_id, status) WHERE status IN ('running', 'waiting')",
    ),
)
"""An answer may wait for a decision, and the answers in progress are counted for all processes."""

SERVER = Schema(
    "server",
    (_FIRST, _STOPS, _SIGN_OUTS, _HEARD_AND_REASONS, _RUNS_HAVE_ONE_LEASE, _ANSWERS_THAT_WAIT),
)
"""The tables of this package. ``accounts`` and ``sign_outs`` are read before the user is known, so they have
no owner's fence."""
