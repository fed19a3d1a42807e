"""What goes wrong with the CLI or its model comes out as typed errors, and the loop retries where that helps."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest

from claude_cli.census import marked
from claude_cli_runs.scripted_api import Body, Serve, calls, in_turn, ours, says, see
from maverick import AgentExecutor, TerminateReason, tool
from maverick.exceptions import (
    AuthenticationError,
    CLINotFoundError,
    InvalidInputError,
    InvalidToolError,
    NetworkError,
)
from maverick.model import Message, Request, RequestConfig
from maverick.providers import connect
from maverick.providers.claude_cli import cli_tool
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


@pytest.mark.requirement("005-RUN-FAILURES", "P8")
async def test_a_wrong_key_is_not_tried_again(serve: Serve) -> None:
    api = await serve(in_turn(401))
    result = await AgentExecutor(api.client()).execute(agent())

    assert result.terminate_reason is TerminateReason.ERROR
    assert isinstance(result.errors[0], AuthenticationError)
    assert len(api.bodies) == 1


@pytest.mark.requirement("005-RUN-FAILURES", "P2", "P3", "P8")
async def test_an_overloaded_model_and_a_cli_that_dies_are_got_over_and_nothing_is_done_twice(
    serve: Serve,
) -> None:
    done: list[int] = []

    @tool
    async def count() -> int:
        """Count up."""
        done.append(1)
        return len(done)

    fatal = ("Bash", {"command": "echo once >> once.txt; kill -9 $PPID; exec tail -f /dev/null"})

    def model(body: Body, number: int) -> Any:
        if number == 3:
            for process in marked(api.url):
                os.kill(process, signal.SIGKILL)
        return [529, calls((ours("count"), {}), fatal), None, says("One.")][number - 1]

    api = await serve(model)
    watched = await see(api.client(), agent(count, cli_tool("Bash")))

    result = watched.result
    assert (result.output, done) == ("One.", [1])
    assert (api.work / "once.txt").read_text() == "once\n"
    assert "may or may not have taken effect" in result.tool_calls[1].result
    assert watched.types.count("retry_scheduled") == 2
    assert len(api.bodies) == 4


@pytest.mark.requirement("005-RUN-FAILURES", "005-RUN-OWN-TOOLS", "P8")
async def test_a_tool_that_the_cli_does_not_have_is_named(serve: Serve) -> None:
    api = await serve(in_turn(says("Hello.")))
    result = await AgentExecutor(api.client()).execute(agent(cli_tool("Baash"), cli_tool("Bash")))

    assert isinstance(result.errors[0], InvalidToolError)
    assert "'Baash'" in str(result.errors[0])
    assert "Bash" in result.errors[0].available_tools


@pytest.mark.requirement("005-RUN-FAILURES", "P8")
async def test_a_cli_that_is_not_there_is_named(serve: Serve) -> None:
    api = await serve(in_turn())
    with pytest.raises(CLINotFoundError, match="no-such-claude"):
        await api.client(cli_path="/usr/bin/no-such-claude").run(Request([Message.user("Hi.")]))


@pytest.mark.requirement("005-RUN-FAILURES", "P8")
async def test_without_the_sdk_it_says_what_to_install(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    api = await serve(in_turn())
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)

    with pytest.raises(CLINotFoundError, match=r"pip install .*\[claude-code\]"):
        await api.client().run(Request([Message.user("Hi.")]))


@pytest.mark.requirement("005-RUN-FAILURES", "P8")
async def test_a_temperature_is_refused_and_not_ignored(serve: Serve) -> None:
    api = await serve(in_turn())
    with pytest.raises(InvalidInputError, match="temperature"):
        await api.client().run(Request([Message.user("Hi.")], config=RequestConfig(temperature=0.5)))


async def test_nothing_is_started_that_would_go_online() -> None:
    with pytest.raises(NetworkError, match="claude-code"):
        await connect("claude-code:", base_url="https://api.example.test").run(Request([Message.user("Hi.")]))


@pytest.mark.requirement("005-RUN-OWN-TOOLS")
async def test_a_tool_of_the_cli_says_that_it_needs_the_cli() -> None:
    client = ScriptedClient([call("Bash", command="ls"), reply("Oh.")])
    result = await AgentExecutor(client).execute(agent(cli_tool("Bash")))

    assert "'claude-code:…'" in result.tool_calls[0].result


@pytest.mark.requirement("005-RUN-OWN-TOOLS")
def test_the_agents_of_the_cli_are_not_for_hire() -> None:
    with pytest.raises(InvalidToolError, match="as_tool"):
        cli_tool("Task")


def test_an_effect_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="harmless"):
        cli_tool("Bash", effect="harmless")
