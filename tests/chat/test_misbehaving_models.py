"""Whatever a model says and does, the reply obeys the contract, and its words and the stored tasks agree.

The whole campaign is 1,000 texts and 200 models; ``MAVERICK_CAMPAIGN=1`` runs all of it, and else a part is run.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from chat import misbehaviour
from chat.misbehaviour import SAID, TITLES, Stored, assert_obeys
from chat.parlour import Parlour
from maverick import tool
from maverick.chat import AgentResult, AgentRunner, Database
from maverick.chat.phrases import ONE_AT_A_TIME, TROUBLE, UNSEEN, unbacked
from maverick.exceptions import NetworkError, ToolError
from maverick.loop import RunConfig
from maverick.loop.events import ContentChunk
from maverick.model import Request
from maverick.testing import ScriptedClient, call, calls, reply

WHOLE = bool(os.environ.get("MAVERICK_CAMPAIGN"))
TEXTS, MODELS, PARTS = (1000, 200, 8) if WHOLE else (80, 40, 4)
LIMITS = RunConfig(max_turns=12, timeout_ms=30_000, max_tool_calls=10, max_retries=1, retry_delay=0.001)


async def heard(runner: AgentRunner, context: Any, message: str) -> AgentResult:
    """The reply, after it was streamed: what is streamed has to be what stays."""
    streamed = ""
    async for event in runner.stream(context, message):
        if isinstance(event, ContentChunk):
            streamed += event.content
        elif isinstance(event, AgentResult):
            assert event.response.startswith(streamed)
            return event
    raise AssertionError("a stream ends with its result")


async def converse(parlour: Parlour, user: str, messages: list[str]) -> None:
    parlour.add(*TITLES, user=user)
    for message in messages:
        before = Stored.of(parlour.tasks(user))
        result = await heard(parlour.runner, parlour.context(user), message)
        assert_obeys(result, before, Stored.of(parlour.tasks(user)))


@pytest.mark.requirement("004-G-FRIENDLY", "004-Q-IDS", "004-Q-JARGON", "004-Q-EMOJI", "004-LIMIT-LENGTH")
@pytest.mark.parametrize("part", range(PARTS))
async def test_generated_texts_of_a_model_make_replies_that_obey_the_contract(
    part: int, database: Database
) -> None:
    dice = random.Random(f"texts {part}")
    script: list[Any] = []
    parlour = Parlour(database, client=ScriptedClient(lambda _: script.pop(0)), limits=LIMITS)

    for number in range(TEXTS // PARTS):
        words = misbehaviour.text(dice)
        acts = dice.choice(
            ([], [], [call("list_tasks")], [calls(call("add_task", title="buy eggs"), text=words)])
        )
        script[:] = [*acts, reply(words)]
        await converse(parlour, f"user-{number}", [dice.choice(SAID)])
    await parlour.aclose()


@pytest.mark.requirement("004-G-FRIENDLY", "004-G-CALLS", "004-ERRORS", "CHAT-TRUTH")
@pytest.mark.parametrize("part", range(PARTS))
async def test_misbehaving_models_are_not_believed(part: int, database: Database) -> None:
    dice = random.Random(f"models {part}")
    parlour = Parlour(database, client=ScriptedClient(lambda _: misbehaviour.turn(dice)), limits=LIMITS)

    for number in range(MODELS // PARTS):
        await converse(parlour, f"user-{number}", dice.choices(SAID, k=3))
    await parlour.aclose()


@pytest.mark.requirement("CHAT-TRUTH", "004-C-DELETE")
async def test_a_model_that_claims_an_unconfirmed_delete_is_not_believed(database: Database) -> None:
    claim = reply("I've removed 'buy milk' from your tasks.")
    parlour = Parlour(database, client=ScriptedClient([call("delete_task", task="buy milk"), claim]))
    parlour.add("buy milk")

    result = await parlour.say("delete milk")
    await parlour.aclose()

    assert result.response == "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm."
    assert result.success
    assert parlour.titles() == ["buy milk"]


@pytest.mark.requirement("CHAT-TRUTH")
async def test_a_model_that_claims_something_without_a_tool_is_not_believed(database: Database) -> None:
    claims = iter(misbehaviour.CLAIMS)
    parlour = Parlour(database, client=ScriptedClient(lambda _: reply(f"Sure! {next(claims)}")))

    for claim in misbehaviour.CLAIMS:
        result = await parlour.runner.run(parlour.context(), "do it")

        assert result.response == misbehaviour.NOTHING_DONE, claim
        assert (result.success, result.error) == (False, result.response), claim
    await parlour.aclose()


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "claim", ["The priority went up.", "That is so now.", *misbehaviour.IN_OTHER_WORDS[::8]]
)
async def test_what_a_model_says_about_a_users_own_task_without_a_tool_is_not_believed(
    claim: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient(lambda _: reply(claim)))
    parlour.add("write the report", "water the plants")

    for message in ("make the report urgent", "report!!", "what about the plants", "yes"):
        if message == "yes":
            parlour.runner = AgentRunner(
                database.session,
                parlour.server,
                client=ScriptedClient(
                    lambda request: (
                        reply(claim)
                        if request.messages[-1].content == "yes"
                        else call("delete_task", task="report")
                    )
                ),
            )
            await parlour.say("the report can go")
        result = await parlour.say(message)

        assert result.response == misbehaviour.NOTHING_DONE, message
    await parlour.aclose()


@tool
async def light(on: bool) -> str:
    """Switch the light."""
    return "on" if on else "off"


@tool(effect="pure")
async def weather() -> str:
    """What the weather is like."""
    return "sunny"


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("other", [call("light", on=True), call("weather")], ids=["acts", "looks"])
@pytest.mark.parametrize(
    "claim",
    [
        "Great! I've marked 'greenhouse' as complete.",
        "I binned the greenhouse.",
        "You can forget about the greenhouse now.",
        "Say goodbye to Operation Bluebird.",
    ],
)
async def test_another_tool_makes_no_claim_about_a_task_true(
    claim: str, other: Any, database: Database
) -> None:
    parlour = Parlour(
        database, client=ScriptedClient([other, reply(f"The light is on. {claim}")]), tools=[light, weather]
    )
    parlour.add("greenhouse", "Operation Bluebird")

    result = await parlour.say("complete the greenhouse and Operation Bluebird, and switch the light on")
    await parlour.aclose()

    assert claim not in result.response
    assert not result.success


@pytest.mark.requirement("004-G-FRIENDLY")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("what's the weather in Rome?", "It is sunny in Rome."),
        ("please explain photosynthesis", "Plants take in light and turn it into sugar."),
    ],
)
async def test_what_tasks_are_about_may_be_talked_about(message: str, words: str, database: Database) -> None:
    acts = [call("weather")] if "sunny" in words else []
    parlour = Parlour(database, client=ScriptedClient([*acts, reply(words)]), tools=[light, weather])
    parlour.add("email Anna about the budget", "book flights to Rome", "water the plants")

    result = await parlour.say(message)
    await parlour.aclose()

    assert result.response == unbacked(words)


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("send Anna an email about the budget", "I've sent Anna the email about the budget."),
        ("get rid of the greenhouse and switch the light on", "Sorted, boss."),
        ("what is left? and light on", "Light's on. Nada on the agenda."),
        ("light on please", "Licht ist an, 'greenhouse' ist weg."),
        ("lösch das Gewächshaus", "Consider it handled."),
        ("hello", "Consider it handled."),
    ],
)
async def test_what_another_tool_did_says_nothing_of_the_list(
    message: str, words: str, database: Database
) -> None:
    client = ScriptedClient([call("light", on=True), reply(words)])
    parlour = Parlour(database, client=client, tools=[light])
    parlour.add("email Anna about the budget", "greenhouse")

    result = await parlour.say(message)
    await parlour.aclose()

    assert misbehaviour.UNSEEN in result.response


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "message",
    [
        "do it",
        "ok then",
        "could you make the greenhouse disappear?",
        "both of them can go",
        "hi",
        "quita el invernadero",
    ],
)
async def test_what_is_neither_talk_nor_a_question_is_not_said_to_be_done(
    message: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient(lambda _: reply("I binned the greenhouse.")))
    parlour.add("greenhouse")

    result = await parlour.say(message)
    await parlour.aclose()

    assert result.response == misbehaviour.NOTHING_DONE


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "claim"),
    [
        ("hi", "Operation Bluebird bites the dust."),
        ("hmm", "Nothing awaits you today."),
        ("it rained on me today", "All four of them went."),
        ("tell me a joke", "I tossed it."),
        ("lösche das", "Ich habe das gelöscht."),
        ("danke", "Erledigt!"),
        ("did it work?", "Yes."),
        ("add eggs", "Great! Anything else?"),
        ("what's on my list?", "Nothing at all."),
        ("is it saved?", "It is."),
        ("who are you?", "Two down, two to go."),
        ("what's the capital of France?", "Tu lista está vacía."),
    ],
)
async def test_what_may_be_a_claim_is_followed_by_what_is_true(
    message: str, claim: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient(lambda _: reply(claim)))
    parlour.add("Operation Bluebird", "greenhouse")

    result = await heard(parlour.runner, parlour.context(), message)
    await parlour.aclose()

    assert result.response == unbacked(claim)
    assert (result.success, result.error) == (True, None)


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("claim", ["I tossed it.", "Ich habe das gelöscht.", "The greenhouse met its end."])
async def test_what_may_be_a_claim_is_not_said_before_a_tool_is_called(
    claim: str, database: Database
) -> None:
    turn = calls(call("delete_task", task="greenhouse"), text=f"{claim} Which one do you mean?")
    parlour = Parlour(database, client=ScriptedClient([turn, reply("Done.")]))
    parlour.add("greenhouse")

    result = await heard(parlour.runner, parlour.context(), "tell me a joke")
    await parlour.aclose()

    assert result.response == "Do you really want to delete 'greenhouse'? Reply 'yes delete' to confirm."


@pytest.mark.requirement("004-G-FRIENDLY")
async def test_the_offline_model_may_say_what_it_understands(database: Database) -> None:
    parlour = Parlour(database)
    parlour.add("buy milk")

    result = await parlour.say("sing me the song of the sea")
    await parlour.aclose()

    assert result.response.startswith("I can't help with that. I'm the small offline assistant")
    assert result.response.endswith("Say “help” for more.")


@pytest.mark.requirement("004-G-FRIENDLY")
async def test_a_model_may_talk_about_what_is_no_task(database: Database) -> None:
    words = "Rome lies on the Tiber."
    parlour = Parlour(database, client=ScriptedClient(lambda _: reply(words)))
    parlour.add("write the report")

    for message in ("tell me something about Rome", "where is Rome?", "I love Rome", "that's great", "go on"):
        assert (await parlour.say(message)).response == unbacked(words)
    await parlour.aclose()


@pytest.mark.requirement("CHAT-TRUTH", "004-ERRORS")
async def test_everything_that_was_done_and_was_not_done_in_a_turn_is_told(database: Database) -> None:
    turn = calls(
        call("add_task", title="buy eggs"),
        call("add_task", title="buy flour"),
        call("complete_task", task="call mum"),
        call("complete_task", task="paint the fence"),
        call("update_task", task="buy milk", priority="High"),
        call("delete_task", task="buy milk"),
        call("delete_task", task="write the report"),
    )
    parlour = Parlour(database, client=ScriptedClient([turn, reply("All done! 🎉")]))
    parlour.add(*TITLES)

    result = await parlour.say("do all of that")
    await parlour.aclose()

    question = (
        f"{ONE_AT_A_TIME} Ask me again afterwards to delete 'buy milk'. "
        "Do you really want to delete 'write the report'? Reply 'yes delete' to confirm."
    )
    assert result.response.split("\n") == [
        "Got it! Added 'buy eggs' and 'buy flour' to your list. Anything else?",
        "Great! I've marked 'call mum' as complete.",
        "I couldn't find a task about 'paint the fence' in your list.",
        "Updated! 'buy milk' now has high priority.",
        question,
    ]
    assert (result.success, result.error) == (
        False,
        "I couldn't find a task about 'paint the fence' in your list.",
    )


@pytest.mark.requirement("004-ERRORS")
async def test_a_call_that_worked_when_it_was_made_again_is_not_told_as_a_failure(database: Database) -> None:
    def script(request: Request) -> Any:
        answered = sum(bool(message.tool_call_id) for message in request.messages)
        if answered == 1:
            parlour.add("buy milk")  # somebody else adds it meanwhile
        return call("complete_task", task="buy milk") if answered < 2 else reply("Phew.")

    parlour = Parlour(database, client=ScriptedClient(script))

    result = await parlour.say("complete buy milk")
    await parlour.aclose()

    assert (result.success, result.response) == (True, "Great! I've marked 'buy milk' as complete.")


@pytest.mark.requirement("004-G-FRIENDLY")
@pytest.mark.parametrize(
    "fact", ["William Shakespeare wrote it around 1600.", "That makes 391.", "In 753 BC.", "Dial 112 or 911."]
)
async def test_a_number_may_answer_a_question(fact: str, database: Database) -> None:
    parlour = Parlour(database, client=ScriptedClient([reply(fact)]))

    result = await parlour.say("how much is that, and who wrote Hamlet?")
    await parlour.aclose()

    assert (result.success, result.response) == (True, unbacked(fact))


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("message", ["show my list and add ham", "add ham"])
async def test_a_list_asked_for_before_a_change_is_shown_as_it_is_after_it(
    message: str, database: Database
) -> None:
    turn = calls(call("list_tasks"), call("add_task", title="ham"))
    parlour = Parlour(database, client=ScriptedClient([turn, reply("done")]))
    parlour.add("greenhouse")

    result = await parlour.say(message)
    await parlour.aclose()

    assert result.response.startswith("Got it! Added 'ham' to your list.")
    assert ("greenhouse" in result.response) == ("show" in message)
    assert len(result.tool_calls) == 2


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("words", "kept"),
    [("The light is on.", True), ("Sorted, boss.", False), ("Licht ist an, 'greenhouse' ist weg.", False)],
)
async def test_beside_a_question_of_a_task_tool_only_what_other_tools_did_is_told(
    words: str, kept: bool, database: Database
) -> None:
    turn = calls(call("light", on=True), call("delete_task", task="greenhouse"))
    parlour = Parlour(database, client=ScriptedClient([turn, reply(words)]), tools=[light])
    parlour.add("greenhouse")

    result = await parlour.say("switch the light on and delete greenhouse")
    await parlour.aclose()

    assert "Do you really want to delete 'greenhouse'?" in result.response
    assert (words in result.response) == kept


@pytest.mark.requirement("CHAT-TRUTH")
async def test_two_deletes_asked_for_again_and_again_are_both_confirmed(database: Database) -> None:
    turn = calls(call("delete_task", task="greenhouse"), call("delete_task", task="buy milk"))
    parlour = Parlour(database, client=ScriptedClient([turn, reply("x")] * 3))
    parlour.add("greenhouse", "buy milk", "pay rent")

    await parlour.say("delete the greenhouse and the milk")
    first = await parlour.say("yes delete")
    await parlour.say("yes delete")
    await parlour.aclose()

    assert "I've removed 'buy milk' from your tasks." in first.response
    assert parlour.titles() == ["pay rent"]


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("question", "words", "kept"),
    [
        ("and what's the capital of France?", "The capital of France is Paris.", True),
        ("and what is 17 times 23?", "17 times 23 is 391.", True),
        ("and tell me why the sky is blue", "The sky is blue because it scatters light.", True),
        ("and what's the weather like?", "The weather is fine, and the rent has gone.", False),
        ("and what's the weather like?", "Your tasks like this weather.", False),
        ("and is the rent paid?", "Yes, the rent is paid.", False),
        ("and what else is new?", "What else can I do, with your list now empty?", False),
        ("and how many tasks do I have?", "That makes 12 tasks.", False),
    ],
)
async def test_a_question_about_the_world_is_answered_beside_what_a_task_tool_did(
    question: str, words: str, kept: bool, database: Database
) -> None:
    client = ScriptedClient([call("delete_task", task="pay rent"), reply(f"It's deleted. {words}")])
    parlour = Parlour(database, client=client)
    parlour.add("pay rent")

    result = await parlour.say(f"delete pay rent, {question}")
    await parlour.aclose()

    assert result.response.endswith("Do you really want to delete 'pay rent'? Reply 'yes delete' to confirm.")
    assert (words in result.response) == kept
    assert "It's deleted" not in result.response


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("so it's gone?", "Yes!"),
        ("gone?", "Yep, all good."),
        ("milk is gone then?", "That's right."),
        ("is that one off now?", "Yes, it is."),
        ("and the bread?", "Yes, of course."),
        ("which are done?", "The first two."),
        ("the milk is done, right?", "Yes!"),
        ("remind me at 5pm to leave", "Sure, no problem."),
        ("eggs please", "Okay!"),
        ("we're out of bread", "Will do!"),
        ("actually make it Friday", "You got it!"),
        ("delete the milk", "Sure! Would you like to see your updated list?"),
        ("delete the milk", "Do you want me to undo that?"),
        ("what's on my list?", "Nothing! Want to add something?"),
        ("what's on my list?", "Do you want to see the three open ones or all five?"),
        ("is the milk on my list?", "Not yet. Shall I add it?"),
        ("good morning", "Good morning! Ready to tackle your three tasks?"),
        ("what happens if I say yes?", "It was already deleted, so nothing."),
        ("how many is that?", "That's four."),
        ("what's number 4?", "Feed the cat."),
        ("what's the note on the milk?", "It says: two bottles, not the cheap one."),
        ("is the milk on there?", "I don't see it."),
        ("add stamps", "What would you like to add next?"),
        ("add stamps", "Would you like me to add anything besides the stamps?"),
    ],
)
async def test_neither_consent_nor_a_question_takes_for_done_what_no_tool_did(
    message: str, words: str, database: Database
) -> None:
    client = ScriptedClient([call("delete_task", task="buy milk"), reply("x"), reply(words)])
    parlour = Parlour(database, client=client)
    parlour.add("buy milk")
    await parlour.say("delete milk")

    result = await parlour.say(message)
    await parlour.aclose()

    assert UNSEEN in result.response
    assert parlour.titles() == ["buy milk"]


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("add it", "What shall I call it?"),
        ("move that one", "Sure, which one do you mean? And to which day?"),
        ("add a task", "Sure! What should the task be called?"),
        ("hello", "<think>A greeting.</think>Hello! How can I help you today?"),
        ("thanks!", "You're welcome! Have a lovely day."),
    ],
)
async def test_courtesies_and_questions_for_a_detail_claim_nothing(
    message: str, words: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([reply(words)]))

    result = await parlour.say(message)
    await parlour.aclose()

    assert (result.success, result.response) == (True, words.rpartition("</think>")[2])


@pytest.mark.requirement("CHAT-TRUTH", "004-G-FRIENDLY")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("hello?", "Hello! I'm listening."),
        ("can you order a pizza for me?", "I'm afraid I can't order food. Text is all I know."),
        ("how do I undo things?", "Just say 'undo' and I'll take back the last change."),
        ("are you human?", "No, I'm an AI assistant."),
        ("who went to the moon?", "NASA sent the first people there."),
        ("can you set alarms?", "I can't set alarms."),
        ("whats 17 x 24", "408."),
        ("chest pain and my left arm feels numb", "Please call 911, 999 or 112 right now."),
        ("amounts?", "1½ cups of flour and ½ tsp of salt, at 180°C / 350°F."),
        ("transfer 400 to my sister", "I can't move money. You'll need your banking app for that."),
        ("it's been 3 days", "Don't tumble dry until the stain is gone."),
        ("350 f in celsius", "About 177 °C."),
        ("never mind, figured it out", "Great, glad you sorted it out."),
        ("when was the Eiffel Tower finished?", "It was completed in March 1889."),
        ("how's it looking?", "Pretty packed, I won't lie."),
        ("who hasn't replied?", "Just Kevin. It's always Kevin."),
        ("thanks!", "It's official."),
    ],
)
async def test_a_reply_that_no_tool_stands_behind_keeps_its_words_and_says_so(
    message: str, words: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([reply(words)]))

    result = await parlour.say(message)
    await parlour.aclose()

    assert (result.success, result.response) == (True, unbacked(words))


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "words", "kept"),
    [
        ("which one should I do first?", "I'd start with 'pay rent', since late fees add up.", True),
        ("plan my day", "Pay the rent first, then buy milk on the way home.", True),
        ("which is the most urgent?", "I'd start with 'walk the dog'.", False),
        ("what should I do today?", "I've moved the rent to Friday.", False),
        ("what should I do today?", "You have nine tasks left.", False),
        ("show my list", "I'd start with the rent.", False),
        ("which one should I do first?", "Pay the rent, because it's due tomorrow.", False),
    ],
)
async def test_advice_that_was_asked_for_is_told_beside_the_list(
    message: str, words: str, kept: bool, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([call("list_tasks"), reply(words)]))
    parlour.add("buy milk", "pay rent")

    result = await parlour.say(message)
    await parlour.aclose()

    listed = "1. ☐ buy milk\n2. ☐ pay rent"
    assert (result.success, result.response) == (True, f"{words}\n{listed}" if kept else listed)


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Why was the math book sad? It had too many problems.", True),
        ("What do you call a cow with no legs? Ground beef.", True),
        ("I've also deleted the rent.", False),
        ("The rent has gone.", False),
    ],
)
async def test_a_joke_that_was_asked_for_is_told_beside_what_a_task_tool_did(
    words: str, kept: bool, database: Database
) -> None:
    client = ScriptedClient([call("add_task", title="eggs"), reply(f"Got it! Anything else?\n{words}")])
    parlour = Parlour(database, client=client)
    parlour.add("pay rent")

    result = await parlour.say("add eggs and tell me a joke")
    await parlour.aclose()

    added = "Got it! Added 'eggs' to your list. Anything else?"
    beside = unbacked(words, "(Your list was not read or changed for this.)")
    assert result.response == (f"{beside}\n\n{added}" if kept else added)


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "given", "whole"),
    [
        ("what's on my list?", {"about": "milk"}, True),
        ("show me all my tasks", {"status": "completed"}, True),
        ("show my tasks about milk", {"about": "milk"}, False),
    ],
)
async def test_whoever_asks_for_the_list_gets_all_of_it(
    message: str, given: dict[str, Any], whole: bool, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([call("list_tasks", **given), reply("x")]))
    parlour.add("buy milk", "pay rent")

    result = await parlour.say(message)
    await parlour.aclose()

    assert ("pay rent" in result.response) == whole
    assert [record.parameters for record in result.tool_calls] == [given]


@pytest.mark.requirement("CHAT-TRUTH")
async def test_a_list_is_shown_after_the_change_that_was_asked_for_behind_it(database: Database) -> None:
    turn = calls(call("list_tasks"), call("complete_task", task="buy milk"))
    parlour = Parlour(database, client=ScriptedClient([turn, reply("x")]))
    parlour.add("buy milk", "pay rent")

    result = await parlour.say("show my list, then complete milk")
    await parlour.aclose()

    assert result.response == "Great! I've marked 'buy milk' as complete.\n1. ☐ pay rent\n2. ✓ buy milk"


@tool
async def send_mail(to: str) -> str:
    """Send a mail."""
    raise ToolError(f"no route to {to}: smtp://me:hunter22@mail.example")


@tool(effect="pure")
async def forecast(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolError("no such city")
    return "rain, 9 degrees"


@pytest.mark.requirement("004-G-FRIENDLY", "CHAT-TRUTH")
@pytest.mark.parametrize("made", [call("send_mail", to="bob"), call("send_mail"), call("send_post")])
@pytest.mark.parametrize(
    "words", ["I sent the mail to Bob.", "Your mail is on its way to Bob.", "Mail sent!"]
)
async def test_what_another_tool_failed_to_do_is_not_said_to_be_done(
    made: Any, words: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([made, reply(words)]), tools=[send_mail])

    result = await parlour.say("mail bob")
    await parlour.aclose()

    assert not result.success
    assert result.response == result.error == TROUBLE
    assert "hunter22" not in str(result.tool_calls)


@pytest.mark.requirement("004-G-FRIENDLY")
async def test_what_failed_is_told_beside_what_a_task_tool_did_and_apologies_are_kept(
    database: Database,
) -> None:
    both = calls(call("add_task", title="umbrella"), call("send_mail", to="bob"))
    client = ScriptedClient([both, reply("ok"), call("send_mail", to="bob"), reply("I'm sorry about that.")])
    parlour = Parlour(database, client=client, tools=[send_mail])

    mixed = await parlour.say("add umbrella and mail bob")
    alone = await parlour.say("mail bob")
    await parlour.aclose()

    assert mixed.response == f"Got it! Added 'umbrella' to your list. Anything else?\n{TROUBLE}"
    assert (mixed.success, mixed.error) == (False, TROUBLE)
    assert alone.response == f"I'm sorry about that.\n{TROUBLE}"


@pytest.mark.requirement("004-G-FRIENDLY")
async def test_a_failure_that_was_made_up_for_is_not_told(database: Database) -> None:
    script: list[Any] = [
        call("forecast", city="Atlantis"),
        call("forecast", city="Rome"),
        reply("Rain in Rome, 9 degrees."),
    ]
    parlour = Parlour(database, client=ScriptedClient(script), tools=[forecast])

    result = await parlour.say("how is the weather in Rome?")
    await parlour.aclose()

    assert result.success
    assert result.response == unbacked("Rain in Rome, 9 degrees.")


@pytest.mark.requirement("004-G-FRIENDLY")
@pytest.mark.parametrize("words", ["", "SELECT * FROM tasks;", "[link](http://x.y)"])
async def test_a_model_that_says_nothing_for_people_is_trouble_whatever_was_asked(
    words: str, database: Database
) -> None:
    parlour = Parlour(database, client=ScriptedClient([reply(words)] * 2))

    for message in ("what's on my list?", "hello"):
        result = await parlour.say(message)
        assert (result.success, result.response) == (False, TROUBLE)
    await parlour.aclose()


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("words", ["'pay rent' stays on your list.", "Deleted, as you wished.", "Kept."])
async def test_whoever_says_no_to_a_delete_is_told_that_everything_is_as_it_was(
    words: str, database: Database
) -> None:
    client = ScriptedClient([call("delete_task", task="pay rent"), reply("x"), reply(words)])
    parlour = Parlour(database, client=client)
    parlour.add("pay rent")

    await parlour.say("delete pay rent")
    result = await parlour.say("no, keep it")
    await parlour.aclose()

    assert result.success
    assert result.response.endswith("All right, I'll leave everything as it is.")
    assert "Deleted" not in result.response
    assert parlour.titles() == ["pay rent"]


@pytest.mark.requirement("004-Q-IDS")
@pytest.mark.parametrize("told", ["The id of 'buy milk' is 1.", "Its id is 5.", "Milk has the ID one."])
async def test_an_id_is_not_told_even_if_it_is_asked_for(told: str, database: Database) -> None:
    parlour = Parlour(database, client=ScriptedClient([reply(told)]))

    result = await parlour.say("what's the id of milk?")
    await parlour.aclose()

    assert told not in result.response


@pytest.mark.requirement("CHAT-TRUTH")
async def test_a_model_does_not_see_what_was_added_to_its_words_and_cannot_say_it_twice(
    database: Database,
) -> None:
    asked: list[Request] = []

    def script(request: Request) -> Any:
        asked.append(request)
        return reply("Rome lies on the Tiber." if len(asked) == 1 else f"Paris does not. {UNSEEN}")

    parlour = Parlour(database, client=ScriptedClient(script))

    first = await parlour.say("where is Rome?")
    second = await parlour.say("and Paris?")
    await parlour.aclose()

    assert (first.response, second.response) == (
        unbacked("Rome lies on the Tiber."),
        unbacked("Paris does not."),
    )
    assert [message.content for message in asked[1].messages][1] == "Rome lies on the Tiber."


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("do I have anything to do?", "You have nothing to do today."),
        ("hi", "That is all for today."),
        ("thanks for deleting it", "You're welcome!"),
        ("yes please", "Certainly."),
        ("thanks", "You're welcome!"),
        ("is it?", "It is."),
    ],
)
async def test_small_words_are_no_courtesy_where_they_may_say_that_something_is_so(
    message: str, words: str, database: Database
) -> None:
    client = ScriptedClient([call("delete_task", task="buy milk"), reply("x"), reply(words)])
    parlour = Parlour(database, client=client)
    parlour.add("buy milk")
    await parlour.say("delete milk")  # which leaves a question open

    result = await parlour.say(message)
    await parlour.aclose()

    assert UNSEEN in result.response


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "claim", ["Absolutely, it's in the bin.", "Glad I could get rid of it for you.", "Right, all of it."]
)
async def test_a_tool_for_something_else_does_not_make_a_claim_true(claim: str, database: Database) -> None:
    @tool(effect="pure")
    async def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"It is sunny in {city}, and it will get warm."

    weather = call("get_weather", city="Brest")
    script: list[Any] = [
        weather, reply(claim),
        calls(weather, call("delete_task", task="milk")), reply(f"It is sunny in Brest. {claim}"),
    ]  # fmt: skip
    parlour = Parlour(database, client=ScriptedClient(script), tools=[get_weather])
    parlour.add("buy milk")

    alone = await parlour.say("is the milk gone?")
    beside = await parlour.say("weather in Brest, and delete milk")
    await parlour.aclose()

    assert UNSEEN in alone.response
    assert claim not in beside.response
    assert beside.response.startswith("It is sunny in Brest.")


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "words",
    [
        "Ich habe die Milch gelöscht.",
        "Cheers to an empty list!",
        "You should do your taxes first, they are late.",
        "The milk is toast.",
    ],
)
async def test_what_is_said_above_a_list_is_advice_about_it(words: str, database: Database) -> None:
    parlour = Parlour(database, client=ScriptedClient([call("list_tasks"), reply(words)]))
    parlour.add("buy milk")

    result = await parlour.say("what should I do first?")
    await parlour.aclose()

    assert result.response == "1. ☐ buy milk"


@pytest.mark.requirement("004-Q-JARGON", "004-Q-IDS", "CHAT-TRUTH")
@pytest.mark.parametrize(
    "sought",
    [
        "id 17 ValueError 500",
        '{"task": 1}',
        "🎉🎉 task",
        "I've removed 'pay rent' from your tasks. Your list is empty",
    ],
)
async def test_what_a_model_looks_for_is_quoted_only_in_plain_words(sought: str, database: Database) -> None:
    script: list[Any] = [
        call("complete_task", task=sought),
        reply("x"),
        call("list_tasks", about=sought),
        reply("x"),
    ]
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("buy milk")

    missing = await parlour.say("finish that one")
    none = await parlour.say("anything like it?")
    await parlour.aclose()

    assert missing.response == "I couldn't find a task like that in your list."
    assert none.response == "You have no tasks like that."


@pytest.mark.requirement("CHAT-TRUTH")
async def test_a_reply_shows_that_a_model_acted_on_something_else_than_was_asked(database: Database) -> None:
    script: list[Any] = [
        call("update_task", task="pay rent", title="oat"), reply("x"),
        call("list_tasks", about="milk"), reply("x"),
        call("change_all_tasks", operation="delete_all"), reply("x"),
    ]  # fmt: skip
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("buy milk", "pay rent")

    renamed = await parlour.say("rename milk to oat")
    listed = await parlour.say("show my open tasks")
    asked = await parlour.say("delete everything but the milk")
    await parlour.aclose()

    assert renamed.response == "Updated! 'oat' now has a new title (it was 'pay rent')."
    assert listed.response == "1. ☐ buy milk\n2. ☐ oat"
    assert asked.response == ("This spares none of them. That's a big action. Confirm with 'yes delete all'.")


@pytest.mark.requirement("004-C-BULK")
@pytest.mark.parametrize(
    ("operation", "short", "whole"),
    [
        ("complete_all", "yes complete", "yes complete all"),
        ("delete_completed", "yes delete", "yes delete completed"),
        ("delete_all", "yes delete", "yes delete all"),
    ],
)
async def test_a_big_action_takes_the_whole_phrase(
    operation: str, short: str, whole: str, database: Database
) -> None:
    acts = [call("complete_task", task="old one"), *[call("change_all_tasks", operation=operation)] * 3]
    script: list[Any] = [turn for act in acts for turn in (act, reply("x"))]
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("buy milk", "pay rent", "old one")
    await parlour.say("finish the old one")
    before = Stored.of(parlour.tasks())

    await parlour.say("do it")
    await parlour.say(short)
    assert Stored.of(parlour.tasks()) == before

    done = await parlour.say(f"Yes please, {whole.removeprefix('yes ')}!")
    await parlour.aclose()

    assert done.response.startswith("Done! I've ")


@pytest.mark.requirement("004-ERRORS")
async def test_trouble_after_a_change_does_not_ask_for_it_again(database: Database) -> None:
    script: list[Any] = [call("add_task", title="eggs"), *[NetworkError("gone")] * 4]
    parlour = Parlour(database, client=ScriptedClient(script), limits=LIMITS)

    result = await parlour.say("add eggs")
    await parlour.aclose()

    assert not result.success
    assert result.response.split("\n") == [
        "Got it! Added 'eggs' to your list. Anything else?",
        "I had a bit of trouble after that. Please check your list before you ask again.",
    ]


@pytest.mark.requirement("004-C-BULK", "004-C-DELETE", "CHAT-TRUTH")
@pytest.mark.parametrize(
    "first", [call("change_all_tasks", operation="delete_all"), call("delete_task", task="ficus")]
)
async def test_a_yes_is_for_the_question_that_it_answers_and_for_no_other(
    first: Any, database: Database
) -> None:
    script = [first, reply("x"), call("delete_task", task="rent"), reply("x"), first, reply("x")]
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("water the ficus", "pay rent")

    await parlour.say("delete it")
    phrase = "yes delete all" if first.tool_name == "change_all_tasks" else "yes delete"
    asked = await parlour.say(phrase)
    again = await parlour.say("yes delete")
    await parlour.aclose()

    assert asked.response == "Do you really want to delete 'pay rent'? Reply 'yes delete' to confirm."
    assert f"'{phrase}'" in again.response  # it is asked once more
    assert parlour.titles() == ["water the ficus", "pay rent"]


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("operation", ["delete_all", "complete_all"])
async def test_an_action_that_spares_everything_does_not_say_that_there_is_nothing(
    operation: str, database: Database
) -> None:
    titles = ["water the ficus", "pay rent"]
    act = call("change_all_tasks", operation=operation, except_tasks=titles)
    parlour = Parlour(database, client=ScriptedClient([act, reply("x")]))
    parlour.add(*titles)

    result = await parlour.say("do it to all but these")
    await parlour.aclose()

    assert result.response == "That leaves nothing to do: everything is as it was."


@pytest.mark.requirement("004-ERRORS")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"task": "rent", "due_date": "soonish"}, {"task": "rent", "due_date": "2030-01-01"}),
        ({"name": "rent"}, {"task": "rent", "priority": "High"}),
    ],
)
async def test_a_call_that_a_model_mended_is_no_failure(
    wrong: dict[str, str], right: dict[str, str], database: Database
) -> None:
    script: list[Any] = [call("update_task", **wrong), call("update_task", **right), reply("x")]
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("pay rent")

    result = await parlour.say("change the rent")
    await parlour.aclose()

    assert result.success
    assert result.response.startswith("Updated! 'pay rent' now has ")


@pytest.mark.requirement("004-ERRORS")
async def test_a_message_that_is_no_text_is_asked_for(database: Database) -> None:
    parlour = Parlour(database)

    for message in (None, 5, b"hi"):
        result = await parlour.runner.run(parlour.context(), message)  # type: ignore[arg-type]

        assert not result.success
        assert result.response.startswith("Could you provide more details")
    await parlour.aclose()


@pytest.mark.requirement("CHAT-TRUTH", "004-LIMIT-LENGTH")
async def test_ten_actions_on_long_titles_are_all_told(database: Database) -> None:
    old = [f"write the chapter about number {number} of the long and winding book" for number in range(4)]
    new = [f"read the review of chapter {number} in the evening paper of the town" for number in range(3)]
    turn = calls(
        *[call("complete_task", task=title) for title in old[:2]],
        *[call("update_task", task=title, priority="High") for title in old[2:]],
        *[call("add_task", title=title) for title in new],
        call("complete_task", task="nothing of the kind"),
        call("delete_task", task=old[3]),
    )
    parlour = Parlour(database, client=ScriptedClient([turn, reply("x")]))
    parlour.add(*old)

    result = await parlour.say("do all of that")
    await parlour.aclose()

    assert len(result.response) <= 520
    assert result.response.startswith("Done: completed 'write the chapter about…', completed '")
    assert [result.response.count(verb) for verb in ("completed '", "updated '", "added '")] == [2, 2, 3]
    assert "I couldn't find a task about 'nothing of the kind' in your list." in result.response
    assert result.response.endswith("Reply 'yes delete' to confirm.")


@pytest.mark.requirement("004-C-DELETE", "CHAT-TRUTH")
async def test_a_task_that_was_renamed_after_the_question_is_asked_about_by_its_new_name(
    database: Database,
) -> None:
    turn = calls(
        call("delete_task", task="pay rent"),
        call("update_task", task="pay rent", title="feed cat"),
        call("update_task", task="ficus", title="pay rent"),
    )
    script: list[Any] = [turn, reply("x"), call("delete_task", task="feed cat"), reply("x")]
    parlour = Parlour(database, client=ScriptedClient(script))
    parlour.add("pay rent", "ficus")

    await parlour.say("delete the rent")
    asked = await parlour.say("yes delete")
    await parlour.aclose()

    assert asked.response == "Do you really want to delete 'feed cat'? Reply 'yes delete' to confirm."
    assert sorted(parlour.titles()) == ["feed cat", "pay rent"]
