"""The model of the scenarios: a function of the request alone, so that any process can answer any turn.

Each agent has a plan: the tool calls of its first turn, of its second, and so on. How far it has come stands in the
conversation, since every item is called ``step-N-…``. When the plan is done the agent repeats what it was told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from chaos.bench import BENCH
from chaos.ledger import Deed
from maverick.exceptions import ServerError
from maverick.loop.conversation import request_tokens
from maverick.model import Request, Role, ToolCall, Usage
from maverick.providers.scripted import Turn, TurnLike
from maverick.testing import calls, reply
from scenario import assert_valid

Plan: TypeAlias = Sequence[Sequence[ToolCall]]
Script: TypeAlias = Callable[[Request], TurnLike]

_STEP = re.compile(r"step-(\d+)")


def do(tool_name: str, item: str) -> ToolCall:
    """A call for an item; its id is the item, so none is used twice, whatever is condensed away."""
    return ToolCall(item, tool_name, {"item": item})


def delegate(task: str) -> ToolCall:
    """A call of the agent ``helper``."""
    return ToolCall(task, "helper", {"task": task})


def steps(plans: Mapping[str, Callable[[str], Plan]]) -> Script:
    """A script that follows the plan of whichever agent asks; the first message is its name and its task."""

    def answer(request: Request) -> Turn:
        agent, _, task = request.messages[0].content.partition(" ")
        if agent not in plans:  # the loop's own question, for a summary
            newest = max(_STEP.findall(request.messages[0].content), key=int)
            return reply(f"They had come to step-{newest}.", usage=usage(request))
        plan, done = plans[agent](task), progress(request)
        if done == len(plan):
            return reply(told(request), usage=usage(request))
        return calls(*plan[done], usage=usage(request))

    return answer


def watched(script: Script) -> Script:
    """The script, with each request noted in the ledger, and noted twice if no provider would take it."""

    def answer(request: Request) -> TurnLike:
        agent = request.messages[0].content
        BENCH.ledger.add(Deed("model", agent, str(progress(request))))
        try:
            assert_valid(request.messages)
        except AssertionError as error:
            BENCH.ledger.add(Deed("invalid", agent, str(error)))
        return script(request)

    return answer


def failing_first(script: Script, failures: int) -> Script:
    """The script, answered only after so many failures, whichever processes they fall into."""

    def answer(request: Request) -> TurnLike:
        if sum(deed.kind == "failure" for deed in BENCH.ledger.deeds()) < failures:
            BENCH.ledger.add(Deed("failure", "model", str(progress(request))))
            return ServerError("The service is overloaded. Try again.")
        return script(request)

    return answer


def progress(request: Request) -> int:
    """The newest step the agent has asked for; after the first message, a summary may tell of it too."""
    words = [str(call.arguments) for message in request.messages for call in message.tool_calls]
    words += [message.content for message in request.messages[1:] if message.role is Role.USER]
    return max((int(number) for text in words for number in _STEP.findall(text)), default=0)


def told(request: Request) -> str:
    """The final answer: what the tools answered."""
    results = [message.content for message in request.messages if message.role is Role.TOOL_RESULT]
    return f"Done: {' | '.join(results)}"


def usage(request: Request) -> Usage:
    """What the request would have cost, so that a long conversation is seen to be long."""
    return Usage(input_tokens=request_tokens(request), output_tokens=10)
