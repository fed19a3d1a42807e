"""Agents on the real CLI: every way in which it goes wrong, as an error that says what to do."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, Message, ResultMessage

from claude_cli.api import CliApi, Greeter, calls, cut, endless, fault, refused
from claude_cli.census import working_in
from maverick import AbortSignal
from maverick.agents import AgentContext, extract_text
from maverick.agents.context import NO_BRANCH
from maverick.config import MaverickConfig
from maverick.exceptions import (
    AbortedError,
    AgentError,
    AuthenticationError,
    CLINotFoundError,
    ContextOverflowError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    ProcessError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamingError,
    StreamTimeoutError,
    TimeoutError,
)
from maverick.model import Role
from wire.claude_server import HELLO

FAILURES: dict[str, tuple[type[AgentError], int | None, str]] = {
    "bad_request": (ProviderError, 400, "Change the request"),
    "prompt_too_long": (ContextOverflowError, 400, "Shorten it"),
    "wrong_key": (AuthenticationError, 401, "Check the key"),
    "forbidden": (AuthenticationError, 403, "Check the key"),
    "no_such_model": (ProviderError, 404, "Check the model's name"),
    "too_large": (ContextOverflowError, 413, "Shorten it"),
    "rate_limited": (RateLimitError, 429, "Try again"),
    "server_error": (ServerError, 500, "Try again"),
    "overloaded": (ServerError, 529, "Try again"),
    "html": (MalformedResponseError, None, "a proxy or a login page"),
    "nothing": (MalformedResponseError, None, "a proxy or a login page"),
}
"""What the API does before it has said anything, and what comes of it."""

ASKED_DIFFERENTLY = {"bad_request", "no_such_model"}
"""Where the CLI, which is told not to retry, asks once more without its newest features."""

BROKEN: dict[str, type[AgentError]] = {
    "cut": NetworkError,
    "no_stop": NetworkError,
    "bad_json": MalformedResponseError,
    "error_event": ServerError,
}
"""What the API does in the middle of an answer, and why it broke off."""


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def api(kept_api: CliApi) -> CliApi:
    return kept_api


@pytest.fixture
def env(kept_env: dict[str, str]) -> dict[str, str]:
    return dict(kept_env)


async def failure_of(agent: Greeter, cwd: Path) -> tuple[list[Message], AgentError]:
    """The messages of a query that fails, and its error."""
    messages: list[Message] = []
    try:
        async for message in agent.query("Hello?", cwd):
            messages.append(message)  # noqa: PERF401 - they have to be there when the error comes
    except AgentError as error:
        return messages, error
    raise AssertionError("the query did not fail")


@pytest.mark.requirement("000-FR-007", "000-SC-004", "CLI-FAILURES", "000-EDGE-NETWORK")
async def test_a_failure_of_the_api_is_a_typed_error_and_is_not_retried(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    found: dict[str, tuple[type[AgentError], int | None, bool]] = {}
    wanted = {name: (kind, status, True) for name, (kind, status, _) in FAILURES.items()}

    for name, (_, _, advice) in FAILURES.items():
        api.play(refused if name == "bad_request" else fault(name))
        messages, error = await failure_of(greeter, folder)
        found[name] = (type(error), getattr(error, "status", None), advice in str(error))
        assert len(api.requests) == 1 or name in ASKED_DIFFERENTLY, name
        assert not any(isinstance(message, AssistantMessage) for message in messages), name
        assert isinstance(messages[-1], ResultMessage), name

    assert found == wanted


@pytest.mark.requirement("000-FR-005", "000-EDGE-STREAM", "CLI-FAILURES", "000-EDGE-MALFORMED")
async def test_an_answer_that_breaks_off_is_yielded_as_far_as_it_came_and_then_raised(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    found = {}

    for name in BROKEN:
        api.play(cut if name == "cut" else fault(name))
        messages, error = await failure_of(greeter, folder)
        assert isinstance(error, StreamingError), name
        (partial,) = [message for message in messages if isinstance(message, AssistantMessage)]
        assert error.partial_messages == [partial]
        assert HELLO.startswith(extract_text(partial)), name
        found[name] = type(error.__cause__)
        assert isinstance(error.__cause__, AgentError)
        assert (error.kind, error.retryable) == (error.__cause__.kind, error.__cause__.retryable)

    assert found == BROKEN


@pytest.mark.requirement("000-EDGE-STREAM", "000-SC-006")
async def test_a_failure_after_a_tool_keeps_what_was_done_before_it(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    (folder / "in.txt").write_text("x", encoding="utf-8")
    api.play(
        calls(("Read", {"file_path": str(folder / "in.txt")}), words="First I read."), fault("overloaded")
    )
    place = AgentContext(folder, NO_BRANCH, MaverickConfig())

    result = await greeter.execute(place)

    assert not result.success
    assert [type(error) for error in result.errors] == [ServerError]
    assert [message.role for message in result.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL_RESULT]
    assert [record.tool_name for record in result.tool_calls] == ["Read"]
    assert len(api.requests) == 2  # nothing is tried again
    assert (result.usage.input_tokens, result.usage.output_tokens) == (118, 42)


@pytest.mark.requirement("CLI-FAILURES", "000-EDGE-NETWORK")
async def test_an_api_that_never_answers_is_a_timeout(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    api.play(fault("hang"))

    _, error = await failure_of(Greeter(env=env, request_seconds=1), tmp_path)

    assert isinstance(error, TimeoutError)
    assert error.kind is ErrorKind.TIMEOUT
    assert len(api.requests) == 1


@pytest.mark.requirement("CLI-FAILURES", "000-EDGE-NETWORK")
async def test_an_answer_that_stalls_is_a_timeout_with_what_came_of_it(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    api.play(fault("stall"))

    messages, error = await failure_of(Greeter(env=env, idle_seconds=10), tmp_path)

    assert isinstance(error, StreamingError)
    assert isinstance(error.__cause__, TimeoutError)
    assert error.kind is ErrorKind.TIMEOUT
    assert any(isinstance(message, AssistantMessage) for message in messages)


@pytest.mark.requirement("CLI-FAILURES", "000-SC-004")
@pytest.mark.parametrize(
    ("changed", "expected", "words"),
    [
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, NetworkError, "Check the network"),
        ({"ANTHROPIC_API_KEY": ""}, AuthenticationError, "Set ANTHROPIC_API_KEY"),
    ],
    ids=["no server", "no key"],
)
async def test_an_api_that_cannot_be_used_is_an_error_that_says_why(
    env: dict[str, str], tmp_path: Path, changed: dict[str, str], expected: type[AgentError], words: str
) -> None:
    _, error = await failure_of(Greeter(env=env | changed), tmp_path)

    assert type(error) is expected
    assert words in str(error)


@pytest.mark.requirement("000-EDGE-CLI", "000-US5-AS1", "000-US5-AS3", "000-FR-007")
async def test_a_cli_that_is_not_there_is_an_error_that_says_how_to_get_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    place = AgentContext(tmp_path, NO_BRANCH, MaverickConfig())

    result = await Greeter(env=env, cli_path="/no/such/claude").execute(place)

    assert not result.success
    (error,) = result.errors
    assert isinstance(error, CLINotFoundError)
    assert error.cli_path == "/no/such/claude"
    assert "Install it with" in str(error)


@pytest.mark.requirement("CLI-FAILURES", "000-US5-AS2")
async def test_a_program_that_is_no_claude_cli_is_a_process_error_with_what_it_said(
    env: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 'claude: not today' >&2\nexit 4\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    _, true = await failure_of(Greeter(env=env, cli_path="/bin/true"), tmp_path)
    _, error = await failure_of(Greeter(env=env, cli_path=program), tmp_path)

    assert isinstance(true, ProcessError)
    assert isinstance(error, ProcessError)
    assert (error.exit_code, error.stderr) == (4, "claude: not today")
    assert "claude: not today" in str(error)


@pytest.mark.requirement("CLI-FAILURES", "000-US5-AS2", "000-US5-AS3", "000-SC-006")
async def test_a_cli_that_is_killed_is_a_process_error_in_the_result(
    api: CliApi, env: dict[str, str], tmp_path: Path
) -> None:
    api.play(endless)
    agent = Greeter(env=env, partial_messages=True)
    texts: list[str] = []

    async def watch() -> None:
        async for message in agent.query("Tell.", tmp_path):
            event: dict[str, Any] = getattr(message, "event", {})
            if event.get("type") == "content_block_delta" and not any(texts):
                for pid in working_in(tmp_path):
                    os.kill(pid, signal.SIGKILL)
            texts.append(extract_text(message))

    with pytest.raises(StreamingError) as raised:
        await watch()

    cause = raised.value.__cause__
    assert isinstance(cause, ProcessError)
    assert cause.exit_code == -9
    assert "out of memory" in str(cause)
    assert "".join(texts).startswith("Once upon")


@pytest.mark.requirement("CLI-FAILURES")
async def test_a_folder_that_is_not_there_and_options_that_cannot_be_are_refused(
    env: dict[str, str], tmp_path: Path
) -> None:
    _, no_folder = await failure_of(Greeter(env=env), tmp_path / "nowhere")
    _, no_user = await failure_of(Greeter(env=env, user="nobody"), tmp_path)

    assert isinstance(no_folder, InvalidInputError)
    assert no_folder.field == "cwd"
    assert isinstance(no_user, InvalidInputError)
    assert no_user.field == "user"


@pytest.mark.requirement("CLI-FAILURES")
async def test_where_the_network_is_forbidden_no_cli_is_started_for_a_live_service(
    env: dict[str, str], tmp_path: Path
) -> None:
    del env["ANTHROPIC_BASE_URL"]

    _, error = await failure_of(Greeter(env=env | {"ANTHROPIC_BASE_URL": ""}), tmp_path)

    assert isinstance(error, NetworkError)
    assert "forbid_network" in str(error)


@pytest.mark.requirement("CLI-FAILURES", "000-EDGE-MALFORMED")
async def test_a_message_longer_than_allowed_is_a_malformed_response_with_how_it_began(
    env: dict[str, str], tmp_path: Path
) -> None:
    _, error = await failure_of(Greeter(env=env, max_buffer_size=200), tmp_path)

    assert isinstance(error, MalformedResponseError)
    assert error.raw_response.startswith('{"type":')


TALKS = """#!/bin/sh
read -r asked
id=${asked#*\\"request_id\\": \\"}
id=${id%%\\"*}
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\\n' "$id"
read -r prompt
"""
HALF = """
echo '{"type":"assistant","uuid":"u","session_id":"s","message":{"id":"m","model":"x","content":[{"type":"text","text":"Half."}]}}'
"""


def talking(folder: Path, then: str) -> Path:
    """A program that begins like the CLI, and goes on as it is told to."""
    program = folder / "claude"
    program.write_text(TALKS + then, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.requirement("000-EDGE-MALFORMED", "001-ERROR-MALFORMED")
@pytest.mark.parametrize("line", ['{"type": "assistant", oops', '{"type": "assistant"}'])
async def test_a_message_that_cannot_be_read_is_an_error_with_the_message_as_it_came(
    env: dict[str, str], tmp_path: Path, line: str
) -> None:
    program = talking(tmp_path, f"echo '{line}'\nread -r more\n")

    _, error = await failure_of(Greeter(env=env, cli_path=program), tmp_path)

    assert isinstance(error, MalformedResponseError)
    assert error.raw_response == line


@pytest.mark.requirement("000-EDGE-STREAM", "000-FR-005", "001-ERROR-STREAMING", "000-EDGE-NETWORK")
async def test_a_timeout_in_the_middle_of_an_answer_keeps_what_came_of_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    program = talking(tmp_path, f"{HALF}\nread -r more\n")
    error: AgentError = AgentError("not asked yet")
    for seconds in (0.5, 1, 2, 4, 8, 16, 32):  # the program may need a while to say the first half
        messages, error = await failure_of(Greeter(env=env, cli_path=program, timeout=seconds), tmp_path)
        if messages:
            break

    assert isinstance(error, StreamTimeoutError)
    assert isinstance(error, StreamingError)
    assert isinstance(error, TimeoutError)
    assert error.kind is ErrorKind.TIMEOUT
    assert [extract_text(message) for message in error.partial_messages] == ["Half."]
    assert isinstance(error.__cause__, TimeoutError)


@pytest.mark.requirement("000-EDGE-STREAM")
async def test_an_abort_in_the_middle_of_an_answer_keeps_what_came_of_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    program = talking(tmp_path, f"{HALF}\nread -r more\n")
    signal = AbortSignal()

    async def watch() -> None:
        async for message in Greeter(env=env, cli_path=program).query("Tell.", tmp_path, signal=signal):
            if extract_text(message):
                signal.abort("enough")

    with pytest.raises(AbortedError) as raised:
        await watch()

    assert [extract_text(message) for message in raised.value.partial_messages] == ["Half."]
