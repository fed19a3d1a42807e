from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ApprovalRequest, MaverickConfig
from maverick.agents import registry
from maverick.agents.discovery import DiscoveredAgent, Discovery
from maverick.agents.running import agent_executor, offered_agents
from maverick.exceptions import InvalidInputError
from maverick.journal import MemoryJournal
from maverick.loop import TerminateReason
from maverick.model import Role

OFFICE = """\
from maverick import AgentDefinition, AgentExecutor, PromptConfig, ToolConfig, tool
from maverick.journal import MemoryJournal
from maverick.testing import ScriptedClient, call, reply
from maverick.tools.permissions import Permissions

@tool
def stamp(paper: str) -> str:
    '''Stamp a paper.'''
    return f"stamped {paper}"

clerk = AgentDefinition("clerk", "Works.", tool_config=ToolConfig(tools=[stamp]))
"""
HOOK = """\
def executor(definition, user_id):
    return AgentExecutor(ScriptedClient([reply(f"{definition.name} for {user_id}")]), journal=MemoryJournal())
"""
REGISTERED = (
    f"{OFFICE}\nfrom maverick.agents import registry\nregistry.register(AgentDefinition('porter', '.'))\n"
)

Write = Callable[..., str]
CONFIG = MaverickConfig()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file into the current folder; what loading it changes in this process is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.setattr(registry, "_agents", {})
    monkeypatch.setattr(registry, "_namespaces", {})

    def write(content: str, name: str = "office.py") -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
        return name

    return write


def defined(found: DiscoveredAgent) -> AgentDefinition[Any]:
    definition = found.runnable(CONFIG)
    assert definition is not None
    return definition


async def said_by(found: DiscoveredAgent, journal: MemoryJournal) -> str | None:
    async with agent_executor(found, CONFIG, journal, user_id="ana") as executor:
        result = await executor.execute(defined(found), inputs={"prompt": "Hello?"}, user_id="ana")
    return result.output


@pytest.mark.parametrize(
    ("source", "agent"),
    [("a file", "clerk"), ("a module", "clerk"), ("a package", "clerk"), ("the registry", "porter")],
)
async def test_an_agents_module_says_how_it_is_run_and_the_caller_where_its_runs_are_kept(
    write: Write, tmp_path: Path, source: str, agent: str
) -> None:
    file, journal = write(f"{REGISTERED}\n{HOOK}"), MemoryJournal()
    if source == "a file":
        found = offered_agents(CONFIG, [file])[agent]
    elif source == "a package":
        write("Metadata-Version: 2.1\nName: office\nVersion: 1.0\n", "office-1.0.dist-info/METADATA")
        write("[maverick.agents]\noffice = office:clerk\n", "office-1.0.dist-info/entry_points.txt")
        sys.path.insert(0, str(tmp_path))
        found = Discovery(tmp_path).find(agent)
    else:
        found = Discovery(tmp_path, modules=["office"]).find(agent)

    assert await said_by(found, journal) == f"{agent} for ana"
    assert [(run.agent, run.user_id) for run in await journal.list_runs()] == [(agent, "ana")]


async def test_what_the_executor_of_a_module_leaves_open_comes_from_the_settings_and_the_caller(
    write: Write, tmp_path: Path
) -> None:
    write("deny: [stamp]\n", "home/.maverick/permissions.yaml")
    source = write(
        f"{OFFICE}"
        "def executor(definition, user_id):\n"
        "    client = ScriptedClient([call('stamp', paper='a'), call('stamp', paper='b'), reply('done')])\n"
        "    return AgentExecutor(client, permissions=Permissions('yolo', ask=['stamp(paper=a)']))\n"
    )
    found, asked = offered_agents(CONFIG, [source])["clerk"], []

    async def approve(call: ApprovalRequest) -> bool:
        asked.append(call.arguments["paper"])
        return True

    async def result_of() -> list[str]:
        async with agent_executor(found, CONFIG, None, approve=approve) as executor:
            result = await executor.execute(defined(found), inputs={"prompt": "Stamp."})
        return [message.content for message in result.messages if message.role is Role.TOOL_RESULT]

    denied = await result_of()
    (tmp_path / "home/.maverick/permissions.yaml").unlink()
    allowed = await result_of()

    assert all("deny stamp" in text for text in denied)
    assert allowed == ["stamped a", "stamped b"]
    assert asked == ["a"]


async def test_a_run_of_a_module_that_names_no_one_to_approve_waits_in_the_callers_journal(
    write: Write,
) -> None:
    source = write(
        f"{OFFICE}"
        "def executor(definition, user_id):\n"
        "    client = ScriptedClient([call('stamp', paper='a'), reply('done')])\n"
        "    return AgentExecutor(client, permissions=Permissions('ask'))\n"
    )
    found = offered_agents(CONFIG, [source])["clerk"]
    async with agent_executor(found, CONFIG, MemoryJournal()) as executor:
        result = await executor.execute(defined(found), inputs={"prompt": "Stamp."})

    assert result.terminate_reason is TerminateReason.AWAITING_APPROVAL


async def test_an_agent_that_is_a_class_is_run_with_the_executor_of_its_module(write: Write) -> None:
    source = write(
        "from maverick.agents import MaverickAgent, registry\n"
        "@registry.register('greeter')\n"
        "class Greeter(MaverickAgent):\n"
        "    '''Greets.'''\n"
        "    system_prompt = 'You greet.'\n"
        "    async def execute(self, context):\n"
        "        return await self.run_prompt('Greet Ana.', context)\n"
        f"{OFFICE}{HOOK}"
    )
    found = offered_agents(CONFIG, [source])["greeter"]

    async with agent_executor(found, CONFIG, MemoryJournal(), user_id="ana") as executor:
        result = await executor.execute(defined(found))

    assert result.raw_content == "greeter for ana"


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        ("def executor(definition, user_id): return 3", "returned int. It must be a plain function"),
        ("async def executor(definition, user_id): ...", "is async. It must be a plain function"),
        ("def executor(): ...", "failed. TypeError: executor() takes 0 positional arguments"),
        ("def executor(definition, user_id):\n    return {}['key']", "failed. office.py, line 13: KeyError"),
    ],
)
async def test_an_executor_of_a_module_that_is_wrong_is_named(write: Write, hook: str, problem: str) -> None:
    found = offered_agents(CONFIG, [write(OFFICE + hook)])["clerk"]

    with pytest.raises(InvalidInputError, match=r"office\.py: executor") as caught:
        await said_by(found, MemoryJournal())

    assert problem in str(caught.value)


async def test_a_module_may_have_an_executor_of_its_own_that_is_no_function(write: Write) -> None:
    source = write(f"{OFFICE}executor = AgentExecutor(ScriptedClient([reply('not this one')]))\n")
    found = offered_agents(CONFIG, [source])["clerk"]

    async with agent_executor(found, CONFIG, None) as executor:
        assert isinstance(executor, AgentExecutor)
        assert executor.options["client"] is None


def test_a_worker_offers_the_agents_of_its_sources_or_all_that_are_found(write: Write) -> None:
    office = write(REGISTERED)
    guide = write("---\nname: guide\ndescription: Guides.\n---\nYou guide.\n", "guide.md")

    assert [*offered_agents(CONFIG, [office, guide])] == ["clerk", "porter", "guide"]
    assert {"general", "porter"} <= {*offered_agents(CONFIG)}
    with pytest.raises(InvalidInputError, match=r"nothing\.py has no agents"):
        offered_agents(CONFIG, [write("", "nothing.py")])
    with pytest.raises(InvalidInputError, match=r"other\.py: office\.py already has an agent named 'clerk'"):
        offered_agents(CONFIG, [write(OFFICE), write(OFFICE, "other.py")])


async def test_the_fingerprint_of_an_agent_tells_its_versions_apart(write: Write) -> None:
    versions = []
    for prompt in ("You work.", "You work hard.", "You work."):
        clerk = f"clerk = AgentDefinition('clerk', 'Works.', PromptConfig({prompt!r}))\n"
        found = offered_agents(CONFIG, [write(OFFICE + clerk + HOOK)])["clerk"]
        async with agent_executor(found, CONFIG, None) as executor:
            versions.append(executor.fingerprint(defined(found)).version)

    assert versions[0] == versions[2] != versions[1]
    assert len(versions[0]) == 12
