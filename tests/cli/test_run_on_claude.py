"""``maverick run`` on a server that speaks the Messages API."""

from __future__ import annotations

import pytest

from canary import CANARY
from cli.command import Terminal
from cli.folder import Folder
from wire.claude_server import HELLO, ClaudeServer


@pytest.mark.requirement("007-RUN")
def test_with_a_key_claude_answers(folder: Folder, server: ClaudeServer) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("text"))

    done = folder.main("run", "-p", "hi")

    assert (done.returncode, done.stdout) == (0, f"{HELLO}\n"), done.stderr
    assert "offline" not in done.stderr
    assert server.received[0].headers["x-api-key"] == CANARY
    assert {tool["name"] for tool in server.received[0].body["tools"]} >= {"read_file", "shell"}


@pytest.mark.requirement("007-RUN-LIMITS")
@pytest.mark.parametrize(
    ("scenario", "words", "code", "told"),
    [
        ("refusal", [], 5, "refused, 1 turn"),
        ("max_tokens", [], 4, "max_tokens, 1 turn"),
        ("wrong_key", [], 2, "did not accept the key"),
        ("text", ["--output-schema", "city.json"], 6, "complete, 3 turns"),
        ("hang", ["--timeout", "300ms"], 124, "timeout, 1 turn"),
        ("loop", ["--max-cost", "0.0001"], 4, "max_cost"),
    ],
)
def test_how_the_model_ends_it_decides_the_exit_code(
    scenario: str, words: list[str], code: int, told: str, folder: Folder, server: ClaudeServer
) -> None:
    folder.write("city.json", '{"type": "object", "required": ["city"]}')
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at(scenario))

    done = folder.main("run", "-p", "hi", *words)

    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert CANARY not in done.stdout + done.stderr


@pytest.mark.requirement("007-RUN", "P4")
def test_words_are_shown_as_they_come_and_stay_when_it_is_stopped_in_the_middle(
    folder: Folder, server: ClaudeServer
) -> None:
    env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": server.at("stall")}
    with Terminal("run", "-p", "hi", home=folder.path, env=env) as terminal:
        terminal.expect(HELLO[:5])
        terminal.type("\x03")

        assert terminal.end() == 130

    assert "(stopped)" in terminal.seen
    assert "aborted, 1 turn" in terminal.seen
    assert "Resume with: maverick runs resume run_" in terminal.seen
