from __future__ import annotations

import multiprocessing.process  # noqa: F401 - before a place makes its own list of modules, where it finds half of itself
import sys
from pathlib import Path

import pytest

from maverick import AgentDefinition, MaverickConfig, ModelConfig, TerminateReason
from maverick.agents import AgentContext, AgentRegistry, AgentResult
from maverick.agents.discovery import Discovery, Origin
from maverick.exceptions import AgentError, AgentNotFoundError, InvalidInputError

PORTER = """\
from maverick import AgentDefinition, ModelConfig
porter = AgentDefinition("porter", "Opens doors.", model_config=ModelConfig("offline:"))
class Bellboy:
    '''Carries bags.

    And more.'''
    async def execute(self, context): ...
"""


class Place:
    """A project, a home and installed packages that hold only what a test puts there."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.home, self.installed = (root / name for name in ("project", "home", "installed"))
        for folder in (self.project, self.home, self.installed):
            folder.mkdir()
        self.registry = AgentRegistry()
        monkeypatch.chdir(self.project)
        monkeypatch.setattr(sys, "path", [str(self.installed), *sys.path])
        monkeypatch.setattr(sys, "modules", {**sys.modules})

    def add(self, name: str, description: str, folder: Path | None = None, kind: str = ".maverick") -> Path:
        file = (folder or self.project) / kind / "agents" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'---\nname: {name}\ndescription: {description}\nmodel: "offline:"\n---\nYou work.\n')
        return file

    def install(self, package: str, code: str, entry_points: str) -> None:
        (self.installed / f"{package}.py").write_text(code)
        info = self.installed / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[maverick.agents]\n{entry_points}\n")

    def look(self, *modules: str) -> Discovery:
        return Discovery(self.project, self.home, modules, known=self.registry)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


@pytest.mark.requirement("005-DISCOVERY")
def test_agents_are_found_in_files_modules_packages_and_the_registry(place: Place) -> None:
    place.add("alpha", "In the project.")
    place.add("beta", "In the project, for Claude Code.", kind=".claude")
    place.add("gamma", "At home.", place.home)
    place.add("delta", "At home, for Claude Code.", place.home, kind=".claude")
    (place.project / "office.py").write_text(PORTER)
    place.install("hotel", PORTER.replace("porter", "waiter"), "bellboy = hotel:Bellboy\nall = hotel")
    place.registry.register(AgentDefinition("clerk", "Registered."))

    found = {agent.name: agent for agent in place.look("office").all()}

    assert {name: found[name].origin for name in ("alpha", "beta", "gamma", "delta")} == {
        "alpha": Origin.PROJECT,
        "beta": Origin.PROJECT,
        "gamma": Origin.HOME,
        "delta": Origin.HOME,
    }
    assert (found["porter"].origin, found["porter"].where) == (Origin.REGISTERED, "office")
    assert found["clerk"].origin is Origin.REGISTERED
    assert (found["waiter"].origin, found["waiter"].where) == (Origin.PACKAGE, "hotel")
    assert (found["bellboy"].description, found["bellboy"].definition) == ("Carries bags.", None)


@pytest.mark.requirement("005-DISCOVERY")
def test_the_nearer_of_two_agents_with_one_name_is_used(place: Place) -> None:
    place.add("alpha", "Theirs.", place.home)
    place.install("hotel", PORTER.replace("porter", "alpha"), "alpha = hotel:alpha")
    assert place.look().find("alpha").description == "Theirs."

    place.add("alpha", "The project's.")

    assert place.look().find("alpha").description == "The project's."
    assert [agent.description for agent in place.look().all() if agent.name == "alpha"] == ["The project's."]


@pytest.mark.requirement("005-DISCOVERY")
def test_a_file_of_ours_is_used_before_one_for_claude_code_and_neither_is_a_problem(place: Place) -> None:
    place.add("alpha", "For Claude Code.", kind=".claude")
    place.add("alpha", "Ours.")

    looking = place.look()

    assert [agent.description for agent in looking.all() if agent.name == "alpha"] == ["Ours."]
    assert looking.problems == []


@pytest.mark.requirement("005-DISCOVERY")
def test_a_package_can_not_take_the_name_of_a_ready_agent_but_a_file_can(place: Place) -> None:
    place.install("hotel", PORTER.replace("porter", "general"), "general = hotel:general")
    assert place.look().find("general").origin is Origin.BUILTIN

    place.add("general", "Mine.", place.home)
    place.add("code-reviewer", "The project's.")

    assert place.look().find("general").description == "Mine."
    assert place.look().find("code-reviewer").description == "The project's."


@pytest.mark.requirement("005-DISCOVERY")
@pytest.mark.parametrize("kind", [".maverick", ".claude"])
def test_the_agent_that_works_when_none_is_named_is_never_one_of_the_project(kind: str, place: Place) -> None:
    file = place.add("general", "A stranger's.", kind=kind)
    renamed = place.add("other", "A stranger's.", kind=kind)
    renamed.write_text(renamed.read_text().replace("name: other", "name: general"))

    looking = place.look()

    assert looking.find("general").origin is Origin.BUILTIN
    assert [agent.origin for agent in looking.all() if agent.name == "general"] == [Origin.BUILTIN]
    told = sorted(map(str, looking.problems))
    assert [problem.partition(": ")[0] for problem in told] == [str(file), str(renamed)]
    assert "an agent of a project cannot take. Rename it, or run it by its file" in told[0]


@pytest.mark.requirement("005-DISCOVERY", "005-BAD-FILES")
def test_a_project_can_not_take_the_general_agent_away_either(place: Place) -> None:
    place.add("general", "A stranger's.").write_text("---\nname: general\n")

    looking = place.look()

    assert looking.find("general").origin is Origin.BUILTIN
    assert "general.md, line 2: " in str(looking.problems[0])


@pytest.mark.requirement("005-DISCOVERY")
def test_in_their_home_a_person_has_a_general_agent_of_their_own(place: Place) -> None:
    place.add("general", "Mine.", place.home)

    assert Discovery(place.home, place.home, known=place.registry).find("general").description == "Mine."


@pytest.mark.requirement("005-DISCOVERY")
def test_a_name_twice_in_one_place_is_a_problem_and_the_first_is_used(place: Place) -> None:
    first = place.add("alpha", "First.")
    second = place.add("other", "Second.")
    second.write_text(second.read_text().replace("name: other", "name: alpha"))

    looking = place.look()

    assert looking.find("alpha").description == "First."
    looking.all()
    (problem,) = looking.problems
    assert str(problem).startswith(f"{second}: {first} already defines an agent named 'alpha'")


@pytest.mark.requirement("005-BAD-FILES")
def test_what_can_not_be_read_is_told_and_keeps_nobody_else_from_being_found(place: Place) -> None:
    place.add("good", "Works.")
    bad = place.add("bad", "Works not.")
    bad.write_text("---\nname: bad\n")
    place.install("hotel", "raise RuntimeError('closed')", "waiter = hotel")
    place.install("office", "desk = 3", "desk = office:desk")

    looking = place.look("nowhere")
    names = [agent.name for agent in looking.all()]

    assert "good" in names
    told = sorted(map(str, looking.problems))
    assert len(told) == 4
    assert told[0].startswith(f"{bad}, line 2: ")
    assert "'desk' of the package 'office' cannot be loaded: TypeError: expected a definition" in told[1]
    assert "'waiter' of the package 'hotel' cannot be loaded: RuntimeError: closed" in told[2]
    assert told[3].startswith("There is no module 'nowhere'")
    assert all(isinstance(problem, AgentError) for problem in looking.problems)


@pytest.mark.requirement("005-BAD-FILES")
def test_an_agent_further_away_does_not_stand_in_for_one_whose_file_is_wrong(place: Place) -> None:
    place.add("general", "Mine.", place.home).write_text("---\nname: general\n")

    with pytest.raises(InvalidInputError, match=r"general\.md, line 2: "):
        place.look().find("general")


@pytest.mark.requirement("005-BAD-FILES")
def test_asking_for_an_agent_whose_file_is_wrong_tells_what_is_wrong_with_it(place: Place) -> None:
    place.add("bad", "Works not.").write_text("---\nname: bad\n")

    with pytest.raises(InvalidInputError, match=r"bad\.md, line 2: "):
        place.look().find("bad")


def test_an_unknown_agent_is_refused_with_the_nearest(place: Place) -> None:
    place.add("reporter", "Reports.")

    with pytest.raises(AgentNotFoundError, match="Did you mean 'reporter'"):
        place.look().find("reportr")


def test_looking_for_an_agent_goes_no_further_than_it_has_to(place: Place) -> None:
    place.add("near", "Here.")
    (place.project / "trap.py").write_text("raise RuntimeError")

    looking = place.look("trap")

    assert looking.find("near").description == "Here."
    assert looking.problems == []


@pytest.mark.requirement("005-DISCOVERY", "000-SC-005")
async def test_what_is_found_can_be_registered_and_made_by_name(place: Place) -> None:
    place.add("alpha", "Works.")
    place.registry.register(AgentDefinition("clerk", "Was there.", model_config=ModelConfig("offline:")))

    problems = place.look().register()
    result: AgentResult = await place.registry.create("clerk").execute(
        AgentContext(place.project, "main", MaverickConfig(), extra={"prompt": "hello"})
    )

    assert problems == []
    assert result.success
    assert {"alpha", "clerk"} <= set(place.registry.list_agents())
    assert place.look().register() == []


async def test_an_agent_from_a_file_works_in_the_folder_of_its_context_and_as_it_is_allowed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place.home))
    place.add("alpha", "Works.")
    (place.project / "notes.txt").write_text("buy milk")
    place.look().register()
    alpha = place.registry.create("alpha")

    def asked(prompt: str) -> AgentContext:
        return AgentContext(place.project, "main", MaverickConfig(), extra={"prompt": prompt})

    monkeypatch.chdir("/")
    read = await alpha.execute(asked("read the file 'notes.txt'"))
    written = await alpha.execute(asked("write the file 'notes.txt' with content 'tea'"))

    assert "buy milk" in str(read.output)
    assert written.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert [file.name for file in place.project.iterdir() if file.is_file()] == ["notes.txt"]
    assert (place.project / "notes.txt").read_text() == "buy milk"


def test_a_file_that_names_no_model_leaves_it_to_the_client_or_the_settings(place: Place) -> None:
    file = place.add("alpha", "Works.")
    file.write_text(file.read_text().replace('model: "offline:"\n', ""))

    looking = Discovery(place.project, place.home, known=place.registry)
    definition = looking.find("alpha").definition

    assert definition is not None
    assert definition.model_config.model is None
