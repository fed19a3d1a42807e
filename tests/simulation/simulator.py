"""Drives the pure loop through a seeded world and checks after every step that no promise is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from maverick.exceptions import InvalidInputError
from maverick.loop.entries import (
    ApprovalDecided,
    CallReview,
    CallRuled,
    CallsReviewed,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    OutputChecked,
    RequestReviewed,
    Resumed,
    RunStarted,
    Said,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent, RunResumed, ToolCallEnd, ToolCallStart
from maverick.loop.machine import AgentLoop
from maverick.loop.policy import Verdict
from maverick.loop.result import TerminateReason, ToolOutcome, ToolRecord
from maverick.loop.run_settings import RunSettings
from maverick.loop.steps import AwaitApproval, CallModel, CheckOutput, Finish, ReviewCalls, RunTools, Step
from maverick.model import Message, Role, Text, Tool, ToolCall
from maverick.runtime.replay import forked
from simulation.world import TOOLS, World

MOST_ENTRIES = 2_000
"""More than any run can take under its limits; a run that needs more does not end."""


class Simulation:
    """One simulated run."""

    def __init__(self, world: World, *, traced: bool = False) -> None:
        self.world = world
        self.traced = traced
        """Whether it writes down what each entry made of the run, which takes longer than the run."""
        self.tools: Mapping[str, Tool] = TOOLS
        self.loop: AgentLoop[Any] = AgentLoop(self.world.definition, TOOLS)
        self.mapper = EventMapper(self.loop, "run", "trace", ("simulated",))
        self.entries: list[Entry] = []
        self.events: list[AgentActivityEvent] = []
        self.trace: list[str] = []
        self.calls_run = 0
        """Tool calls that were really run, subagents' included."""

    def run(self) -> Finish:
        """Go through the whole run."""
        world, definition = self.world, self.world.definition
        system, messages = definition.render({"how": "brief", "what": "something"})
        step = self.feed(
            RunStarted(
                at=world.clock,
                run_id="run",
                trace_id="trace",
                agent=("simulated",),
                system=system,
                messages=messages,
                head=len(messages),
                limits=definition.run_config.limits,
                info=world.info,
                settings=RunSettings.of(definition, TOOLS),
            )
        )
        return self.go_on(step)

    def fork(self, turn: int, edit: str | None) -> Finish:
        """Begin another run with what happened in this one before a turn, and go through the rest of it."""
        fork = Simulation(self.world)
        entries = forked(
            "run",
            self.entries,
            turn,
            edit,
            run_id="run",
            trace_id="trace",
            fingerprint=None,
            info=self.world.info,
        )
        for entry in entries:
            fork.feed(entry)
        fork.calls_run = fork.loop.ledger.tool_calls
        return fork.go_on(fork.resume())

    def go_on(self, step: Step) -> Finish:
        """Go through the rest of the run."""
        world = self.world
        while not isinstance(step, Finish):
            assert len(self.entries) < MOST_ENTRIES, "the run does not end"
            self.check_misplaced_entries_are_refused()
            if world.crashes():
                step = self.resume()
            elif isinstance(step, CallModel) and step.listens and world.rng.random() < 0.05:
                step = self.feed(Said(at=world.tick(), content="One more thing: hurry.", by="ana"))
            else:
                step = self.interrupt() if world.interrupts() else self.act(step)
        self.check_finished(step)
        return step

    def act(self, step: Step) -> Step:
        """Do what the loop asks for, with what the world makes of it."""
        match step:
            case RunTools() | AwaitApproval() if self.world.rng.random() < 0.2 and self.may_rule():
                return self.rule()
            case CallModel():
                if not self.loop.reviewed and self.world.rng.random() < 0.1:
                    return self.feed(self.review_request())
                return self.call_model(step)
            case ReviewCalls() | CheckOutput():
                return self.feed(self.review(step))
            case RunTools():
                return self.run_tools(step)
            case AwaitApproval():
                planned = self.world.rng.choice(step.calls)
                approved = self.world.rng.random() < 0.5
                return self.feed(
                    ApprovalDecided(at=self.world.tick(), index=planned.index, approved=approved)
                )
            case Finish():
                raise AssertionError("a finished run asks for nothing")

    def review_request(self) -> RequestReviewed:
        """Have a hook say something, or change what a user has said."""
        rng, history = self.world.rng, self.loop.conversation.history
        fate, fields = rng.random(), dict[str, Any]()
        if fate < 0.05:
            fields["refusal"] = "enough."
        elif fate < 0.3:
            since = rng.choice([i for i, message in enumerate(history) if message.role is Role.USER] or [0])
            changed = [Message.user("Something else.")] if history[since].role is Role.USER else history[:1]
            fields = {"since": since, "messages": (*changed, *history[since + 1 :])}
        else:
            fields["added"] = (Message.user("A note."),)
        return RequestReviewed(at=self.world.tick(), by="a hook", **fields)

    def review(self, step: ReviewCalls | CheckOutput) -> CallsReviewed | OutputChecked:
        """Have a hook refuse some calls, and change others; or a validator accept an output, or not."""
        if isinstance(step, CheckOutput):
            return OutputChecked(at=self.world.tick(), retry=self.world.rng.choice(["", "It is too short."]))
        rng, reviews = self.world.rng, list[CallReview]()
        for planned in step.calls:
            if (fate := rng.random()) < 0.2:
                reviews.append(CallReview(planned.index, "a hook", refusal="not now."))
            elif fate < 0.4:
                other = ToolCall(planned.call.id, planned.call.tool_name, {"query": "y"})
                reviews.append(CallReview(planned.index, "a hook", call=other))
        return CallsReviewed(at=self.world.tick(), calls=tuple(reviews))

    def may_rule(self) -> list[int]:
        """The calls a policy may say something of."""
        tools = self.loop.tool_round
        return [planned.index for planned in tools.calls if tools.may_rule(planned.index)]

    def rule(self) -> Step:
        """Have a policy say something of a call."""
        rng = self.world.rng
        index = rng.choice(self.may_rule())
        return self.feed(
            CallRuled(at=self.world.tick(), index=index, verdict=rng.choice(list(Verdict)), reason="a rule.")
        )

    def call_model(self, step: CallModel) -> Step:
        world = self.world
        self.check_request(step)
        world.provider.receive(step.request, world.choose_model())
        expected = self.loop.conversation.tokens
        if step.compaction:
            expected = sum(len(message.content) for message in step.request.messages) // 4
        self.feed(
            ModelCalled(
                at=world.tick(),
                turn=step.turn,
                attempt=step.attempt,
                compaction=step.compaction,
                native=step.request.compact,
            )
        )
        if world.interrupts():
            return self.interrupt(partial=world.rng.choice(["", "Half an ans"]))
        if world.crashes():
            return self.resume()
        if world.rng.random() < world.trouble:
            return self.feed(ModelFailed(at=world.tick(), error=world.failure()))
        response = world.response(step, expected)
        review = world.rng.random() < 0.2 and not step.compaction
        return self.feed(ModelReplied(at=world.tick(), response=response, review=review))

    def run_tools(self, step: RunTools) -> Step:
        world, tools = self.world, self.loop.tool_round
        if not tools.started:
            self.check_grants(step)
            self.check_calls(step)
            self.feed(ToolsStarted(at=world.tick(), turn=step.turn))
            self.calls_run += sum(not planned.refusal for planned in step.calls)
        latest: Step = step
        for planned in world.rng.sample(tools.unsettled, len(tools.unsettled)):
            if world.interrupts():
                return self.interrupt()
            if world.crashes():
                return self.resume()
            fields = world.outcome(planned)
            self.calls_run += fields.get("tool_calls", 0)
            latest = self.feed(ToolFinished(at=world.tick(), index=planned.index, **fields))
            if isinstance(latest, RunTools):
                self.check_refused(ToolFinished(at=world.clock, index=planned.index, **fields))
        return latest

    def resume(self) -> Step:
        """Have the process die here, and another one go on, with the tools that the agent has by then."""
        definition = self.world.definition
        self.tools = self.world.tools()
        self.loop = AgentLoop(definition, self.tools)
        self.mapper = EventMapper(self.loop, "run", "trace", ("simulated",))
        for number, entry in enumerate(self.entries):
            self.loop.feed(entry)
            told = list(self.mapper.events_of(entry))
            assert not self.traced or account(self.loop, entry, told) == self.trace[number]
        settings = RunSettings.of(definition, self.tools)
        return self.feed(
            Resumed(
                at=self.world.tick(), limits=definition.run_config.limits, settings=settings, worker="another"
            )
        )

    def interrupt(self, partial: str = "") -> Step:
        reason = self.world.rng.choice([TerminateReason.ABORTED, TerminateReason.TIMEOUT])
        return self.feed(
            Interrupted(at=self.world.tick(), reason=reason, message="enough", partial_text=partial)
        )

    def feed(self, entry: Entry) -> Step:
        step = self.loop.feed(entry)
        self.entries.append(entry)
        told = list(self.mapper.events_of(entry))
        self.events += told
        if self.traced:
            self.trace.append(account(self.loop, entry, told))
        self.check_limits()
        return step

    # The promises -------------------------------------------------------------------------------------------------

    def check_limits(self) -> None:
        limits, ledger = self.loop.ledger.limits, self.loop.ledger
        assert limits.turns is None or ledger.turns <= limits.turns
        assert limits.tokens is None or ledger.usage.total_tokens <= limits.tokens
        assert limits.tool_calls is None or self.calls_run <= limits.tool_calls
        if limits.cost_usd is not None and self.world.priced:
            assert (ledger.usage.cost_usd or 0.0) <= limits.cost_usd + 1e-9

    def check_request(self, step: CallModel) -> None:
        check_history(step.request.messages)
        limits, ledger = self.loop.ledger.limits, self.loop.ledger
        if limits.tokens is not None:
            assert 0 < (step.request.config.max_tokens or 0) <= limits.tokens - ledger.usage.total_tokens

    def check_calls(self, step: RunTools) -> None:
        """No more calls of a turn are run than the definition allows."""
        most = self.world.definition.run_config.max_calls_per_turn
        assert most is None or sum(not planned.refusal for planned in step.calls) <= most

    def check_grants(self, step: RunTools) -> None:
        """What subagents are promised together is no more than what is left."""
        grants = [
            planned.grant for planned in step.calls if planned.grant is not None and not planned.refusal
        ]
        limits, ledger = self.loop.ledger.limits, self.loop.ledger
        if limits.tokens is not None:
            assert sum(grant.tokens or 0 for grant in grants) <= limits.tokens - ledger.usage.total_tokens
        if limits.turns is not None and grants:
            assert sum(grant.turns or 0 for grant in grants) < limits.turns - ledger.turns

    def check_misplaced_entries_are_refused(self) -> None:
        """An entry that can not follow is refused and changes nothing."""
        at, step = self.world.clock, self.loop.step
        misplaced: list[Entry] = [self.entries[0]]
        if not isinstance(step, CallModel):
            misplaced.append(ModelCalled(at=at, turn=99))
        if not isinstance(step, RunTools):
            misplaced.append(ToolFinished(at=at, index=0, outcome=ToolOutcome.FINISHED, content="late"))
        else:
            misplaced.append(ToolFinished(at=at, index=77, outcome=ToolOutcome.FINISHED, content="whose?"))
        if isinstance(step, CallModel):
            misplaced.append(CallRuled(at=at, index=0, verdict=Verdict.DENY))
        else:
            misplaced.append(CallRuled(at=at, index=77, verdict=Verdict.ASK))
        if not isinstance(step, AwaitApproval):
            misplaced.append(ApprovalDecided(at=at, index=0, approved=True))
        self.check_refused(self.world.rng.choice(misplaced))

    def check_refused(self, entry: Entry) -> None:
        step, length, tokens = self.loop.step, len(self.loop.conversation.history), self.loop.ledger.usage
        try:
            self.loop.feed(entry)
        except InvalidInputError:
            assert self.loop.step is step
            assert (len(self.loop.conversation.history), self.loop.ledger.usage) == (length, tokens)
        else:
            raise AssertionError(f"{entry!r} was taken at {outline(step)}")

    def check_finished(self, step: Finish) -> None:
        result = step.result
        check_history(result.messages)
        assert len(result.tool_calls) == asked_calls(self.entries), "each call has exactly one result"
        assert result.success == (not result.errors)
        assert not result.success or result.terminate_reason is TerminateReason.COMPLETE
        assert result.usage.total_tokens == self.loop.ledger.usage.total_tokens
        if not isinstance(self.entries[-1], Resumed):  # a run that was stopped may be resumed
            self.check_refused(self.entries[-1])
        check_events([event.type for event in self.events])
        check_call_events(self.events, result.tool_calls)
        assert outline(replay(self)) == outline(step), "the entries alone rebuild the run"


def replay(simulation: Simulation) -> Step:
    """Fold the entries into a fresh loop."""
    loop: AgentLoop[Any] = AgentLoop(simulation.world.definition, simulation.tools)
    *_, last = (loop.feed(entry) for entry in simulation.entries)
    return last


def asked_calls(entries: Sequence[Entry]) -> int:
    """How many tool calls the model has asked for."""
    return sum(
        len(entry.response.tool_calls)
        for called, entry in pairwise(entries)
        if isinstance(entry, ModelReplied) and isinstance(called, ModelCalled) and not called.compaction
    )


def retrace(simulation: Simulation, tools: Mapping[str, Tool]) -> Iterator[str]:
    """The trace of the entries when they are folded by an agent with other tools."""
    loop: AgentLoop[Any] = AgentLoop(simulation.world.definition, tools)
    mapper = EventMapper(loop, "run", "trace", ("simulated",))
    for entry in simulation.entries:
        loop.feed(entry)
        yield account(loop, entry, list(mapper.events_of(entry)))


def account(loop: AgentLoop[Any], entry: Entry, told: Sequence[AgentActivityEvent]) -> str:
    """What an entry made of a run."""
    spent = f"{loop.conversation.tokens} tokens, {loop.ledger.tool_calls} calls"
    return f"{entry!r} -> {outline(loop.step)} {spent} {[event.type for event in told]}"


def outline(step: Step | None) -> str:
    """A step without the requests and tools in it, whose addresses differ from run to run."""
    match step:
        case CallModel():
            request = step.request
            return f"CallModel({step.turn}, {step.attempt}, {step.delay}, {request.config}, {list(request.messages)})"
        case Finish():
            result = step.result
            return f"Finish({result!r}, {list(result.messages)}, {result.tool_calls})"
    return repr(step)


def check_history(messages: Sequence[Message]) -> None:
    """What every provider demands: a user speaks first, and each call is followed by its one result, in order."""
    assert messages[0].role is Role.USER or isinstance(messages[0].parts[0], Text), "the task, or its summary"
    remaining = iter(messages)
    for message in remaining:
        assert message.parts or message.role is Role.TOOL_RESULT, "no message is empty"
        assert message.role is not Role.TOOL_RESULT, "a result without its call"
        check_results(message, remaining)


def check_results(message: Message, following: Iterator[Message]) -> None:
    ids = [call.id for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    for call_id in ids:
        result = next(following)
        assert (result.role, result.tool_call_id) == (Role.TOOL_RESULT, call_id)


def check_call_events(events: Sequence[AgentActivityEvent], records: Sequence[ToolRecord]) -> None:
    """Every call that has a record is told of: that it begins, and then what became of it, once each.

    A resumed run tells once more that the calls begin that were under way.
    """
    started: set[str] = set()
    ended: dict[str, tuple[str, ToolOutcome]] = {}
    for event in events:
        if isinstance(event, RunResumed):
            started = set(ended)
        elif isinstance(event, ToolCallStart):
            assert event.tool_call.id not in started
            started.add(event.tool_call.id)
        elif isinstance(event, ToolCallEnd):
            assert event.tool_call_id in started
            assert event.tool_call_id not in ended
            ended[event.tool_call_id] = (event.result, event.outcome)
    assert started == ended.keys()
    assert ended == {record.call_id: (record.result, record.outcome) for record in records}


def check_events(types: list[str]) -> None:
    assert types[0] == "run_start"
    assert types[-1] == "run_end"
    assert types.count("run_end") == 1
    assert types.count("turn_start") == types.count("turn_end")
    open_turn = False
    for kind in types:
        if kind in ("turn_start", "turn_end"):
            assert open_turn == (kind == "turn_end")
            open_turn = not open_turn
        elif kind in ("tool_call_start", "tool_call_end", "content_chunk", "thinking"):
            assert open_turn
