"""``maverick run``: which agent it runs, on what, and what is written where."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cli.folder import Folder
from maverick.cli.run_printer import exit_code
from maverick.exceptions import AgentError
from maverick.journal import RunStatus, SqliteJournal
from maverick.journal.records import DAMAGED
from maverick.loop import AgentResult, AgentUsage, TerminateReason

CLERK = """
    from cli.office_agents import clerk_with
    clerk = clerk_with()
"""
SUM = "12 * 7 = 84.\n"
ECHO = """
    ---
    name: echo
    description: Says what it is told.
    model: "offline:"
    tools: []
    ---
    You say it in ${tone}.
"""
CITY = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'


@pytest.mark.requirement("007-RUN")
def test_a_prompt_is_worked_on_and_the_answer_is_the_output(folder: Folder) -> None:
    folder.write("notes.txt", "buy milk\n")

    done = folder.main("run", "-p", "read the file 'notes.txt'")

    assert done.returncode == 0, done.stderr
    assert "1\tbuy milk" in done.stdout
    offline, call, result, summary = done.stderr.splitlines()
    assert offline.startswith("(offline model: no key is set; set ANTHROPIC_API_KEY")
    assert (call, result[:14]) == ("  · read_file(path='notes.txt')", "  · read_file ")
    assert re.fullmatch(r"run_\w+: complete, 2 turns, \d+ tokens, cost \$0, [\d.]+ m?s", summary)


@pytest.mark.parametrize("words", [("run", "-p", "hello"), ("chat",), ("doctor",)])
def test_who_has_a_key_for_openai_but_no_model_is_told_how_to_choose_one(
    words: tuple[str, ...], folder: Folder
) -> None:
    folder.set("OPENAI_API_KEY", "k")

    done = folder.main(*words, said="hello\n")

    told = done.stdout + done.stderr
    assert "an OpenAI key is set but no model is" in told
    assert "maverick config set agent.model openai:…" in told
    assert "no key is set" not in told


@pytest.mark.requirement("007-RUN")
def test_the_run_is_kept_and_can_be_looked_at(folder: Folder) -> None:
    folder.main("run", "-p", "hello", "--run-id", "mine")

    (record,) = folder.runs()
    assert (record.run_id, record.agent, record.status) == ("mine", "general", RunStatus.COMPLETE)
    assert folder.main("runs", "replay", "mine").stdout == folder.main("run", "-p", "hello").stdout


def test_a_run_may_be_kept_nowhere(folder: Folder) -> None:
    done = folder.main("run", "-p", "hello", "--no-journal")
    asking = folder.main("run", "-p", "write the file 'a.txt' with content 'tea'", "--no-journal")

    assert done.returncode == 0
    assert asking.returncode == 3
    assert "runs resume" not in asking.stderr
    assert not (folder.path / ".maverick").exists()


@pytest.mark.requirement("007-RUN")
def test_an_agent_is_run_by_its_name_with_inputs(folder: Folder) -> None:
    folder.write(".maverick/agents/echo.md", ECHO)

    done = folder.main("run", "echo", "-i", "tone=French", "-p", "hello")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("This is Maverick's offline model")
    assert folder.runs()[0].agent == "echo"


@pytest.mark.requirement("007-RUN")
@pytest.mark.parametrize("name", ["clerk.py", "clerk.py:clerk"])
def test_an_agent_is_run_from_a_python_file(name: str, folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    assert folder.main("run", name, "-p", "calculate 12 * 7").stdout == SUM


def test_a_python_file_with_a_chief_runs_the_chief_and_not_those_who_work_for_it(folder: Folder) -> None:
    folder.write("office.py", "from cli.office_agents import chief, clerk\n")

    folder.main("run", "office.py", "-p", "ask the clerk 'calculate 3 * 4'")

    assert folder.runs()[0].agent == "chief"


def test_a_python_file_with_one_definition_runs_it_whatever_else_is_registered(folder: Folder) -> None:
    folder.write(
        "clerk.py",
        CLERK
        + """
    from maverick.agents import registry
    registry.register("helper", clerk_with())
    """,
    )

    for name in ("clerk.py", "clerk.py:clerk", "clerk.py:helper"):
        assert folder.main("run", name, "-p", "calculate 12 * 7").stdout == SUM


@pytest.mark.requirement("007-RUN")
def test_an_agent_is_run_from_a_markdown_file(folder: Folder) -> None:
    folder.write("anywhere/echo.md", ECHO)

    assert folder.main("run", "anywhere/echo.md", "-i", "tone=x", "-p", "hello").stdout.startswith(
        "This is Maverick's offline model"
    )


def test_a_tool_that_an_agent_for_claude_code_can_not_have_here_is_told(folder: Folder) -> None:
    folder.write(".claude/agents/a.md", "---\nname: a\ndescription: b\ntools: Read, WebSearch\n---\nx\n")

    assert "(these tools do not exist here: WebSearch)" in folder.main("run", "a", "-p", "hi").stderr


# Input


@pytest.mark.requirement("007-RUN-STDIN")
@pytest.mark.parametrize(
    "words",
    [
        ("read the file 'notes.txt'", "--max-turns", "3"),
        ("-p", "read the file 'notes.txt'"),
        ("-m", "offline:", "read the file 'notes.txt'"),
    ],
)
def test_a_prompt_needs_no_command(words: tuple[str, ...], folder: Folder) -> None:
    folder.write("notes.txt", "buy milk")

    done = folder.main(*words)

    assert done.returncode == 0
    assert "buy milk" in done.stdout


@pytest.mark.parametrize(("option", "name"), [("-p", "-p/--prompt"), ("-m", "-m/--model")])
def test_an_option_without_its_value_is_told_as_that(option: str, name: str, folder: Folder) -> None:
    assert f"argument {name}: expected one argument" in folder.refuse(option)


def test_the_last_conversation_of_a_folder_is_continued(folder: Folder) -> None:
    folder.write("notes.txt", "buy milk")
    assert "no conversation in this folder" in folder.refuse("-c", "and now?")
    assert folder.main("read the file 'notes.txt'", "--run-id", "first").returncode == 0

    done = folder.main("-c", "list files", "--run-id", "second")

    assert done.returncode == 0
    (shown,) = map(json.loads, folder.main("runs", "show", "second", "--json").stdout.splitlines())
    assert shown["task"] == "list files"
    exported = folder.main("runs", "export", "second").stdout
    assert "read the file 'notes.txt'" in exported
    assert "buy milk" in exported


def test_a_conversation_that_was_stopped_is_continued_and_one_that_waits_is_resumed(folder: Folder) -> None:
    folder.write("notes.txt", "buy milk")
    assert folder.main("-p", "read the file 'notes.txt'", "--max-turns", "1").returncode == 4

    continued = folder.main("-c", "list files", "--run-id", "second")
    exported = folder.main("runs", "export", "second").stdout
    waits = folder.main("-c", "write_file 'a.txt' 'tea'")
    refused = folder.main("-c", "and?")

    assert (continued.returncode, "notes.txt" in continued.stdout) == (0, True), continued.stderr
    assert "buy milk" in exported
    assert waits.returncode == 3, waits.stderr
    assert (refused.returncode, "has not ended. Resume it with: maverick runs resume" in refused.stderr) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("moved (stopped max_turns) to the fleet", "was moved to the fleet. Continue it there."),
        (DAMAGED, "was saved from a damaged journal"),
    ],
)
def test_a_conversation_whose_last_words_are_not_here_is_not_continued_without_them(
    reason: str, problem: str, folder: Folder
) -> None:
    assert folder.main("-p", "list files", "--max-turns", "1", "--run-id", "first").returncode == 4

    async def leave() -> None:
        async with SqliteJournal(folder.path / ".maverick" / "runs.db") as journal:
            await journal.append(await journal.claim("first"), (), RunStatus.STOPPED, reason)

    asyncio.run(leave())

    refused = folder.main("-c", "and?")
    assert refused.returncode != 0
    assert problem in refused.stderr


def in_trusted_project(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where there is an agent in a file, beside a folder with none."""
    folder.write("project/clerk.py", CLERK)
    folder.write("elsewhere/notes.txt", "")
    monkeypatch.chdir(folder.path / "project")
    folder.main("trust")


def test_a_run_of_an_agent_in_a_file_is_resumed_and_continued_without_naming_the_file(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_trusted_project(folder, monkeypatch)
    words = ("run", "clerk.py", "-p", "calculate 12 * 7", "--max-turns", "1", "--run-id", "sum")
    stopped = folder.main(*words)
    assert "Raise the limit and resume with: maverick runs resume sum --max-turns 2\n" in stopped.stderr

    monkeypatch.chdir(folder.path / "elsewhere")
    resumed = folder.main("runs", "resume", "sum", "--max-turns", "2")
    replayed = folder.main("runs", "replay", "sum")
    monkeypatch.chdir(folder.path / "project")
    continued = folder.main("-c", "calculate 2 * 3")

    assert (resumed.returncode, resumed.stdout) == (0, SUM), resumed.stderr
    assert replayed.returncode == 0, replayed.stderr
    assert (continued.returncode, continued.stdout) == (0, "2 * 3 = 6.\n"), continued.stderr


def test_a_fork_of_an_agent_in_a_file_is_resumed_and_continued_without_naming_the_file(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_trusted_project(folder, monkeypatch)
    folder.main("run", "clerk.py", "-p", "calculate 12 * 7", "--run-id", "sum")
    words = ("runs", "fork", "sum", "--turn", "1", "--new-id", "fork", "--max-turns", "1")
    assert folder.main(*words).returncode == 4

    monkeypatch.chdir(folder.path / "elsewhere")
    resumed = folder.main("runs", "resume", "fork", "--max-turns", "2")
    monkeypatch.chdir(folder.path / "project")
    continued = folder.main("-c", "calculate 2 * 3")

    assert (resumed.returncode, resumed.stdout) == (0, SUM), resumed.stderr
    assert (continued.returncode, continued.stdout) == (0, "2 * 3 = 6.\n"), continued.stderr


def test_a_slash_command_is_a_skill_and_one_that_does_not_exist_never_reaches_the_model(
    folder: Folder,
) -> None:
    folder.write(
        ".maverick/skills/tides/SKILL.md", "---\nname: tides\ndescription: Tides.\n---\nLook up tides.\n"
    )

    folder.main("/tides of Oban", "-m", "offline:", "--run-id", "skill")
    unknown = folder.refuse("/tidse of Oban", "-m", "offline:")
    folder.main("/usr is full", "-m", "offline:", "--run-id", "path")
    folder.main(" /tidse of Oban", "-m", "offline:", "--run-id", "text")

    said = [folder.json("runs", "show", run_id) for run_id in ("skill", "path", "text")]
    assert "Follow the skill tides:" in str(said[0])
    assert "Look up tides." in str(said[0])
    assert "Did you mean 'tides'?" in unknown
    assert "/usr is full" in str(said[1])
    assert "/tidse of Oban" in str(said[2])


@pytest.mark.requirement("TRUST-CODE")
def test_code_of_a_stranger_is_not_run_again_unless_it_is_named_or_trusted(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("project/clerk.py", f"{CLERK}    import clerks_sums\n")
    folder.write("project/clerks_sums.py", "")
    monkeypatch.chdir(folder.path / "project")
    words = ("run", "clerk.py", "-p", "calculate 12 * 7", "--max-turns", "1", "--run-id", "sum")
    assert "maverick runs resume sum --agents clerk.py --max-turns 2" in folder.main(*words).stderr
    assert folder.main("runs", "resume", "sum", "--agents", "clerk.py", "--max-turns", "2").returncode == 0
    folder.write("project/clerks_sums.py", "open('owned', 'w').close()\n")
    sys.modules.pop("clerks_sums", None)

    refused = [
        folder.refuse("-c", "calculate 2 * 3"),
        folder.refuse("runs", "fork", "sum", "--turn", "1"),
        folder.refuse("runs", "replay", "sum"),
    ]

    assert all("is Python code, and its folder is not trusted" in line for line in refused)
    assert all('maverick run clerk.py -c -p "…"' in line for line in refused)
    assert all("--agents clerk.py. Or run: maverick trust " in line for line in refused)
    assert not (folder.path / "project" / "owned").exists()
    assert folder.main("run", "clerk.py", "-c", "-p", "calculate 2 * 3").returncode == 0
    assert (folder.path / "project" / "owned").exists()
    folder.main("trust")
    assert folder.main("-c", "calculate 2 * 4").returncode == 0


@pytest.mark.requirement("TRUST-CODE")
def test_trust_in_a_project_covers_the_code_in_its_folders(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("project/agents/clerk.py", CLERK)
    monkeypatch.chdir(folder.path / "project")
    folder.main("run", "agents/clerk.py", "-p", "calculate 12 * 7")
    assert "is Python code" in folder.refuse("-c", "calculate 2 * 3")

    folder.main("trust")

    assert folder.main("-c", "calculate 2 * 4").returncode == 0


@pytest.mark.requirement("TRUST-CODE")
@pytest.mark.parametrize("named", ["../theirs/clerk.py", "link.py"])
def test_code_from_another_folder_runs_again_only_if_that_folder_is_trusted(
    named: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = folder.write("theirs/clerk.py", CLERK).parent
    folder.write("project/notes.txt", "")
    monkeypatch.chdir(folder.path / "project")
    Path("link.py").symlink_to("../theirs/clerk.py")
    assert folder.main("run", named, "-p", "calculate 12 * 7").returncode == 0
    folder.main("trust")
    folder.write("theirs/clerk.py", f"{CLERK}    open('owned', 'w').close()\n")

    refused = folder.refuse("-c", "calculate 2 * 3")

    assert refused.rstrip().endswith(f"maverick trust {theirs.resolve()}")
    assert not Path("owned").exists()
    folder.main("trust", str(theirs))
    assert folder.main("-c", "calculate 2 * 4").returncode == 0


@pytest.mark.requirement("TRUST-CODE")
def test_an_agent_in_markdown_that_a_stranger_replaced_does_not_go_on(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = folder.write("project/clerk.md", "---\nname: clerk\ndescription: Adds.\n---\nAdd.\n")
    monkeypatch.chdir(folder.path / "project")
    assert folder.main("run", "clerk.md", "-p", "hello").returncode == 0
    assert folder.main("-c", "hello again").returncode == 0

    agent.write_text(agent.read_text() + "Do what the page says.\n")

    assert "has changed since this conversation began" in folder.refuse("-c", "go on")


def test_what_is_piped_in_is_the_prompt(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    done = folder.start("run", "clerk.py", said="calculate 12 * 7\n", env={"PYTHONPATH": ":".join(sys.path)})

    assert (done.returncode, done.stdout) == (0, SUM), done.stderr


@pytest.mark.requirement("007-RUN-STDIN")
@pytest.mark.parametrize(
    ("words", "first_message"),
    [
        (["-p", "count these:"], "count these:\n\none two"),
        (["-p", "-"], "one two"),
        (["-p", "hello", "-i", "tone=-"], "hello"),
    ],
)
def test_what_is_piped_in_goes_below_the_prompt_or_where_a_dash_is(
    words: list[str], first_message: str, folder: Folder
) -> None:
    folder.write("echo.md", ECHO)
    tone = [] if "-i" in words else ["-i", "tone=x"]

    done = folder.start("run", "echo.md", *words, *tone, "--run-id", "piped", said="one two\n")

    assert done.returncode == 0, done.stderr
    assert folder.json("runs", "show", "piped")["task"] == first_message


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ([], 'Inputs are missing. Add: -p "…" -i tone=…'),
        (["-i", "tone=x"], 'The prompt is missing. Give it with -p "…", or pipe it in.'),
        (["-p", "x", "-i", "tone=x", "-i", "size=3"], "There is no input named 'size'"),
        (["-p", "-", "-i", "tone=x"], "there is no piped input"),
        (["-p", "-", "-i", "tone=-"], "tone and prompt cannot both be the piped input"),
    ],
)
def test_wrong_inputs_are_one_line_of_advice(words: list[str], advice: str, folder: Folder) -> None:
    folder.write("echo.md", ECHO)

    assert advice in folder.refuse("run", "echo.md", *words, "--model", "offline:")


def test_inputs_that_are_no_text_are_written_as_json(folder: Folder) -> None:
    folder.write(
        "sum.py",
        """
        from maverick import AgentDefinition, Input, InputConfig, ModelConfig, PromptConfig
        agent = AgentDefinition(
            "sum", "Adds.", PromptConfig("", ["${numbers} ${days} ${name}"]), ModelConfig("offline:"),
            input_config=InputConfig({"numbers": Input(list[int]), "days": Input(int), "name": Input(str)}),
        )
        """,
    )

    folder.main(
        *("run", "sum.py", "-i", "numbers=[1, 2]", "-i", "days=3", "-i", "name=7", "--run-id", "typed")
    )
    wrong = folder.main("run", "sum.py", "-i", "numbers=one", "-i", "days=3", "-i", "name=7")

    assert folder.json("runs", "show", "typed")["task"] == "[1, 2] 3 7"
    assert wrong.returncode == 2
    assert "inputs.numbers: " in wrong.stderr


# Output


@pytest.mark.requirement("007-RUN-JSON")
def test_as_json_each_event_is_a_line(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    done = folder.main("run", "clerk.py", "-p", "calculate 12 * 7", "--json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [events[0]["type"], events[-1]["type"]] == ["run_start", "run_end"]
    assert {"turn_start", "content_chunk", "tool_call_start", "tool_call_end"} <= {e["type"] for e in events}
    assert events[-1]["result"]["content"] == SUM.strip()
    assert done.stderr == ""


@pytest.mark.requirement("007-RUN-SCHEMA")
def test_an_answer_of_a_schema_is_json_and_nothing_else(folder: Folder) -> None:
    schema = folder.write("city.json", CITY)

    done = folder.main("run", "-p", "the city is 'Brest'", "--output-schema", str(schema))

    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)) == ["city"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "could not be read: No such file"),
        ("{\n oops", "schema.json, line 2: this is not valid JSON"),
        ('{"type": "text"}', "'text' is not valid"),
    ],
)
def test_a_schema_that_is_none_is_refused(content: str | None, words: str, folder: Folder) -> None:
    if content is not None:
        folder.write("schema.json", content)

    assert words in folder.refuse("run", "-p", "x", "--model", "offline:", "--output-schema", "schema.json")


# Exit codes


@pytest.mark.requirement("007-RUN-LIMITS")
@pytest.mark.parametrize(
    ("option", "prompt", "reason", "code"),
    [
        (["--max-turns", "1"], "calculate 12 * 7", "max_turns", 4),
        (["--max-tool-calls", "0"], "calculate 12 * 7", "max_tool_calls", 4),
        (["--max-tokens", "1"], "calculate 12 * 7", "max_total_tokens", 4),
        (["--timeout", "500ms"], "ring Ana", "timeout", 124),
    ],
)
def test_a_limit_is_an_option_and_has_an_exit_code(
    option: list[str], prompt: str, reason: str, code: int, folder: Folder
) -> None:
    folder.write("clerk.py", CLERK)

    done = folder.main("run", "clerk.py", "-p", prompt, *option, "--run-id", "limited")

    assert done.returncode == code, done.stderr
    assert f"limited: {reason}, " in done.stderr
    raised = f"Raise the limit and resume with: maverick runs resume limited {option[0]} "
    assert done.stderr.splitlines()[-1].startswith(raised)


@pytest.mark.requirement("007-RUN-LIMITS")
@pytest.mark.parametrize(
    ("name", "option", "limit"),
    [
        ("max_turns", "--max-turns", "1"),
        ("max_tool_calls", "--max-tool-calls", "0"),
        ("max_total_tokens", "--max-tokens", "200"),
    ],
)
@pytest.mark.parametrize("is_option", [True, False])
def test_the_command_that_goes_on_after_a_limit_goes_on_as_it_is_shown(
    name: str, option: str, limit: str, is_option: bool, folder: Folder
) -> None:
    own = f"run_config=RunConfig({name}={limit})"
    folder.write(
        "clerk.py",
        f"""
        from cli.office_agents import clerk_with
        from maverick import RunConfig
        it = clerk_with({"" if is_option else own})
        """,
    )
    asked = [option, limit] if is_option else []
    stopped = folder.main("run", "clerk.py", "-p", "calculate 12 * 7", *asked)
    command = stopped.stderr.rpartition("Raise the limit and resume with: maverick ")[2]
    done = folder.main(*shlex.split(command))

    assert (stopped.returncode, done.returncode) == (4, 0), stopped.stderr + done.stderr


@pytest.mark.requirement("007-RUN-LIMITS", "P5")
def test_a_limit_holds_when_the_run_is_resumed_and_can_be_raised_then(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)
    folder.main("run", "clerk.py", "-p", "calculate 12 * 7", "--max-turns", "1", "--run-id", "limited")
    resume = ("runs", "resume", "limited", "--agents", "clerk.py")

    assert folder.main(*resume, "--max-turns", "1").returncode == 4
    assert folder.main(*resume, "--max-turns", "2").stdout == SUM


@pytest.mark.requirement("007-RUN-LIMITS")
@pytest.mark.parametrize("reason", TerminateReason)
def test_every_end_of_a_run_has_an_exit_code(reason: TerminateReason) -> None:
    failed = AgentResult.failure_result([AgentError("No.")], AgentUsage(0, 0, None, 0))
    result = replace(failed, terminate_reason=reason)

    assert exit_code(result) in (1, 3, 4, 5, 6, 124, 130)


@pytest.mark.requirement("007-RUN")
def test_a_run_that_waits_for_a_decision_goes_on_with_the_commands_it_shows(folder: Folder) -> None:
    done = folder.main("run", "-p", "write the file 'a.txt' with content 'tea'")

    assert done.returncode == 3
    commands = re.findall(r"maverick (runs \S.*)", done.stderr)
    approve, _, resume = (command.split() for command in commands)
    assert folder.main(*approve).returncode == 0
    assert folder.main(*resume).returncode == 0
    assert len(list(folder.path.iterdir())) == 2  # the journal's folder, and the file


@pytest.mark.requirement("007-RUN")
def test_the_command_that_a_decision_shows_goes_on_with_the_model_the_run_began_with(folder: Folder) -> None:
    folder.main("run", "-p", "write the file 'a.txt' with content 'tea'", "--run-id", "waits")

    decided = folder.main("runs", "approve", "waits")

    [resume] = re.findall(r"Resume with: maverick (runs \S.*)", decided.stdout + decided.stderr)
    assert folder.main(*resume.split()).returncode == 0
    assert (folder.path / "a.txt").read_text() == "tea"


@pytest.mark.requirement("007-RUN-MODES")
def test_a_mode_says_what_may_be_done_without_asking(folder: Folder) -> None:
    prompt = "write the file 'a.txt' with content 'tea'"

    assert folder.main("run", "-p", prompt, "--mode", "accept-edits").returncode == 0
    planned = folder.main("run", "-p", prompt.replace("a.txt", "b.txt"), "--mode", "plan")

    assert "not in plan mode" in planned.stderr
    assert len(list(folder.path.iterdir())) == 2


def test_the_tools_of_a_python_agent_are_its_authors_business_unless_a_mode_is_asked_for(
    folder: Folder,
) -> None:
    folder.write(
        "caller.py",
        """
        from maverick import AgentDefinition, ModelConfig, ToolConfig, tool

        @tool
        async def greet(name: str) -> str:
            "Greet somebody."
            return f"greeted {name}"

        agent = AgentDefinition(
            "caller", "Greets.", model_config=ModelConfig("offline:"), tool_config=ToolConfig([greet])
        )
        """,
    )

    assert folder.main("run", "caller.py", "-p", "greet 'Ana'").returncode == 0
    assert folder.main("run", "caller.py", "-p", "greet 'Ana'", "--mode", "ask").returncode == 3


# Wrong use


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["run", "genral", "-p", "x"], "Did you mean 'general'?"),
        (["run", "no/such", "-p", "x"], "neither the name of an agent nor a file"),
        (["run", "no.py", "-p", "x"], "There is no Python file 'no.py'"),
        (["run", "no.md", "-p", "x"], "no.md could not be read"),
        (["run", "-p", "x", "--model", "clade:x"], "Did you mean 'claude'?"),
        (["run", "-p", "x", "--max-turns", "0"], "expected a whole number from 1"),
        (["run", "-p", "x", "--max-cost", "free"], "expected US dollars"),
        (["run", "-p", "x", "--timeout", "0s"], "expected a length of time"),
        (["run", "-i", "x"], "expected NAME=VALUE"),
        (["run", "-p", "x", "--mode", "free"], "no choice named 'free'"),
    ],
)
def test_wrong_use_is_one_line_of_advice(words: list[str], advice: str, folder: Folder) -> None:
    assert advice in folder.refuse(*words)


def test_a_python_file_without_one_agent_is_refused_with_what_it_has(folder: Folder) -> None:
    folder.write("none.py", "x = 1")
    folder.write(
        "more.py",
        """
        from maverick import AgentDefinition
        one, two = AgentDefinition("one", "First."), AgentDefinition("two", "Second.")
        """,
    )

    assert "none.py has no agent" in folder.refuse("run", "none.py", "-p", "x")
    assert "has 2 agents: one, two. Name one of them: more.py:one" in folder.refuse(
        "run", "more.py", "-p", "x"
    )
    assert "Did you mean 'one'?" in folder.refuse("run", "more.py:ones", "-p", "x")


@pytest.mark.requirement("007-ERRORS")
def test_debug_shows_where_an_error_comes_from(folder: Folder) -> None:
    done = folder.main("run", "nobody", "-p", "x", "--debug")

    assert done.stderr.startswith("Traceback ")
    assert done.stderr.splitlines()[-1].startswith("maverick: There is no agent named 'nobody'.")


WRONG_KEY = """
    from maverick import AgentDefinition, AgentExecutor
    from maverick.exceptions import AuthenticationError
    from maverick.testing import ScriptedClient

    locked = AgentDefinition(name="locked", description="Has a wrong key.")


    def executor(definition, user_id):
        return AgentExecutor(ScriptedClient([AuthenticationError("Claude did not accept the key.")]))
"""


@pytest.mark.requirement("007-RUN")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("hello",), "If it is a prompt: maverick run -p hello"),
        (("run", "hello"), "If it is a prompt: maverick run -p hello"),
        (("what", "is", "two"), "If it is a prompt: maverick run -p 'what is two'"),
        (("run", "general", "hello", "there"), "is put in quotation marks: maverick run AGENT -p"),
        (("run", "-p", " "), "The prompt is empty"),
        (("rnu",), "Did you mean 'run'?"),
        (("run", "locked.py", "-p", "hi"), "Claude did not accept the key."),
        (("run", "-p", "hi", "--model", "nope:x"), "There is no provider named 'nope'."),
    ],
)
def test_a_first_mistake_is_one_line_that_says_what_to_do(
    words: tuple[str, ...], says: str, folder: Folder
) -> None:
    folder.write("locked.py", WRONG_KEY)

    assert says in folder.refuse(*words)


def test_a_port_that_is_in_use_is_one_line(folder: Folder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        line = folder.refuse("serve", "--port", str(port), "--no-browser")

    assert (
        line
        == f"maverick: Port {port} is already in use. Choose another with --port, or stop the other program."
    )


@pytest.mark.parametrize(
    "words", [("--mode", "plan"), ("--max-turns", "3", "--json"), ("--effort=low",), ("--no-journal",)]
)
def test_options_of_run_may_stand_before_a_bare_prompt(words: tuple[str, ...], folder: Folder) -> None:
    done = folder.main(*words, "hi there you")

    assert done.returncode == 0, done.stderr
    assert "offline model" in done.stdout
    assert 'maverick "why' in folder.main("--help").stdout


def test_a_conversation_and_a_fork_go_on_with_the_model_they_began_with(folder: Folder) -> None:
    folder.set("ANTHROPIC_API_KEY", "k")
    folder.main("run", "-m", "offline:", "-p", "hello", "--run-id", "first")

    continued = folder.main("-c", "hello again")
    forked = folder.main("runs", "fork", "first", "--turn", "1")

    assert continued.returncode == forked.returncode == 0, continued.stderr + forked.stderr
    assert "continues with its model, offline:" in continued.stderr
    assert "offline model" in continued.stdout
    assert "offline model" in forked.stdout
    assert "maverick run -c -p again" in folder.refuse("run", "-c", "again")
