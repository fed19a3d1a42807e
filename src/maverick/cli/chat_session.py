"""A conversation about one's tasks: kept in the chat's database, answered by the chat's runner."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from maverick.config import AgentConfig, load_config
from maverick.config.own_files import own_folder
from maverick.exceptions import AgentError, TimeoutError
from maverick.journal import Journal
from maverick.journal.opening import open_journal
from maverick.loop import AgentResult, TerminateReason
from maverick.loop.events import ActivityEvent, AgentActivityEvent, RunEnd
from maverick.loop.result import AgentUsage
from maverick.providers import Client
from maverick.providers.catalog import open_client
from maverick.providers.resolve import resolve
from maverick.runtime import AbortSignal
from maverick.tools.threads import run_in_thread

if TYPE_CHECKING:
    from maverick.chat import AgentContext, AgentRunner, Database
    from maverick.chat import AgentResult as ChatResult
    from maverick.tools.mcp import MCPToolset


class ChatSession:
    """A person's conversation with the task assistant.

    Its client is closed with it. By default, tasks and runs are kept where the settings say, for the user who is
    logged in.
    """

    def __init__(
        self,
        client: Client,
        model: str,
        *,
        database: str | None = None,
        journal: Journal | None = None,
        user_id: str | None = None,
    ) -> None:
        self._client = client
        self.model = model
        """The ``provider:model`` that answers."""
        self._location = database
        self._journal = journal
        self._user_id = user_id or current_user()
        self._conversation_id = str(uuid.uuid4())
        self.last: AgentResult[Any]
        """How the last run ended."""
        self.reply: ChatResult | None = None
        """The last answer, unless there was none."""
        self.run_ids: list[str] = []
        """The runs there were, oldest first."""

    @cached_property
    def _database(self) -> Database:
        from maverick.chat import Database  # here, so that a prompt is shown before what is heavy is loaded

        return Database(self._location or load_config().database.get_secret_value())

    @cached_property
    def _runner(self) -> AgentRunner:
        from maverick.chat import AgentRunner, MCPToolServer

        if self._journal is None:
            self._journal = open_journal(load_config().journal.get_secret_value())
        sessions = self._database.session
        return AgentRunner(
            sessions,
            MCPToolServer(sessions),
            client=self._client,
            model=self.model,
            journal=self._journal,
            toolsets=_plugged_in(own_folder()),
        )

    async def answer(
        self, text: str, *, signal: AbortSignal | None = None
    ) -> AsyncIterator[AgentActivityEvent]:
        """Answer, and yield what happens; ``last`` then tells how it ended.

        What was said is kept, unless there was no answer at all: such a question is asked again.
        """
        self.reply = None
        runs = len(self.run_ids)
        context = await run_in_thread(self._context)
        try:
            async for event in self._runner.stream(context, text, signal=signal):
                if isinstance(event, ActivityEvent):
                    if isinstance(event, RunEnd):
                        self.last = event.result
                        self.run_ids.append(event.run_id)
                    yield event
                else:
                    self.reply = event
        except TimeoutError as error:
            if len(self.run_ids) == runs:  # else the last event has said so
                self.last = _never_begun(error)
            return
        answer = self.reply
        if answer is not None and len(self.run_ids) == runs:
            self.last = _never_begun(AgentError(answer.response))
        is_empty = answer is None or (self.last.success and not (answer.is_answer or answer.tool_calls))
        if answer is not None and not is_empty and self.last.terminate_reason is not TerminateReason.ERROR:
            await run_in_thread(self._keep, text, answer)

    def start_anew(self) -> None:
        """Begin another conversation."""
        self._conversation_id = str(uuid.uuid4())

    async def aclose(self) -> None:
        """Let go of the model, the tools, the database and the journal."""
        if "_runner" in self.__dict__:
            await self._runner.aclose()
        await self._client.aclose()
        if self._journal is not None:
            await self._journal.aclose()
        if "_database" in self.__dict__:
            self._database.close()

    def _context(self) -> AgentContext:
        from maverick.chat import AgentContext
        from maverick.chat.conversations import ConversationStore
        from maverick.chat.database import owned_session

        with owned_session(self._database.session, self._user_id) as session:
            said = ConversationStore(session, self._user_id).history(self._conversation_id)
        return AgentContext.from_request(self._user_id, self._conversation_id, said)

    def _keep(self, text: str, answer: ChatResult) -> None:
        from maverick.chat.conversations import ConversationStore
        from maverick.chat.database import owned_session

        with owned_session(self._database.session, self._user_id, writes=True) as session:
            store = ConversationStore(session, self._user_id)
            store.save_user_message(self._conversation_id, text)
            store.save_assistant_message(self._conversation_id, answer.response, tool_calls=answer.tool_calls)


def _never_begun(error: AgentError) -> AgentResult[Any]:
    """The result of a run that there was none of."""
    return AgentResult.failure_result([error], AgentUsage(0, 0, None, 0))


def current_user() -> str:
    """The name of the user who is logged in."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return "me"


_WHAT = "Maverick's to-do assistant"


class Assistant(NamedTuple):
    """A model to talk to, and the line that introduces it."""

    client: Client
    model: str
    introduction: str


def choose_assistant(wanted: str | None, settings: AgentConfig, *, pace: float) -> Assistant:
    """The model that was asked for as ``provider:model``, or is configured, or else the offline one.

    ``pace`` is the seconds between two words of the offline model, which would otherwise answer all at once.
    """
    resolved = resolve(settings, wanted=wanted).check().check_settings()
    if resolved.provider != "offline":
        return Assistant(open_client(resolved), resolved.model, f"{_WHAT}, with {resolved.model}.")
    from maverick.chat.offline import TaskModel  # here, since a real model does without it

    why = f": {resolved.stand_in_reason}" if resolved.is_stand_in else ""
    client = TaskModel(pace=pace)
    return Assistant(client, resolved.model, f"{_WHAT}, with the offline model{why}.")


def _plugged_in(folder: Path) -> list[MCPToolset]:
    """The MCP servers that the user has plugged into the chat."""
    if not (folder / "mcp.json").exists():
        return []
    from maverick.tools.mcp import ToolPins, plugged_in  # here, since most users have none

    return plugged_in(folder / "mcp.json", ToolPins(folder / "mcp-tools.json"))
