"""``maverick agents``: listing, showing and writing agents."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from cli.folder import Folder
from cli.runs_command import fits
from maverick.agents.discovery import BUILTIN_CLASSES, GENERAL
from maverick.agents.markdown import read_agent

BUILTIN = [GENERAL.name, *BUILTIN_CLASSES]
REPORTER = """
    ---
    name: reporter
    description: Writes a report on anything that happens anywhere, and does so for whoever wants to read it.
    model: "offline:"
    tools: [grep]
    inputs: {audience: Who reads it., days: {type: integer, default: 3}}
    max_cost_usd: 0.5
    effort: high
    server_tools: [web_search, {type: mcp, server_label: shop, authorization: tok-1}]
    extra: {service_tier: auto}
    ---
    You write for ${audience}, for ${days} days.
"""


@pytest.mark.requirement("007-AGENTS")
def test_all_agents_are_listed_with_where_they_come_from(folder: Folder) -> None:
    folder.write(".maverick/agents/reporter.md", REPORTER)
    folder.set("COLUMNS", "80")

    done = folder.main("agents", "list")

    assert done.returncode == 0
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["AGENT", "FROM", "WHAT", "IT", "DOES"]
    assert [line.split()[:2] for line in lines] == sorted(
        [[name, "builtin"] for name in BUILTIN] + [["reporter", "project"]]
    )
    assert fits(done.stdout)
    assert folder.main("agents", "list", "--names").stdout.split() == sorted([*BUILTIN, "reporter"])


@pytest.mark.requirement("007-AGENTS", "005-BAD-FILES")
def test_a_file_that_is_wrong_is_told_below_the_others(folder: Folder) -> None:
    folder.write(".maverick/agents/bad.md", "---\nname: bad\n")

    done = folder.main("agents", "list")

    assert "general" in done.stdout
    assert ".maverick/agents/bad.md, line 2: the settings are not closed" in done.stderr
    (problem,) = folder.json("agents", "list")["problems"]
    assert "line 2" in problem


@pytest.mark.requirement("007-AGENTS")
def test_an_agent_is_shown_with_all_it_is(folder: Folder) -> None:
    folder.write(".maverick/agents/reporter.md", REPORTER)

    shown = folder.main("agents", "show", "reporter").stdout.splitlines()

    assert shown[0] == "agent    reporter"
    assert shown[2:] == [
        "from     .maverick/agents/reporter.md",
        "model    offline:",
        "settings effort high, server_tools web_search mcp, extra service_tier",
        "tools    grep",
        "limits   50 turns, $0.50 of cost, 10 min 0 s",
        "input    audience: Who reads it.",
        "input    days (by default 3)",
        "input    prompt: What to do.",
        'run      maverick run reporter -i audience=… -p "…"',
        "",
        "You write for ${audience}, for ${days} days.",
    ]


@pytest.mark.requirement("007-AGENTS")
def test_an_agent_is_shown_as_json(folder: Folder) -> None:
    folder.write("reporter.md", REPORTER)

    shown = folder.json("agents", "show", "reporter.md")

    assert (shown["name"], shown["tools"], shown["kind"]) == ("reporter", ["grep"], "definition")
    assert shown["inputs"]["days"] == {"description": "", "required": False, "default": "3"}


def test_a_class_is_shown_with_its_inputs(folder: Folder) -> None:
    shown = folder.main("agents", "show", "issue-fixer").stdout

    assert "input    prompt: The issue: what happens, and what should." in shown
    assert 'run      maverick run issue-fixer -p "…"' in shown
    assert folder.json("agents", "show", "issue-fixer")["kind"] == "class"


@pytest.mark.requirement("007-AGENTS")
def test_a_new_agent_runs_as_it_is(folder: Folder) -> None:
    done = folder.main("agents", "new", "explainer")

    assert (done.returncode, done.stdout) == (0, ".maverick/agents/explainer.md\n")
    assert done.stderr == 'Run it: maverick run explainer -p "what is in here?"\n'
    assert folder.main("run", "explainer", "-p", "list files").returncode == 0
    definition = read_agent(Path(".maverick/agents/explainer.md")).definition
    assert definition.render({"prompt": "x"})[0].endswith("Write for a new colleague. Be brief.")


@pytest.mark.requirement("007-AGENTS")
def test_a_new_agent_in_python_runs_as_it_is(folder: Folder) -> None:
    done = folder.main("agents", "new", "counter", "--python")

    assert (done.returncode, done.stdout) == (0, "counter.py\n")
    ran = folder.main("agents", "run", "counter.py", "-p", "how many words are in 'to be or not to be'?")
    assert (ran.returncode, ran.stdout) == (0, "The text has 6 words.\n"), ran.stderr


def test_a_new_agent_may_be_for_all_projects(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder.set("HOME", str(home := tmp_path_factory.mktemp("home")))

    assert folder.main("agents", "new", "explainer", "--home").returncode == 0
    assert (home / ".maverick" / "agents" / "explainer.md").is_file()
    assert ["explainer", "home"] in [
        line.split()[:2] for line in folder.main("agents", "list").stdout.splitlines()
    ]


def test_nothing_is_written_over_unless_it_is_wanted(folder: Folder) -> None:
    file = folder.write(".maverick/agents/explainer.md", REPORTER)

    assert "already exists" in folder.refuse("agents", "new", "explainer")
    assert "reporter" in file.read_text()
    assert folder.main("agents", "new", "explainer", "--force").returncode == 0
    assert "reporter" not in file.read_text()


@pytest.mark.parametrize("name", ["2 words", "../up", "", "a/b"])
def test_a_name_that_is_none_is_refused(name: str, folder: Folder) -> None:
    assert "name: expected" in folder.refuse("agents", "new", name)
    assert list(folder.path.iterdir()) == []


def test_a_folder_that_can_not_be_written_to_is_told(folder: Folder) -> None:
    folder.write(".maverick", "a file in the way")

    assert "could not be written" in folder.refuse("agents", "new", "x")
    assert "--home is for Markdown" in folder.refuse("agents", "new", "x", "--python", "--home")
    assert stat.S_ISREG((folder.path / ".maverick").stat().st_mode)
