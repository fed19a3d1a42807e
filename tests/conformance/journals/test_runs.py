"""Runs are added, claimed, found, listed and removed alike in every journal."""

from __future__ import annotations

import pytest

from conformance.journals.shelf import notes, record, texts_of
from maverick.exceptions import InvalidInputError, JournalError, RunExistsError, RunNotFoundError
from maverick.journal import Journal, RunStatus


async def test_a_run_is_kept_with_everything_that_is_known_of_it(journal: Journal) -> None:
    whole = record(
        "r",
        agent="clerk/typist",
        status=RunStatus.STOPPED,
        reason="max_turns",
        parent="p",
        user_id="ana",
        forked_from="f",
        created_at=1700000000.123456,
        updated_at=1700000001.654321,
    )
    await journal.create(whole, notes("one", "two"))

    assert await journal.get("r") == record(
        "r",
        agent="clerk/typist",
        status=RunStatus.STOPPED,
        reason="max_turns",
        parent="p",
        user_id="ana",
        forked_from="f",
        created_at=1700000000.123456,
        updated_at=1700000001.654321,
        entries=2,
    )
    assert await texts_of(journal) == ["one", "two"]


async def test_an_id_can_be_used_once(journal: Journal) -> None:
    await journal.create(record(), notes("first"))

    with pytest.raises(RunExistsError) as refused:
        await journal.create(record(agent="another"), notes("second"))

    assert refused.value.run_id == "r"
    assert (await journal.get("r")).agent == "clerk"
    assert await texts_of(journal) == ["first"]


async def test_an_unknown_run_is_told_by_its_id_whatever_is_asked_of_it(journal: Journal) -> None:
    for asking in (journal.get("x"), journal.claim("x"), journal.delete("x")):
        with pytest.raises(RunNotFoundError) as unknown:
            await asking
        assert unknown.value.run_id == "x"
    with pytest.raises(RunNotFoundError):
        await anext(journal.read("x"))


async def test_what_is_appended_changes_the_record(journal: Journal) -> None:
    lease = await journal.create(record(), notes("one"))

    await journal.append(lease, notes("two", "three"), RunStatus.COMPLETE, "complete")

    now = await journal.get("r")
    assert (now.entries, now.status, now.reason) == (3, RunStatus.COMPLETE, "complete")
    assert now.created_at == 1.0
    assert now.updated_at > 1.0


async def test_a_run_may_be_changed_without_a_new_entry(journal: Journal) -> None:
    lease = await journal.create(record(), notes("one"))

    await journal.append(lease, [], RunStatus.STOPPED, "aborted")

    now = await journal.get("r")
    assert (now.entries, now.status) == (1, RunStatus.STOPPED)
    assert await texts_of(journal) == ["one"]


async def test_runs_are_listed_newest_first_and_those_of_one_moment_by_id(journal: Journal) -> None:
    for run_id, at in (("b", 2.0), ("a", 2.0), ("B", 2.0), ("old", 1.0), ("new", 3.0)):
        await journal.create(record(run_id, created_at=at), [])

    assert [run.run_id for run in await journal.list_runs()] == ["new", "B", "a", "b", "old"]
    assert [run.run_id for run in await journal.list_runs(limit=2)] == ["new", "B"]


async def test_a_list_shows_one_status_or_the_subagents_of_one_run(journal: Journal) -> None:
    await journal.create(record("done", status=RunStatus.COMPLETE), [])
    await journal.create(record("going"), [])
    await journal.create(record("going/1/0", parent="going"), [])
    await journal.create(record("going/1/1", parent="going", status=RunStatus.COMPLETE), [])

    async def listed(**wanted: object) -> list[str]:
        return [run.run_id for run in await journal.list_runs(**wanted)]  # type: ignore[arg-type]

    assert await listed() == ["done", "going"]
    assert await listed(status=RunStatus.COMPLETE) == ["done"]
    assert await listed(parent="going") == ["going/1/0", "going/1/1"]
    assert await listed(parent="going", status=RunStatus.COMPLETE) == ["going/1/1"]
    assert await listed(parent="done") == []


async def test_a_run_is_removed_with_its_subagents_and_with_nobody_else(journal: Journal) -> None:
    await journal.create(record("a"), notes("of a"))
    await journal.create(record("a/1/0", parent="a"), notes("of its child"))
    await journal.create(record("a/1/0/2/0", parent="a/1/0"), notes("of its grandchild"))
    await journal.create(record("a/b"), notes("somebody's own run"))
    await journal.create(record("ab", parent="b"), notes("a child of another"))

    assert await journal.delete("a") == 3

    for run_id in ("a", "a/1/0", "a/1/0/2/0"):
        with pytest.raises(RunNotFoundError):
            await journal.get(run_id)
        assert await journal.read_page(run_id, 0, 10) == []
    assert await texts_of(journal, "a/b") == ["somebody's own run"]
    assert await texts_of(journal, "ab") == ["a child of another"]


async def test_a_removed_id_can_be_used_again(journal: Journal) -> None:
    await journal.create(record(), notes("old", "older"))
    await journal.delete("r")

    await journal.create(record(), notes("new"))

    assert await texts_of(journal) == ["new"]


async def test_pruning_removes_what_ended_before_a_time_and_nothing_else(journal: Journal) -> None:
    await journal.create(record("old", status=RunStatus.COMPLETE, updated_at=10.0), [])
    await journal.create(record("old/1/0", parent="old", status=RunStatus.COMPLETE, updated_at=9.0), [])
    await journal.create(record("stopped", status=RunStatus.STOPPED, updated_at=10.0), [])
    await journal.create(record("at the time", status=RunStatus.COMPLETE, updated_at=20.0), [])
    await journal.create(record("going", updated_at=1.0), [])
    await journal.create(record("waiting", status=RunStatus.WAITING, updated_at=1.0), [])

    assert await journal.prune(20.0) == 3

    assert {run.run_id for run in await journal.list_runs()} == {"at the time", "going", "waiting"}
    assert await journal.prune(20.0) == 0


async def test_pruning_removes_what_was_left_before_a_time_when_asked_to(journal: Journal) -> None:
    await journal.create(record("old", status=RunStatus.COMPLETE, updated_at=10.0), [])
    await journal.create(record("left", updated_at=10.0), [])
    await journal.create(record("left/1/0", parent="left", updated_at=19.0), [])
    await journal.create(record("waiting", status=RunStatus.WAITING, updated_at=10.0), [])
    await journal.create(record("at the time", updated_at=20.0), [])
    await journal.create(record("at work below", updated_at=10.0), [])
    await journal.create(record("at work below/1/0", parent="at work below", updated_at=10.0), [])
    await journal.create(
        record(
            "at work below/1/0/1/0", parent="at work below/1/0", status=RunStatus.STOPPED, updated_at=20.0
        ),
        [],
    )

    assert await journal.prune(20.0, unfinished=True) == 4

    assert {run.run_id for run in await journal.list_runs()} == {"at the time", "at work below"}


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("field", ["run_id", "agent", "user_id", "parent", "forked_from"])
def test_a_name_no_database_can_hold_is_refused_with_the_record(field: str, odd: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        record(**{"run_id": "r"} | {field: odd})

    assert refused.value.field == field


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"])
async def test_asking_for_such_a_name_is_a_typed_error_and_harms_nobody(journal: Journal, odd: str) -> None:
    lease = await journal.create(record(), [])
    for asking in (
        journal.get(odd),
        journal.claim(odd),
        journal.delete(odd),
        journal.get_approval(odd),
    ):
        with pytest.raises(JournalError):
            await asking

    await journal.append(lease, notes("still there"))
    assert await texts_of(journal) == ["still there"]


async def test_names_in_any_script_are_kept(journal: Journal) -> None:
    name = "отчёт/報告/🦊 '\"%_\\"
    await journal.create(record(name, user_id="Ана", agent="лиса"), notes("hi"))

    assert (await journal.get(name)).user_id == "Ана"
    assert await texts_of(journal, name) == ["hi"]
    assert await journal.delete(name) == 1
