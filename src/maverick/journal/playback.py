"""Answers from runs that are over: what the model was asked then, what it answered, and where a request differs.

What was asked is worked out from the entries of a run by the loop itself, without the agent. Requests are compared as
JSON values with their secrets removed, so a request that is made from recorded answers is equal to the recorded one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct

from maverick.exceptions import AgentError, CassetteMissError, InvalidInputError
from maverick.journal.codec import to_plain
from maverick.journal.compare import Divergence, first_difference
from maverick.journal.redaction import redact, redact_text
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Entry, Interrupted, ModelCalled, ModelFailed, ModelReplied, RunStarted, Said
from maverick.loop.fingerprint import Fingerprint, hash_output, hash_tools
from maverick.loop.machine import AgentLoop
from maverick.loop.steps import CallModel, Finish
from maverick.model import History, Message, Opaque, Request, Response, Text

Json: TypeAlias = dict[str, Any]
Delta: TypeAlias = tuple[Literal["text", "thinking", "block"], str | Opaque]
"""A piece of a streamed answer: words, or a block of the provider's own."""

_PLAIN_MESSAGES = object()  # the key of the JSON form of a history's messages
_SHOWN = 160  # characters of a value in an error message
_BEFORE = 40  # of these, how many come before the place where two texts differ


class RecordedExchange(Struct, frozen=True):
    """A request and its answer."""

    line: int
    """Where the answer is in the file."""
    asked: Json
    """The request, as :func:`plain_request` makes it; without the tools and the output if they are not known."""
    answer: Response | AgentError | None
    """``None`` for a stream that the caller stopped reading."""
    deltas: Sequence[Delta] | None = None
    """The pieces in which it was streamed; ``None`` when it came in one piece."""


def bare_loop() -> AgentLoop[str]:
    """A loop for entries whose agent is not at hand: it decides by the settings that are recorded."""
    return AgentLoop(AgentDefinition(name="recording", description="A recorded run."), {})


def follow(loop: AgentLoop[Any], entry: Entry) -> None:
    """Feed an entry of a run to a loop; an ``InvalidInputError`` if it cannot follow without the run's agent."""
    if isinstance(loop.step, Finish) and isinstance(entry, ModelCalled):
        # The answer was not of the type that the agent declares, and the model is asked for a better one.
        loop.feed(Said(at=entry.at, content=""))
    try:
        loop.feed(entry)
    except InvalidInputError as error:
        problem = f"The run cannot be followed without the version of its agent that made it ({error})."
        raise InvalidInputError(problem, field="run_id") from error


def exchanges_of(entries: Iterable[tuple[int, Entry, Sequence[Delta] | None]]) -> Iterator[RecordedExchange]:
    """The requests and answers of a run, from its entries with their lines and deltas.

    An ``InvalidInputError`` says which entry cannot follow those before it without the agent.
    """
    loop = bare_loop()
    asked: Json = {}
    for line, entry, deltas in entries:
        if isinstance(entry, RunStarted):
            asked = _offered(entry.fingerprint)
        elif isinstance(step := loop.step, CallModel) and isinstance(
            entry, ModelReplied | ModelFailed | Interrupted
        ):
            offered = {"tools": {}, "output": ""} if step.compaction else asked
            if step.request.compact:
                offered = {**asked, "output": "", "compact": True}
            request = {
                **offered,
                "system": redact_text(step.request.system),
                "messages": plain_messages(step.request.messages),
            }
            yield RecordedExchange(line, request, _answer(entry), deltas)
        loop.feed(entry)


def _answer(entry: ModelReplied | ModelFailed | Interrupted) -> Response | AgentError | None:
    if isinstance(entry, ModelReplied):
        return entry.response
    return entry.error if isinstance(entry, ModelFailed) else None


def _offered(fingerprint: Fingerprint | None) -> Json:
    return {} if fingerprint is None else {"tools": fingerprint.tools, "output": fingerprint.output}


def plain_request(request: Request) -> Json:
    """What identifies a request: its system prompt, messages, tools and output, without secrets."""
    return {
        "system": redact_text(request.system),
        "tools": hash_tools(request.tools),
        "output": "" if request.output is None else hash_output(request.output.name, request.output.schema),
        "messages": plain_messages(request.messages),
        "compact": request.compact,
    }


def plain_messages(messages: Sequence[Message]) -> list[Json]:
    """The messages as JSON values, without secrets; those of a history are converted once."""
    if not isinstance(messages, History):
        return [_plain_message(message) for message in messages]
    written: list[Json] = messages.derived.setdefault(_PLAIN_MESSAGES, [])
    written.extend(_plain_message(message) for message in messages[len(written) :])
    return written[: len(messages)]


def _plain_message(message: Message) -> Json:
    value: Json = {"role": message.role.value}
    if message.tool_call_id is not None:
        value["tool_call_id"] = message.tool_call_id
    if message.is_error:
        value["is_error"] = True
    only_text = len(message.parts) == 1 and isinstance(message.parts[0], Text)
    try:
        parts = json.loads(json.dumps(to_plain(message.parts)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"A recording can only hold what JSON can: {error}.") from error
    for part in parts:
        part.pop("behind", None)  # which follows from the messages, and older recordings do not have
    value["content"] = redact(parts[0]["text"] if only_text else parts)
    return value


class Playback:
    """Answers each recorded request once, the requests of a run in their order.

    ``name`` is what it is called in error messages, such as ``The cassette run.json``.
    """

    def __init__(self, name: str, runs: Iterable[Iterable[RecordedExchange]]) -> None:
        self._name = name
        self._runs = [deque(run) for run in runs]

    def next(self, asked: Json) -> RecordedExchange:
        """The exchange that answers a request; a ``CassetteMissError`` if none of the runs has it next."""
        for left in self._runs:
            if left and _difference(left[0].asked, asked) is None:
                return left.popleft()
        raise self._miss(asked)

    def _miss(self, asked: Json) -> CassetteMissError:
        refused = f"{self._name} has no answer to this request, and a recording never goes live."
        advice = "Undo the change, or record it again."
        heads = [left[0] for left in self._runs if left]
        if not heads:
            return CassetteMissError(f"{refused} All of its answers have been given already. {advice}")
        nearest = max(heads, key=lambda head: _closeness(head.asked, asked))
        found = _difference(nearest.asked, asked)
        assert found is not None  # noqa: S101 - it would have been the answer
        path, recorded, now = found
        return CassetteMissError(
            f"{refused} The nearest recorded request is answered on line {nearest.line}; they differ first at {path}: "
            f"recorded {_shown(recorded, now)}, asked {_shown(now, recorded)}. {advice}",
            line=nearest.line,
            difference=Divergence(nearest.line, path, recorded, now),
        )


def _difference(recorded: Json, asked: Json) -> tuple[str, Any, Any] | None:
    """Where two requests first differ; what is not known of the recorded one is not compared."""
    if "tools" in recorded:
        # A tool that Maverick brings along has no hash, and may have had one when it was recorded.
        builtin = {name for name, hashed in asked["tools"].items() if not hashed}
        tools = {name: "" if name in builtin else hashed for name, hashed in recorded["tools"].items()}
        recorded = {**recorded, "tools": tools}
    return first_difference(recorded, {name: asked[name] for name in recorded})


def _closeness(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[int, int, int]:
    """How near a recorded request is: first by how far the conversations agree, then by the rest, then by length."""
    theirs, ours = recorded["messages"], asked["messages"]
    agree = next((at for at, pair in enumerate(zip(theirs, ours, strict=False)) if pair[0] != pair[1]), None)
    same = sum(recorded[name] == asked[name] for name in recorded.keys() - {"messages"})
    return min(len(theirs), len(ours)) if agree is None else agree, same, -abs(len(theirs) - len(ours))


def _shown(value: object, other: object) -> str:
    """A value in an error message; of a long text, the part around the place where it differs from the other."""
    if value is UNSET:
        return "nothing"
    if not isinstance(value, str) or not isinstance(other, str):
        whole = repr(value)
        return whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]}…"
    pairs = enumerate(zip(value, other, strict=False))
    parts = next((at for at, (one, two) in pairs if one != two), min(len(value), len(other)))
    start = max(parts - _BEFORE, 0)
    end = start + _SHOWN
    return f"{'…' if start else ''}{value[start:end]!r}{'…' if end < len(value) else ''}"
