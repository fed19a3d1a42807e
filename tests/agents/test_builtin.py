"""The built-in agents, on the real CLI and a server that speaks the Messages API."""

from __future__ import annotations

import inspect
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from claude_cli.api import CliApi, calls, surroundings
from maverick import AgentDefinition, MaverickConfig
from maverick.agents import AgentContext, AgentRegistry, AgentResult, MaverickAgent
from maverick.agents.builtin import CodeReviewer, CommitWriter, DocsWriter, Fix, IssueFixer, Review
from maverick.agents.discovery import BUILTIN_CLASSES, GENERAL, Discovery, Origin
from maverick.agents.named_tools import CODING_TOOLS
from maverick.exceptions import InvalidInputError, ProcessError
from maverick.tools.coding.toolbox import coding_tools
from maverick.tools.coding.workspace import Workspace
from wire.claude_answers import Answer, text

FINDING = {
    "file": "sum.py",
    "line": 2,
    "severity": "critical",
    "problem": "It subtracts.",
    "suggestion": "Add.",
}


class Project:
    """A repository with a change that is not committed, and a CLI that only knows the server."""

    def __init__(self, folder: Path, api: CliApi) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.api = api
        self.env = surroundings(folder, api.url)
        self.git("init", "--quiet")
        self.write("sum.py", "def add(a, b):\n    return a + b\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "Begin")
        self.write("sum.py", "def add(a, b):\n    return a - b\n")

    def write(self, name: str, content: str) -> None:
        (self.folder / name).write_text(content)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True)  # noqa: S603, S607 - the test's own

    async def run(self, kind: type[MaverickAgent], **inputs: str) -> AgentResult[Any]:
        context = AgentContext(self.folder, "main", MaverickConfig(), extra=dict(inputs))
        agent = kind(env=self.env, model="claude-sonnet-4-5")
        return await agent.execute(context)

    @property
    def asked(self) -> str:
        """What the model was asked first."""
        return str(self.api.requests[0]["messages"])

    @property
    def offered(self) -> set[str]:
        """The tools the model was offered."""
        return {tool["name"] for tool in self.api.requests[0]["tools"]}


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    async with CliApi() as api:
        yield Project(tmp_path, api)


@pytest.mark.requirement("005-READY")
async def test_the_code_reviewer_lists_findings_on_a_change(project: Project) -> None:
    review = {"summary": "One mistake.", "findings": [FINDING]}
    project.api.play(Answer([text(json.dumps(review))]))

    result = await project.run(CodeReviewer)

    assert result.success, result.error
    assert isinstance(result.output, Review)
    assert result.output.model_dump() == review
    assert str(result.output).splitlines()[1] == "sum.py:2  critical: It subtracts."
    assert "-    return a + b" in project.asked
    assert "+    return a - b" in project.asked
    assert {"Read", "Grep", "Glob"} <= project.offered
    assert project.offered.isdisjoint({"Bash", "Write", "Edit"})
    assert result.usage.total_tokens > 0


@pytest.mark.requirement("005-READY")
async def test_the_commit_writer_answers_with_the_message_alone(project: Project) -> None:
    project.api.play(Answer([text("Subtract in place of adding")]))

    result = await project.run(CommitWriter, style="like a pirate")

    assert result.output == "Subtract in place of adding"
    assert "like a pirate" in project.asked
    assert "return a - b" in project.asked
    assert project.offered.isdisjoint({"Read", "Bash", "Write", "Edit"})


@pytest.mark.requirement("005-READY")
async def test_the_documentation_writer_writes_files(project: Project) -> None:
    page = {"file_path": str(project.folder / "README.md"), "content": "# Sums\n"}
    project.api.play(calls(("Write", page)), Answer([text("Wrote README.md.")]))

    result = await project.run(DocsWriter, prompt="sum.py")

    assert (result.success, result.output) == (True, "Wrote README.md.")
    assert project.read("README.md") == "# Sums\n"
    assert "Bash" not in project.offered


@pytest.mark.requirement("005-READY")
async def test_the_issue_fixer_mends_files_and_runs_nothing(project: Project) -> None:
    path = str(project.folder / "sum.py")
    fix = {"cause": "It subtracts.", "changes": ["sum.py: add"], "open_questions": []}
    project.api.play(
        calls(("Read", {"file_path": path})),
        calls(
            ("Edit", {"file_path": path, "old_string": "a - b", "new_string": "a + b"}),
            ("Bash", {"command": f"touch {project.folder}/ran"}),
        ),
        Answer([text(json.dumps(fix))]),
    )

    result = await project.run(IssueFixer, prompt="add(1, 1) is 0")

    assert isinstance(result.output, Fix), result.error
    assert str(result.output) == "It subtracts.\n- sum.py: add"
    assert project.read("sum.py") == "def add(a, b):\n    return a + b\n"
    assert not (project.folder / "ran").exists()
    assert "add(1, 1) is 0" in project.asked


def test_the_issue_fixer_may_run_what_it_is_allowed_to() -> None:
    assert "Bash(make test)" in IssueFixer(commands=["make test"]).allowed_tools


@pytest.mark.parametrize("kind", [CodeReviewer, CommitWriter])
async def test_without_a_change_there_is_nothing_to_do(kind: type[MaverickAgent], project: Project) -> None:
    project.git("checkout", "--quiet", "sum.py")

    result = await project.run(kind)

    assert not result.success
    assert isinstance(result.errors[0], InvalidInputError)
    assert project.api.requests == []


@pytest.mark.parametrize("base", ["nowhere", "--output=stolen"])
async def test_what_git_refuses_is_in_the_result(base: str, project: Project) -> None:
    result = await project.run(CodeReviewer, base=base)

    assert isinstance(result.errors[0], ProcessError)
    assert "git could not tell what changed" in str(result.error)
    assert not (project.folder / "stolen").exists()


async def test_a_missing_or_unknown_input_is_in_the_result(project: Project) -> None:
    missing, unknown = await project.run(IssueFixer), await project.run(CommitWriter, stile="x")

    assert "prompt missing" in str(missing.error)
    assert "Did you mean 'style'?" in str(unknown.error)


@pytest.mark.requirement("005-READY", "000-SC-007")
def test_each_builtin_agent_is_small_and_has_only_its_task_in_it() -> None:
    for kind in (CodeReviewer, CommitWriter, DocsWriter, IssueFixer):
        own = {name for name in vars(kind) if callable(getattr(kind, name)) and name != "output_type"}
        assert own <= {"__init__", "prompt"} | {"__abstractmethods__"}
        assert len(inspect.getsource(kind).splitlines()) < 60


@pytest.mark.requirement("005-READY", "000-SC-005")
def test_builtin_agents_are_found_and_made_by_name(tmp_path: Path) -> None:
    builtin, known = {GENERAL.name, *BUILTIN_CLASSES}, AgentRegistry()
    found = {agent.name: agent for agent in Discovery(tmp_path, tmp_path, known=known).all()}

    assert {name for name, agent in found.items() if agent.origin is Origin.BUILTIN} == builtin
    Discovery(tmp_path, tmp_path, known=known).register()
    for name in builtin:
        assert callable(known.create(name).execute)
        assert found[name].description


def test_the_tools_that_files_may_name_are_the_coding_tools(tmp_path: Path) -> None:
    tools = {tool.name for tool in coding_tools(Workspace(tmp_path))}
    general = Discovery(tmp_path, tmp_path, known=AgentRegistry()).find("general").agent

    assert set(CODING_TOOLS) == tools
    assert isinstance(general, AgentDefinition)
    assert set(general.tool_config.tools) == tools
