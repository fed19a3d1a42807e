"""An editor: the client of the Agent Client Protocol's own package, with the command as its child process."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from acp import PROTOCOL_VERSION, Client, connect_to_agent, text_block
from acp.client import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    CreateFormSessionElicitationRequest,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    Implementation,
    InitializeResponse,
    PromptResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
)
from pydantic import BaseModel

from canary import lookout
from cli.command import PATIENCE, environment
from warm_start import Maverick

Answer = str | None | Callable[["Editor"], Any]
_REQUESTS: dict[str, type[BaseModel]] = {
    CLIENT_METHODS["session_update"]: SessionNotification,
    CLIENT_METHODS["session_request_permission"]: RequestPermissionRequest,
    CLIENT_METHODS["elicitation_create"]: CreateFormSessionElicitationRequest,
}


class Editor:
    """What an editor hears, and what its user answers."""

    def __init__(self) -> None:
        self.agent: ClientSideConnection
        self.process: Maverick
        self.initialized: InitializeResponse
        self.heard: list[tuple[str, dict[str, Any]]] = []
        """Each update with its session, as it came over the wire."""
        self.asked: list[RequestPermissionRequest] = []
        self.answers: list[Answer] = []
        """The options that the user chooses one after the other; ``None`` dismisses the question."""
        self.forms: list[tuple[str, Any]] = []
        """The forms that the agent has shown: the words above, and the schema."""
        self.filled: list[dict[str, Any] | None] = []
        """What the user fills in, one form after the other; ``None`` declines."""
        self.problems: list[str] = []
        """What of the agent's messages is not as the protocol has it."""
        self._known: set[str | None] = set()
        """The sessions that the editor has named, or was told of in a response."""
        self._changed = asyncio.Event()

    # What the agent calls -----------------------------------------------------------------------------------------

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        raw = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        self.heard.append((session_id, raw))
        self._changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(
            RequestPermissionRequest(session_id=session_id, tool_call=tool_call, options=options)
        )
        self._changed.set()
        chosen = self.answers.pop(0)
        if callable(chosen):
            chosen = await chosen(self)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(
        self, message: str, mode: Any, **_: Any
    ) -> AcceptElicitationResponse | DeclineElicitationResponse:
        self.forms.append((message, mode.requested_schema))
        content = self.filled.pop(0)
        if content is None:
            return DeclineElicitationResponse(action="decline")
        return AcceptElicitationResponse(action="accept", content=content)

    def on_connect(self, conn: Any) -> None:
        pass

    async def ended(self) -> int:
        """The exit code, once the process has ended."""
        return await asyncio.to_thread(self.process.wait, PATIENCE)

    # What a test does ---------------------------------------------------------------------------------------------

    async def new(self, folder: Path, *servers: Any) -> str:
        """Open a session in a folder."""
        return (await self.agent.new_session(cwd=str(folder), mcp_servers=list(servers))).session_id

    async def prompt(self, session_id: str, *blocks: Any) -> PromptResponse:
        """Send a prompt, and wait until it was answered."""
        prompt = [text_block(block) if isinstance(block, str) else block for block in blocks]
        return await asyncio.wait_for(self.agent.prompt(prompt=prompt, session_id=session_id), PATIENCE)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def updates(self, kind: str, session_id: str | None = None) -> list[dict[str, Any]]:
        """The updates of a kind."""
        return [
            update
            for session, update in self.heard
            if update["sessionUpdate"] == kind and session_id in (None, session)
        ]

    def said(self, session_id: str | None = None, kind: str = "agent_message_chunk") -> str:
        """What the agent has said."""
        return "".join(update["content"]["text"] for update in self.updates(kind, session_id))

    def observe(self, event: StreamEvent) -> None:
        """Hold what the agent sends to the protocol's own schema: nothing may be lost or be changed by reading it."""
        message = event.message
        sent = "params" if event.direction is StreamDirection.OUTGOING else "result"
        self._known.add((message.get(sent) or {}).get("sessionId"))
        if event.direction is StreamDirection.INCOMING and message.get("method") in _REQUESTS:
            try:
                json.dumps(message, ensure_ascii=False).encode()
                read = _REQUESTS[message["method"]].model_validate(message["params"])
                assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == message["params"]
                assert message["params"]["sessionId"] in self._known, (
                    "the editor does not know the session yet"
                )
            except (ValueError, AssertionError) as error:  # which the connection would only log
                self.problems.append(f"{error}: {message}")
        lookout.look("a message to an editor", repr(message))


@asynccontextmanager
async def editor(
    folder: Path, *words: str, shows_forms: str | bool = False, **env: str
) -> AsyncIterator[Editor]:
    """An editor that has started ``maverick acp`` and asked what it can do."""
    forms = ElicitationCapabilities(form=ElicitationFormCapabilities()) if shows_forms else None
    made, loop = Editor(), asyncio.get_running_loop()
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with Maverick("acp", *words, env=environment(folder, **env), cwd=folder, **pipes) as made.process:
        assert made.process.stdin is not None
        reader = asyncio.StreamReader(limit=2**26)
        incoming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), made.process.stdout
        )
        outgoing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, made.process.stdin)
        writer = asyncio.StreamWriter(outgoing, flow, None, loop)
        made.agent = connect_to_agent(
            cast("Client", made), writer, reader, observers=[made.observe], use_unstable_protocol=True
        )
        try:
            made.initialized = await made.agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(elicitation=forms),
                client_info=Implementation(name="test", version="1"),
            )
            yield made
        finally:
            outgoing.close()
            try:
                await made.ended()
            finally:
                made.process.kill()
                await made.agent.close()
                incoming.close()
    assert made.problems == []
