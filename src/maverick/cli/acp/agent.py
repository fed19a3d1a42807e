"""The agent's side of the protocol: each method that an editor calls, and how errors are told to it.

Above it is the official package, which reads and writes the messages; below it are sessions, each a conversation of runs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.helpers import update_available_commands, update_current_mode
from acp.interfaces import Client
from msgspec import structs

import maverick
from maverick.agents.conversations import (
    Conversation,
    FolderConversations,
    every_folder,
    messages_of,
    new_conversation,
)
from maverick.cli.acp.content import Block, said_in, title_of
from maverick.cli.acp.controls import STATUS, choose, commands_of, expanded, modes_of, options_of, status_of
from maverick.cli.acp.session import EditorSession, Served
from maverick.cli.exit_codes import is_misuse
from maverick.config.mcp_server import HandedServer
from maverick.exceptions import InvalidInputError, JournalError, MaverickError
from maverick.loop import AgentResult, TerminateReason
from maverick.misuse import refuse
from maverick.runtime.replay import load_beginning

P = ParamSpec("P")
R = TypeVar("R")
Servers: TypeAlias = (
    Sequence[schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer | schema.McpServerStdio] | None
)

_INVALID, _FAILED, _NOT_FOUND = -32602, -32603, -32002
_MOST_SESSIONS = 256
_MOST_SERVERS = 64
_PAGE = 50
_CURSOR = re.compile(r"[0-9]{1,9}")
_STOPS: dict[TerminateReason, schema.StopReason] = {
    TerminateReason.COMPLETE: "end_turn",
    TerminateReason.AWAITING_APPROVAL: "end_turn",
    TerminateReason.ABORTED: "cancelled",
    TerminateReason.REFUSED: "refusal",
    TerminateReason.MAX_TOKENS: "max_tokens",
    TerminateReason.MAX_TOTAL_TOKENS: "max_tokens",
}
"""How a run ended, in the protocol's words; of limits it only knows those of tokens and of requests."""


def explained(method: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Tell errors of a method as the protocol does; nothing raw gets out."""

    @wraps(method)
    async def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await method(*args, **kwargs)
        except RequestError:
            raise
        except MaverickError as error:
            raise _told(error) from error
        except Exception as error:
            problem = f"Internal error: {type(error).__name__}. This is a bug in Maverick."
            raise RequestError(_FAILED, problem) from error

    return told


def _told(error: Exception) -> RequestError:
    return RequestError(_INVALID if is_misuse(error) else _FAILED, str(error))


def _offered(session: EditorSession) -> dict[str, Any]:
    """What can be chosen in a session, as each response that opens one has it."""
    return {"modes": modes_of(session), "config_options": options_of(session)}


class EditorAgent:
    """Answers an editor. Each session has its own folder, tools, mode and model."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._client: Client | None = None
        self._shows_forms = False
        self._sessions: dict[str, EditorSession] = {}

    def on_connect(self, conn: Client) -> None:
        """Take the connection to the editor."""
        self._client = conn

    @explained
    async def initialize(
        self, client_capabilities: schema.ClientCapabilities | None = None, **_: Any
    ) -> schema.InitializeResponse:
        """Hear what the editor can do, and say what this agent can."""
        asked = None if client_capabilities is None else client_capabilities.elicitation
        self._shows_forms = asked is not None and asked.form is not None
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="maverick", title="Maverick", version=maverick.__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    # Sessions -----------------------------------------------------------------------------------------------------

    @explained
    async def new_session(self, cwd: str, mcp_servers: Servers = None, **_: Any) -> schema.NewSessionResponse:
        """Begin a conversation in a folder."""
        session = await self._opened(new_conversation(self._served.source), cwd, mcp_servers)
        return schema.NewSessionResponse(session_id=session.id, **_offered(session))

    @explained
    async def load_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Continue a conversation, and show what was said so far."""
        session = await self._reopened(session_id, cwd, mcp_servers)
        await session.replay()
        return schema.LoadSessionResponse(**_offered(session))

    @explained
    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> schema.ResumeSessionResponse:
        """Continue a conversation that the editor still shows."""
        return schema.ResumeSessionResponse(**_offered(await self._reopened(session_id, cwd, mcp_servers)))

    @explained
    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> schema.ForkSessionResponse:
        """Begin a conversation with what was said in another, which stays as it is."""
        runs = self._known(session_id).runs
        if runs and await messages_of(self._served.journal, runs[-1]) is None:
            runs = runs[:-1]  # it continues in the other conversation
        fork = structs.replace(new_conversation(self._served.source), runs=runs)
        session = await self._opened(fork, cwd, mcp_servers)
        return schema.ForkSessionResponse(session_id=session.id, **_offered(session))

    @explained
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """The conversations of a folder, or of all, the newest of each first: those begun in a terminal too."""
        folders = every_folder() if cwd is None else {cwd: FolderConversations(_path(cwd)).all()}
        known = [
            (folder, one) for folder, conversations in folders.items() for one in conversations if one.runs
        ]
        begin = int(cursor) if cursor is not None and _CURSOR.fullmatch(cursor) else 0
        found = [await self._info(folder, one) for folder, one in known[begin : begin + _PAGE]]
        return schema.ListSessionsResponse(
            sessions=[info for info in found if info is not None],
            next_cursor=str(begin + _PAGE) if len(known) > begin + _PAGE else None,
        )

    @explained
    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Stop what a session does, and let go of it; it can be loaded again."""
        session = self._session(session_id)
        del self._sessions[session_id]
        await session.aclose()
        return schema.CloseSessionResponse()

    async def aclose(self) -> None:
        """Stop the runs of all sessions; they can be resumed."""
        await asyncio.gather(*(session.aclose() for session in self._sessions.values()))

    # Choices ------------------------------------------------------------------------------------------------------

    @explained
    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Change what the agent may do without asking; it counts at once, for a run in progress too."""
        session = self._session(session_id)
        choose(session, "mode", mode_id)
        options = options_of(session)
        session.tell(schema.ConfigOptionUpdate(session_update="config_option_update", config_options=options))
        return schema.SetSessionModeResponse()

    @explained
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Change the mode at once, or the model or its effort from the next prompt on."""
        session = self._session(session_id)
        choose(session, config_id, value)
        if config_id == "mode":
            session.tell(update_current_mode(str(session.mode.mode)))
        return schema.SetSessionConfigOptionResponse(config_options=options_of(session))

    # Prompts ------------------------------------------------------------------------------------------------------

    @explained
    async def prompt(self, session_id: str, prompt: Sequence[Block], **_: Any) -> schema.PromptResponse:
        """Answer a prompt."""
        session = self._session(session_id)
        said = said_in(prompt, session.folder)
        if said == f"/{STATUS.name}":
            session.remark(status_of(session))
            await session.told()
            return schema.PromptResponse(stop_reason="end_turn")
        result = await session.prompt(await expanded(session, said))
        if result.terminate_reason is TerminateReason.ERROR and result.errors:
            raise _told(result.errors[0])
        if result.terminate_reason is TerminateReason.REFUSED:
            session.forget_last()
        stop = _STOPS.get(result.terminate_reason)
        if stop is None or result.terminate_reason is TerminateReason.AWAITING_APPROVAL:
            session.remark(f"\n\n({result.error or f'stopped: {result.terminate_reason}'})")
            await session.told()
        return schema.PromptResponse(stop_reason=stop or "max_turn_requests", usage=_usage(result))

    @explained
    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop what a session does."""
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    # ---------------------------------------------------------------------------------------------------------------

    async def _opened(self, conversation: Conversation, cwd: str, servers: Servers) -> EditorSession:
        if len(self._sessions) >= _MOST_SESSIONS:
            raise InvalidInputError(
                f"{_MOST_SESSIONS} sessions are open, which is the most. Close one.", field="session"
            )
        assert self._client is not None  # noqa: S101 - a request comes over a connection
        handed = tuple(_handed(servers or ()))
        session = EditorSession(
            self._served, self._client, conversation, _folder(cwd), handed, shows_forms=self._shows_forms
        )
        try:
            await session.open()
            commands = await commands_of(session)
        except BaseException:
            await session.aclose()
            raise
        self._sessions[session.id] = session
        session.tell(update_available_commands(commands))
        # By the next step of the event loop, the response that names the session is on its way.
        asyncio.get_running_loop().call_soon(session.announce)
        return session

    async def _reopened(self, session_id: str, cwd: str, servers: Servers) -> EditorSession:
        conversation = self._known(session_id)
        if conversation.runs:
            agent = (await self._served.journal.get(conversation.runs[-1])).agent
            if agent != (served := self._served.found.name):
                raise InvalidInputError(
                    f"This conversation is with the agent {agent!r}, and this is {served!r}. Start: maverick acp {agent}",
                    field="session",
                )
        if (open_one := self._sessions.pop(session_id, None)) is not None:
            await open_one.aclose()
        return await self._opened(conversation, cwd, servers)

    def _known(self, session_id: str) -> Conversation:
        if session_id in self._sessions:
            return self._sessions[session_id].conversation
        known = [one for one in chain.from_iterable(every_folder().values()) if one.id == session_id]
        if known:  # in more than one folder if the editor has opened it elsewhere
            return max(known, key=lambda one: len(one.runs))
        raise RequestError(_NOT_FOUND, f"There is no session {session_id!r}. Start a new one.")

    def _session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(_NOT_FOUND, f"No session {session_id!r} is open. Load it, or start a new one.")
        return self._sessions[session_id]

    async def _info(self, folder: str, conversation: Conversation) -> schema.SessionInfo | None:
        try:
            first = await load_beginning(self._served.journal, conversation.runs[0])
            last = await self._served.journal.get(conversation.runs[-1])
        except JournalError:  # it was removed, is damaged, or is in another journal
            return None
        if last.agent != self._served.found.name:
            return None  # another agent could not continue it
        title = title_of(first.messages[-1].content) if first.messages else ""
        return schema.SessionInfo(
            session_id=conversation.id,
            cwd=folder,
            title=title or None,
            updated_at=datetime.fromtimestamp(last.updated_at, UTC).isoformat(timespec="seconds"),
        )


def _path(cwd: str) -> Path:
    try:
        cwd.encode()
    except UnicodeEncodeError as error:
        problem = "cwd: the path is not valid Unicode (it has a lone surrogate)."
        raise InvalidInputError(problem, field="cwd") from error
    return Path(cwd)


def _folder(cwd: str) -> Path:
    folder = _path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        refuse("cwd", f"expected the absolute path of a folder, got {cwd!r}.")
    return folder


def _handed(servers: Sequence[Any]) -> Iterator[HandedServer]:
    if len(servers) > _MOST_SERVERS:
        refuse("mcpServers", f"at most {_MOST_SERVERS} are taken.")
    taken: set[str] = set()
    for server in servers:
        name = re.sub(r"[^A-Za-z0-9]+", "-", server.name).strip("-") or "server"
        while name in taken:
            name += "-2"
        taken.add(name)
        given: dict[str, Any] = {"name": name, "source": "the editor", "project": "editor"}
        if isinstance(server, schema.McpServerStdio):
            env = {variable.name: variable.value for variable in server.env}
            yield HandedServer(**given, command=server.command, args=server.args, env=env)
        elif isinstance(server, schema.HttpMcpServer):
            headers = {header.name: header.value for header in server.headers}
            yield HandedServer(**given, url=server.url, headers=headers)
        else:
            refuse(
                "mcpServers",
                f"{server.name!r} is reached in a way that this agent does not take. Use stdio or HTTP.",
            )


def _usage(result: AgentResult[Any]) -> schema.Usage:
    usage = result.usage
    return schema.Usage(
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_read_tokens=usage.cache_read_tokens,
        cached_write_tokens=usage.cache_write_tokens,
    )
