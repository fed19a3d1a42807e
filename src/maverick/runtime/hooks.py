"""Hooks: a program's own code around model calls and tool calls, for guardrails, redaction and policies.

What a hook decides is recorded before it is acted on, or is part of what is recorded: a run that is resumed, replayed or
forked has the same decisions, and no hook is asked twice about the same thing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from inspect import isawaitable
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import HookError, RetryOutput, ToolError, describe_unknown
from maverick.loop.config import shown
from maverick.loop.entries import CallReview, CallsReviewed, ModelReplied, OutputChecked, RequestReviewed
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.loop.steps import CallModel, ReviewCalls
from maverick.loop.tool_round import PlannedCall
from maverick.misuse import refuse
from maverick.model import (
    Message,
    Part,
    Request,
    Response,
    Role,
    StructuredResult,
    Text,
    ToolCall,
    ToolContext,
)
from maverick.model.message import text_of
from maverick.runtime.event_log import log_failure
from maverick.runtime.interruption import RunInterrupted
from maverick.runtime.run import Run
from maverick.tools.argument_check import check_arguments

R = TypeVar("R")

MaybeAwaitable: TypeAlias = R | Awaitable[R]
"""What a method returns that may be ``async`` or not."""

_METHODS = ("before_model", "after_model", "before_tool", "after_tool")


class Refuse(Struct, frozen=True):
    """What a hook returns to refuse: the call is not made, or what came back is withheld."""

    reason: str
    """Why: the model sees it where a tool is refused, the caller where the run ends."""


class Hooks:
    """The base class of hooks. Each method does nothing; override those you need, ``async`` or not.

    A method returns ``None`` to leave things as they are. One that raises ends the run with a ``HookError``. Hooks are
    asked in order, each with what the one before it has made. ``ctx.agent`` names the agent, subagents with their path.
    """

    def before_model(
        self, request: Request, ctx: ToolContext, /
    ) -> MaybeAwaitable[str | Sequence[Message] | Refuse | None]:
        """Before the model is called, once a turn; a retry of the same request is not asked about again.

        Returns:
            A text, which is added to the conversation as the user's words; or the messages to continue with, one for each
            of ``request.messages`` and more at the end; or ``Refuse``, which ends the run.
        """

    def after_model(
        self, response: Response, ctx: ToolContext, /
    ) -> MaybeAwaitable[str | Response | Refuse | None]:
        """When the model has answered, before anything is done about it. Listeners have seen its text as it streamed.

        Returns:
            A text in place of the answer's text, whose tool calls stay; or another response; or ``Refuse``, which ends
            the run without the answer.
        """

    def before_tool(
        self, call: ToolCall, ctx: ToolContext, /
    ) -> MaybeAwaitable[Mapping[str, Any] | Refuse | None]:
        """Before a tool call runs; permissions and people then decide on what is returned.

        Returns:
            Other arguments, all of them; or ``Refuse``, and the model is told the reason. ``call`` is a copy: changing it
            changes nothing, and is an error.
        """

    def after_tool(
        self, call: ToolCall, result: StructuredResult, ctx: ToolContext, /
    ) -> MaybeAwaitable[str | StructuredResult | Refuse | None]:
        """When a tool has its result, before that is recorded: what is taken out here is in no journal.

        Returns:
            A text in place of the whole result, its data and images included; or another result; or ``Refuse``, and the
            model is told that the tool has run, and why it does not see the result.
        """


class CallResult(Struct, frozen=True):
    """The result of a tool call, before it is recorded."""

    outcome: ToolOutcome
    content: str
    data: dict[str, Any] | None = None
    parts: tuple[Part, ...] = ()


class HookChain:
    """The hooks of an executor; one that is no hook, or has a method that would never be called, is refused."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        if not isinstance(hooks, list | tuple):
            refuse("hooks", f"expected a list of hooks, got {shown(hooks)}. Write [MyHooks()].")
        for index, hook in enumerate(hooks):
            _check(f"hooks[{index}]", hook)
        self.names = tuple(type(hook).__qualname__ for hook in hooks)
        """What they are called: a run that is begun with them is not resumed without."""
        self._before_model = _that_override("before_model", hooks)
        self._after_model = _that_override("after_model", hooks)
        self._before_tool = _that_override("before_tool", hooks)
        self.after_tool = _that_override("after_tool", hooks)
        """The hooks that want to see results."""

    @property
    def see_answers(self) -> bool:
        """Whether any of them wants to see answers."""
        return bool(self._after_model)

    async def review_request(
        self, run: Run[Any], step: CallModel, ctx: ToolContext[Any]
    ) -> RequestReviewed | None:
        """What the hooks decide about the next request, if they decide anything."""
        if run.loop.reviewed or not self._before_model:
            return None
        known: Sequence[Message] = run.loop.conversation.history
        messages, by = known, list[str]()
        for hook in self._before_model:
            ask = Asked(run, hook, "before_model")
            answer = await ask(replace(step.request, messages=messages, compact=False), ctx)
            if answer is None:
                continue
            if isinstance(answer, Refuse):
                return RequestReviewed(at=run.clock.now(), by=ask.name, refusal=ask.reason(answer))
            messages = ask.conversation(messages, answer)
            by.append(ask.name)
        since = next((at for at, message in enumerate(known) if messages[at] is not message), len(known))
        replaced, added = tuple(messages[since : len(known)]), tuple(messages[len(known) :])
        if not replaced and not added:
            return None
        return RequestReviewed(
            at=run.clock.now(),
            by=", ".join(by),
            since=since if replaced else 0,
            messages=replaced,
            added=added,
        )

    async def review_response(self, run: Run[Any], response: Response, ctx: ToolContext[Any]) -> ModelReplied:
        """The model's answer, as the hooks leave it."""
        for hook in self._after_model:
            ask = Asked(run, hook, "after_model")
            answer = await ask(response, ctx)
            if isinstance(answer, Refuse):
                return ModelReplied(
                    at=run.clock.now(),
                    response=response.with_parts(()),
                    refusal=ask.reason(answer),
                    refused_by=ask.name,
                )
            response = response if answer is None else ask.response(response, answer)
        review = bool(self._before_tool and response.tool_calls)
        return ModelReplied(at=run.clock.now(), response=response, review=review)

    async def review_calls(self, run: Run[Any], step: ReviewCalls, deadline: float | None) -> CallsReviewed:
        """What the hooks decide about the tool calls of a turn."""
        reviews = [await self._review_call(run, planned, deadline) for planned in step.calls]
        return CallsReviewed(
            at=run.clock.now(), calls=tuple(review for review in reviews if review is not None)
        )

    async def _review_call(
        self, run: Run[Any], planned: PlannedCall, deadline: float | None
    ) -> CallReview | None:
        call, by = planned.call, list[str]()
        ctx = run.context(planned.turn, deadline, planned)
        for hook in self._before_tool:
            ask = Asked(run, hook, "before_tool")
            given = _copy(call)
            answer = await ask(given, ctx)
            if isinstance(answer, Refuse):
                return CallReview(planned.index, ask.name, refusal=ask.reason(answer))
            if answer is not None:
                ask.check_editable(call, "arguments", "refuse the call instead")
                call = replace(call, arguments=ask.arguments(call.tool_name, answer), block=None)
                by.append(ask.name)
            elif given.arguments != call.arguments:
                ask.fail("changed call.arguments in place, which changes nothing. Return the new arguments")
        if call.arguments == planned.call.arguments:
            return None
        return CallReview(planned.index, ", ".join(by), call=call)

    async def review_result(
        self, run: Run[Any], call: ToolCall, result: CallResult, ctx: ToolContext[Any]
    ) -> CallResult:
        """The result of a tool call, as the hooks leave it."""
        for hook in self.after_tool:
            ask = Asked(run, hook, "after_tool")
            failed = result.outcome is not ToolOutcome.FINISHED
            shown = StructuredResult(result.content, deepcopy(result.data or {}), failed, result.parts)
            answer = await ask(_copy(call), shown, ctx)
            if answer is not None:
                ask.check_editable(call, "result", "its model has seen it")
            if isinstance(answer, Refuse):
                text = f"The tool has run, and its result is withheld: {ask.reason(answer)}"
                return CallResult(ToolOutcome.FAILED, text)
            if isinstance(answer, str):
                result = CallResult(result.outcome, answer)
            elif isinstance(answer, StructuredResult):
                result = ask.result(shown, answer)
            elif answer is not None:
                ask.fail(
                    f"returned a {type(answer).__name__}; expected a text, a StructuredResult, Refuse or None"
                )
        return result


class Asked:
    """A hook that is asked something. What goes wrong with it ends the run, and names it."""

    def __init__(self, run: Run[Any], hook: object, method: str = "") -> None:
        own = getattr(hook, "__name__", type(hook).__name__)
        self.name = f"{own}.{method}" if method else own
        self._run = run
        self._ask: Callable[..., Any] = getattr(hook, method or "__call__")

    async def __call__(self, *question: object) -> Any:  # noqa: ANN401 - checked by who asks
        """The answer; a hook that fails ends the run, and a validator may ask for another answer."""
        try:
            answer = self._ask(*question)
            return await answer if isawaitable(answer) else answer
        except (RunInterrupted, RetryOutput):
            raise
        except Exception as error:  # noqa: BLE001 - code of the program's own may raise anything
            log_failure(logging.ERROR, "hook_failed", error, self._run.ids | {"hook": self.name})
            self.fail(f"failed with {type(error).__name__}; its traceback is in the log", error)

    def fail(self, what: str, cause: Exception | None = None) -> NoReturn:
        """End the run, which can be resumed once the hook is corrected."""
        error = HookError(f"{self.name} {what}. Correct it and resume the run.", hook=self.name, cause=cause)
        raise RunInterrupted(TerminateReason.ERROR, error.message, error)

    def check_editable(self, call: ToolCall, what: str, why: str) -> None:
        """Fail if what it changes cannot be changed, since a program such as the Claude CLI runs the call by itself."""
        if not getattr(self._run.toolset.tools.get(call.tool_name), "editable", True):
            self.fail(f"changed the {what} of {call.tool_name}, which a program runs by itself: {why}")

    def reason(self, refusal: Refuse) -> str:
        """Why it refuses."""
        if not isinstance(refusal.reason, str) or not refusal.reason:
            self.fail("refused without a reason. Write Refuse('why')")
        return refusal.reason

    def json(self, value: object) -> dict[str, Any]:
        """JSON values, of its answer's own."""
        try:
            made = msgspec.json.decode(msgspec.json.encode(value))
        except (TypeError, ValueError, RecursionError) as error:
            self.fail("returned what has no JSON form", error)
        if not isinstance(made, dict):
            self.fail(f"returned a {type(value).__name__}; expected a dict, Refuse or None")
        return made

    def arguments(self, tool_name: str, answer: object) -> dict[str, Any]:
        """Other arguments for a tool, which fit it."""
        made = self.json(answer)
        try:
            if (tool := self._run.toolset.tools.get(tool_name)) is not None:
                check_arguments(tool, made)
        except ToolError as error:
            self.fail(f"returned arguments that do not fit {tool_name}: {error}", error)
        return made

    def conversation(self, messages: Sequence[Message], answer: object) -> Sequence[Message]:
        """The conversation to continue with."""
        if isinstance(answer, str):
            return (*messages, Message.user(answer)) if answer else messages
        if not isinstance(answer, Sequence) or not all(isinstance(message, Message) for message in answer):
            self.fail(
                f"returned a {type(answer).__name__}; expected a text, a list of Message, Refuse or None"
            )
        for before, after in zip(messages, answer, strict=False):
            if after is not before and _shape(after) != _shape(before):
                self.fail("replaced a message by one of another role, or with other tool calls")
        added = answer[len(messages) :]
        if len(answer) < len(messages) or any(message.role is not Role.USER for message in added):
            self.fail("removed messages, or added some that are not the user's")
        return answer

    def response(self, response: Response, answer: object) -> Response:
        """The answer to continue with."""
        if isinstance(answer, Response):
            return answer
        if not isinstance(answer, str):
            self.fail(f"returned a {type(answer).__name__}; expected a text, a Response, Refuse or None")
        kept = [part for part in response.parts if not isinstance(part, Text)]
        calls = [part for part in kept if isinstance(part, ToolCall)]
        rest = [part for part in kept if not isinstance(part, ToolCall)]
        return response.with_parts([*rest, *([Text(answer)] if answer else []), *calls])

    def result(self, shown: StructuredResult, answer: StructuredResult) -> CallResult:
        """The result to continue with; a text that was changed replaces every text in it."""
        content, parts = answer.text, answer.parts
        if parts is not shown.parts:
            content = text_of(parts) or content
        elif content != shown.text:
            media = [part for part in parts if not isinstance(part, Text)]
            parts = (Text(content), *media) if media else ()
        data = self.json(answer.data) if answer.data else None
        outcome = ToolOutcome.FAILED if answer.is_error else ToolOutcome.FINISHED
        return CallResult(outcome, content, data, parts)


async def check_output(run: Run[Any], output: object, ctx: ToolContext[Any]) -> OutputChecked:
    """What the validators of a run's output say of an answer."""
    config = run.loop.definition.output_config
    dumped = ""
    for validator in () if config is None else config.validators:
        ask = Asked(run, validator)
        try:
            answer = await ask(output, ctx)
        except RetryOutput as retry:
            return OutputChecked(at=run.clock.now(), retry=str(retry) or "It is not what was asked for.")
        if answer is not None and config is not None:
            try:
                dumped = config.format.dump(answer)
                output = config.format.restore(dumped)
            except ValueError as error:
                ask.fail(f"returned what is not a valid {config.output_name}", error)
    return OutputChecked(at=run.clock.now(), output=dumped)


def _that_override(method: str, hooks: Sequence[Hooks]) -> tuple[Hooks, ...]:
    """The hooks with a method of their own: only those are ever called."""
    return tuple(hook for hook in hooks if getattr(type(hook), method) is not getattr(Hooks, method))


def _check(where: str, hook: object) -> None:
    if isinstance(hook, type):
        refuse(where, f"{hook.__name__} is a class; write {hook.__name__}().")
    if not isinstance(hook, Hooks):
        refuse(
            where, f"expected an object of a class Hooks, got {hook!r}. Derive its class from maverick.Hooks."
        )
    for name in dir(hook):
        if name.startswith(("before_", "after_")) and name not in _METHODS:
            refuse(
                where,
                f"{type(hook).__name__}.{name} is never called. {describe_unknown('hook', name, _METHODS)}",
            )


def _copy(call: ToolCall) -> ToolCall:
    """The call, for code that must not change what the model said."""
    return replace(call, arguments=deepcopy(call.arguments))


def _shape(message: object) -> object:
    """What has to stay the same of a message, so that every tool call keeps its result."""
    if not isinstance(message, Message):
        return None
    return message.role, message.tool_call_id, [call.id for call in message.tool_calls]
