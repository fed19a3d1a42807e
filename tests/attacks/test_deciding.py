"""Attacks on decisions: by a name that no person has, by arguments beyond a rule, by words that are no clear yes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chat.utterance import TODAY
from maverick import AgentExecutor, SqliteJournal, define_agent, tool
from maverick.chat.matching import find_each, find_matches
from maverick.chat.tables import Task
from maverick.exceptions import ApprovalError
from maverick.journal import Approval
from maverick.journal.approvals import decided_by_the_run
from maverick.server.routes.front_ends import AgUiResume
from maverick.testing import ScriptedClient, call, reply

PAID: list[int] = []
LIMITS = {"carl": 100, "boss": 10**9}


@tool(approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return "paid"


CLERK = define_agent("clerk", tools=[pay])


def may_approve(approval: Approval, by: str) -> bool:
    return int(approval.arguments["amount"]) <= LIMITS.get(by, 0)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal


@pytest.fixture
def executor(journal: SqliteJournal) -> AgentExecutor:
    PAID.clear()
    client = ScriptedClient([call("pay", amount=50), reply("Done.")])
    return AgentExecutor(client, journal=journal, may_approve=may_approve)


@pytest.mark.requirement("P7")
async def test_no_one_decides_in_the_name_of_the_expiry(
    executor: AgentExecutor, journal: SqliteJournal
) -> None:
    await executor.execute(CLERK, inputs={"prompt": "Pay."}, user_id="ana", run_id="r")
    (asked,) = await journal.list_approvals()

    with pytest.raises(ApprovalError):
        await journal.decide(asked.approval_id, approved=True, by="expiry", may_approve=decided_by_the_run)

    await executor.resume("r", CLERK)
    assert PAID == []


@pytest.mark.requirement("P7")
async def test_a_rule_sees_the_arguments_that_the_call_would_run_with(
    executor: AgentExecutor, journal: SqliteJournal
) -> None:
    await executor.execute(CLERK, inputs={"prompt": "Pay."}, user_id="ana", run_id="r")
    (asked,) = await journal.list_approvals()

    with pytest.raises(ApprovalError):
        await executor.approve(asked.approval_id, by="carl", arguments={"amount": 1_000_000})
    # Where the rule is not known, the decision is written down, and does not count with whoever drives the run.
    await journal.decide(
        asked.approval_id, approved=True, by="carl", may_approve=decided_by_the_run, arguments={"amount": 101}
    )
    await executor.resume("r", CLERK)
    assert PAID == []

    await executor.approve(
        asked.approval_id, by="carl", arguments={"amount": 100}, definition=CLERK, resume=True
    )
    assert PAID == [100]


@pytest.mark.requirement("SERVER-AG-UI")
@pytest.mark.parametrize(
    "payload", [False, 0, "no", "false", {"approved": None}, {"approved": "false"}, {"ok": True}, {}]
)
def test_what_is_not_a_clear_yes_is_a_no(payload: object) -> None:
    assert not AgUiResume(interruptId="a", status="resolved", payload=payload).approved


@pytest.mark.requirement("CHAT-NO-WRONG-CHANGE")
@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("invoice 2024", "invoice 2025"),
        ("order 123457", "Order 123456"),
        ("unlock the door", "Lock the door"),
        ("increase rent for Ana", "Decrease rent for Ana"),
        ("pay Mark", "Pay Mary"),
        ("anything but the eggs", "eggs"),
        ("everything except milk", "milk"),
    ],
)
def test_a_task_that_only_looks_like_it_is_not_meant(said: str, title: str) -> None:
    assert find_matches(said, [Task(id=1, user_id="ana", title=title)], TODAY) == []


def test_a_task_that_is_left_out_of_an_enumeration_is_left_alone() -> None:
    tasks = [Task(id=n, user_id="ana", title=title) for n, title in enumerate(("the rent", "the milk"))]
    assert find_each("the rent and not the milk", tasks, TODAY) == []
