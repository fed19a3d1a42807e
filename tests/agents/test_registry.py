from __future__ import annotations

import asyncio
import builtins
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ModelConfig, PromptConfig
from maverick.agents import AgentContext, AgentRegistry, AgentResult, AgentUsage, DefinitionAgent, registry
from maverick.config import MaverickConfig
from maverick.exceptions import (
    AgentError,
    AgentNotFoundError,
    CLINotFoundError,
    ConfigError,
    DuplicateAgentError,
    InvalidInputError,
    ProcessError,
    TimeoutError,
)
from maverick.testing import ScriptedClient

reporter = AgentDefinition("reporter", "Reports.", PromptConfig(initial_messages=["Report on ${topic}."]))


class Greeter:
    """An agent written as a class."""

    def __init__(self, greeting: str = "Hello") -> None:
        self.greeting = greeting

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        return AgentResult.success_result(f"{self.greeting}, {context.branch}!", AgentUsage(0, 0, None, 0))


def context(tmp_path: Path, **extra: Any) -> AgentContext:
    return AgentContext(tmp_path, "main", MaverickConfig(), extra)


@pytest.fixture
def agents() -> AgentRegistry:
    return AgentRegistry()


@pytest.mark.requirement("001-REGISTRY-REGISTER", "001-REGISTRY", "000-FR-010", "000-FR-012")
def test_a_class_is_registered_by_a_call_and_found_by_name(agents: AgentRegistry) -> None:
    agents.register("greeter", Greeter)
    agents.register(name="welcomer", cls=Greeter)

    assert agents.get("greeter") is agents.get("welcomer") is Greeter


@pytest.mark.requirement("001-REGISTRY-REGISTER", "000-FR-010")
def test_a_class_is_registered_by_a_decorator_that_leaves_it_as_it_is(agents: AgentRegistry) -> None:
    @agents.register("waver")
    class Waver(Greeter):
        """Waves."""

    assert agents.get("waver") is Waver
    assert isinstance(Waver(), Greeter)


@pytest.mark.requirement("003-FR4", "000-FR-010")
def test_a_definition_is_registered_under_its_own_name_or_another(agents: AgentRegistry) -> None:
    returned = agents.register(reporter)
    agents.register("journalist", reporter)

    assert returned is reporter
    assert agents.get("reporter") is agents.get("journalist") is reporter


@pytest.mark.requirement("003-FR4", "001-REGISTRY")
def test_all_agents_are_listed(agents: AgentRegistry) -> None:
    agents.register(reporter)
    agents.register("greeter", Greeter)

    everything = agents.get_all()
    everything.clear()

    assert agents.list_agents() == ["greeter", "reporter"]
    assert agents.get_all() == {"greeter": Greeter, "reporter": reporter}
    assert list(agents) == ["greeter", "reporter"]
    assert (len(agents), "greeter" in agents, "nobody" in agents) == (2, True, False)


@pytest.mark.requirement("003-FR4")
def test_a_removed_agent_is_gone_and_its_name_free(agents: AgentRegistry) -> None:
    agents.register(reporter)
    agents.unregister("reporter")

    assert agents.list_agents() == []
    agents.register(reporter)
    assert agents.get("reporter") is reporter


@pytest.mark.requirement(
    "003-FR4-AC1", "000-FR-011", "001-REGISTRY-DUPLICATE", "001-ERROR-DUPLICATE", "001-AGENT-NAME"
)
def test_a_taken_name_is_refused_at_once_and_the_first_agent_stays(agents: AgentRegistry) -> None:
    agents.register("reporter", Greeter)

    with pytest.raises(DuplicateAgentError, match="unregister it first") as caught:
        agents.register(reporter)
    with pytest.raises(DuplicateAgentError):
        agents.register("reporter", Greeter)
    with pytest.raises(DuplicateAgentError):
        agents.register("reporter")(Greeter)

    assert caught.value.agent_name == "reporter"
    assert agents.get("reporter") is Greeter


@pytest.mark.requirement("000-FR-012", "003-FR4", "001-REGISTRY-UNKNOWN", "001-ERROR-NOT-FOUND")
@pytest.mark.parametrize("method", ["get", "create", "unregister"])
def test_an_unknown_name_is_a_typed_error_that_names_the_nearest(agents: AgentRegistry, method: str) -> None:
    agents.register(reporter)

    with pytest.raises(AgentNotFoundError, match="Did you mean 'reporter'") as caught:
        getattr(agents, method)("reproter")

    assert caught.value.agent_name == "reproter"


@pytest.mark.requirement("003-FR4-AC2")
def test_finding_an_agent_looks_at_no_other(agents: AgentRegistry) -> None:
    class Counted(str):
        """A name that counts how often it is compared."""

        __slots__ = ()
        compared = 0

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

    for number in range(1_000):
        agents.register(Counted(f"agent {number}"), Greeter)
    Counted.compared = 0

    assert agents.get("agent 777") is Greeter
    assert Counted.compared < 10


@pytest.mark.requirement("003-FR4-AC3", "001-REGISTRY")
def test_an_application_has_one_registry_and_a_test_its_own(agents: AgentRegistry) -> None:
    from maverick.agents.registry import registry as same

    agents.register("only-here", Greeter)

    assert registry is same
    assert isinstance(registry, AgentRegistry)
    assert "only-here" not in registry


@pytest.mark.requirement("000-SC-005", "001-REGISTRY-CREATE")
async def test_a_class_is_made_with_its_options_and_run(agents: AgentRegistry, tmp_path: Path) -> None:
    agents.register("greeter", Greeter)

    first, second = agents.create("greeter"), agents.create("greeter", greeting="Ahoy")

    assert (await first.execute(context(tmp_path))).output == "Hello, main!"
    assert (await second.execute(context(tmp_path))).output == "Ahoy, main!"


@pytest.mark.requirement("000-SC-005", "000-FR-010")
async def test_a_definition_is_made_and_run_in_the_same_way(agents: AgentRegistry, tmp_path: Path) -> None:
    agents.register(reporter)
    client = ScriptedClient(["All is well.", "Still well."])

    made = agents.create("reporter", client=client)
    again = agents.create("reporter", executor=AgentExecutor(client))

    assert isinstance(made, DefinitionAgent)
    assert (await made.execute(context(tmp_path, topic="whales"))).output == "All is well."
    assert (await again.execute(context(tmp_path, topic="tides"))).output == "Still well."
    assert [request.messages[0].content for request in client.requests] == [
        "Report on whales.",
        "Report on tides.",
    ]


async def test_a_definition_is_given_the_folder_and_the_branch_if_it_asks_for_them(tmp_path: Path) -> None:
    local = AgentDefinition("local", "Looks.", PromptConfig("${branch}", ["Look at ${cwd}: ${what}."]))
    client = ScriptedClient(["Seen."])

    await DefinitionAgent(local, client=client).execute(context(tmp_path, what="all"))

    (request,) = client.requests
    assert (request.system, request.messages[0].content) == ("main", f"Look at {tmp_path}: all.")


class Prompted:
    """Takes a name, as classes on the Claude CLI do."""

    def __init__(self, name: str | None = None, *, greeting: str = "Hello") -> None:
        self.name = name

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        return AgentResult.success_result(self.name or "", AgentUsage(0, 0, None, 0))


class Named(Prompted):
    name = "own"


class NamedByDefault(Prompted):
    def __init__(self, name: str = "World") -> None:
        super().__init__(name)


class NamesItself(Prompted):
    def __init__(self, **options: Any) -> None:
        super().__init__(name="itself", **options)


@pytest.mark.requirement("000-SC-001", "000-SC-005", "001-REGISTRY-CREATE")
@pytest.mark.parametrize(
    ("cls", "expected"),
    [(Prompted, "greeter"), (Named, None), (NamedByDefault, "World"), (NamesItself, "itself")],
)
def test_a_class_that_wants_a_name_and_has_none_gets_the_one_it_is_registered_under(
    agents: AgentRegistry, cls: type[Prompted], expected: str | None
) -> None:
    agents.register("greeter", cls)

    made: Any = agents.create("greeter")

    assert made.name == expected


class Broken:
    """Raises whatever it is made with."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        raise self.error


@pytest.mark.requirement("000-US5-AS2", "000-US5-AS3", "000-FR-007")
@pytest.mark.parametrize(
    ("error", "expected", "reason", "words"),
    [
        (ProcessError("It exited."), ProcessError, "error", "It exited."),
        (CLINotFoundError(), CLINotFoundError, "error", "Install it with"),
        (ConfigError("model: expected a name."), AgentError, "error", "model: expected a name."),
        (builtins.TimeoutError(), TimeoutError, "timeout", "'broken' timed out"),
        (KeyError("secret"), AgentError, "error", "'broken' failed with KeyError in test_registry.py, line"),
    ],
    ids=["ours", "no CLI", "a setting", "a timeout", "a mistake"],
)
async def test_an_error_in_execute_is_a_failed_result_of_an_agent_that_the_registry_made(
    agents: AgentRegistry,
    tmp_path: Path,
    error: Exception,
    expected: type[AgentError],
    reason: str,
    words: str,
) -> None:
    agents.register("broken", Broken)

    result = await agents.create("broken", error=error).execute(context(tmp_path))

    assert (result.success, result.output, result.terminate_reason) == (False, "", reason)
    (told,) = result.errors
    assert type(told) is expected
    assert words in str(told)
    assert told is error or told.__cause__ is error
    assert "secret" not in str(told)
    with pytest.raises(type(error)):  # the class is as it was
        await Broken(error).execute(context(tmp_path))


@pytest.mark.requirement("000-US5-AS2")
async def test_a_definition_that_the_registry_made_fails_in_the_same_way(
    agents: AgentRegistry, tmp_path: Path
) -> None:
    agents.register(reporter)

    result = await agents.create("reporter", client=ScriptedClient([])).execute(context(tmp_path))

    assert isinstance(result.errors[0], InvalidInputError)
    assert "topic missing" in str(result.errors[0])


async def test_a_cancelled_agent_is_cancelled_and_not_a_failed_result(
    agents: AgentRegistry, tmp_path: Path
) -> None:
    agents.register("broken", Broken)

    with pytest.raises(asyncio.CancelledError):
        await agents.create("broken", error=asyncio.CancelledError()).execute(context(tmp_path))


class Forgetful:
    """Forgets to return what it was asked for, and has no room for another method."""

    __slots__ = ()

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        return None  # type: ignore[return-value]  # that is the point


@pytest.mark.requirement("000-US1-AS2")
async def test_an_agent_that_returns_no_result_is_a_failed_result_too(
    agents: AgentRegistry, tmp_path: Path
) -> None:
    agents.register("forgetful", Forgetful)

    made = agents.create("forgetful")
    result = await made.execute(context(tmp_path))

    assert isinstance(made, Forgetful)
    assert "'forgetful' returned NoneType. Return an AgentResult." in str(result.error)


class Idle:
    """A class that can not execute."""


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("", Greeter),
        ("  ", Greeter),
        (None, Greeter),
        ("x", Idle),
        ("x", Greeter()),
        ("x", "Greeter"),
        ("x", 3),
    ],
)
def test_what_is_no_agent_or_no_name_is_refused(agents: AgentRegistry, name: Any, agent: Any) -> None:
    with pytest.raises(InvalidInputError):
        agents.register(name, agent)

    assert len(agents) == 0


@pytest.mark.parametrize("name", [Greeter, Greeter(), None, 3])
def test_a_decorator_without_a_name_is_refused_at_once(agents: AgentRegistry, name: Any) -> None:
    with pytest.raises(InvalidInputError):
        agents.register(name)


async def test_a_defined_agent_lets_go_of_the_models_it_has_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[AgentExecutor] = []

    async def close(self: AgentExecutor) -> None:
        closed.append(self)

    monkeypatch.setattr(AgentExecutor, "aclose", close)
    prompt = PromptConfig(initial_messages=["Hello."])
    offline = AgentDefinition("offline", "Answers.", prompt, model_config=ModelConfig(model="offline:"))
    async with DefinitionAgent(offline) as made:
        await made.execute(context(tmp_path))

    assert len(closed) == 1
