"""What the events of runs become on the screen."""

from __future__ import annotations

import pytest

from maverick.loop import TerminateReason
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import ToolOutcome
from maverick.model import Message, ToolCall
from maverick.model.untrusted import mark_untrusted
from maverick.tui.block import Block, Remark, Speaker, ToolState, ToolUse, TurnMark, Words
from maverick.tui.conversation import ConversationModel, Status
from tui.desk import DIFF
from tui.telling import Teller


@pytest.fixture
def teller() -> Teller:
    return Teller(ConversationModel())


def shapes(model: ConversationModel) -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    return [(_kind(block), block.text) for block in model.blocks]


def _kind(block: Block) -> str:
    return block.speaker.value if isinstance(block, Words) else type(block).__name__.lower()


@pytest.mark.requirement("007-TUI-MODEL")
def test_words_thoughts_and_turns_come_in_the_order_they_were_told(teller: Teller) -> None:
    teller.begin("Hello?")
    teller.turn(1)
    teller.think("A gree", "ting.")
    teller.say("Hel", "lo", "!")

    assert shapes(teller.model) == [
        ("user", "Hello?"),
        ("turnmark", "turn 1"),
        ("thought", "A greeting."),
        ("answer", "Hello!"),
    ]
    assert teller.model.status is Status.RUNNING


@pytest.mark.requirement("007-TUI-MODEL")
def test_a_tool_call_is_one_block_from_the_question_to_the_result(teller: Teller) -> None:
    teller.begin("Edit it.")
    teller.turn(1)
    teller.ask("call_1", "edit", "it is outside of the folder", path="a.py")
    (tool,) = (block for block in teller.model.blocks if isinstance(block, ToolUse))
    asked = (tool.state, tool.folded, tool.question)
    teller.decide("call_1", approved=True, by="ana")
    teller.call("call_1", "edit", path="a.py")
    running = tool.state
    teller.result("call_1", "done")

    assert asked == (ToolState.ASKED, False, "it is outside of the folder")
    assert running is ToolState.RUNNING
    assert (tool.state, tool.decision, tool.result) == (ToolState.OVER, "approved by ana", "done")
    assert (tool.outcome, tool.duration_ms, tool.folded) == (ToolOutcome.FINISHED, 1_500, True)
    assert len(teller.model.blocks) == 3


@pytest.mark.requirement("007-TUI-DIFF")
def test_a_result_that_is_a_difference_is_not_folded_away(teller: Teller) -> None:
    teller.begin("Edit it.")
    teller.call("call_1", "edit", path="a.py")
    teller.result("call_1", DIFF)

    assert [block.folded for block in teller.model.blocks if isinstance(block, ToolUse)] == [False]


def test_the_marks_that_are_for_the_model_are_not_shown_and_what_looks_like_them_is(teller: Teller) -> None:
    found = 'a\n<untrusted from="b" id="0123456789abcdef">\nc\n</untrusted 0123456789abcdef>'
    teller.begin("Look.")
    teller.call("call_1", "shell", command="ls")
    teller.result("call_1", f"{mark_untrusted('the command ls', found)}\n[exit code 0]")

    assert [block.result for block in teller.model.blocks if isinstance(block, ToolUse)] == [
        f"{found}\n[exit code 0]"
    ]


def test_what_a_user_has_pointed_at_is_shown_without_the_marks_that_are_for_the_model(teller: Teller) -> None:
    page = mark_untrusted("wiki://tides", "The sea comes and goes.")
    model = ConversationModel()
    model.begin("run", [Message.user(f"Low tide?\n\n{page}")], teller.model.gauge.limits, None)

    assert shapes(model) == [("user", "Low tide?\n\nThe sea comes and goes.")]


def test_words_after_a_tool_call_are_a_block_of_their_own(teller: Teller) -> None:
    teller.begin("Go.")
    teller.say("Before.")
    teller.call("call_1", "look")
    teller.say("After.")

    assert [kind for kind, _ in shapes(teller.model)] == ["user", "answer", "tooluse", "answer"]


@pytest.mark.requirement("007-TUI-MODEL")
def test_an_answer_that_broke_off_is_taken_back_when_it_is_tried_again(teller: Teller) -> None:
    teller.begin("Go.")
    teller.turn(1)
    teller.think("Hm.")
    teller.say("Half an ans")
    teller.break_off()
    teller.say("A whole answer.")

    assert shapes(teller.model)[2:] == [
        ("remark", "The connection broke. Retrying in about 1.5 s."),
        ("answer", "A whole answer."),
    ]


def test_a_prompt_that_is_no_longer_cached_is_a_quiet_line_unless_another_line_says_why(
    teller: Teller,
) -> None:
    teller.begin("Go.")
    teller.change_prefix(PrefixReason.TOOLS_CHANGED, 12_000)
    teller.change_prefix(PrefixReason.CONDENSED, 9_000)

    assert shapes(teller.model)[1:] == [("remark", "tools changed: about 12,000 tokens not cached")]


def test_subagents_speak_at_the_same_time_without_mixing_their_words(teller: Teller) -> None:
    teller.begin("Go.")
    one, other = teller.subagent("one", "run_1/1/0"), teller.subagent("two", "run_1/1/1")
    for mine, its in zip("abc", "xyz", strict=True):
        one.say(mine)
        other.say(its)
    other.call("call_1", "look")
    other.end()

    blocks = teller.model.blocks[1:]
    assert [(block.text.partition("\n")[0], block.depth) for block in blocks] == [
        ("abc", 1),
        ("xyz", 1),
        ("look", 1),
    ]
    assert teller.model.status is Status.RUNNING  # only the outermost run's end is an end


def test_the_same_call_id_in_two_runs_is_two_calls(teller: Teller) -> None:
    teller.begin("Go.")
    teller.call("call_1", "ask_clerk")
    clerk = teller.subagent("clerk", "run_1/1/0")
    clerk.call("call_1", "look")
    clerk.result("call_1", "inner")
    teller.result("call_1", "outer")

    assert [block.result for block in teller.model.blocks if isinstance(block, ToolUse)] == ["outer", "inner"]


@pytest.mark.parametrize(
    ("reason", "status", "resumable"),
    [
        (TerminateReason.COMPLETE, Status.COMPLETE, False),
        (TerminateReason.ABORTED, Status.STOPPED, True),
        (TerminateReason.ERROR, Status.STOPPED, True),
        (TerminateReason.REFUSED, Status.STOPPED, False),
        (TerminateReason.AWAITING_APPROVAL, Status.WAITING, True),
    ],
)
def test_how_a_run_ended_says_whether_it_can_go_on(
    reason: TerminateReason, status: Status, resumable: bool, teller: Teller
) -> None:
    teller.begin("Go.")
    teller.end(reason)

    assert (teller.model.status, teller.model.can_resume) == (status, resumable)


@pytest.mark.requirement("007-TUI-STOP")
def test_the_partial_answer_of_a_run_that_is_told_again_is_shown(teller: Teller) -> None:
    teller.begin("Go.")
    teller.turn(1)
    teller.end(TerminateReason.ABORTED, text="Half an ans")

    assert ("answer", "Half an ans") in shapes(teller.model)


def test_an_answer_that_was_streamed_is_not_shown_twice(teller: Teller) -> None:
    teller.begin("Go.")
    teller.turn(1)
    teller.say("Whole.")
    teller.end(text="Whole.")

    assert [kind for kind, _ in shapes(teller.model)].count("answer") == 1


def test_a_conversation_that_goes_on_keeps_what_was_said(teller: Teller) -> None:
    teller.begin("First.")
    teller.end(messages=[Message.user("First.")])
    teller.model.begin("run_2", [Message.user("Second.")], teller.model.gauge.limits, None)

    assert [text for kind, text in shapes(teller.model) if kind == "user"] == ["First.", "Second."]
    assert teller.model.blocks[-1].run_id == "run_2"
    assert teller.model.messages == [Message.user("First.")]


def test_messages_from_before_a_run_are_shown_with_their_tools() -> None:
    model = ConversationModel()
    call = ToolCall("call_1", "look", {"path": "a"})
    messages = [
        Message.user("Look."),
        Message.assistant([call]),
        Message.tool_result("call_1", "seen", is_error=True),
        Message.assistant("Seen."),
    ]

    model.begin("run_1", messages, Teller(model).model.gauge.limits, None)

    assert [kind for kind, _ in shapes(model)] == ["user", "tooluse", "answer"]
    tool = model.blocks[1]
    assert isinstance(tool, ToolUse)
    assert (tool.result, tool.is_failure) == ("seen", True)


@pytest.mark.requirement("007-TUI-FORK")
def test_an_edit_replaces_the_persons_last_words_or_follows_the_tools(teller: Teller) -> None:
    teller.begin("First.")
    teller.model.edit("Better.")
    teller.call("call_1", "look")
    teller.result("call_1", "seen")
    teller.model.edit("And now this.")

    assert [text for kind, text in shapes(teller.model) if kind == "user"] == ["Better.", "And now this."]


@pytest.mark.requirement("007-TUI-GAUGE")
def test_the_gauge_follows_the_run_and_not_its_subagents(teller: Teller) -> None:
    teller.begin("Go.")
    teller.turn(3)
    teller.use(1_200, context=800)
    teller.subagent("clerk", "run_1/3/0").use(50, context=50)

    gauge = teller.model.gauge
    assert (gauge.turns, gauge.usage.total_tokens, gauge.context_tokens) == (3, 1_200, 800)


def test_blocks_know_the_turn_they_can_be_forked_from(teller: Teller) -> None:
    teller.begin("Go.")
    teller.turn(1)
    teller.call("call_1", "look")
    teller.turn(2)
    teller.say("Seen.")

    assert [block.turn for block in teller.model.blocks] == [0, 1, 1, 2, 2]
    assert isinstance(teller.model.blocks[1], TurnMark)


def test_a_remark_of_the_screen_is_shown_and_a_run_nobody_drives_is_left(teller: Teller) -> None:
    teller.begin("Go.")
    teller.model.leave()
    teller.model.remark("Something.")

    assert isinstance(teller.model.blocks[-1], Remark)
    assert (teller.model.status, teller.model.can_resume) == (Status.LEFT, True)


def test_speakers_have_their_names() -> None:
    assert [speaker.value for speaker in Speaker] == ["user", "answer", "thought"]
