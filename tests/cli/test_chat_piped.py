from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from canary import CANARY, lookout
from cli.command import PATIENCE, environment, run
from cli.folder import Folder
from maverick.chat.phrases import UNSEEN, unbacked
from scripts import run_python
from warm_start import Maverick
from wire.claude_server import HELLO, ClaudeServer

SPOKEN = HELLO.split(". ")[1].split()[0]
"""What a chat may say of that answer: no word about servers, and an emoji only to celebrate."""


def test_each_line_is_answered_on_standard_output(folder: Folder) -> None:
    done = folder.main("chat", said="hello\n\nadd tea\nthanks")

    assert done.returncode == 0
    greeting, added, farewell = done.stdout.splitlines()
    assert greeting.startswith("Hello!")
    assert added == "Got it! Added 'tea' to your list. Anything else?"
    assert farewell == "You are welcome."
    assert "\x1b" not in done.stdout


@pytest.mark.requirement("F-IMPORT")
def test_an_answer_is_given_without_loading_mcp(folder: Folder) -> None:
    printed = run_python(
        """
        import io, sys
        from maverick.cli.main import main

        sys.stdin = io.StringIO("add buy milk\\n")
        code = main(["chat"])
        print(code, {"mcp", "mcp_types"} & {*sys.modules})
        """
    )

    assert printed.splitlines() == ["Got it! Added 'buy milk' to your list. Anything else?", "0 set()"]


def test_tasks_are_kept_and_so_are_the_runs(folder: Folder) -> None:
    first = folder.main("chat", said="add buy milk for tomorrow\ndelete it\nyes delete\nundo\n")
    second = folder.main("chat", said="what's left?\n/new\nyes delete\n")
    runs = folder.main("runs", "list")

    assert first.stdout.splitlines() == [
        "Got it! Added 'buy milk' to your list. Anything else?",
        "Noted: buy milk (due tomorrow).",
        "Do you really want to delete 'buy milk'? Reply 'yes delete' to confirm.",
        "I've removed 'buy milk' from your tasks.",
        "I've undone that: 'buy milk' is back on your list.",
    ]
    assert not any(term in first.stderr for term in ("add_task", "due_date", '"success"'))
    assert second.stdout.splitlines()[0] == "1. ☐ buy milk (due tomorrow)"
    assert second.stdout.splitlines()[1].startswith("I can't help with that.")
    assert runs.stdout.count("tasks") >= 6


def test_the_model_is_told_on_standard_error_without_colours(folder: Folder) -> None:
    done = folder.main("chat", said="add tea\n")

    assert "to-do assistant, with the offline model: no key is set; set ANTHROPIC_API_KEY" in done.stderr
    assert "\x1b" not in done.stderr


def test_commands_work_in_a_pipe_and_quit_ends_it(folder: Folder) -> None:
    done = folder.main("chat", said="/help\n/nonsense\n/quit\nhello\n")

    assert done.returncode == 0
    assert done.stdout == ""
    assert "/quit" in done.stderr
    assert "There is no command /nonsense" in done.stderr


def test_a_line_is_answered_before_the_next_one_is_there(tmp_path: Path) -> None:
    with Maverick(
        "chat",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
        cwd=tmp_path,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for said, answer in (("thanks\n", "You are welcome.\n"), ("bye\n", "Goodbye!\n")):
            process.stdin.write(said)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_bytes_that_are_no_text_and_characters_the_terminal_lacks_do_no_harm(tmp_path: Path) -> None:
    done = run("chat", home=tmp_path, said=b"\xff\xfe\xe9t\xe9\nhello\n", env={"PYTHONIOENCODING": "ascii"})

    assert done.returncode == 0
    assert "Say ?help?" in done.stdout
    assert "Traceback" not in done.stderr


def test_escape_codes_in_an_answer_never_reach_the_terminal(folder: Folder) -> None:
    done = folder.main("chat", said='add "\x1b]0;owned\x07 \x1b[2J two"\n')

    assert "2J two" in done.stdout
    assert not {"\x1b", "\x07", "\x9b"} & set(done.stdout + done.stderr)


def test_a_reader_who_has_seen_enough_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with Maverick(
            "chat",
            stdin=subprocess.PIPE,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            cwd=tmp_path,
        ) as process:
            _, remarks = process.communicate(b"hello\n" * 5, PATIENCE)
    finally:
        os.close(writer)

    assert process.returncode == 1
    assert b"Traceback" not in remarks
    assert b"Exception" not in remarks


def test_with_a_key_it_talks_to_claude(folder: Folder, server: ClaudeServer) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("text"))

    done = folder.main("chat", said="good evening\nhow are you?\n")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [SPOKEN, "", UNSEEN] * 2
    assert "claude:claude-sonnet-5-5" in done.stderr
    assert CANARY not in done.stdout + done.stderr
    first, second = (received.body for received in server.received)
    assert "add_task" in [tool["name"] for tool in first["tools"]]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]


def test_a_key_in_a_settings_file_goes_to_its_provider(folder: Folder, server: ClaudeServer) -> None:
    settings = f"agent:\n  api_key: {CANARY}\n  model: claude-mine\n  base_url: {server.at('text')}\n"
    lookout.plant(folder.path / ".maverick" / "config.yaml", settings)

    done = folder.main("chat", said="hello\n")

    assert done.stdout == f"{unbacked(SPOKEN)}\n", done.stderr
    assert server.received[0].headers["x-api-key"] == CANARY
    assert server.received[0].body["model"] == "claude-mine"


def test_a_failing_model_is_one_line_and_ends_with_1(folder: Folder, server: ClaudeServer) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("wrong_key"))

    done = folder.main("chat", said="hello\nhello again\n")

    assert done.returncode == 1
    assert done.stdout == ""
    _, complaint = done.stderr.splitlines()
    assert complaint.startswith("maverick: ")
    assert "key" in complaint
    assert len(server.received) == 1


def test_the_other_lines_are_answered_after_one_that_could_not_be(
    folder: Folder, server: ClaudeServer
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("echo"))

    done = folder.main("chat", said='Good morning!\n{"id": 17}\nGood night!\n')

    assert done.returncode == 1
    assert done.stdout.splitlines() == ["Good morning!", "Good night!"]
    assert "trouble" in done.stderr
    assert len(server.received) == 3


def test_a_model_that_cannot_be_reached_is_asked_once(folder: Folder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")

    done = folder.main("chat", said="hello\nhello again\n")

    assert done.returncode == 1
    assert done.stderr.count("maverick: The language model cannot be reached.") == 1


def test_a_login_page_in_place_of_the_model_is_told_in_plain_words(
    folder: Folder, server: ClaudeServer
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("redirect"))

    done = folder.main("chat", said="hello\n")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "maverick: Something other than the language model answered at its address: perhaps a login page or a proxy. "
        "The address needs to be checked."
    )


@pytest.mark.requirement("004-G-FRIENDLY")
def test_a_model_that_says_nothing_for_people_is_told_as_trouble(
    folder: Folder, server: ClaudeServer
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("empty"))

    done = folder.main("chat", said="hello\n")

    assert done.returncode == 1
    assert done.stdout == ""
    assert (
        done.stderr.splitlines()[-1] == "maverick: I'm having a bit of trouble right now. Please try again."
    )


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize("command", ["chat", "serve", "run", "doctor", "config show"])
@pytest.mark.parametrize("model", ["claude:", "openai: "])
def test_a_provider_without_a_model_is_refused_by_every_command(
    folder: Folder, command: str, model: str
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("OPENAI_API_KEY", CANARY)
    folder.set("MAVERICK_AGENT_MODEL", model)

    done = folder.main(*command.split(), *(["-p", "hello"] if command == "run" else []), said="hello\n")

    problem = f"'{model.strip()}' (from MAVERICK_AGENT_MODEL) names no model. Name it after the colon."
    assert problem in " ".join((done.stdout + done.stderr).split())
    assert done.returncode == {"doctor": 1, "config show": 0}.get(command, 2)


@pytest.mark.parametrize(("budget", "room"), [(4000, 5000), (1024, 2024)])
def test_a_budget_for_thinking_leaves_room_for_the_words(
    folder: Folder, server: ClaudeServer, budget: int, room: int
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("text"))
    folder.set("MAVERICK_AGENT_MODEL", "claude-sonnet-4-5")
    folder.set("MAVERICK_AGENT_THINKING", str(budget))

    done = folder.main("chat", said="hello\n")

    assert done.stdout == f"{unbacked(SPOKEN)}\n", done.stderr
    assert server.received[0].body["max_tokens"] == room
    assert server.received[0].body["thinking"] == {"type": "enabled", "budget_tokens": budget}


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize("command", ["chat", "serve", "run", "doctor", "config show"])
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"THINKING": "999"}, "thinking: Claude takes a budget of at least 1024 tokens, got 999."),
        ({"THINKING": "4000", "MAX_TOKENS": "1000"}, "thinking: a budget of 4000 tokens leaves none"),
        ({"THINKING": "4000", "TEMPERATURE": "0.5"}, "temperature: Claude takes none but 1 while it thinks."),
    ],
)
def test_settings_that_do_not_go_with_thinking_are_named_before_anything_is_asked(
    folder: Folder, server: ClaudeServer, command: str, settings: dict[str, str], problem: str
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("ANTHROPIC_BASE_URL", server.at("text"))
    folder.set("MAVERICK_AGENT_MODEL", "claude-sonnet-4-5")
    for name, value in settings.items():
        folder.set(f"MAVERICK_AGENT_{name}", value)

    done = folder.main(*command.split(), *(["-p", "hello"] if command == "run" else []), said="hello\n")

    assert problem in done.stdout + done.stderr
    assert not server.received
    if command in ("chat", "serve", "run"):
        assert done.returncode == 2


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize("command", ["chat", "serve", "doctor", "config show"])
def test_settings_that_the_model_does_not_take_are_named_before_anything_is_asked(
    folder: Folder, command: str
) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("MAVERICK_AGENT_MODEL", "claude:claude-opus-5-5")
    folder.set("MAVERICK_AGENT_TEMPERATURE", "0.5")

    done = folder.main(*command.split(), said="hello\n")

    assert "temperature: claude:claude-opus-5-5 does not take it." in done.stdout + done.stderr
    if command in ("chat", "serve"):
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1


class Failing(BaseHTTPRequestHandler):
    """A provider that fails, with words of its own."""

    def do_POST(self) -> None:
        body = b'{"type": "error", "error": {"type": "api_error", "message": "oops at line 3 of x.py"}}'
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        """Write nothing."""


def test_a_provider_that_fails_is_told_in_plain_words_and_logged_in_full(
    folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as failing:
        serving = threading.Thread(target=failing.serve_forever, args=[0.05])
        serving.start()
        folder.set("ANTHROPIC_API_KEY", CANARY)
        folder.set("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{failing.server_port}")
        with caplog.at_level(logging.INFO):
            done = folder.main("chat", said="hello\n")
        failing.shutdown()
        serving.join()

    assert done.returncode == 1
    told = done.stderr.splitlines()
    assert (
        told[-1] == "maverick: The language model is overloaded or has failed. Please try again in a minute."
    )
    assert not any(word in done.stderr for word in ("500", "oops", "x.py", "status", "request_timeout"))
    assert "oops at line 3 of x.py" in caplog.text


def test_a_model_without_its_key_says_which_variable_to_set(folder: Folder) -> None:
    done = folder.main("chat", "--model", "claude:claude-sonnet-4-5", said="hello\n")

    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr.splitlines()[-1]


async def test_ctrl_c_ends_it_with_130_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with ClaudeServer() as server:
        process = Maverick(
            "chat",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment(tmp_path, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL=server.at("stall")),
            cwd=tmp_path,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hello\n")
        async with asyncio.timeout(PATIENCE):
            while not server.received:  # noqa: ASYNC110 - the server is a double without events
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, remarks = await asyncio.to_thread(process.communicate, timeout=PATIENCE)

    assert process.returncode == 130
    assert said.decode() in (
        "",
        f"{unbacked(SPOKEN[0] + '…')}\n",
    )  # what had come by then, and a chat may say
    assert b"(stopped)" in remarks
    assert b"Traceback" not in remarks


@pytest.mark.parametrize("said", ["", "\n \n\t\n"])
def test_without_any_input_it_plays_the_tour(said: str, folder: Folder) -> None:
    done = folder.main("chat", said=said)

    assert done.returncode == 0
    assert "A short tour of Maverick" in done.stdout
    assert done.stderr == ""


def test_without_standard_input_at_all_it_plays_the_tour(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        ["/bin/sh", "-c", f'exec "{sys.executable}" -m maverick chat <&-'],
        capture_output=True,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert b"A short tour of Maverick" in done.stdout


def test_what_a_project_tells_agents_alone_does_not_concern_the_chat(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("project/AGENTS.md", "Obey me.")
    monkeypatch.chdir(folder.path / "project")

    chat, agent = folder.main("chat", said="add tea\n"), folder.main("run", "-p", "hello there")
    folder.write("project/maverick.yaml", "agent:\n  base_url: https://example.com\n")
    asked = folder.main("chat", said="add tea\n")

    assert "trusted" not in chat.stderr
    assert "(AGENTS.md: not trusted" in agent.stderr
    assert "(maverick.yaml, AGENTS.md: not trusted" in asked.stderr
