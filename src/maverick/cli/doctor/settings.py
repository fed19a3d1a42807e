"""Looks at what a person has set, and at what belongs to them: keys, the journal, agents."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import maverick
from maverick.cli.agent_lookup import discovery
from maverick.cli.config.files import settings_files
from maverick.cli.doctor.finding import Finding, Health
from maverick.cli.figures import counted
from maverick.config import DEFAULT, AgentConfig, MaverickConfig, load_config
from maverick.exceptions import ConfigError, MaverickError
from maverick.providers.resolve import key_variable, resolve

_PROVIDERS = {"claude": "Claude", "openai": "OpenAI"}


def examine_settings() -> Iterator[Finding]:
    """The program itself, and whether the settings can be read."""
    yield Finding("maverick", Health.GOOD, f"{maverick.__version__}, on Python {platform.python_version()}")
    try:
        config = load_config()
    except ConfigError as error:
        yield Finding(
            "settings", Health.WRONG, str(error), "correct it; until then the defaults are looked at"
        )
        return
    files = [str(path) for path in settings_files() if path.is_file()]
    yield Finding("settings", Health.GOOD, ", ".join(files) or "the defaults")
    yield _model(config.agent)


def _model(settings: AgentConfig) -> Finding:
    """Who answers an agent that names no model."""
    try:
        answering = resolve(settings).check()
    except MaverickError as error:
        return Finding("model", Health.WRONG, str(error), "correct it, or choose another model")
    said = ", ".join(
        f"{setting.field.removeprefix('agent.')} {setting.value} ({setting.source})"
        for setting in answering.describe()[2:]
        if setting.source != DEFAULT
    )
    from_where = answering.sources["model"]
    return Finding("model", Health.GOOD, f"{answering.model} ({from_where}){said and f'; {said}'}")


def examine_keys() -> Iterator[Finding]:
    """Whether there are keys; what they are is nobody's business."""
    settings = _config().agent
    for provider, name in _PROVIDERS.items():
        try:
            found = resolve(settings, named=f"{provider}:any")
            found.check_key_owner()
        except MaverickError as error:
            yield Finding(f"{name} key", Health.WRONG, str(error), f"export {key_variable(provider)}=…")
            continue
        if found.api_key is not None:
            yield Finding(f"{name} key", Health.GOOD, f"set in {found.sources['api_key']}")
        else:
            yield Finding(f"{name} key", Health.MISSING, "not set", f"export {key_variable(provider)}=…")


def examine_journal() -> Iterator[Finding]:
    """Whether the journal opens."""
    location = _config().journal.get_secret_value()
    shown = "a database" if "://" in location else location
    try:
        path = Path(location).expanduser()
    except RuntimeError:  # the user of a container may have no home
        fix = "set the variable HOME, or name a file with MAVERICK_JOURNAL"
        yield Finding("journal", Health.WRONG, f"{shown} can not be made, since you have no home folder", fix)
        return
    if "://" not in location and not path.exists():
        yield _journal_to_be(path, shown)
        return
    try:
        count = asyncio.run(_count_runs(location))
    except MaverickError as error:
        fix = "correct the setting journal or MAVERICK_JOURNAL, or move the file away"
        yield Finding("journal", Health.WRONG, f"{shown} does not open: {error}", fix)
    else:
        yield Finding(
            "journal", Health.GOOD, f"{shown}, {counted(count, 'run')}" + ("+" if count == 1000 else "")
        )


def _journal_to_be(path: Path, shown: str) -> Finding:
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if os.access(there, os.W_OK):
        return Finding("journal", Health.GOOD, f"{shown}, made with the first run")
    return Finding(
        "journal", Health.WRONG, f"{shown} can not be made", f"allow writing in {there}, or name another"
    )


async def _count_runs(location: str) -> int:
    from maverick.journal.opening import open_journal

    async with open_journal(location, create=False) as journal:
        return len(await journal.list_runs(limit=1000))


def examine_agents() -> Iterator[Finding]:
    """Whether all agents can be read."""
    looking = discovery(_config())
    names = [found.name for found in looking.all()]
    yield Finding("agents", Health.GOOD, ", ".join(names) or "none")
    for problem in looking.problems:
        yield Finding("agents", Health.WRONG, str(problem), "correct it, or remove it")


def _config() -> MaverickConfig:
    """The settings, or the defaults where they are wrong, which is told elsewhere."""
    try:
        return load_config()
    except ConfigError:
        return MaverickConfig()
