"""Damaged journals: a file with runs of every kind, ways to damage it, and everything that can be asked of it then."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from maverick import AgentDefinition, AgentExecutor, ToolContext, tool
from maverick.exceptions import MaverickError
from maverick.journal import Journal, RunStatus, SqliteJournal
from maverick.journal.export import export_run
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent

RUNS = ("answered", "caller", "caller/1/0", "failed", "forked", "parked", "stopped")
_PAGE = 4096
_ODD: tuple[Any, ...] = (
    None, True, -1, 0, 7, 10**30, 1e308, 0.5, "", "text", "RunStarted", "complete", "half \ud83d", "\x00", "a b c",
    [], {}, [[]], [None], {"type": "ToolFinished"}, "x" * 10_000,
)  # fmt: skip
_ODD_COLUMNS: tuple[Any, ...] = (
    "",
    "text",
    "complete",
    b"\xff\xfe",
    b"{}",
    -1,
    0,
    10**15,
    1.5,
    "9" * 30,
    "ünï",
    "\x00",
)


# A journal with runs of every kind ------------------------------------------------------------------------------


@tool(effect="pure")
async def look(what: str) -> str:
    """Look at something."""
    return f"seen {what}"


@tool(approval=True)
async def shred(what: str) -> str:
    """Shred something."""
    return f"shredded {what}"


@tool(effect="transactional")
async def note(text: str, ctx: ToolContext) -> str:
    """Note something down."""
    await ctx.session.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT)")
    await ctx.session.execute("INSERT INTO notes VALUES (?)", text)
    return "noted"


HELPER = agent(look, name="helper")
AGENTS: dict[str, AgentDefinition[Any]] = {
    "answered": agent(look, note, name="reader"),
    "caller": agent(look, HELPER.as_tool(), name="boss"),
    "caller/1/0": HELPER,
    "failed": agent(look, name="unlucky", max_retries=0),
    "forked": agent(look, note, name="reader"),
    "parked": agent(shred, name="janitor"),
    "stopped": agent(look, name="brief", max_turns=1),
}


def answer(request: Request) -> Any:
    """What the model says, from how far the conversation is and what tools there are."""
    turn = sum(message.role is Role.ASSISTANT for message in request.messages)
    tools = {each.name for each in request.tools}
    if "shred" in tools:
        return reply("Clean.") if turn else call("shred", what="papers")
    if "helper" in tools:
        return reply("Helped.") if turn else calls(call("helper"), call("look", what="work"))
    if turn < 3:
        many = [call("look", what=f"{turn} {number} " * 20) for number in range(3)]
        return calls(*many, call("note", text=f"turn {turn}")) if "note" in tools else calls(*many)
    return reply("Done.")


async def make_journal(path: Path) -> None:
    """Write a journal with a run of each kind."""
    async with SqliteJournal(path) as journal:
        executor = AgentExecutor(ScriptedClient(answer), journal=journal)
        for run_id in ("answered", "caller", "parked", "stopped"):
            await executor.execute(AGENTS[run_id], run_id=run_id)
        broken = AgentExecutor(ScriptedClient(lambda _: OSError("out of order")), journal=journal)
        await broken.execute(AGENTS["failed"], run_id="failed")
        await executor.fork("answered", AGENTS["forked"], turn=2, new_run_id="forked")


# Ways to damage it ----------------------------------------------------------------------------------------------

Damage: TypeAlias = Callable[[Random, Path], "str | None"]
"""Damages a file; returns the run that it has damaged, if it is one only."""


def flip_bits(rng: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 4, 32, 256))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def flip_bits_in_a_page(rng: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data) // _PAGE) * _PAGE
    for _ in range(rng.choice((1, 4, 16))):
        data[start + rng.randrange(rng.choice((16, 100, _PAGE)))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def truncate(rng: Random, path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(rng.choice((0, 1, 100, rng.randrange(size), rng.randrange(size // _PAGE) * _PAGE)))


def overwrite_page(rng: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    pages = len(data) // _PAGE
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(pages) * _PAGE
        other = rng.randrange(pages) * _PAGE
        data[start : start + _PAGE] = rng.choice(
            (bytes(_PAGE), rng.randbytes(_PAGE), data[other : other + _PAGE])
        )
    path.write_bytes(data)


def leave_a_damaged_log(rng: Random, path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    log.write_bytes(rng.randbytes(rng.choice((10, 32, 5_000))))


def damage_payload(rng: Random, path: Path) -> str:
    with closing(_raw(path)) as db:
        number, run_id = rng.choice(db.execute("SELECT number, run_id FROM runs").fetchall())
        rows = db.execute(
            "SELECT rowid, payload FROM entries WHERE run = ? ORDER BY seq", (number,)
        ).fetchall()
        rowid, payload = rng.choice((rows[0], rng.choice(rows)))
        db.execute("UPDATE entries SET payload = ? WHERE rowid = ?", (_spoilt(rng, payload), rowid))
    return str(run_id)


def damage_approval(rng: Random, path: Path) -> str:
    with closing(_raw(path)) as db:
        run_id, payload = db.execute("SELECT run_id, payload FROM approvals").fetchone()
        db.execute("UPDATE approvals SET payload = ?", (_spoilt(rng, payload),))
    return str(run_id)


def damage_column(rng: Random, path: Path) -> str:
    with closing(_raw(path)) as db:
        run_id = rng.choice(db.execute("SELECT run_id FROM runs").fetchall())[0]
        columns = (
            "agent",
            "status",
            "reason",
            "parent",
            "user_id",
            "forked_from",
            "created_at",
            "updated_at",
        )
        column = rng.choice((*columns, "entries", "entries", "token", "run_id", "number"))
        value = run_id if column == "parent" and rng.random() < 0.5 else rng.choice(_ODD_COLUMNS)
        try:
            db.execute(f"UPDATE runs SET {column} = ? WHERE run_id = ?", (value, run_id))  # noqa: S608 - our own
        except sqlite3.Error:
            db.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))
    return str(run_id)


def damage_place(rng: Random, path: Path) -> str:
    with closing(_raw(path)) as db:
        number, run_id = rng.choice(db.execute("SELECT number, run_id FROM runs").fetchall())
        seqs = [row[0] for row in db.execute("SELECT seq FROM entries WHERE run = ?", (number,))]
        here, there = rng.choice(seqs), rng.choice(seqs)
        statement = rng.choice(
            (
                "DELETE FROM entries WHERE run = :run AND seq = :here",
                "DELETE FROM entries WHERE run = :run AND seq >= :here",
                "DELETE FROM entries WHERE run = :run AND seq <= :here",
                "UPDATE OR REPLACE entries SET seq = seq + 1000 WHERE run = :run AND seq = :here",
                "UPDATE OR REPLACE entries SET seq = :there WHERE run = :run AND seq = :here",
                "UPDATE entries SET seq = 'x' WHERE run = :run AND seq = :here",
                "UPDATE entries SET version = 'x' WHERE run = :run AND seq = :here",
                "UPDATE entries SET version = 9 WHERE run = :run AND seq = :here",
            )
        )
        db.execute(statement, {"run": number, "here": here, "there": there})
    return str(run_id)


def damage_schema(rng: Random, path: Path) -> None:
    with closing(_raw(path)) as db:
        db.execute(
            rng.choice(
                (
                    "DROP TABLE runs",
                    "DROP TABLE entries",
                    "DROP TABLE approvals",
                    "DROP INDEX entries_by_run",
                    "DROP INDEX runs_by_time",
                    "ALTER TABLE runs RENAME COLUMN agent TO who",
                    "ALTER TABLE entries RENAME TO others",
                    "PRAGMA user_version = 0",
                    "PRAGMA user_version = 1",
                    "PRAGMA user_version = 77",
                    "PRAGMA user_version = -5",
                )
            )
        )


DAMAGES: Sequence[Damage] = (
    flip_bits,
    flip_bits_in_a_page,
    truncate,
    overwrite_page,
    leave_a_damaged_log,
    damage_payload,
    damage_payload,
    damage_approval,
    damage_column,
    damage_column,
    damage_place,
    damage_schema,
)


def _raw(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _spoilt(rng: Random, payload: bytes) -> Any:
    """Something else in the place of an entry."""
    kind = rng.randrange(6)
    if kind == 0:
        return payload[: rng.randrange(len(payload))]
    if kind == 1:
        spoilt = bytearray(payload)
        for _ in range(rng.choice((1, 5))):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        return bytes(spoilt)
    if kind == 2:
        return rng.choice((7, 1.5, "text", "", b"", b"null", b"[]", b"7", b"[" * 100_000, payload.decode()))
    value = json.loads(payload)
    _change_one(rng, value)
    return json.dumps(value).encode()


def _change_one(rng: Random, value: Any) -> None:
    """Change one value somewhere in JSON, or take it away."""
    places: list[tuple[Any, Any]] = []
    found = [value]
    for container in found:
        keys = list(container) if isinstance(container, dict) else range(len(container))
        places += [(container, key) for key in keys]
        found += [container[key] for key in keys if isinstance(container[key], dict | list)]
    container, key = rng.choice(places)
    if rng.random() < 0.3:
        del container[key]
    else:
        container[key] = rng.choice(_ODD)


# Everything that can be asked of it -----------------------------------------------------------------------------


async def ask_everything(path: Path) -> list[str]:
    """Use a journal in every way there is; returns the errors that are not typed, and what was asked then."""
    raw: list[str] = []

    async def ask(what: str, asking: Callable[[], Awaitable[object]]) -> None:
        try:
            async with asyncio.timeout(60):
                await asking()
        except MaverickError:
            return
        except Exception as error:  # noqa: BLE001 - which ones there are is the question
            raw.append(f"{what}: {type(error).__name__}: {error}")

    async with SqliteJournal(path, busy_timeout=1) as journal:
        for name, asking in _questions(journal):
            await ask(name, asking)
        for run_id in RUNS:
            for name, asking in _questions_of(journal, run_id):
                await ask(f"{name} {run_id}", asking)
        await ask("prune", lambda: journal.prune(1e12, unfinished=True))
        await ask("close", journal.aclose)
    return raw


def _questions(journal: Journal) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
    return [
        ("list", journal.list_runs),
        *((f"list {status}", lambda status=status: journal.list_runs(status=status)) for status in RunStatus),
        ("approvals", lambda: journal.list_approvals(state="all")),
        ("pending", journal.list_approvals),
        ("approval", lambda: journal.get_approval("parked:1:0")),
        ("approve", lambda: journal.approve("parked:1:0", by="ana")),
        ("old", lambda: journal.old_runs(1e12, unfinished=True)),
    ]


def _questions_of(journal: Journal, run_id: str) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
    executor = AgentExecutor(ScriptedClient(answer), journal=journal)
    definition = AGENTS[run_id]

    async def read() -> None:
        [stored async for stored in journal.read(run_id)]

    async def export() -> None:
        [line async for line in export_run(journal, run_id)]

    async def replay() -> None:
        [event async for event in executor.replay(run_id, definition)]

    return [
        ("get", lambda: journal.get(run_id)),
        ("children", lambda: journal.list_runs(parent=run_id)),
        ("read", read),
        ("export", export),
        ("replay", replay),
        ("fork", lambda: executor.fork(run_id, definition, turn=1)),
        ("resume", lambda: executor.resume(run_id, definition)),
        ("accept", lambda: executor.resume(run_id, definition, accept_changes=True)),
    ]


def damaged_copy(template: Path, folder: Path, seed: int) -> tuple[Path, str, str | None]:
    """A copy of a journal with the damage of a seed: the file, the kind of damage, and the run if it is one only."""
    rng = Random(seed)
    damage = DAMAGES[seed % len(DAMAGES)]
    path = folder / f"{seed}.db"
    shutil.copyfile(template, path)
    return path, damage.__name__, damage(rng, path)
