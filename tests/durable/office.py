"""A small office: an agent with a tool of each effect, and a journal that can be cut off as by a kill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maverick import AgentDefinition, AgentExecutor, PromptConfig, RunConfig, ToolConfig, ToolContext, tool
from maverick.journal import Journal
from maverick.model import Outcome, Request, Role
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient
from maverick.tools import FunctionTool


class ProcessDied(BaseException):
    """Stands for a kill: nothing after it is written, and nobody handles it."""


def die_at(journal: Journal, point: str, nth: int = 1, *, before: bool = True) -> None:
    """Cut the process off at the nth write of this name, before or after it is durable."""
    seen = 0

    def on_write(name: str, is_before: bool) -> None:
        nonlocal seen
        if name == point and is_before is before:
            seen += 1
            if seen == nth:
                journal.on_write = None
                raise ProcessDied

    journal.on_write = on_write


class Office:
    """Tools that note what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.mail_arrived: bool | None = None
        """What the mail server says when it is asked."""

        @tool(effect="pure")
        async def look(what: str) -> str:
            """Look at something."""
            return self.act("look", what)

        @tool(effect="keyed")
        async def book(what: str, ctx: ToolContext) -> str:
            """Book something."""
            return self.act("book", ctx.idempotency_key)

        @tool
        async def send(to: str) -> str:
            """Send a letter."""
            return self.act("send", to)

        @tool
        async def mail(to: str) -> str:
            """Send a mail."""
            return self.act("mail", to)

        @mail.reconcile
        async def did_it_arrive(args: dict[str, Any], _: ToolContext) -> Outcome:
            if self.mail_arrived is None:
                return Outcome.unknown()
            return Outcome.done(f"mailed {args['to']}") if self.mail_arrived else Outcome.not_done()

        @tool(approval=True)
        async def shred(what: str) -> str:
            """Shred something."""
            return self.act("shred", what)

        self.tools: list[FunctionTool[..., Any]] = [look, book, send, mail, shred]

    def act(self, name: str, what: str) -> str:
        self.done.append(f"{name} {what}")
        return f"{name}: {what}"

    def clerk(self, **options: Any) -> AgentDefinition:
        settings: dict[str, Any] = {
            "prompt_config": PromptConfig("Be brief.", ["Do it."]),
            "run_config": RunConfig(retry_delay=0),
            "tool_config": ToolConfig(tools=self.tools),
        }
        return AgentDefinition("clerk", "Does office work.", **settings | options)


def by_turn(*turns: TurnLike) -> Callable[[Request], TurnLike]:
    """Answers that depend on how far the conversation is, so that any process can give the next one."""
    return lambda request: turns[sum(message.role is Role.ASSISTANT for message in request.messages)]


def executor(journal: Journal, *turns: TurnLike, **options: Any) -> AgentExecutor:
    return AgentExecutor(ScriptedClient(by_turn(*turns)), journal=journal, **options)
