"""``maverick run`` on a server that speaks the Messages API."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from cli.command import Terminal
from cli.folder import Folder
from wire.claude_server import HELLO, ClaudeServer

KEY = "sk-ant-canary-" + "c4n4ry" * 8


@pytest.fixture
def server() -> Iterator[ClaudeServer]:
    """The server, in a thread of its own: the command wants the main one, where Ctrl-C arrives."""
    loop, made = asyncio.new_event_loop(), ClaudeServer()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(made.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.requirement("007-RUN")
def test_with_a_key_claude_answers(folder: Folder, server: ClaudeServer) -> None:
    folder.set("ANTHROPIC_API_KEY", KEY)
    folder.set("ANTHROPIC_BASE_URL", server.at("text"))

    done = folder.main("run", "-p", "hi")

    assert (done.returncode, done.stdout) == (0, f"{HELLO}\n"), done.stderr
    assert "offline" not in done.stderr
    assert server.received[0].headers["x-api-key"] == KEY
    assert {tool["name"] for tool in server.received[0].body["tools"]} >= {"read_file", "shell"}


@pytest.mark.requirement("007-RUN-LIMITS")
@pytest.mark.parametrize(
    ("scenario", "words", "code", "told"),
    [
        ("refusal", [], 5, "refused, 1 turn"),
        ("max_tokens", [], 4, "max_tokens, 1 turn"),
        ("wrong_key", [], 1, "error, 1 turn"),
        ("text", ["--output-schema", "city.json"], 6, "complete, 3 turns"),
        ("hang", ["--timeout", "300ms"], 124, "timeout, 1 turn"),
        ("loop", ["--max-cost", "0.0001"], 4, "max_cost"),
    ],
)
def test_how_the_model_ends_it_decides_the_exit_code(
    scenario: str, words: list[str], code: int, told: str, folder: Folder, server: ClaudeServer
) -> None:
    folder.write("city.json", '{"type": "object", "required": ["city"]}')
    folder.set("ANTHROPIC_API_KEY", KEY)
    folder.set("ANTHROPIC_BASE_URL", server.at(scenario))

    done = folder.main("run", "-p", "hi", *words)

    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert KEY not in done.stdout + done.stderr


@pytest.mark.requirement("007-RUN", "P4")
def test_words_are_shown_as_they_come_and_stay_when_it_is_stopped_in_the_middle(
    folder: Folder, server: ClaudeServer
) -> None:
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.at("stall")}
    with Terminal("run", "-p", "hi", home=folder.path, env=env) as terminal:
        terminal.expect(HELLO[:5])
        terminal.type("\x03")

        assert terminal.end() == 130

    assert "(stopped)" in terminal.seen
    assert "aborted, 1 turn" in terminal.seen
    assert "Go on with: maverick runs resume run_" in terminal.seen
