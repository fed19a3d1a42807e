from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from canary import CANARY
from cli.command import Terminal
from wire.claude_server import SENTENCE, ClaudeServer

CTRL_C, CTRL_D = "\x03", "\x04"


def test_a_person_can_talk_and_leave(tmp_path: Path) -> None:
    with Terminal("chat", home=tmp_path) as terminal:
        terminal.expect("offline model")
        terminal.expect("> ")
        terminal.type("add tea\n")
        terminal.expect("Added 'tea' to your list.")
        terminal.expect("> ")
        terminal.type("delete it\n")
        terminal.expect("Do you really want to delete 'tea'?")
        terminal.expect("> ")
        terminal.type("/help\n")
        terminal.expect("Ctrl-C stops an answer")
        terminal.expect("> ")
        terminal.type("/nonsense\n")
        terminal.expect("There is no command /nonsense")
        terminal.expect("> ")
        terminal.type("/quit\n")

        assert terminal.end() == 0


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_ctrl_c_and_ctrl_d_at_the_prompt_leave(key: str, tmp_path: Path) -> None:
    with Terminal("chat", home=tmp_path) as terminal:
        terminal.expect("> ")

        assert terminal.leave(key) == 0
        assert "Traceback" not in terminal.seen


async def test_ctrl_c_stops_the_answer_keeps_what_there_is_and_goes_on(tmp_path: Path) -> None:
    async with ClaudeServer() as server:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": server.at("stall_after_a_sentence")}

        def talk() -> int:
            with Terminal("chat", home=tmp_path, env=env) as terminal:
                terminal.expect("> ")
                for text in ("first", "second"):
                    terminal.type(f"{text}\n")
                    terminal.expect(SENTENCE)
                    terminal.type(CTRL_C)
                    terminal.expect("(stopped)")
                    terminal.expect("> ")
                terminal.type(CTRL_D)
                return terminal.end()

        assert await asyncio.to_thread(talk) == 0

    asked, partly_answered, asked_again = server.received[1].body["messages"]
    assert [asked["role"], partly_answered["role"], asked_again["role"]] == ["user", "assistant", "user"]
    assert partly_answered["content"][0]["text"].startswith(SENTENCE)  # what had come


async def test_a_failing_model_is_told_in_a_line_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async with ClaudeServer() as server:
        env = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": server.at("wrong_key")}

        def talk() -> int:
            with Terminal("chat", home=tmp_path, env=env) as terminal:
                for _ in range(2):
                    terminal.expect("> ")
                    terminal.type("hello\n")
                    terminal.expect("maverick: ")
                terminal.expect("> ")
                terminal.type("/quit\n")
                assert "Traceback" not in terminal.seen
                return terminal.end()

        assert await asyncio.to_thread(talk) == 0

    assert [len(received.body["messages"]) for received in server.received] == [1, 1]


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_it_is_coloured_in_a_terminal_unless_that_is_unwanted(
    env: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    with Terminal("chat", home=tmp_path, env=env) as terminal:
        terminal.expect("> ")
        terminal.type("/quit\n")
        terminal.end()

        assert ("\x1b[1mMaverick" in terminal.seen) is coloured
