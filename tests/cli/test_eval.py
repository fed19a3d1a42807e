"""``maverick eval`` as a user types it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest

from cli.command import PATIENCE, Terminal, environment
from cli.folder import Folder
from warm_start import Maverick

AGENT = """
    from maverick import AgentDefinition, AgentExecutor, PromptConfig, ToolConfig, tool
    from maverick.evals import Case, contains
    from maverick.model import Usage
    from maverick.testing import ScriptedClient, call, reply, turn

    @tool(effect="pure")
    async def get_weather(city: str) -> str:
        '''Today's weather in a city.'''
        return f"sunny in {city}"

    reporter = AgentDefinition(
        name="reporter",
        description="Reports the weather.",
        prompt_config=PromptConfig(initial_messages=["${city}"]),
        tool_config=ToolConfig(tools=[get_weather]),
    )

    async def answer(request):
        usage = Usage(input_tokens=1, output_tokens=1, cost_usd=0.01)
        city = request.messages[0].content
        if city == "forever":
            import asyncio
            print("waiting", flush=True)
            await asyncio.Event().wait()
        if len(request.messages) == 1:
            return turn(call("get_weather", city=city), usage=usage)
        return reply(f"It is {request.messages[-1].content}.", usage=usage)

    def executor(definition, user_id):
        return AgentExecutor(ScriptedClient(answer))

    cases = [Case("brest", {"city": "Brest"}, [contains("sunny")]), Case("lyon", {"city": "Lyon"}, [contains("Lyon")])]
"""
CASES = """
    agent: weather.py
    cases:
      - name: brest
        inputs: {city: Brest}
        checks: [contains: sunny, calls: get_weather]
      - name: lyon
        inputs: {city: Lyon}
        checks: {contains: WORD}
"""


@pytest.fixture
def weather(folder: Folder) -> Folder:
    folder.write("weather.py", AGENT)
    folder.write("cases.yaml", CASES.replace("WORD", "rain"))
    return folder


@pytest.mark.requirement("EVAL-RUN", "EVAL-COMPARE")
def test_a_file_of_cases_is_run_shown_and_compared_with_the_last_time(weather: Folder) -> None:
    first = weather.main("eval", "cases.yaml")

    assert first.returncode == 1
    assert re.search(r"brest +passed +1/1 +2 +\$0.02", first.stdout)
    assert re.search(r"lyon +FAILED +0/1", first.stdout)
    assert "failed: contains 'rain'. Missing: 'rain'. The answer is 'It is sunny in Lyon.'." in first.stdout
    assert "1 of 2 cases passed. Cost: $0.04." in first.stdout
    assert "[2/2]" in first.stderr  # a line for each in a pipe

    weather.write("cases.yaml", CASES.replace("WORD", "Lyon"))
    second = weather.main("eval", "cases.yaml", "--repeat", "2")

    assert second.returncode == 0
    assert re.search(r"lyon +passed +2/2 +0/1", second.stdout)
    assert re.search(r"Better than on [\d-]+ [\d:]+: lyon", second.stdout)

    weather.write("cases.yaml", CASES.replace("WORD", "rain"))
    only = weather.main("eval", "cases.yaml", "--only", "l*")

    assert only.returncode == 1
    assert "brest" not in only.stdout
    assert re.search(r"Worse than on [\d-]+ [\d:]+: lyon", only.stdout)
    (run_id,) = re.findall(r"lyon \((\S+)\)", only.stdout)
    assert "It is sunny in Lyon." in weather.main("runs", "show", run_id).stdout


@pytest.mark.requirement("EVAL-COMPARE")
def test_json_has_all_of_it_and_can_be_compared_with_later(weather: Folder) -> None:
    before = weather.main("eval", "weather.py", "--json")
    weather.write("earlier.jsonl", before.stdout)
    weather.write("weather.py", AGENT.replace('contains("Lyon")', 'contains("heavy rain")'))

    now = weather.main("eval", "weather.py", "--json", "--compare", "earlier.jsonl")

    assert (before.returncode, now.returncode) == (0, 1)
    found = json.loads(now.stdout)
    assert (found["file"], found["agent"], found["passed"], found["regressions"]) == (
        "weather.py",
        "reporter",
        False,
        ["lyon"],
    )
    assert [(case["name"], case["pass_rate"]) for case in found["cases"]] == [("brest", 1), ("lyon", 0)]


@pytest.mark.requirement("EVAL-RECORDED")
def test_cases_made_of_runs_pass_without_a_model_and_fork_with_one(weather: Folder) -> None:
    weather.main("eval", "cases.yaml", "--only", "brest")
    (run,) = weather.runs()

    written = weather.main("eval", "--from-runs", run.run_id, "--agent", "weather.py")
    weather.write("recorded.yaml", written.stdout)
    recorded = weather.main("eval", "recorded.yaml")
    live = weather.main("eval", "recorded.yaml", "--model", "offline:")

    assert "calls:\n      tool: get_weather\n      arguments:\n        city: Brest" in written.stdout
    assert "equals: It is sunny in Brest." in written.stdout
    assert (recorded.returncode, live.returncode) == (0, 0), recorded.stdout + live.stdout
    assert re.search(r"passed +1/1 +2 +\$0 ", recorded.stdout)
    assert [record.forked_from for record in weather.runs()] == [run.run_id, None]


@pytest.mark.requirement("EVAL-BUDGET")
def test_a_budget_that_is_spent_stops_the_rest(weather: Folder) -> None:
    done = weather.main("eval", "weather.py", "cases.yaml", "--max-cost", "0.03", "--concurrency", "1")

    assert done.returncode == 1
    assert "Stopped: the budget is spent" in done.stdout
    assert re.search(r"lyon +not run", done.stdout)


@pytest.mark.requirement("EVAL-STOP")
def test_ctrl_c_keeps_what_is_done(weather: Folder) -> None:
    weather.write("weather.py", AGENT.replace('"Lyon"}', '"forever"}'))
    process = Maverick(
        *("eval", "weather.py", "--concurrency", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=weather.path,
        env=environment(weather.path),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 130, errors
    assert re.search(r"brest +passed +1/1", output)
    assert re.search(r"lyon +not run", output)
    assert "Stopped: interrupted" in output


@pytest.mark.requirement("EVAL-RUN")
def test_a_terminal_shows_how_far_it_is(weather: Folder) -> None:
    weather.write("weather.py", AGENT.replace('"Lyon"}', '"forever"}'))
    with Terminal("eval", "weather.py", "--concurrency", "1", home=weather.path) as terminal:
        terminal.expect("██████████░░░░░░░░░░ 1/2")
        assert terminal.leave("\x03") == 130


@pytest.mark.requirement("EVAL-TRUST")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("agent: ../weather.py", "agent: ../weather.py"),
        ("agent: general\nchecks: {function: evil.py:run}", "function: evil.py:run"),
    ],
)
def test_code_that_a_strangers_file_names_is_not_run(
    weather: Folder, monkeypatch: pytest.MonkeyPatch, line: str, problem: str
) -> None:
    weather.write("clone/evil.py", "raise SystemExit('it ran')")
    weather.write("clone/cases.yaml", f"{line}\ncases: [{{name: a, inputs: {{city: Brest}}}}]")
    monkeypatch.chdir(weather.path / "clone")

    said = weather.refuse("eval", "cases.yaml")

    assert f"{problem} is not used, since you have not trusted this folder." in said
    assert "cases.yaml, line " in said
    assert "maverick trust" in said


@pytest.mark.requirement("EVAL-INPUT")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "Name one or more files of cases, or else runs with --from-runs."),
        (["cases.yaml", "--from-runs", "x"], "Name one or more files of cases"),
        (["gone.yaml"], "gone.yaml could not be read"),
        (["empty.py"], "empty.py has no cases. Write: cases = [Case(…), …]"),
        (["nameless.yaml"], "nameless.yaml names no agent. Add a line such as `agent: reporter`"),
        (["cases.yaml", "--only", "paris"], "No case has the name paris."),
        (["none.yaml"], "There are no cases in none.yaml."),
        (["cases.yaml", "--compare", "gone.json"], "--compare: gone.json could not be read"),
        (["cases.yaml", "--compare", "cases.yaml"], "This is not the report of an evaluation."),
        (["cases.yaml", "--judge-model", "nowhere:x"], "There is no provider named 'nowhere'."),
        (["missing.yaml"], "missing.yaml, line 2: case 'a': inputs: city missing."),
    ],
)
def test_wrong_input_is_refused_in_a_line_with_exit_code_2(
    weather: Folder, words: list[str], problem: str
) -> None:
    weather.write("empty.py", AGENT.replace("cases = ", "others = "))
    weather.write("none.yaml", "agent: weather.py\ncases: []")
    weather.write("nameless.yaml", "cases: [{name: a}]")
    weather.write("missing.yaml", "agent: weather.py\ncases: [{name: a}]")

    assert problem in weather.refuse("eval", *words)
