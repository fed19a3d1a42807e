"""``maverick serve``: the Chat API and its web page, until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import uvicorn
from fastapi import FastAPI
from msgspec import structs

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import names_coding_tools
from maverick.agents.running import agent_executor, has_own_executor, offered_agents
from maverick.agents.skills import load_skills
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.database import default_database
from maverick.chat.prompt import CHAT_LIMITS
from maverick.cli.agent_lookup import explain_stand_in, find_agent, look_up, who_answers
from maverick.cli.chat_session import Assistant, choose_assistant, current_user
from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.models import offered_models
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.config import MaverickConfig
from maverick.config.installation import extra_needed
from maverick.config.own_files import own_folder
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.journal import Journal
from maverick.journal.opening import open_journal
from maverick.loop import AgentDefinition
from maverick.providers import Client
from maverick.providers.network import is_loopback
from maverick.server import (
    OidcVerifier,
    Principal,
    ServedAgent,
    ServerLimits,
    TokenSigner,
    Verifier,
    client_protocol,
    create_app,
)
from maverick.server.authentication import LocalSignIn
from maverick.server.tokens import own_secret
from maverick.telemetry import configure_logging

if TYPE_CHECKING:
    from maverick.fleet import Fleet

_Made: TypeAlias = tuple[FastAPI, str, Sequence[Client | Journal]]
"""An app, a line that says who answers, and what is closed after it."""
_METRICS_VARIABLE = "MAVERICK_SERVER_METRICS_TOKEN"
PACE = 0.02
"""Seconds between two words of the offline model, for a person who watches."""
_KEEP_ALIVE = 75
"""Seconds an idle connection is kept: longer than the usual proxy does, so that it is the proxy that closes it."""
_LEAVE_SECONDS = 3
"""How long open streams may hold up the end; their clients come back to the next server."""


def serve(options: argparse.Namespace) -> int:
    """Serve until the process is stopped."""
    settings = load_settings(asks=True, for_agents=bool(options.agents))
    loop_factory = uvicorn.Config("").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(_serve(options, settings))


async def _serve(options: argparse.Namespace, settings: MaverickConfig) -> int:
    in_fleet = options.temporal is not None or settings.temporal.address is not None
    _check(options, in_fleet=in_fleet)
    _check_address(options.host, options.port)
    app, introduction, closes = await (_fleet_app if in_fleet else _local_app)(options, settings)
    local = _local_sign_in(options)
    app.state.service.local = local
    configure_logging(logging.WARNING)
    sys.stderr.write(f"{introduction}\n")
    config = uvicorn.Config(
        app,
        http=client_protocol(),
        ws="none",
        host=options.host,
        port=options.port,
        log_level="warning",
        server_header=False,
        # Only a proxy says for whom it asks: other programs of this machine would choose who they are.
        proxy_headers=bool(options.allowed_hosts),
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_LEAVE_SECONDS,
    )
    server = _Server(app, config, opens_browser=not options.no_browser, closes=closes, local=local)
    if local is not None:
        local.on_used = server.say_where
    await server.serve()
    return SUCCESS if server.started else FAILURE


def _check(options: argparse.Namespace, *, in_fleet: bool) -> None:
    if options.db and not in_fleet:
        raise InvalidInputError(
            "--db is the database of a fleet: name its Temporal server with --temporal too. Without a fleet, use "
            "--database.",
            field="db",
        )
    for name, instead in (
        ("model", "Workers answer; their settings say with which model."),
        ("database", "A fleet has one database: --db."),
    ):
        if in_fleet and getattr(options, name):
            raise InvalidInputError(f"--{name} cannot be used with a fleet. {instead}", field=name)


def _check_address(host: str, port: int) -> None:
    """Refuse an address where no server can listen, before anything else is opened."""
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = f"Port {port} is already in use" if taken else f"No server can listen at {host}, port {port}"
        raise InvalidInputError(
            f"{why}. Choose another with --{'port' if taken else 'host and --port'}{', or stop the other program' * taken}.",
            field="port",
        ) from error


async def _local_app(options: argparse.Namespace, settings: MaverickConfig) -> _Made:
    """An app whose own process makes the answers."""
    journal = open_journal(settings.journal.get_secret_value())
    database = Database(options.database) if options.database else default_database()
    if options.agents:
        agents = _served_agents(
            options.agents, settings, journal, Screen.of_process(), options.model, offered=_offered(options)
        )
        app = _app(options, None, database, agents=agents, journal=journal)
        return app, _named(agents), (journal,)
    assistant = choose_assistant(options.model, settings.agent, pace=PACE)
    runner = chat_runner(database, options.max_spend, journal, assistant)
    return _app(options, runner, database), assistant.introduction, (assistant.client, journal)


async def _fleet_app(options: argparse.Namespace, settings: MaverickConfig) -> _Made:
    """An app for whose answers the workers of a fleet are asked."""
    with extra_needed("temporal", "`maverick serve --temporal`"):
        from maverick.cli.fleet.connection import open_fleet  # here, since it needs the extra temporal
    fleet = await open_fleet(settings, options.temporal, options.db, tls=options.tls)
    database = Database(options.db or settings.journal.get_secret_value())
    if options.agents:
        agents = _served_agents(options.agents, settings, fleet.journal, Screen.of_process(), in_fleet=True)
        app = _app(options, None, database, agents=agents, journal=fleet.journal, fleet=fleet)
        return app, f"{_named(agents)} The workers of a fleet answer.", ()
    runner = chat_runner(database, options.max_spend)
    return _app(options, runner, database, fleet=fleet), "Maverick, with the workers of a fleet.", ()


def _offered(options: argparse.Namespace) -> list[str] | None:
    """The models that users may choose: what was named, and else on one's own machine all of the provider."""
    named: list[str] = options.offer_models
    return named if named or not is_loopback(options.host) else None


def _named(agents: Sequence[ServedAgent]) -> str:
    return f"Maverick, with {', '.join(agent.definition.name for agent in agents)}."


class _Server(uvicorn.Server):
    """A server that says where it is once it can be reached."""

    def __init__(
        self,
        app: FastAPI,
        config: uvicorn.Config,
        *,
        opens_browser: bool,
        closes: Sequence[Client | Journal],
        local: LocalSignIn | None,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._opens_browser = opens_browser
        self._closes = closes
        self._local = local
        self._link: Path | None = None
        self._url = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if not self.started:
            return
        address = self.servers[0].sockets[0].getsockname()
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self._url = f"http://{host}:{address[1]}/"
        self.say_where("Maverick is at", "(Ctrl-C stops it)")
        if self._opens_browser:
            page = self._url if self._local is None else self._write_link(self._local)
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    def _write_link(self, local: LocalSignIn) -> str:
        """Write a page that only this user can open, and that signs in: others can see arguments of programs, and logs."""
        folder = own_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._link = folder / f"serve-{os.getpid()}.html"
        self._link.touch(mode=0o600)
        refresh = f'<meta http-equiv="refresh" content="0; url={local.address(self._url)}">'
        self._link.write_text(f"<!doctype html>{refresh}", "utf-8")
        return self._link.as_uri()

    def say_where(self, before: str = "For another browser:", after: str = "(works once)") -> None:
        """Print the address; on a terminal with the token that signs in, elsewhere with the file that has it."""
        url = self._url
        if self._local is not None and sys.stdout.isatty():
            url = self._local.address(url)
        elif self._local is not None:
            try:
                after = f"(to sign in, open {self._write_link(self._local)})"
            except (ConfigError, OSError):  # there is no home, or no room in it
                after = "(start it in a terminal to be signed in automatically)"
        sys.stdout.write(f"{before} {url} {after}\n")
        sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let go of everything; streams first, since no end is in sight for some."""
        await self._app.state.service.aclose()
        await super().shutdown(sockets)
        for part in self._closes:
            await part.aclose()
        if self._link is not None:
            self._link.unlink(missing_ok=True)


def _app(
    options: argparse.Namespace,
    runner: AgentRunner | None,
    database: Database,
    *,
    agents: Sequence[ServedAgent] = (),
    journal: Journal | None = None,
    fleet: Fleet | None = None,
) -> FastAPI:
    return create_app(
        runner,
        database,
        agents=agents,
        journal=journal,
        verifier=_verifier(options),
        signup=options.signup,
        limits=ServerLimits(spend_usd_per_day=options.max_spend),
        metrics_token=os.environ.get(_METRICS_VARIABLE) or None,
        allowed_hosts=[options.host, *options.allowed_hosts],
        fleet=fleet,
    )


def chat_runner(
    database: Database,
    max_spend: float | None,
    journal: Journal | None = None,
    assistant: Assistant | None = None,
) -> AgentRunner:
    """What answers in the chat, or only knows the agent that does.

    An answer is limited if what a user may spend a day is.
    """
    spend: dict[str, Any] = {} if max_spend is None else {"max_cost_usd": ServerLimits().answer_usd}
    return AgentRunner(
        database.session,
        MCPToolServer(database.session),
        client=None if assistant is None else assistant.client,
        model=None if assistant is None else assistant.model,
        journal=journal,
        limits=replace(CHAT_LIMITS, **spend),
    )


def _verifier(options: argparse.Namespace) -> Verifier:
    if not options.oidc_issuer:
        return TokenSigner(own_secret())
    if not options.oidc_audience:
        problem = "--oidc-audience: name what the tokens of the sign-in service are meant for."
        raise InvalidInputError(problem, field="oidc_audience")
    return OidcVerifier(options.oidc_issuer, options.oidc_audience)


def _local_sign_in(options: argparse.Namespace) -> LocalSignIn | None:
    """No account is asked for on one's own machine: its user has the tasks and conversations of ``maverick chat``."""
    if options.oidc_issuer or options.allowed_hosts or not is_loopback(options.host):
        return None
    return LocalSignIn(Principal(current_user(), current_user()))


def _served_agents(
    sources: Iterable[str],
    config: MaverickConfig,
    journal: Journal,
    screen: Screen,
    model: str | None = None,
    *,
    offered: Sequence[str] | None = (),
    in_fleet: bool = False,
) -> list[ServedAgent]:
    """The agents to serve, each run as the command line runs it.

    A source is the name of an agent, a Markdown file, a Python file or a module, the last two with ``:NAME`` after them
    for one agent. ``model`` answers in place of each agent's own. Users may choose between the models ``offered``;
    ``None`` stands for the current ones of the provider that answers. Where workers run them, ``in_fleet``, no model is
    needed here.
    """
    found = [agent for source in sources for agent in _found(source, config)]
    problems: list[ConfigError] = []
    served = []
    for agent in found:
        definition = agent.runnable(config)
        if type(definition) is not AgentDefinition:
            raise InvalidInputError(
                f"{agent.name}: an agent that is a class takes no messages, so it cannot be served. Use "
                "`maverick run` for it.",
                field="agents",
            )
        try:
            answering = None if in_fleet else who_answers(agent, definition, model, config.agent)
        except ConfigError as error:  # it is listed as not available, with the reason
            problems.append(error)
            answering = None
        if answering is not None:
            definition = replace(
                definition, model_config=replace(definition.model_config, model=answering.model)
            )
            if remark := explain_stand_in(answering):
                screen.remark(f"({agent.name}: {remark})")
        agent = structs.replace(agent, agent=definition)  # noqa: PLW2901 - the same agent, on its model
        opened = partial(agent_executor, agent, config, journal)
        is_own = has_own_executor(agent)
        models = [] if is_own or answering is None else _choices(answering.model, offered)
        has_skills = not in_fleet and names_coding_tools(definition)
        skills = partial(load_skills, Path.cwd()) if has_skills else None
        served.append(ServedAgent(definition, opened, for_each_user=is_own, models=models, skills=skills))
    if problems and len(problems) == len(served):
        raise problems[0]
    for problem in problems:
        screen.remark(f"(not available: {problem})")
    return served


def _choices(model: str, offered: Sequence[str] | None) -> list[str]:
    """The models to choose between: none if there is only one."""
    others = offered_models(model.partition(":")[0]) if offered is None else offered
    found = list(dict.fromkeys((model, *others)))
    return found if len(found) > 1 else []


def _found(source: str, config: MaverickConfig) -> Iterator[DiscoveredAgent]:
    path, _, name = source.rpartition(":")
    if path and not path.endswith(".py"):
        yield find_agent(path, name)
    elif path or not (source.endswith((".py", ".md")) or "." in Path(source).name):
        yield look_up(source, config)
    else:
        yield from offered_agents(config, [source]).values()
