"""The conversations of ``maverick serve`` on a worker: it makes the answers that servers of the same fleet ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing

from maverick.chat import Database
from maverick.cli.chat_session import choose_assistant
from maverick.cli.serve import PACE, chat_runner
from maverick.config import MaverickConfig
from maverick.exceptions import ConfigError
from maverick.fleet import Fleet
from maverick.fleet.worker import Offer, OwnDrive
from maverick.loop import AgentDefinition
from maverick.server import ServedAgent, ServerLimits
from maverick.server.agents import Agents
from maverick.server.answer_maker import AnswerMaker
from maverick.server.answer_store import AnswerStore
from maverick.server.answerers import AgentAnswerer, Answerer, TaskChat
from maverick.server.fleet_answers import chat_drive, fleet_name
from maverick.server.limits import AdmissionQueue
from maverick.server.tables import SERVER
from maverick.tools.threads import run_in_thread


@asynccontextmanager
async def chat_offer(
    fleet: Fleet,
    config: MaverickConfig,
    address: str,
    agents: Mapping[str, Offer],
    *,
    with_tasks: bool,
    max_spend: float | None,
    on_remark: Callable[[str], object] | None,
) -> AsyncIterator[Mapping[str, OwnDrive]]:
    """What a worker answers in conversations with: its agents, and the task chat on the configured model, or the offline one.

    ``address`` is the database of the fleet, which has the chat's tables too; a user may spend ``max_spend`` a day.
    ``on_remark`` is told why the task chat is left out, if its model cannot be used; without it that is an error.
    """
    with closing(Database(address)) as database:
        async with AsyncExitStack() as stack:
            answerers: list[Answerer] = [
                AgentAnswerer(
                    ServedAgent(offer.definition, offer.executor, for_each_user=offer.for_each_user),
                    fleet.journal,
                )
                for offer in agents.values()
                if type(offer.definition) is AgentDefinition  # a class takes no messages
            ]
            if with_tasks:
                answerers += await _task_chat(stack, fleet, config, database, max_spend, on_remark)
            if not answerers:
                yield {}
                return
            database.include(SERVER)
            await run_in_thread(lambda: database.engine)
            limits, served = ServerLimits(), Agents(answerers)
            store = AnswerStore(database.session, limits, served)
            maker = AnswerMaker(store, AdmissionQueue(limits.waiting))
            await stack.enter_async_context(aclosing(served))
            await stack.enter_async_context(aclosing(maker))
            drive = chat_drive(maker)
            yield {fleet_name(answerer.name): drive for answerer in answerers}


async def _task_chat(
    stack: AsyncExitStack,
    fleet: Fleet,
    config: MaverickConfig,
    database: Database,
    max_spend: float | None,
    on_remark: Callable[[str], object] | None,
) -> list[Answerer]:
    try:
        assistant = choose_assistant(None, config.agent, pace=PACE)
    except ConfigError as error:
        if on_remark is None:
            raise
        on_remark(f"(the chat is left out: {error})")
        return []
    await stack.enter_async_context(aclosing(assistant.client))
    return [TaskChat(chat_runner(database, max_spend, fleet.journal, assistant))]
