"""The fleet that a command is about: from its options, and from the settings for what they leave out."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.config import MaverickConfig, TemporalConfig
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.fleet import Fleet
from maverick.journal import PostgresJournal
from maverick.journal.opening import open_journal

if TYPE_CHECKING:
    from temporalio.service import TLSConfig


async def open_fleet(
    config: MaverickConfig,
    temporal: str | None = None,
    database: str | None = None,
    *,
    tls: bool = False,
    option: str = "--temporal host:port",
) -> Fleet:
    """Connect to the fleet that is set, or named in the options of a command.

    ``option`` is the option of the command that names Temporal, for the error where nothing does.
    """
    settings = config.temporal
    address = temporal or settings.address
    if address is None:
        raise InvalidInputError(
            f"No fleet is configured. Name its Temporal server with {option}, MAVERICK_TEMPORAL or the setting temporal.",
            field="temporal",
        )
    journal = open_journal(database or config.journal.get_secret_value())
    if not isinstance(journal, PostgresJournal):
        raise InvalidInputError(
            "A fleet keeps its runs in Postgres. Name the database with --db postgresql://…, MAVERICK_JOURNAL or the "
            "setting journal.",
            field="db",
        )
    key = settings.api_key
    return await Fleet.connect(
        temporal=address,
        journal=journal,
        namespace=settings.namespace,
        tls=_certificates(settings) or tls or settings.tls,
        api_key=None if key is None else key.get_secret_value(),
        queue=settings.queue,
        max_runs_per_user=config.max_runs_per_user,
    )


@asynccontextmanager
async def named_fleet(options: argparse.Namespace) -> AsyncIterator[tuple[Fleet, Console]]:
    """The fleet that the options of a command name, and what tells of it."""
    async with await open_fleet(load_settings(), options.temporal, options.db, tls=options.tls) as fleet:
        yield fleet, Console(fleet.journal, Screen.of_process(), options.as_json, options.db)


def _certificates(settings: TemporalConfig) -> TLSConfig | None:
    if not (settings.tls_ca or settings.tls_cert or settings.tls_key):
        return None
    if bool(settings.tls_cert) is not bool(settings.tls_key):
        missing = "tls_key" if settings.tls_cert else "tls_cert"
        problem = f"temporal.{missing} is missing: a client's certificate and its key belong together."
        raise ConfigError(problem, field=f"temporal.{missing}")
    from temporalio.service import TLSConfig  # here, since `maverick.fleet` says if it is missing

    return TLSConfig(
        server_root_ca_cert=_content(settings, "tls_ca"),
        client_cert=_content(settings, "tls_cert"),
        client_private_key=_content(settings, "tls_key"),
    )


def _content(settings: TemporalConfig, name: str) -> bytes | None:
    path = getattr(settings, name)
    if path is None:
        return None
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            f"temporal.{name}: {path} could not be read. Check the path and its permissions.",
            source=settings.source_of(name),
            field=f"temporal.{name}",
        ) from error
