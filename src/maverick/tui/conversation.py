"""The conversation that is shown: the events of runs, made into blocks. Plain Python, without a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from maverick.loop import events
from maverick.loop.limits import Limits
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import RESUMABLE, TerminateReason, ToolOutcome
from maverick.model import Message, Part, Role, Thought, ToolCall
from maverick.model.message import describe_part
from maverick.model.untrusted import unmarked, unmarked_message
from maverick.tui.block import Block, LineStyle, Remark, Speaker, ToolState, ToolUse, TurnMark, Words
from maverick.tui.figures import duration, summary
from maverick.tui.gauge import Gauge
from maverick.tui.plain_text import one_line

_LIMITS = RESUMABLE - {TerminateReason.ABORTED, TerminateReason.AWAITING_APPROVAL, TerminateReason.ERROR}
"""The endings at a limit, which a resumed run has reached already, and the next one of the conversation has not."""
_LONGEST_OUTPUT = 4_000
"""Characters of a running tool's output that are kept; its result has all of it."""


class Status(StrEnum):
    """The state of the conversation."""

    IDLE = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    """For an approval."""
    COMPLETE = "complete"
    STOPPED = "stopped"
    LEFT = "unfinished"
    """It has not ended, and is not in progress here."""


class ConversationModel:
    """The messages and tool calls of a run, and of those that continue it."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.gauge = Gauge()
        self.status = Status.IDLE
        self.revision = 0
        """Goes up with every change."""
        self.run_id = ""
        """The run that is shown, or the last one of the conversation."""
        self.trace_id = ""
        """What the runs of the conversation have in common; empty before the first."""
        self.messages: Sequence[Message] = ()
        """The whole conversation once a run has ended, for the next one to continue."""
        self.reason: TerminateReason | None = None
        """Why the run ended, if it has."""
        self._before: tuple[str, int, TerminateReason | None, Status, Gauge, list[Block]] | None = None
        """What there was before a run that has not begun yet."""
        self._path: tuple[str, ...] = ()
        self._turn = 0
        self._speaking: dict[str, Words] = {}
        self._tools: dict[tuple[str, str], ToolUse] = {}
        self.asked: set[tuple[str, str]] = set()
        """The tool calls that wait for approval, by run and call."""
        self._queued: list[tuple[Block, str, int]] = []
        self._added: Block | None = None
        self._error = ""

    @property
    def can_resume(self) -> bool:
        """Whether the run can be resumed."""
        return self.status is not Status.RUNNING and bool(self.run_id) and self.reason in (None, *RESUMABLE)

    def begin(self, run_id: str, messages: Iterable[Message], limits: Limits, window: int | None) -> None:
        """Begin another run, with its prompt and earlier messages that are not shown yet."""
        self._before = (self.run_id, self._turn, self.reason, self.status, self.gauge, [*self.blocks])
        self.run_id, self._path, self._turn, self.reason = run_id, (), 0, None
        self.asked.clear()
        self.gauge = Gauge(limits, window, before=self.gauge.total)
        self.status = Status.RUNNING
        self._show_messages(messages)
        self.revision += 1

    def forget_refused(self) -> bool:
        """Show the conversation as it was before a run that was refused before it began; returns whether it was."""
        if self._before is None:
            return False
        self.run_id, self._turn, self.reason, self.status, self.gauge, self.blocks = self._before
        self.revision += 1
        return True

    def tell(self, event: events.AgentActivityEvent) -> None:
        """Show an event."""
        handle = self._HANDLERS.get(type(event))
        if handle is not None:
            self._path, self.trace_id = self._path or event.agent, event.trace_id
            handle(self, event)
            self.revision += 1

    def show_output(self, run_id: str, call_id: str, output: str) -> None:
        """Show the output of a tool that is running."""
        tool = self._tools.get((run_id, call_id))
        if tool is not None:
            tool.output = (tool.output + output)[-_LONGEST_OUTPUT:]
            tool.revision += 1
            self.revision += 1

    def remark(
        self, words: str, style: LineStyle = LineStyle.DIM, event: events.AgentActivityEvent | None = None
    ) -> None:
        """Add a remark, perhaps about an event."""
        depth = 0
        if event is not None:
            self._hush(event)
            depth = self._depth(event)
        self.blocks.append(Remark(run_id=self.run_id, turn=self._turn, depth=depth, words=words, style=style))
        self.revision += 1

    def queue(self, words: str, number: int) -> None:
        """Show a message that the agent hears before its next turn; the number is the journal's."""
        self.remark(f"queued: {one_line(words)}", LineStyle.ASKING)
        self._queued.append((self.blocks[-1], words, number))

    def take_back(self, most: int | None = None) -> list[tuple[str, int]]:
        """The messages that the agent has not heard, oldest first, which are no longer shown, with their numbers."""
        taken, self._queued[:most] = self._queued[:most], []
        self.blocks = [block for block in self.blocks if all(block is not shown for shown, *_ in taken)]
        self.revision += 1
        return [(words, number) for _, words, number in taken]

    def begin_command(self, command: str) -> ToolUse:
        """Show a command of the user's own, which is about to run."""
        self.revision += 1
        return self._add_tool("", ToolCall(f"!{len(self.blocks)}", "!", {"command": command}), self._turn)

    def end_command(self, tool: ToolUse, result: str, outcome: ToolOutcome, seconds: float) -> None:
        """Show how a command of the user's own has ended."""
        _settle(tool, result, outcome, round(seconds * 1000))
        tool.folded = False
        self.revision += 1

    def fold(self, block: ToolUse, *, folded: bool) -> None:
        """Collapse or expand a tool call."""
        if block.folded is not folded:
            block.folded = folded
            block.revision += 1
            self.revision += 1

    def become(self, run_id: str, why: str) -> None:
        """Continue as a fork, which has everything shown so far."""
        self._hush_all()
        self.run_id, self.reason = run_id, None
        for block in self.blocks:
            block.run_id = run_id
        self.remark(why)

    def edit(self, words: str, *, replaces: bool = True) -> None:
        """Replace the user's last message, unless it was added to the run, or add one after the results of tools."""
        last = next((block for block in reversed(self.blocks) if not isinstance(block, Remark)), None)
        replaces = replaces and last is not self._added
        if replaces and isinstance(last, Words) and last.speaker is Speaker.USER:
            self.blocks = [block for block in self.blocks if block is not last]
        self._add_words(words, self._turn, Speaker.USER)
        self.revision += 1

    def park(self) -> None:
        """Note that the run waits for an approval."""
        self.status = Status.WAITING
        self.remark("waiting for your approval: /approve asks you", LineStyle.ASKING)

    def go_on(self) -> None:
        """Note that the run no longer waits for an approval."""
        self.status = Status.RUNNING
        self.revision += 1

    def leave(self) -> None:
        """Note that the run is no longer in progress here."""
        self._hush_all()
        if self.status is Status.RUNNING:
            self.status = Status.LEFT
        self.revision += 1

    def _run_started(self, event: events.RunStart) -> None:
        if self._depth(event) == 0:
            self._before = None
            self.run_id, self.status = event.run_id, Status.RUNNING

    def _run_resumed(self, event: events.RunResumed) -> None:
        if self._depth(event) == 0:
            self.status, self.reason = Status.RUNNING, None
            self.remark("resumed", event=event)

    def _turn_started(self, event: events.TurnStart) -> None:
        self._hush(event)
        if self._depth(event) == 0:
            self._turn = self.gauge.turns = event.turn_number
            self.blocks.append(TurnMark(run_id=self.run_id, turn=self._turn))

    def _words_came(self, event: events.ContentChunk | events.Thinking) -> None:
        speaker = Speaker.ANSWER if isinstance(event, events.ContentChunk) else Speaker.THOUGHT
        self._say(event, speaker, event.content)

    def _tool_asked(self, event: events.ApprovalRequested) -> None:
        tool = self._tool(event, event.tool_call)
        tool.state, tool.question, tool.folded = ToolState.ASKED, event.reason, False
        self.asked.add((event.run_id, event.tool_call.id))
        tool.revision += 1

    def _tool_decided(self, event: events.ApprovalGiven) -> None:
        tool = self._tools.get((event.run_id, event.tool_call_id))
        self.asked.discard((event.run_id, event.tool_call_id))
        if tool is not None:
            tool.state, tool.folded = ToolState.RUNNING, True
            tool.decision = f"{'approved' if event.approved else 'denied'} by {event.by or 'you'}"
            tool.revision += 1

    def _tool_started(self, event: events.ToolCallStart) -> None:
        tool = self._tool(event, event.tool_call)
        tool.state = ToolState.RUNNING
        tool.revision += 1

    def _tool_ended(self, event: events.ToolCallEnd) -> None:
        tool = self._tools.get((event.run_id, event.tool_call_id))
        if tool is not None:
            _settle(tool, event.result, event.outcome, event.duration_ms)

    def _server_tool_used(self, event: events.ServerToolUsed) -> None:
        self.remark(str(event.use), LineStyle.BAD if event.use.error else LineStyle.DIM, event=event)

    def _sources_cited(self, event: events.SourcesCited) -> None:
        for number, citation in enumerate(event.citations, 1):
            self.remark(f"[{number}] {citation}", event=event)

    def _error_came(self, event: events.ErrorEvent) -> None:
        self._error = str(event.error)

    def _retry_comes(self, event: events.RetryScheduled) -> None:
        words = self._speaking.pop(event.run_id, None)
        if words is not None:  # the partial answer is discarded
            self.blocks = [block for block in self.blocks if not _is_same_answer(block, words)]
        self.remark(
            f"{self._error} Retrying in about {duration(event.delay)}.".lstrip(), LineStyle.BAD, event=event
        )

    def _usage_counted(self, event: events.UsageUpdated) -> None:
        if self._depth(event) == 0:
            self.gauge.usage, self.gauge.context_tokens = event.total, event.context_tokens

    def _compacted(self, event: events.Compacted) -> None:
        if self._depth(event) == 0:
            self.gauge.context_tokens = event.context_tokens
        self.remark("the conversation was compacted", event=event)

    def _prefix_changed(self, event: events.PrefixChanged) -> None:
        if event.tokens and event.reason is not PrefixReason.CONDENSED:  # which is told already
            self.remark(f"{event.reason}: about {event.tokens:,} tokens not cached", event=event)

    def _message_added(self, event: events.MessageAdded) -> None:
        if self._depth(event) == 0:
            self.edit(unmarked_message(event.content), replaces=not self.take_back(1))
            self._added = self.blocks[-1]

    def _run_ended(self, event: events.RunEnd) -> None:
        self._hush(event)
        if self._depth(event) > 0:
            return
        result = event.result
        spoken = any(
            isinstance(block, Words) and block.speaker is Speaker.ANSWER and block.turn == self._turn
            for block in reversed(self.blocks)
            if block.run_id == self.run_id
        )
        if result.raw_content and not spoken:  # a replayed run has its partial answer only here
            self._say(event, Speaker.ANSWER, result.raw_content)
            self._hush(event)
        self.gauge.settle(result.usage)
        self.messages, self.reason = result.messages, result.terminate_reason
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL:
            self.park()
        elif result.success:
            self.status = Status.COMPLETE
            self.remark(f"complete: {summary(result)}", LineStyle.GOOD, event=event)
        else:
            self.status = Status.STOPPED
            error, again = result.error or result.terminate_reason.value, ""
            if result.terminate_reason in _LIMITS:
                error, again = f"{error.partition('. ')[0]}.", ". Send a message to continue"
            elif self.can_resume:
                tries = result.terminate_reason is TerminateReason.ERROR
                again = f". /resume {'tries again' if tries else 'continues'}"
            if result.terminate_reason is not TerminateReason.ABORTED:
                self.remark(error, LineStyle.BAD, event=event)
            self.remark(f"stopped: {summary(result)}{again}", event=event)

    def _depth(self, event: events.AgentActivityEvent) -> int:
        return max(len(event.agent) - len(self._path), 0)

    def _add_words(self, text: str, turn: int, speaker: Speaker) -> None:
        """Show a complete message."""
        self.blocks.append(
            Words(run_id=self.run_id, turn=turn, speaker=speaker, pieces=[text], is_whole=True)
        )

    def _say(self, event: events.AgentActivityEvent, speaker: Speaker, text: str) -> None:
        words = self._speaking.get(event.run_id)
        if words is None or words.speaker is not speaker:
            self._hush(event)
            words = Words(run_id=self.run_id, turn=self._turn, depth=self._depth(event), speaker=speaker)
            self._speaking[event.run_id] = words
            self.blocks.append(words)
        words.say(text)

    def _hush(self, event: events.AgentActivityEvent) -> None:
        """End the message of a run: what comes next is another block."""
        words = self._speaking.pop(event.run_id, None)
        if words is not None:
            words.end()

    def _hush_all(self) -> None:
        for words in self._speaking.values():
            words.end()
        self._speaking.clear()

    def _tool(self, event: events.AgentActivityEvent, call: ToolCall) -> ToolUse:
        self._hush(event)
        known = self._tools.get((event.run_id, call.id))
        return known or self._add_tool(event.run_id, call, self._turn, self._depth(event))

    def _add_tool(self, run_id: str, call: ToolCall, turn: int, depth: int = 0) -> ToolUse:
        tool = ToolUse(
            run_id=self.run_id,
            turn=turn,
            depth=depth,
            call_id=call.id,
            name=call.tool_name,
            arguments=call.arguments,
        )
        self._tools[run_id, call.id] = tool
        self.blocks.append(tool)
        return tool

    def _show_messages(self, messages: Iterable[Message]) -> None:
        """Show messages from before the run."""
        for message in messages:
            if message.role is Role.TOOL_RESULT:
                tool = self._tools.get(("", message.tool_call_id or ""))
                if tool is not None:
                    outcome = ToolOutcome.FAILED if message.is_error else ToolOutcome.FINISHED
                    _settle(tool, message.content, outcome, 0)
                continue
            for part in message.parts:
                self._show_part(message.role, part)

    def _show_part(self, role: Role, part: Part) -> None:
        if isinstance(part, ToolCall):
            self._add_tool("", part, turn=0)
        elif said := describe_part(part):
            answer = Speaker.THOUGHT if isinstance(part, Thought) else Speaker.ANSWER
            speaker = Speaker.USER if role is Role.USER else answer
            self._add_words(unmarked_message(said) if role is Role.USER else said, 0, speaker)

    _HANDLERS: ClassVar[dict[type[Any], Any]] = {
        events.RunStart: _run_started,
        events.RunResumed: _run_resumed,
        events.TurnStart: _turn_started,
        events.ContentChunk: _words_came,
        events.Thinking: _words_came,
        events.ApprovalRequested: _tool_asked,
        events.ApprovalGiven: _tool_decided,
        events.ToolCallStart: _tool_started,
        events.ToolCallEnd: _tool_ended,
        events.ServerToolUsed: _server_tool_used,
        events.SourcesCited: _sources_cited,
        events.ErrorEvent: _error_came,
        events.RetryScheduled: _retry_comes,
        events.UsageUpdated: _usage_counted,
        events.Compacted: _compacted,
        events.PrefixChanged: _prefix_changed,
        events.MessageAdded: _message_added,
        events.RunEnd: _run_ended,
    }


def _settle(tool: ToolUse, result: str, outcome: ToolOutcome, duration_ms: int) -> None:
    tool.state, tool.outcome, tool.duration_ms = ToolState.OVER, outcome, duration_ms
    tool.result = unmarked(result)  # the marks of untrusted content are for the model
    tool.folded = not tool.has_diff  # changes to files are what the user wants to see
    tool.revision += 1


def _is_same_answer(block: Block, words: Words) -> bool:
    """Whether a block belongs to the same answer: text and thinking of the same turn and agent."""
    return (
        isinstance(block, Words)
        and block.speaker is not Speaker.USER
        and (block.run_id, block.turn, block.depth) == (words.run_id, words.turn, words.depth)
    )
