"""``maverick run`` with agents that are classes: the built-in ones on the real CLI, and any other."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from claude_cli.api import CliApi, calls, endless, surroundings
from cli.command import Terminal
from cli.folder import Folder
from maverick import AgentResult, MaverickConfig
from maverick.agents.base import DEFAULT_MODEL
from maverick.cli.agent_lookup import look_up
from maverick.cli.tui import CommandLineBackend
from maverick.journal import SqliteJournal
from wire.claude_answers import Answer, text

PLAIN = """
    import asyncio
    from maverick.agents import AgentResult, AgentUsage, registry

    @registry.register("plain")
    class Plain:
        "Answers without a model."

        async def execute(self, context):
            if context.extra.get("prompt") == "wait":
                print("waiting", flush=True)
                await asyncio.Event().wait()
            return AgentResult.success_result(f"{sorted(context.extra.items())}", AgentUsage(1, 2, 0.5, 1000))
"""

ASKING = """
    from maverick.agents import MaverickAgent, registry

    @registry.register("only")
    class Only(MaverickAgent):
        "Asks its model."
        system_prompt = "You."

        async def execute(self, context):
            return await self.run_prompt("hi", context)
"""


FAILING = """
    from maverick.agents import MaverickAgent, registry

    @registry.register("only")
    class Only(MaverickAgent):
        "Is never made."
        system_prompt = "You."

        def __init__(self, **options):
            super().__init__(**options)
            raise RuntimeError("no database")

        async def execute(self, context):
            return await self.run_prompt("hi", context)
"""


@pytest.mark.parametrize("base", ["MaverickAgent", "object"])
def test_a_constructor_that_fails_is_told_as_the_agents_with_its_line(base: str, folder: Folder) -> None:
    code = FAILING.replace("(MaverickAgent)", f"({base})")
    folder.write("agents.py", code if base == "MaverickAgent" else code.replace("(**options)\n", "()\n"))

    done = folder.main("run", "agents.py:only", "-p", "hi")

    assert done.returncode == 2
    told = "The agent 'only' cannot be made. agents.py, line 10: RuntimeError: no database"
    assert done.stderr.splitlines() == [f"maverick: {told}"]


def test_a_constructor_that_wants_more_than_it_is_given_is_told_as_the_agents(folder: Folder) -> None:
    folder.write("agents.py", FAILING.replace("self, **options", "self, database"))

    done = folder.main("run", "agents.py:only", "-p", "hi")

    assert done.returncode == 2
    assert done.stderr.startswith("maverick: The agent 'only' cannot be made. TypeError: ")
    assert "'database'" in done.stderr


@pytest.fixture
def api(folder: Folder) -> Iterator[CliApi]:
    """The API, in a thread of its own, and an environment in which the CLI knows nothing else."""
    loop, made = asyncio.new_event_loop(), CliApi()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result()
        for name, value in surroundings(folder.path, made.url).items():
            folder.set(name, value)
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(made.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def repository(folder: Folder) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=folder.path, check=True)  # noqa: S607 - the test's own
    folder.write("tea.txt", "Earl Grey\n")
    subprocess.run(["git", "add", "tea.txt"], cwd=folder.path, check=True)  # noqa: S607 - the same


@pytest.mark.requirement("007-RUN")
def test_settings_that_the_cli_does_not_take_are_named_in_one_line(folder: Folder, api: CliApi) -> None:
    folder.write("only.py", ASKING)
    folder.set("MAVERICK_AGENT_TEMPERATURE", "0.3")
    folder.set("MAVERICK_AGENT_TOP_P", "0.4")
    api.play(Answer([text("Hello.")]))

    done = folder.main("run", "only.py")

    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    named = [line for line in done.stderr.splitlines() if "agent.temperature" in line]
    assert named == [
        "(The Claude CLI does not take agent.temperature, agent.top_p: agents on it run without)"
    ]


@pytest.mark.requirement("007-RUN", "005-READY")
def test_the_answer_of_a_builtin_agent_is_the_output_alone(folder: Folder, api: CliApi) -> None:
    repository(folder)
    api.play(Answer([text("Add a note on tea")]))

    done = folder.main("run", "commit-writer")

    assert (done.returncode, done.stdout) == (0, "Add a note on tea\n"), done.stderr
    assert done.stderr.startswith("run_")
    assert ": complete, 1 turn, " in done.stderr
    assert "Earl Grey" in str(api.requests[0]["messages"])


@pytest.mark.requirement("007-RUN", "005-READY")
def test_a_class_is_kept_limited_and_resumed_like_any_other_agent(folder: Folder, api: CliApi) -> None:
    repository(folder)
    fix = {"cause": "Tea.", "changes": [], "open_questions": []}
    read = calls(("Read", {"file_path": str(folder.path / "tea.txt")}))
    api.play(read, Answer([text(json.dumps(fix))]))

    limited = folder.main("run", "issue-fixer", "-p", "No tea.", "--run-id", "tea", "--max-turns", "1")
    shown = folder.main("runs", "show", "tea")
    resumed = folder.main("runs", "resume", "tea", "--max-turns", "5")
    replayed = folder.main("runs", "replay", "tea")

    assert limited.returncode == 4, limited.stderr
    assert "maverick runs resume tea --max-turns 2" in limited.stderr
    assert "Read" in shown.stdout
    assert (resumed.returncode, json.loads(resumed.stdout)) == (0, fix), resumed.stderr
    assert json.loads(replayed.stdout.splitlines()[-1]) == fix
    assert len(api.requests) == 2


@pytest.mark.requirement("007-RUN", "P6")
def test_a_mode_and_rules_about_our_tools_hold_for_those_of_the_cli(folder: Folder, api: CliApi) -> None:
    folder.write("tea.txt", "Earl Grey\n")
    write = ("Write", {"file_path": str(folder.path / "new.md"), "content": "x"})
    api.play(calls(write, ("Read", {"file_path": str(folder.path / "tea.txt")})), Answer([text("Done.")]))

    done = folder.main("run", "docs-writer", "-p", "tea", "--mode", "plan", "--json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    ended = [event["outcome"] for event in events if event["type"] == "tool_call_end"]
    assert sorted(ended) == ["denied", "finished"]
    assert not (folder.path / "new.md").exists()


@pytest.mark.requirement("005-READY")
def test_a_built_in_agent_works_offline_on_what_is_piped_in(folder: Folder) -> None:
    done = folder.start("run", "commit-writer", "--model", "offline:", said="+ Earl Grey")

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.requirement("007-RUN-JSON", "005-READY")
def test_what_a_builtin_agent_does_and_finds_is_json_for_other_programs(folder: Folder, api: CliApi) -> None:
    folder.write("tea.txt", "Earl Grey\n")
    review = {"summary": "Fine.", "findings": []}
    api.play(
        calls(("Read", {"file_path": str(folder.path / "tea.txt")})),
        Answer([text(json.dumps(review))]),
    )

    done = folder.main("run", "code-reviewer", "-i", "diff=+tea", "--json")

    assert done.returncode == 0, done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    made = [event for event in events if event["type"] == "tool_call_start"]
    assert [event["tool_call"]["tool_name"] for event in made] == ["Read"]
    ended = [event for event in events if event["type"] == "tool_call_end"]
    assert "Earl Grey" in ended[0]["result"]
    assert events[-1]["type"] == "run_end"
    assert json.loads(events[-1]["result"]["content"]) == review


@pytest.mark.requirement("007-RUN", "P4")
def test_words_of_a_builtin_agent_are_shown_as_they_come_and_ctrl_c_stops_it(
    folder: Folder, api: CliApi
) -> None:
    api.play(calls(("Read", {"file_path": str(folder.path / "tea.txt")})), endless)

    env = surroundings(folder.path, api.url)
    with Terminal("run", "docs-writer", "-p", "tea", home=folder.path, env=env) as terminal:
        terminal.expect("· Read(")
        terminal.expect("Once upon a time and and")
        terminal.type("\x03")

        assert terminal.end() == 130

    assert "(stopped)" in terminal.seen
    assert ": aborted" in terminal.seen


@pytest.mark.requirement("007-RUN")
def test_an_agent_on_the_claude_cli_is_shown_and_kept_like_any_other(folder: Folder, api: CliApi) -> None:
    api.play(Answer([text("Tea is ready.")]))

    done = folder.main("run", "-p", "tea?", "--model", "claude-code:claude-sonnet-4-5", "--run-id", "tea")

    assert (done.returncode, done.stdout) == (0, "Tea is ready.\n"), done.stderr
    assert folder.main("runs", "replay", "tea").stdout == "Tea is ready.\n"


@pytest.mark.requirement("CLASS-RUNS")
def test_the_screen_runs_a_class_and_goes_on_with_its_conversation(folder: Folder) -> None:
    config = MaverickConfig()

    async def use() -> list[AgentResult[Any]]:
        async with SqliteJournal(folder.path / "runs.db") as journal:
            named = look_up("issue-fixer", config)
            backend = CommandLineBackend(config, journal, named, model="offline:")
            definition = backend.prepare("issue-fixer").definition
            async with backend.executor(definition, None, None) as executor:
                first = await executor.execute(definition, inputs={"prompt": "No tea."}, run_id="tea")
                more = await executor.execute(
                    definition, inputs={"prompt": "Still none."}, messages=first.messages, run_id="more"
                )
            return [first, more]

    first, more = asyncio.run(use())

    assert "No tea." in first.messages[0].content
    assert "Still none." in more.messages[len(first.messages)].content


def test_any_class_with_execute_is_run_with_whatever_it_is_given(folder: Folder) -> None:
    folder.write("plain.py", PLAIN)

    done = folder.main("run", "plain.py", "-p", "hi", "-i", "x=1")

    assert (done.returncode, done.stdout) == (0, "[('prompt', 'hi'), ('x', '1')]\n")
    assert done.stderr == "plain: complete, 0 turns, 3 tokens, cost $0.50, 1.0 s\n"


@pytest.mark.requirement("KEY-OWNER")
@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"MAVERICK_AGENT_PROVIDER": "foo"}, "There is no provider named 'foo'"),
        ({"MAVERICK_AGENT_MODEL": "openia:gpt-5"}, "Did you mean 'openai'?"),
        ({"MAVERICK_AGENT_PROVIDER": "openai"}, "needs a model"),
        ({"MAVERICK_AGENT_MODEL": "openai:gpt-5"}, "There is no key for OpenAI"),
    ],
)
def test_settings_that_can_not_work_are_refused_for_a_class_too(
    env: dict[str, str], says: str, folder: Folder
) -> None:
    folder.write("only.py", ASKING)
    for name, value in {"ANTHROPIC_API_KEY": "k", **env}.items():
        folder.set(name, value)

    done = folder.main("run", "only.py", "-p", "hi")

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert says in line


def test_a_class_that_names_no_model_is_run_on_the_provider_of_the_settings(folder: Folder) -> None:
    folder.write("only.py", ASKING)
    folder.set("MAVERICK_AGENT_PROVIDER", "offline")

    configured = folder.main("run", "only.py", "-p", "hi")
    asked = folder.main("run", "only.py", "-p", "hi", "--model", "offline:")

    assert (configured.returncode, configured.stdout) == (0, asked.stdout), configured.stderr
    assert "offline model" in asked.stdout


@pytest.mark.requirement("000-US5-AS3")
def test_a_mistake_in_a_class_is_one_line_that_says_where_it_is(folder: Folder) -> None:
    folder.write("broken.py", PLAIN.replace("context.extra.get", "context.extras.get"))

    done = folder.main("run", "broken.py", "-p", "hi")

    assert (done.returncode, done.stdout) == (1, "")
    complaint, summary = done.stderr.splitlines()
    assert complaint.startswith("maverick: The agent 'plain' failed with AttributeError in broken.py, line ")
    assert summary.startswith("plain: error, 0 turns")


def test_any_class_is_stopped_with_ctrl_c(folder: Folder) -> None:
    folder.write("plain.py", PLAIN)

    with Terminal("run", "plain.py", "-p", "wait", home=folder.path) as terminal:
        terminal.expect("waiting")
        terminal.type("\x03")

        assert terminal.end() == 130


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            ["--max-tool-calls", "3"],
            "--max-tool-calls: the class of the agent 'plain' takes no max_tool_calls.",
        ),
        (["--model", "x"], "--model: the class of the agent 'plain' takes no model."),
    ],
)
def test_what_a_class_does_not_take_is_refused(words: list[str], advice: str, folder: Folder) -> None:
    folder.write("plain.py", PLAIN)

    assert advice in folder.refuse("run", "plain.py", *words)


def test_a_retirement_is_told_to_those_who_named_the_model(folder: Folder) -> None:
    named = folder.main("run", "commit-writer", "--model", f"claude-code:{DEFAULT_MODEL}")
    folder.set("MAVERICK_AGENT_MODEL", f"claude-code:{DEFAULT_MODEL}")
    configured = folder.main("run", "commit-writer")

    for done in (named, configured):
        assert "retired on 2026-11-30. Use claude-sonnet-5-5 in its place.)" in done.stderr.splitlines()[0]


def test_what_a_builtin_agent_can_not_do_is_one_line(folder: Folder) -> None:
    done = folder.main("run", "commit-writer")

    assert (done.returncode, done.stdout) == (1, "")
    complaint, summary = done.stderr.splitlines()
    assert complaint.startswith("maverick: git could not tell what changed in ")
    assert summary.startswith("not started: error, 0 turns")
    assert os.getcwd() == str(folder.path)  # noqa: PTH109 - the folder is as it was
