"""A person's decision counts once, for one call, by the right user, in time (promise P7), in every journal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.journals.shelf import notes, record, texts_of
from maverick import tool
from maverick.exceptions import ApprovalError, LeaseLostError
from maverick.journal import Approval, ApprovalStatus, Journal, RunStatus
from maverick.journal.approvals import approval_for, expired, still_fits
from maverick.journal.records import Lease
from maverick.model import ToolCall


@tool
async def wire_money(to: str, amount: int) -> str:
    """Wire money."""
    return "wired"


def request(run_id: str = "r", *, turn: int = 1, index: int = 0, **fields: Any) -> Approval:
    """A request for a decision on one call."""
    call = ToolCall("c1", "wire_money", {"to": "Ana", "amount": 5})
    return replace(approval_for(run_id, turn, index, call, wire_money, None, None), **fields)


async def asked(journal: Journal, **fields: Any) -> Lease:
    """A run that waits for one decision."""
    lease = await journal.create(record(), notes("one"))
    await journal.request_approvals(lease, [request(**fields)])
    return lease


async def test_asking_parks_the_run_and_keeps_the_request_whole(journal: Journal) -> None:
    wanted = request(user_id="ana", requested_at=1.5, expires_at=2.5)
    lease = await journal.create(record(), notes("one"))

    await journal.request_approvals(lease, [wanted])

    assert await journal.get_approval("r:1:0") == wanted
    assert (await journal.get("r")).status is RunStatus.WAITING
    assert await texts_of(journal) == ["one"]


async def test_asking_twice_is_asking_once(journal: Journal) -> None:
    lease = await asked(journal)
    await journal.approve("r:1:0", by="ana")

    await journal.request_approvals(lease, [request(), request(index=1)])

    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.APPROVED
    assert (await journal.get_approval("r:1:1")).status is ApprovalStatus.PENDING


async def test_whoever_lost_the_run_asks_for_nothing(journal: Journal) -> None:
    lease = await journal.create(record(), [])
    await journal.claim("r")

    with pytest.raises(LeaseLostError):
        await journal.request_approvals(lease, [request()])

    assert await journal.list_approvals() == []
    assert (await journal.get("r")).status is RunStatus.RUNNING


@pytest.mark.requirement("P7")
async def test_a_decision_says_who_made_it_and_when(journal: Journal) -> None:
    await asked(journal)

    approved = await journal.approve("r:1:0", by="ana", at=7.0)

    assert (approved.status, approved.approved) == (ApprovalStatus.APPROVED, True)
    assert (approved.decided_by, approved.decided_at) == ("ana", 7.0)
    assert await journal.get_approval("r:1:0") == approved


@pytest.mark.parametrize("reason", ["Too much.", "", "nul \0 and surrogate \ud800 and 🦊"])
async def test_a_refusal_keeps_its_reason_whatever_it_is(journal: Journal, reason: str) -> None:
    await asked(journal)

    await journal.deny("r:1:0", by="ana", reason=reason)

    denied = await journal.get_approval("r:1:0")
    assert (denied.status, denied.approved, denied.reason) == (ApprovalStatus.DENIED, False, reason)


@pytest.mark.requirement("P7")
async def test_a_decision_is_made_once(journal: Journal) -> None:
    await asked(journal)
    first = await journal.approve("r:1:0", by="ana")

    for again in (journal.approve("r:1:0", by="ana"), journal.deny("r:1:0", by="ben")):
        with pytest.raises(ApprovalError, match="already approved") as refused:
            await again
        assert refused.value.approval_id == "r:1:0"

    assert await journal.get_approval("r:1:0") == first


@pytest.mark.requirement("P7")
async def test_a_decision_that_was_used_can_not_be_made_again(journal: Journal) -> None:
    await asked(journal)
    approved = await journal.approve("r:1:0", by="ana")
    assert await journal.settle_approval(
        replace(approved, status=ApprovalStatus.USED), ApprovalStatus.APPROVED
    )

    with pytest.raises(ApprovalError, match="already used"):
        await journal.deny("r:1:0", by="ana")
    assert not await journal.settle_approval(approved, ApprovalStatus.PENDING)


@pytest.mark.requirement("P7")
async def test_a_request_for_one_user_is_not_for_another_to_decide(journal: Journal) -> None:
    await asked(journal, user_id="ana")

    for other in (journal.approve("r:1:0", by="ben"), journal.deny("r:1:0", by="ben")):
        with pytest.raises(ApprovalError, match="the run's own user"):
            await other
    with pytest.raises(ApprovalError, match="name of the person who decides"):
        await journal.approve("r:1:0", by="")

    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.PENDING
    assert (await journal.approve("r:1:0", by="ana")).approved


@pytest.mark.requirement("P7")
async def test_a_request_that_has_expired_can_be_denied_and_not_approved(journal: Journal) -> None:
    await asked(journal, expires_at=100.0)

    with pytest.raises(ApprovalError, match="expired"):
        await journal.approve("r:1:0", by="ana", at=100.0)
    denied = await journal.deny("r:1:0", by="ana", at=101.0)

    assert denied.status is ApprovalStatus.DENIED


async def test_expiry_is_settled_once_too(journal: Journal) -> None:
    await asked(journal, expires_at=100.0)
    pending = await journal.get_approval("r:1:0")

    settled = [
        await journal.settle_approval(expired(pending, 101.0), ApprovalStatus.PENDING) for _ in range(2)
    ]

    assert settled == [True, False]
    assert (await journal.get_approval("r:1:0")).decided_by == "expiry"


@pytest.mark.requirement("P7")
async def test_of_many_who_decide_at_once_one_decides(journal: Journal) -> None:
    await asked(journal)

    results = await asyncio.gather(
        *(journal.approve("r:1:0", by=f"user {number}") for number in range(10)),
        *(journal.deny("r:1:0", by=f"user {number}") for number in range(10, 20)),
        return_exceptions=True,
    )

    made = [result for result in results if isinstance(result, Approval)]
    assert len(made) == 1
    assert sum(isinstance(result, ApprovalError) for result in results) == 19
    assert await journal.get_approval("r:1:0") == made[0]


async def test_an_unknown_request_is_a_typed_error(journal: Journal) -> None:
    with pytest.raises(ApprovalError) as unknown:
        await journal.get_approval("nothing")
    with pytest.raises(ApprovalError):
        await journal.approve("nothing", by="ana")

    assert unknown.value.approval_id == "nothing"
    assert not await journal.settle_approval(request(), ApprovalStatus.PENDING)


async def test_requests_are_listed_oldest_first_by_run_and_by_status(journal: Journal) -> None:
    for run_id, requests in {
        "r": [request(index=1, requested_at=3.0, user_id="ana"), request(index=0, requested_at=3.0)],
        "s": [request("s", requested_at=2.0)],
    }.items():
        user = "ana" if run_id == "r" else None
        await journal.request_approvals(await journal.create(record(run_id, user_id=user), []), requests)
    await journal.deny("r:1:1", by="ana")

    async def listed(**wanted: Any) -> list[str]:
        return [approval.approval_id for approval in await journal.list_approvals(**wanted)]

    assert await listed(state="all") == ["s:1:0", "r:1:0", "r:1:1"]
    assert await listed(run_id="r", state="all") == ["r:1:0", "r:1:1"]
    assert await listed() == ["s:1:0", "r:1:0"]
    assert await listed(run_id="r", state="denied") == ["r:1:1"]
    assert await listed(run_id="r", state=ApprovalStatus.DENIED, user_id="ana") == ["r:1:1"]
    assert await listed(user_id="somebody else", state="all") == []


async def test_requests_go_with_their_run(journal: Journal) -> None:
    await asked(journal)
    await journal.request_approvals(await journal.create(record("other"), []), [request("other")])

    await journal.delete("r")

    assert [approval.run_id for approval in await journal.list_approvals()] == ["other"]


@pytest.mark.requirement("P7")
@pytest.mark.parametrize(
    "change",
    [
        {"arguments_hash": "other"},
        {"tool_hash": "other"},
        {"tool_name": "other"},
        {"user_id": "ben"},
        {"run_id": "other"},
        {"turn": 2},
        {"index": 1},
    ],
)
async def test_a_decision_fits_the_call_it_was_made_on_and_no_other(
    journal: Journal, change: dict[str, Any]
) -> None:
    await asked(journal)
    made = await journal.approve("r:1:0", by="ana")

    assert still_fits(made, request())
    assert not still_fits(made, request(**change))


def test_the_order_of_arguments_does_not_matter_and_their_values_do() -> None:
    def asked_about(arguments: dict[str, Any]) -> str:
        return approval_for(
            "r", 1, 0, ToolCall("c", "wire_money", arguments), wire_money, None, None
        ).arguments_hash

    assert asked_about({"to": {"a": 1, "b": 2}, "n": 1}) == asked_about({"n": 1, "to": {"b": 2, "a": 1}})
    assert asked_about({"to": "\ud800"}) != asked_about({"to": "\ud801"})
    assert asked_about({"n": 1}) != asked_about({"n": True})


async def test_arguments_that_are_no_valid_unicode_can_be_asked_about(journal: Journal) -> None:
    call = ToolCall("c", "wire_money", {"to": "\ud800\0"})
    wanted = approval_for("r", 1, 0, call, wire_money, None, None)
    lease = await journal.create(record(), [])

    await journal.request_approvals(lease, [wanted])

    assert await journal.get_approval(wanted.approval_id) == wanted
