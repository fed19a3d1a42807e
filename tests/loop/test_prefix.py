"""Each request of a run extends the one before it, or an event says why not and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from maverick import AgentDefinition, ModelConfig, ToolConfig, tool
from maverick.exceptions import AgentError, ContextOverflowError, ServerError, ThinkingRejectedError
from maverick.loop.entries import (
    Edited,
    Entry,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    Resumed,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent, Compacted, ErrorEvent, PrefixChanged
from maverick.loop.machine import AgentLoop
from maverick.loop.prefix import without_misplaced
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.loop.run_settings import RunSettings
from maverick.loop.steps import CallModel, Finish, RunTools, Step
from maverick.model import (
    Message,
    ModelInfo,
    Opaque,
    Part,
    Response,
    Role,
    StopReason,
    Text,
    Thought,
    Tool,
    ToolCall,
    Usage,
)
from maverick.model.untrusted import is_marked

BLOCK = Opaque("claude", {"type": "compaction", "content": "The harbour is open.", "signature": "c1"})
CONDENSED = Response([BLOCK], stop_reason=StopReason.COMPACTION)


@tool(effect="pure")
async def look(place: str) -> str:
    """Look at a place."""
    return place


@tool(effect="pure")
async def ask(person: str) -> str:
    """Ask a person."""
    return person


def unmarked(messages: Sequence[Message]) -> list[list[Part]]:
    """The parts of messages, without what thoughts were made behind."""
    return [
        [replace(part, behind="") if isinstance(part, Thought) else part for part in message.parts]
        for message in messages
    ]


class Run:
    """A run whose entries are fed by hand."""

    def __init__(self, *, native: bool = False, window: int | None = None, choice: str | None = None) -> None:
        self.definition = AgentDefinition(
            "walker",
            "Walks.",
            model_config=ModelConfig("claude:one", max_tokens=100, context_window=window, tool_choice=choice),
            tool_config=ToolConfig(tools=[look]),
        )
        self.entries: list[Entry] = []
        self.events: list[AgentActivityEvent] = []
        self._settle({"look": look})
        system, messages = self.definition.render({"prompt": "Walk to the harbour."})
        self.feed(
            RunStarted(
                at=0.0,
                run_id="run",
                trace_id="trace",
                agent=("walker",),
                system=system,
                messages=messages,
                head=len(messages),
                limits=self.definition.run_config.limits,
                info=ModelInfo(native_compaction=native),
                settings=RunSettings.of(self.definition, {"look": look}),
            )
        )

    def _settle(self, tools: dict[str, Tool]) -> None:
        self.loop: AgentLoop[Any] = AgentLoop(self.definition, tools)
        self.mapper = EventMapper(self.loop, "run", "trace", ("walker",))

    def feed(self, *entries: Entry) -> Step:
        for entry in entries:
            step = self.loop.feed(entry)
            self.entries.append(entry)
            self.events += self.mapper.events_of(entry)
        return step

    def call(self) -> CallModel:
        """Send what the loop asks for."""
        step = self.loop.step
        assert isinstance(step, CallModel)
        called = ModelCalled(
            at=1.0,
            turn=step.turn,
            attempt=step.attempt,
            compaction=step.compaction,
            native=step.request.compact,
        )
        sent = self.feed(called)
        assert isinstance(sent, CallModel)
        return sent

    def answer(self, response: Response | AgentError) -> Step:
        """Send what the loop asks for, and have it answered; a tool that is asked for returns a long text."""
        self.call()
        if isinstance(response, AgentError):
            return self.feed(ModelFailed(at=1.0, error=response))
        step = self.feed(ModelReplied(at=1.0, response=response))
        if isinstance(step, RunTools):
            done = ToolFinished(at=1.0, index=0, outcome=ToolOutcome.FINISHED, content="water " * 140)
            step = self.feed(ToolsStarted(at=1.0, turn=step.turn), done)
        return step

    def walk(self, turns: int) -> None:
        for turn in range(1, turns + 1):
            self.answer(walks(turn))

    def resume(self, tools: dict[str, Tool], model: str = "claude:one") -> Step:
        """Go on in another process, with these tools and this model."""
        old, self.definition = (
            self.definition,
            AgentDefinition("walker", "Walks.", model_config=ModelConfig(model=model, max_tokens=100)),
        )
        self._settle(tools)
        for entry in self.entries:
            self.loop.feed(entry)
            list(self.mapper.events_of(entry))
        limits = old.run_config.limits
        return self.feed(Resumed(at=2.0, limits=limits, settings=RunSettings.of(self.definition, tools)))

    def changes(self) -> list[str]:
        return [str(event.reason) for event in self.events if isinstance(event, PrefixChanged)]


def walks(turn: int, *blocks: Part, model: str = "one") -> Response:
    parts = [
        Thought("hm", f"s{turn}"),
        *blocks,
        Text("Step."),
        ToolCall(f"c{turn}", "look", {"place": "sea"}),
    ]
    return Response(parts, model=model)


def signatures(messages: Iterable[Message]) -> list[str]:
    return [part.signature for message in messages for part in message.parts if isinstance(part, Thought)]


def asked(step: Step | None) -> Sequence[Message]:
    assert isinstance(step, CallModel)
    return step.request.messages


def test_turns_that_only_add_messages_change_no_prefix_and_keep_every_thought() -> None:
    run = Run()
    requests = []
    for turn in range(1, 4):
        requests.append(run.loop.step)
        run.answer(walks(turn))
    assert run.changes() == []
    assert signatures(asked(run.loop.step)) == ["s1", "s2", "s3"]
    earlier, later = asked(requests[1]), asked(requests[2])
    assert list(later)[: len(earlier)] == list(earlier)


def test_our_own_summary_leaves_out_the_thoughts_behind_it_and_says_what_is_billed_again() -> None:
    run = Run(window=1000)
    run.walk(3)
    assert isinstance(run.loop.step, CallModel)
    assert run.loop.step.compaction

    run.answer(Response("You walked."))
    run.call()

    assert signatures(asked(run.loop.step)) == []
    (change,) = [event for event in run.events if isinstance(event, PrefixChanged)]
    assert change.reason == "condensed"
    assert 0 < change.tokens <= run.loop.conversation.tokens


def test_the_providers_block_replaces_exactly_what_was_sent_and_later_turns_keep_their_thoughts() -> None:
    run = Run(native=True, window=1000)
    run.walk(3)
    step = run.loop.step
    assert isinstance(step, CallModel)
    history = run.loop.conversation.history
    assert step.request.compact
    assert step.request.tools == (look,)
    assert list(step.request.messages) == list(history[: len(step.request.messages)])
    assert step.request.messages[-1].role is Role.TOOL_RESULT
    kept = history[len(step.request.messages) :]

    run.answer(CONDENSED)

    messages = asked(run.loop.step)
    assert messages[0].parts == (Text("The harbour is open.", block=BLOCK),)
    assert unmarked(messages[1:]) == unmarked(kept)
    assert signatures(messages) == signatures(kept) != []
    assert without_misplaced([*messages]) == [
        *messages
    ]  # for whoever keeps them, and continues with them later
    run.call()
    assert run.changes() == ["condensed"]
    assert [event.native for event in run.events if isinstance(event, Compacted)] == [True]


@pytest.mark.requirement("C-UNTRUSTED")
@pytest.mark.parametrize(
    ("block", "says"),
    [
        (BLOCK, "The harbour is open."),
        (
            Opaque("openai", {"type": "compaction", "encrypted_content": "abc"}),
            "[Only the provider can read it.]",
        ),
    ],
)
def test_a_block_made_of_what_a_providers_tool_has_found_is_marked_and_goes_back_as_it_came(
    block: Opaque, says: str
) -> None:
    run = Run(native=True, window=1000)
    search = Opaque(block.provider, {"type": "web_search_call", "id": "w1", "action": {"query": "tides"}})
    run.answer(walks(1).with_parts([search, *walks(1).parts]))
    run.answer(walks(2))
    run.answer(walks(3))

    run.answer(Response([block], stop_reason=StopReason.COMPACTION))

    (part,) = asked(run.loop.step)[0].parts
    assert isinstance(part, Text)
    assert (is_marked(part.text), says in part.text, part.block) == (True, True, block)


@pytest.mark.parametrize(
    "failure",
    [
        Response("I would rather walk."),
        Response(
            [Opaque("claude", {"type": "compaction", "content": None})], stop_reason=StopReason.COMPACTION
        ),
        AgentError("This account has no compaction."),
        ContextOverflowError("Too long.", status=400),
    ],
    ids=["an answer", "no summary", "a refusal", "too long"],
)
def test_a_provider_that_does_not_condense_is_followed_by_our_own_summary(failure: Any) -> None:
    run = Run(native=True, window=1000)
    run.walk(3)

    step = run.answer(failure)

    assert isinstance(step, CallModel)
    assert (step.compaction, step.request.compact, step.attempt) == (True, False, 1)
    assert any(isinstance(event, ErrorEvent) for event in run.events)
    run.answer(Response("You walked."))
    assert [event.native for event in run.events if isinstance(event, Compacted)] == [False]
    assert run.entries[-2] == ModelCalled(at=1.0, turn=3, compaction=True)


def test_a_transient_failure_to_condense_is_tried_again_with_the_provider() -> None:
    run = Run(native=True, window=1000)
    run.walk(3)

    step = run.answer(ServerError("Overloaded.", status=529))

    assert isinstance(step, CallModel)
    assert (step.request.compact, step.attempt) == (True, 2)


def test_a_paused_answer_is_never_cut_off_from_its_continuation() -> None:
    run = Run(native=True, window=1000)
    run.walk(1)
    use = Opaque("claude", {"type": "server_tool_use", "id": "u1", "name": "web_search", "input": {}})
    found = Opaque("claude", {"type": "web_search_tool_result", "tool_use_id": "u1", "content": []})
    run.answer(Response([use], stop_reason=StopReason.PAUSE, model="one"))
    run.answer(walks(3, found))
    run.answer(walks(4))

    step = run.loop.step

    assert isinstance(step, CallModel)
    assert step.request.compact
    assert step.request.messages[-1].role is Role.TOOL_RESULT
    parts = [part for message in run.loop.conversation.history for part in message.parts]
    assert parts.index(found) == parts.index(use) + 2  # the thought of the continuation lies between


@pytest.mark.parametrize(
    ("tools", "model", "reason"),
    [
        ({"look": look, "ask": ask}, "claude:one", "tools changed"),
        ({}, "claude:one", "tools changed"),
        ({"look": look}, "claude:two", "model changed"),
    ],
)
def test_other_tools_or_another_model_on_resume_leave_out_all_thoughts(
    tools: dict[str, Tool], model: str, reason: str
) -> None:
    run = Run()
    run.walk(2)
    run.call()

    step = run.resume(tools, model)
    run.call()

    assert signatures(asked(step)) == []
    assert isinstance(step, CallModel)
    assert (step.turn, step.attempt) == (3, 2)
    assert run.changes() == [reason]


def test_a_resume_with_the_same_tools_changes_nothing() -> None:
    run = Run()
    run.walk(2)

    step = run.resume({"look": look})
    run.call()

    assert signatures(asked(step)) == ["s1", "s2"]
    assert run.changes() == []


def test_a_tool_with_other_parameters_is_another_tool_even_if_its_size_is_the_same() -> None:
    @tool(name="look", effect="pure")
    async def changed(plaze: str) -> str:
        """Look at a place."""
        return plaze

    run = Run()
    run.walk(2)

    step = run.resume({"look": changed})

    assert signatures(asked(step)) == []


def test_thinking_that_is_refused_is_left_out_once_and_the_second_refusal_ends_the_run() -> None:
    run = Run()
    run.walk(2)

    step = run.answer(ThinkingRejectedError("The thinking is not valid here.", status=400))

    assert isinstance(step, CallModel)
    assert (step.turn, step.attempt, signatures(step.request.messages)) == (3, 2, [])
    run.answer(walks(3))
    assert run.changes() == ["thinking refused"]
    step = run.answer(error := ThinkingRejectedError("And again.", status=400))
    assert isinstance(step, Finish)
    assert step.result.terminate_reason is TerminateReason.ERROR
    assert step.result.errors == [error]


def test_a_tool_result_that_is_cut_leaves_thoughts_before_it_alone() -> None:
    run = Run()
    run.answer(walks(1))
    run.call()
    run.feed(ModelReplied(at=1.0, response=walks(2)), ToolsStarted(at=1.0, turn=2))
    run.feed(ToolFinished(at=1.0, index=0, outcome=ToolOutcome.FINISHED, content="sand " * 5_000))
    run.answer(Response("x", model="one"))  # ends the run; only its history matters here

    assert run.loop.conversation.shorten()

    assert signatures(run.loop.conversation.history) == ["s1", "s2"]


def test_an_edit_before_a_turn_that_was_never_sent_changes_no_prefix() -> None:
    run = Run()
    run.walk(1)

    step = run.feed(Edited(at=1.0, content="Hurry."))
    run.call()

    assert asked(step)[-1] == Message.user("Hurry.")
    assert signatures(asked(step)) == ["s1"]
    assert run.changes() == []


def test_another_model_that_answers_is_told_with_what_was_not_cached() -> None:
    run = Run()
    run.walk(1)

    usage = Usage(input_tokens=500, output_tokens=5, cache_read_tokens=100)
    run.answer(Response("There.", usage=usage, model="two"))

    (change,) = [event for event in run.events if isinstance(event, PrefixChanged)]
    assert (change.reason, change.tokens) == ("model changed", 400)


ITEMS: list[Part] = [
    Thought("hm", block=Opaque("openai", {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"})),
    Opaque("openai", {"type": "web_search_call", "id": "ws_1"}),
    Thought("so", block=Opaque("openai", {"type": "reasoning", "id": "rs_2", "encrypted_content": "y"})),
    Text("Step.", block=Opaque("openai", {"type": "message", "id": "msg_1"})),
    ToolCall("c", "look", {"place": "sea"}, block=Opaque("openai", {"type": "function_call", "id": "fc_1"})),
]


def test_openais_reasoning_stays_behind_a_changed_prefix_and_goes_with_the_ids_of_its_items_for_another_model() -> (
    None
):
    run = Run(window=1000)
    run.answer(Response(ITEMS, model="one"))
    answer = run.loop.conversation.history[1]

    other_tools = run.resume({"look": look, "ask": ask})

    assert asked(other_tools)[1] == answer
    other_model = run.resume({"look": look, "ask": ask}, "claude:two")
    assert asked(other_model)[1].parts == (Text("Step."), ToolCall("c", "look", {"place": "sea"}))


@pytest.mark.parametrize(
    ("choice", "later", "changes"),
    [
        ("look", "auto", ["settings changed"]),
        ("required", "auto", ["settings changed"]),
        ("none", "none", []),
    ],
)
def test_a_choice_of_tools_that_forces_a_call_holds_for_the_first_turn_only(
    choice: str, later: str, changes: list[str]
) -> None:
    run = Run(choice=choice)
    run.answer(ServerError("Overloaded.", status=529))
    assert run.call().request.config.tool_choice == choice

    run.walk(1)
    sent = run.call()

    assert sent.request.config.tool_choice == later
    assert run.changes() == changes
    assert signatures(sent.request.messages) == ["s1"]
