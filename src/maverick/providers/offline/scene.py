"""What the offline model looks at: the conversation so far, sorted into what matters for the next answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maverick.model import Message, OutputSchema, Request, Role, Tool, ToolCall


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool call of the conversation and what came back."""

    call: ToolCall
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A request as the rules read it."""

    said: str
    """What the person said last."""
    said_before: tuple[str, ...]
    """What the person said earlier, oldest first."""
    answered: str
    """The model's words just before the person spoke last."""
    outcomes: tuple[Outcome, ...]
    """The tool calls made since then, with their results."""
    earlier: tuple[Outcome, ...]
    """The tool calls made before then, oldest first."""
    tools: Sequence[Tool]
    output: OutputSchema | None
    system: str = ""
    """What the model was told before the conversation."""

    @classmethod
    def of(cls, request: Request) -> Scene:
        """Sort a request's messages."""
        messages = request.messages
        at = max((index for index, message in enumerate(messages) if message.role is Role.USER), default=-1)
        before, since = messages[: max(at, 0)], messages[at + 1 :]
        spoken = [message.content for message in before if message.role is Role.ASSISTANT]
        return cls(
            said=messages[at].content.strip() if at >= 0 else "",
            said_before=tuple(message.content for message in before if message.role is Role.USER),
            answered=spoken[-1] if spoken else "",
            outcomes=_outcomes(since),
            earlier=_outcomes(before),
            tools=request.tools,
            output=request.output,
            system=request.system,
        )

    def tool(self, name: str) -> Tool | None:
        """The tool of this name, if it is on offer."""
        return next((tool for tool in self.tools if tool.name == name), None)


def _outcomes(messages: Sequence[Message]) -> tuple[Outcome, ...]:
    calls = {call.id: call for message in messages for call in message.tool_calls}
    return tuple(
        Outcome(calls[message.tool_call_id], message.content, message.is_error)
        for message in messages
        if message.tool_call_id is not None and message.tool_call_id in calls
    )
