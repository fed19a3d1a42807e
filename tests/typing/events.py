"""The events of a run as a union that ``match`` can exhaust: checked by mypy and pyright, not run."""

from __future__ import annotations

from typing import assert_never, assert_type

from maverick import AgentDefinition, AgentExecutor, RunEnd, define_agent
from maverick.loop import events
from maverick.loop.events import AgentActivityEvent


def told(event: AgentActivityEvent) -> str:
    match event:
        case (
            events.ContentChunk(content=text)
            | events.Thinking(content=text)
            | events.MessageAdded(content=text)
        ):
            return text
        case events.ToolCallStart(tool_call=call) | events.ApprovalRequested(tool_call=call):
            return call.tool_name
        case events.RunEnd(result=result):
            return result.terminate_reason
        case events.RunStart() | events.RunResumed() | events.TurnStart() | events.TurnEnd():
            return event.run_id
        case (
            events.ToolCallEnd()
            | events.ServerToolUsed()
            | events.SourcesCited()
            | events.ErrorEvent()
            | events.RetryScheduled()
            | events.ApprovalGiven()
            | events.UsageUpdated()
            | events.Compacted()
            | events.PrefixChanged()
            | events.PartialOutput()
        ):
            return event.type
        case _:
            assert_never(event)


COUNTER: AgentDefinition[list[int]] = define_agent("counter", output=list[int])


async def counted(executor: AgentExecutor) -> list[int]:
    async for event in executor.stream(COUNTER, inputs={"prompt": "Go."}):
        assert_type(event, AgentActivityEvent[list[int]])
        if isinstance(event, RunEnd):
            assert_type(event.result.metadata["model"], str)
            assert_type(event.result.metadata["agent"], tuple[str, ...])
            return event.result.unwrap()
    await executor.execute(COUNTER, on_activity=told)
    async for event in executor.replay("r", COUNTER):
        assert_type(event, AgentActivityEvent[list[int]])
    return []
