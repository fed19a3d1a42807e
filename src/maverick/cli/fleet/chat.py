"""The chat of ``maverick serve`` on a worker: it makes the answers that servers of the same fleet ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, closing

from maverick.chat import Database
from maverick.cli.assistant import choose_assistant
from maverick.cli.serve import PACE, chat_runner
from maverick.config import MaverickConfig
from maverick.exceptions import ConfigError
from maverick.fleet import Fleet
from maverick.fleet.worker import OwnDrive
from maverick.server import ServerLimits
from maverick.server.agents import Agents
from maverick.server.answer_maker import AnswerMaker
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import TaskChat
from maverick.server.fleet_answers import CHAT, chat_drive
from maverick.server.limits import AdmissionQueue
from maverick.server.schema import SERVER
from maverick.tools.threads import run_in_thread


@asynccontextmanager
async def chat_offer(
    fleet: Fleet,
    config: MaverickConfig,
    address: str,
    *,
    max_spend: float | None,
    on_remark: Callable[[str], object] | None,
) -> AsyncIterator[Mapping[str, OwnDrive]]:
    """What a worker answers the chat with: the configured model, or the offline one.

    Args:
        fleet: The fleet.
        config: The settings.
        address: The database of the fleet, which has the chat's tables too.
        max_spend: What a user may spend a day, if that is limited: then an answer is, too.
        on_remark: Told why the chat is left out, if its model cannot be used; without it that is an error.

    Raises:
        ConfigError: There is no key for the model.
        StorageError: The database cannot be opened.
    """
    try:
        assistant = choose_assistant(None, config.agent, pace=PACE)
    except ConfigError as error:
        if on_remark is None:
            raise
        on_remark(f"(the chat is left out: {error})")
        yield {}
        return
    with closing(Database(address)) as database:
        database.include(SERVER)
        await run_in_thread(lambda: database.engine)
        runner = chat_runner(database, max_spend, fleet.journal, assistant)
        limits = ServerLimits()
        maker = AnswerMaker(
            Agents([TaskChat(runner)]), AnswerStore(database.session, limits), AdmissionQueue(limits.waiting)
        )
        async with aclosing(assistant.client), aclosing(runner), aclosing(maker):
            yield {CHAT: chat_drive(maker)}
