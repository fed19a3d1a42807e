"""Runs the chat agent: one message in, one answer out, and nothing kept in between."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from maverick.chat import phrases
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.contract import (
    AgentContext,
    AgentResult,
    AnswerTimeoutError,
    MessageWithAttachments,
    ToolCallRecord,
)
from maverick.chat.database import SessionFactory, owned_session
from maverick.chat.filtered_events import FilteredEvents
from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline import TaskModel
from maverick.chat.prompt import CHAT_LIMITS, MESSAGE_LENGTH, REMEMBERED_MESSAGES, chat_agent, room_for_answer
from maverick.chat.reply import compose, explain, tool_call_record, unfit_list
from maverick.chat.streaming import SentenceFilter
from maverick.chat.tables import Task, storable
from maverick.chat.task_session import Caller
from maverick.chat.tasks import TaskStore
from maverick.chat.tool_server import MCPToolServer
from maverick.exceptions import (
    LeaseLostError,
    MaverickError,
    RunExistsError,
    RunHandedOverError,
    RunNotFoundError,
)
from maverick.journal import Journal
from maverick.loop import AgentDefinition, RunConfig, TerminateReason
from maverick.loop.events import AgentActivityEvent
from maverick.loop.result import ToolOutcome
from maverick.model import Document, Effect, Image, LLMClient, Message, Role, Tool
from maverick.model.client import model_info, own_model, request_defaults
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import EventStream, Listener, log_failure
from maverick.telemetry import log
from maverick.tools.threads import run_in_thread

if TYPE_CHECKING:  # it brings MCP with it
    from maverick.tools.mcp import MCPToolset

_MOST_AGENTS = 64
"""How many users' agents are cached, where users have tools of their own."""
_TIME_IS_UP = "the time is up"
_NO_ANSWER = "a tool failed, or nothing that the model said may be shown; `maverick runs show` has the run"

_conversation_id: ContextVar[str] = ContextVar("conversation_id")
"""The conversation of a tool call: the tasks of a run inherit it from the one that started the run."""


class AgentRunner:
    """Runs the chat agent. One runner serves any number of users at once and keeps nothing about any of them.

    Args:
        session_factory: Makes fresh database sessions.
        mcp_server: The task tools.
        client: The model; by default the offline one, a small grammar for task lists.
        model: The ``provider:model`` to ask the client for; by default its own.
        journal: Where runs are kept, so that a request that is sent again after a crash continues where it stopped.
        toolsets: MCP servers whose tools the agent has besides the task tools.
        tools: Other tools it has.
        limits: The limits of an answer.
        today: Returns today's date.
    """

    def __init__(
        self,
        session_factory: SessionFactory,
        mcp_server: MCPToolServer,
        *,
        client: LLMClient | None = None,
        model: str | None = None,
        journal: Journal | None = None,
        toolsets: Sequence[MCPToolset] = (),
        tools: Sequence[Tool] = (),
        limits: RunConfig = CHAT_LIMITS,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.limits = limits
        """The limits of an answer."""
        self.journal = journal
        """Where runs are kept, if they are."""
        self._session_factory = session_factory
        self.model = model
        """The ``provider:model`` that answers, if it is not the client's own."""
        self._today = today
        self._tools = tuple(tools)
        self._server = mcp_server
        self._task_tools = mcp_server.tools(_conversation_id.get)
        self._toolsets = tuple(toolsets)
        client = client or TaskModel()
        self._is_offline = isinstance(client, TaskModel)
        info = model_info(client, model or own_model(client))
        self._max_tokens = room_for_answer(request_defaults(client).config, info)
        self._executor = AgentExecutor(client, journal=journal)
        self._has_tools_by_user = any(toolset.is_per_user for toolset in self._toolsets)
        self._agents: OrderedDict[str | None, AgentDefinition] = OrderedDict()

    async def run(
        self,
        context: AgentContext,
        message: str,
        *,
        request_id: str | None = None,
        run_id: str | None = None,
        signal: AbortSignal | None = None,
        attachments: Sequence[Image | Document] = (),
        on_activity: Listener | None = None,
        filtered: bool = True,
    ) -> AgentResult:
        """Answer a message.

        Args:
            context: The user, and the conversation so far.
            message: What the user says.
            request_id: The request's id, if it can be sent again: what it did is then not done a second time.
            run_id: The id of the run, instead of a request's id: for a server that has saved the message and checked
                it for an open confirmation. It must differ from the ids of all other users' runs.
            signal: Stops the answer when it is aborted; the text so far is kept.
            attachments: Images and documents that the user sends with the message.
            on_activity: Receives events.
            filtered: Whether the events have only the words that the user gets, as :meth:`stream` does, or all of the
                model's.

        Returns:
            The answer, and the tool calls made for it. Errors are part of it, in words for the user.

        Raises:
            AnswerTimeoutError: It took longer than the limits allow; what was done until then is in its ``result``.
            LeaseLostError: Another process has taken over the run ``run_id``.
        """
        message = storable(message).strip() if isinstance(message, str) else ""
        if not message or len(message) > MESSAGE_LENGTH:
            return _failure(phrases.missing("what you would like me to do, in a few words"))
        timeout, is_given = self.limits.timeout_ms, run_id is not None
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout / 1000
        run_id = run_id or _run_id(context, request_id)
        token = _conversation_id.set(context.conversation_id)
        try:
            with _stopping_at(deadline, signal) as stop:
                async with asyncio.timeout_at(deadline):
                    if not is_given:
                        await run_in_thread(self._check_message, context, message, request_id and run_id)
                    text = (await self.sentence_filter(context, message))()
                    KNOWN_TASKS.set(text.tasks)
                    agent = await self.agent(context.user_id)
                events = FilteredEvents(text, pure_tools(agent), on_activity, filtered=filtered)
                prompt = [*attachments, message] if attachments else message
                return await self._run(agent, context, prompt, run_id, stop, text, events)
        except AnswerTimeoutError:
            raise
        except Exception as error:  # the contract: whatever happens, the user gets a friendly reply
            if is_given and isinstance(error, LeaseLostError | RunHandedOverError):
                raise  # another process gives the answer
            if stop.reason == _TIME_IS_UP:
                answer = explain(TerminateReason.TIMEOUT, [], SentenceFilter(message))
                raise self._timed_out(answer, error) from error
            log_failure(logging.ERROR, "chat_failed", error, {"conversation_id": context.conversation_id})
            return _failure(phrases.TROUBLE)
        finally:
            _conversation_id.reset(token)

    async def stream(
        self,
        context: AgentContext,
        message: str,
        *,
        request_id: str | None = None,
        run_id: str | None = None,
        signal: AbortSignal | None = None,
        attachments: Sequence[Image | Document] = (),
    ) -> AsyncGenerator[AgentActivityEvent | AgentResult, None]:
        """Answer a message and yield events; the last item is the :class:`AgentResult`.

        Takes and raises what :meth:`run` does. Text comes in whole sentences that are final: together they are the
        beginning of the result's ``response``. Leaving the loop early stops the run.
        """

        def answer(listener: Listener) -> Coroutine[Any, Any, AgentResult]:
            return self.run(
                context,
                message,
                request_id=request_id,
                run_id=run_id,
                signal=signal,
                attachments=attachments,
                on_activity=listener,
            )

        async with EventStream(answer) as events:
            async for event in events:
                yield event
            yield await events.result

    async def agent(self, user_id: str | None = None) -> AgentDefinition:
        """The agent that answers a user, with all its tools; call it at startup to find configuration errors early.

        A plugged-in server that cannot be reached is left out, and tried again with the next message.

        Raises:
            InvalidToolError: Two tools have the same name.
        """
        whose = user_id if self._has_tools_by_user else None
        if whose in self._agents:
            self._agents.move_to_end(whose)
            return self._agents[whose]
        tools: list[Tool] = [*self._task_tools, *self._tools]
        is_complete = True
        for toolset in self._toolsets:
            try:
                tools += await toolset.tools(user_id)
            except MaverickError as error:
                is_complete = False
                log_failure(logging.WARNING, "mcp_server_left_out", error, {"server": toolset.name})
        agent = chat_agent(self.model, tools, self.limits, max_tokens=self._max_tokens)
        if is_complete:
            self._agents[whose] = agent
            if len(self._agents) > _MOST_AGENTS:
                self._agents.popitem(last=False)
        return agent

    async def sentence_filter(self, context: AgentContext, message: str) -> Callable[[], SentenceFilter]:
        """Makes what decides which of the model's words the user gets, by the tasks that they have now."""
        tasks = await run_in_thread(self._tasks_of, context.user_id)
        return partial(SentenceFilter, message, text_history(context), tasks, trusted=self._is_offline)

    async def known_run(self, context: AgentContext, run_id: str) -> str:
        """The id under which the journal has a server's run: Maverick 0.1.0 kept it under a hash."""
        old = _run_id(context, run_id)
        if self.journal is not None:
            with suppress(RunNotFoundError):
                await self.journal.get(old)
                return old
        return run_id

    async def aclose(self) -> None:
        """Close the connections to tool servers; the model's client is its owner's to close."""
        for toolset in self._toolsets:
            await toolset.aclose()
        await self._executor.aclose()

    async def _run(
        self,
        agent: AgentDefinition,
        context: AgentContext,
        prompt: str | Sequence[Any],
        run_id: str,
        stop: AbortSignal,
        text: SentenceFilter,
        events: FilteredEvents,
    ) -> AgentResult:
        try:
            result = await self._executor.execute(
                agent,
                inputs={"prompt": prompt, "today": f"{self._today():%A, %Y-%m-%d}"},
                messages=text_history(context),
                run_id=run_id,
                user_id=context.user_id,
                signal=stop,
                on_activity=events.put,
            )
        except RunExistsError:  # the request was sent before: its run continues, or gives its answer again
            # The agent is Maverick's own, so it may have changed with an upgrade, and with nothing else.
            result = await self._executor.resume(
                run_id, agent, accept_changes=True, signal=stop, on_activity=events.put
            )
        made = [record for record in result.tool_calls if record.outcome is not ToolOutcome.DENIED]
        calls = [tool_call_record(record) for record in made]
        for record in result.tool_calls:
            events.tool_ran(record.tool_name, record.arguments, record.result, record.outcome)
        if result.success:
            text.finish(result.raw_content)
            answer = compose(calls, text, await self._listed_again(calls, text, context.user_id))
            if not answer.is_answer:
                log(logging.WARNING, "chat_failed", {"run_id": run_id}, text=_NO_ANSWER)
        else:
            reason = TerminateReason.TIMEOUT if stop.reason == _TIME_IS_UP else result.terminate_reason
            if reason is TerminateReason.ABORTED:
                text.finish(result.raw_content, cut=True)
            answer = explain(reason, calls, text)
        is_bare_failure = not answer.is_answer and answer.response == answer.error
        events.finish("" if is_bare_failure else answer.response)
        if not result.success and reason is TerminateReason.TIMEOUT:
            raise self._timed_out(answer, result.errors[0])
        return answer

    async def _listed_again(
        self, calls: Sequence[ToolCallRecord], text: SentenceFilter, user_id: str
    ) -> ToolCallRecord | None:
        """The list that the user asked for: all of it, and as it is after what was done since the model looked at it."""
        wanted = unfit_list(calls, text)
        if wanted is None:
            return None
        result = await self._server.call(wanted.tool_name, wanted.parameters, Caller(user_id, ""))
        return replace(wanted, result=result)

    def _check_message(self, context: AgentContext, message: str, request: str | None) -> None:
        """Check whether the message answers an open confirmation: it is the user's, and not the model's."""
        with owned_session(self._session_factory, context.user_id, writes=True) as session:
            ConfirmationStore(session, context.user_id, context.conversation_id).check_message(
                message, request
            )

    def _tasks_of(self, user_id: str) -> list[Task]:
        with owned_session(self._session_factory, user_id) as session:
            return TaskStore(session, user_id).find()

    def _timed_out(self, answer: AgentResult, cause: Exception) -> AnswerTimeoutError:
        has_acted = answer.has_tool_calls
        advice = "Check what its tools have done before you ask again." if has_acted else "Please try again."
        return AnswerTimeoutError(
            f"The answer took longer than {(self.limits.timeout_ms or 0) / 1000:g} seconds. {advice}",
            answer,
            cause=cause,
            retryable=not has_acted,
        )


@contextmanager
def _stopping_at(deadline: float | None, signal: AbortSignal | None) -> Iterator[AbortSignal]:
    """A signal that stops a run when its time is up, or when the user stops it."""
    stop = AbortSignal()
    with ExitStack() as stack:
        if deadline is not None:
            stack.callback(asyncio.get_running_loop().call_at(deadline, stop.abort, _TIME_IS_UP).cancel)
        if signal is not None:
            stack.callback(signal.subscribe(lambda: stop.abort(signal.reason)))
            stack.callback(signal.subscribe(stop.hand_over, to_hand_over=True))
        yield stop


def _failure(words: str) -> AgentResult:
    return AgentResult(success=False, response=words, tool_calls=[], error=words)


def pure_tools(agent: AgentDefinition) -> frozenset[str]:
    """The names of an agent's tools that change nothing."""
    return frozenset(
        tool.name
        for tool in agent.tool_config.tools
        if not isinstance(tool, str) and getattr(tool, "effect", None) is Effect.PURE
    )


def _run_id(context: AgentContext, request_id: str | None) -> str:
    """The id of a run: different for every user, and the same when a request is sent again."""
    if request_id is None:
        return f"run_{os.urandom(16).hex()}"
    parts = "\0".join((context.user_id, context.conversation_id, request_id))
    return f"chat_{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


def text_history(context: AgentContext) -> list[Message]:
    """The conversation as the model sees it: beginning with the user, and not all of a long one.

    What we added to its words it does not see: it would begin to say so too.
    """
    remembered = [
        (
            past,
            past.content.removesuffix(phrases.UNSEEN).rstrip() if past.role == "assistant" else past.content,
        )
        for past in context.message_history[-REMEMBERED_MESSAGES:]
    ]
    messages = [
        Message(
            Role.USER if past.role == "user" else Role.ASSISTANT,
            [*past.attachments, words] if isinstance(past, MessageWithAttachments) else words,
        )
        for past, words in remembered
        if words.strip()
    ]
    while messages and messages[0].role is not Role.USER:
        del messages[0]
    return messages
