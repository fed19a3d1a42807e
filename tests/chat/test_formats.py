"""What the user reads: every row of the contract's tables of formats, errors and confirmations."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from chat.parlour import Parlour
from chat.utterance import TODAY
from maverick.chat import Database
from maverick.chat.phrases import RESPONSE_LENGTH, TROUBLE
from maverick.chat.prompt import CHAT_LIMITS
from maverick.exceptions import NetworkError
from maverick.testing import ScriptedClient, call, reply


@pytest.mark.requirement("004-R-CREATED")
async def test_a_task_that_was_created(parlour: Parlour) -> None:
    result = await parlour.say("add call the bank")

    assert result.response == "Got it! Added 'call the bank' to your list. Anything else?"


@pytest.mark.requirement("004-R-LIST")
async def test_a_list_is_numbered_and_has_boxes(parlour: Parlour) -> None:
    parlour.add("call the bank", priority="High")
    parlour.add("buy milk")
    await parlour.say("complete buy milk")

    result = await parlour.say("show my tasks")

    assert result.response == "1. ☐ call the bank (high priority)\n2. ✓ buy milk"


@pytest.mark.requirement("004-R-LIST", "004-LIMIT-LENGTH")
async def test_a_long_list_is_cut_to_about_500_characters_and_says_so(parlour: Parlour) -> None:
    parlour.add(*(f"task number {n} with a rather long title" for n in range(60)))

    result = await parlour.say("show my tasks")

    assert len(result.response) <= RESPONSE_LENGTH
    assert re.search(r"\n…and \d+ more\.$", result.response)
    assert result.tool_calls[0].result["data"]["count"] == 60


@pytest.mark.requirement("004-R-COMPLETED")
async def test_a_task_that_was_completed(parlour: Parlour) -> None:
    parlour.add("buy milk")

    result = await parlour.say("mark buy milk as done")

    assert result.response == "Great! I've marked 'buy milk' as complete."


@pytest.mark.requirement("004-R-DELETED", "004-C-DELETE")
async def test_a_task_that_is_deleted_after_a_confirmation(parlour: Parlour) -> None:
    parlour.add("buy milk")

    asked = await parlour.say("delete milk")
    done = await parlour.say("Yes, delete!")

    assert asked.response == "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."
    assert (asked.success, asked.error) == (True, None)
    assert done.response == "I've removed 'buy milk' from your tasks."
    assert parlour.titles() == []


@pytest.mark.requirement("004-R-UPDATED")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("make buy milk high priority", "Updated! 'buy milk' now has high priority."),
        ("move buy milk to Friday", "Updated! 'buy milk' now has a due date of Friday."),
        (
            "rename buy milk to buy oat milk",
            "Updated! 'buy oat milk' now has a new title (it was 'buy milk').",
        ),
        ("remove the due date from buy milk", "Updated! 'buy milk' now has no due date."),
    ],
)
async def test_a_task_that_was_updated(said: str, answer: str, parlour: Parlour) -> None:
    parlour.add("buy milk", due_date=TODAY)

    assert (await parlour.say(said)).response == answer


@pytest.mark.requirement("004-E-NOT-FOUND")
async def test_a_task_that_is_not_there(parlour: Parlour) -> None:
    result = await parlour.say("complete paint the fence")

    assert result.response == "I couldn't find a task about 'paint the fence' in your list."
    assert (result.success, result.error) == (False, result.response)
    assert result.tool_calls[0].result["error"]["code"] == "not_found"


@pytest.mark.requirement("004-E-AMBIGUOUS")
async def test_several_tasks_that_could_be_meant(parlour: Parlour) -> None:
    parlour.add("buy milk", "buy oat milk")

    asked = await parlour.say("complete milk")
    done = await parlour.say("the second one")

    assert asked.response == "I found multiple tasks about 'milk'. Which one: 'buy milk' or 'buy oat milk'?"
    assert (asked.success, asked.error) == (False, asked.response)
    assert done.response == "Great! I've marked 'buy oat milk' as complete."


@pytest.mark.requirement("004-E-INVALID")
async def test_something_that_is_missing_is_asked_for(parlour: Parlour) -> None:
    asked = await parlour.say("add a task")
    done = await parlour.say("walk the dog")

    assert asked.response == "Could you provide more details about what the task is?"
    assert (asked.success, asked.error) == (False, asked.response)
    assert parlour.titles() == ["walk the dog"]
    assert done.success


@pytest.mark.requirement("004-E-SYSTEM", "004-ERRORS")
async def test_whatever_breaks_is_told_in_friendly_words(database: Database) -> None:
    down = NetworkError("connect ECONNREFUSED 10.0.0.1:443")
    limits = replace(CHAT_LIMITS, max_retries=0)
    parlour = Parlour(database, client=ScriptedClient([down]), limits=limits)

    result = await parlour.runner.run(parlour.context(), "hello")
    await parlour.aclose()

    assert (result.success, result.response, result.error) == (False, TROUBLE, TROUBLE)
    assert TROUBLE == "I'm having a bit of trouble right now. Please try again."


@pytest.mark.requirement("004-E-SYSTEM", "004-ERRORS")
@pytest.mark.parametrize("table", ["tasks", "confirmations"])
async def test_a_database_that_fails_is_told_in_friendly_words(table: str, parlour: Parlour) -> None:
    with parlour.database.engine.begin() as connection:
        connection.exec_driver_sql(f"DROP TABLE {table}")

    result = await parlour.say("show my tasks")

    assert (result.success, result.response, result.error) == (False, TROUBLE, TROUBLE)


@pytest.mark.requirement("004-C-BULK")
@pytest.mark.parametrize(
    ("said", "phrase", "left", "done"),
    [
        ("delete everything", "yes delete all", [], "Done! I've deleted 2 tasks."),
        ("complete all tasks", "yes complete all", ["✓", "✓"], "Done! I've completed 1 task."),
        ("clear completed tasks", "yes delete completed", ["☐"], "Done! I've deleted 1 task."),
    ],
)
async def test_a_bulk_operation_needs_its_own_phrase(
    said: str, phrase: str, left: list[str], done: str, parlour: Parlour
) -> None:
    parlour.add("buy milk", "call mum")
    await parlour.say("complete call mum")

    asked = await parlour.say(said)
    answer = await parlour.say(phrase)

    assert asked.response == f"That's a big action. Confirm with '{phrase}'."
    assert answer.response == done
    assert ["✓" if task.completed else "☐" for task in parlour.tasks()] == left


@pytest.mark.requirement("004-Q-IDS")
async def test_a_model_is_never_shown_an_id(database: Database) -> None:
    client = ScriptedClient([call("add_task", title="buy milk"), call("list_tasks"), reply("Done.")])
    parlour = Parlour(database, client=client)

    result = await parlour.say("add milk")
    await parlour.aclose()

    shown = [part.content for part in client.requests[-1].messages if part.tool_call_id]
    assert all('"id"' not in text for text in shown)
    assert all(record.result["data"] for record in result.tool_calls)
    assert isinstance(result.tool_calls[0].result["data"]["id"], int)


@pytest.mark.requirement("004-Q-GRAMMAR")
async def test_answers_are_sentences_that_agree_in_number(parlour: Parlour) -> None:
    parlour.add("buy milk", "call mum")
    one = await parlour.say("complete buy milk")
    await parlour.say("delete all my tasks")
    many = await parlour.say("yes delete all")
    back = await parlour.say("undo")
    none = await parlour.say("show overdue tasks")

    assert [said.response for said in (one, many, back, none)] == [
        "Great! I've marked 'buy milk' as complete.",
        "Done! I've deleted 2 tasks.",
        "I've undone that: 2 tasks are back on your list.",
        "You have no overdue tasks.",
    ]
