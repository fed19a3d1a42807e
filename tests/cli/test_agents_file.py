from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from maverick.agents import registry
from maverick.cli.agent_lookup import find_agent
from maverick.exceptions import AgentNotFoundError, InvalidInputError

Write = Callable[..., str]

CLERK = "from maverick import AgentDefinition\nclerk = AgentDefinition('clerk', 'Works.')\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file into the current folder; what loading it changes in this process is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})

    def write(content: str, name: str = "agents.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return name

    return write


def refuse(source: str, name: str = "clerk") -> str:
    with pytest.raises(InvalidInputError) as caught:
        find_agent(source, name)
    assert caught.value.field == "agents"
    return str(caught.value)


def test_an_agent_is_found_among_the_global_names_of_a_file(write: Write, tmp_path: Path) -> None:
    source = write(CLERK)

    assert find_agent(source, "clerk").description == "Works."
    assert find_agent(str(tmp_path / source), "clerk").description == "Works."


def test_an_agent_is_found_in_a_module_of_the_current_folder(write: Write) -> None:
    write("", "office/__init__.py")
    write(CLERK, "office/people.py")

    assert find_agent("office.people", "clerk").description == "Works."


def test_an_agent_is_found_that_the_file_registers(write: Write) -> None:
    source = write(
        "from maverick import AgentDefinition\n"
        "from maverick.agents import registry\n"
        "def hire():\n"
        "    registry.register(AgentDefinition('porter', 'Opens doors.'))\n"
        "hire()\n"
    )
    try:
        assert find_agent(source, "porter").description == "Opens doors."
    finally:
        registry.unregister("porter")


def test_an_agent_is_found_that_is_only_a_tool_of_another(write: Write) -> None:
    source = write(
        "from maverick import AgentDefinition, ToolConfig\n"
        "def team():\n"
        "    clerk = AgentDefinition('clerk', 'Works.')\n"
        "    head = AgentDefinition('head', 'Leads.', tool_config=ToolConfig(tools=[clerk.as_tool('ask')]))\n"
        "    return AgentDefinition('chief', 'Rules.', tool_config=ToolConfig(tools=[head.as_tool()]))\n"
        "chief = team()\n"
    )

    assert find_agent(source, "clerk").description == "Works."


def test_two_names_of_one_agent_are_one_agent(write: Write) -> None:
    assert find_agent(write(f"{CLERK}\nworker = clerk\n"), "clerk").name == "clerk"


def test_two_agents_of_one_name_are_refused(write: Write) -> None:
    assert "has 2 agents named 'clerk'" in refuse(
        write(f"{CLERK}\nother = AgentDefinition('clerk', 'Rests.')\n")
    )


def test_an_agent_that_is_not_there_is_named_with_the_nearest(write: Write) -> None:
    with pytest.raises(AgentNotFoundError, match=r"agents\.py: .*Did you mean 'clerk'\?") as caught:
        find_agent(write(CLERK), "clark")
    assert caught.value.available_agents == ["clerk"]


def test_a_file_may_import_its_neighbours_and_be_named_like_a_module_that_is_loaded(write: Write) -> None:
    write(CLERK, "people.py")

    assert find_agent(write("from people import clerk\n", "json.py"), "clerk").name == "clerk"
    assert hasattr(sys.modules["json"], "loads")


@pytest.mark.parametrize(
    "source", ["nothing.py", "folder/agents.py", "folder/agents", "README.md", "no_module"]
)
def test_a_source_that_is_not_there_is_named(write: Write, source: str) -> None:
    problem = refuse(source)

    assert source in problem
    assert "There is no" in problem


def test_a_module_that_misses_another_one_says_which_and_where(write: Write) -> None:
    assert refuse(write("import math\nimport no_module\n")) == (
        "agents.py cannot be loaded. agents.py, line 2: The module 'no_module' is not installed for "
        f"{sys.executable}. Install it there, or check its name."
    )


def test_a_module_of_the_current_folder_that_is_not_looked_for_there_is_told_as_that(write: Write) -> None:
    write("", "neighbour.py")

    assert "is not looked for in the current folder. If it is yours, set PYTHONPATH" in refuse(
        write("import neighbour\n", "agents/clerk.py")
    )


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("x = 1\ndef (:\n", "agents.py, line 2: SyntaxError: "),
        ("\n\n1 / 0\n", "agents.py, line 3: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit()\n", "agents.py, line 2: SystemExit"),
        ("raise ValueError\n", "agents.py, line 1: ValueError"),
        (CLERK.replace("'clerk'", "''"), "agents.py, line 2: InvalidInputError: name"),
        ("import broken\n", "broken.py, line 4: RuntimeError: two lines"),
    ],
)
def test_a_file_that_fails_is_told_in_a_line_with_the_place(write: Write, content: str, place: str) -> None:
    write("\n\n\nraise RuntimeError('two\\nlines')\n", "broken.py")

    problem = refuse(write(content))

    assert place in problem
    assert "\n" not in problem


def test_a_file_that_is_no_text_is_told_in_a_line(write: Write, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_bytes(b"\x00\xff\xfe")

    assert "agents.py cannot be loaded." in refuse("agents.py")
