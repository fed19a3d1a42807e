"""What a command loads before it does its work: nobody waits for what the command does not need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.command import run

NEVER = frozenset(
    {
        "aiohttp",
        "anthropic",
        "claude_agent_sdk",
        "email.message",
        "fastapi",
        "html.parser",
        "httpx",
        "importlib.metadata",
        "mcp",
        "maverick.agents.base",
        "maverick.agents.context",
        "maverick.agents.markdown",
        "maverick.journal.memory",
        "maverick.processes",
        "maverick.tui.gauge",
        "openai",
        "opentelemetry",
        "pydantic",
        "pydantic_core",
        "rich",
        "sqlalchemy",
        "sysconfig",
        "textual",
        "yaml",
    }
)
"""What a run on the offline model does without."""
NOT_FOR_WORDS = frozenset(
    {"asyncio", "difflib", "msgspec", "sqlite3", "ssl", "maverick.config", "maverick.loop"}
)
"""What it takes to run an agent, and not to say how."""


def loaded_by(*arguments: str, home: Path, said: str = "") -> set[str]:
    """The modules that a command loads, from its start to its end."""
    done = run(*arguments, home=home, said=said, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE))


@pytest.mark.requirement("CLI-START")
def test_a_run_and_a_look_at_it_load_only_what_they_need(tmp_path: Path) -> None:
    for words in (("run", "-p", "hi"), ("run", "-p", "hi", "--json"), ("runs", "list"), ("config", "show")):
        loaded = loaded_by(*words, home=tmp_path)

        assert "maverick.config" in loaded
        assert loaded & NEVER == set(), words


@pytest.mark.requirement("CLI-START")
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("run", "--help")], ids=" ".join)
def test_help_loads_next_to_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert loaded_by(*words, home=tmp_path) & (NEVER | NOT_FOR_WORDS) == set()


@pytest.mark.requirement("CLI-START")
def test_a_chat_is_ready_for_the_first_word_before_it_has_loaded_the_database_and_mcp(tmp_path: Path) -> None:
    loaded = loaded_by("chat", home=tmp_path, said="/help\n")

    assert "maverick.chat.offline" in loaded
    assert loaded & NEVER == set()
