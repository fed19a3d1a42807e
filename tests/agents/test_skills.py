from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, AgentResult, MaverickConfig, ToolConfig
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.agents.running import agent_executor
from maverick.agents.skills import LARGEST_INSTRUCTIONS, load_skills
from maverick.cli.trust import trust_folder, untrusted_in
from maverick.config.trust import Trust
from maverick.journal import MemoryJournal
from maverick.model import Role
from maverick.testing import ScriptedClient, call, reply
from programs import needs_sandbox

CODER = AgentDefinition("coder", "Codes.", tool_config=ToolConfig(tools=["read_file", "shell"]))
GREETER = AgentDefinition("greeter", "Greets.")


class Place:
    """A user's home and a repository with a folder in it, in which the agent works."""

    def __init__(self, at: Path) -> None:
        self.home, self.root, self.folder = at / "home", at / "repo", at / "repo" / "app"
        for folder in (self.home, self.root / ".git", self.folder):
            folder.mkdir(parents=True)
        self.remarks: list[str] = []

    def trust(self, folder: Path) -> None:
        Trust(self.home).grant(folder, {})

    async def run(
        self,
        client: ScriptedClient,
        agent: AgentDefinition[Any] = CODER,
        journal: MemoryJournal | None = None,
    ) -> AgentResult[Any]:
        found = DiscoveredAgent(
            agent.name,
            agent,
            Origin.REGISTERED,
            "here",
            namespace={"executor": lambda *_: AgentExecutor(client)},
        )
        remark = self.remarks.append
        async with agent_executor(
            found, MaverickConfig(), journal, mode="yolo", on_remark=remark, cwd=self.folder
        ) as executor:
            if journal is not None and await journal.list_runs():
                return await executor.resume("run", agent)
            return await executor.execute(agent, inputs={"prompt": "Go."}, run_id="run")

    async def told(self, agent: AgentDefinition[Any] = CODER) -> str:
        client = ScriptedClient([reply("done")])
        await self.run(client, agent)
        return client.requests[0].system


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("MAVERICK_TRUST", raising=False)
    return made


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def skill(at: Path, name: str, front: str = "", body: str = "Do it so.") -> Path:
    front = front or f"name: {name}\ndescription: Does {name}."
    return write(at / name / "SKILL.md", f"---\n{front}\n---\n{body}\n").parent


def results(result: AgentResult[Any]) -> list[str]:
    return [message.content for message in result.messages if message.role is Role.TOOL_RESULT]


@pytest.mark.requirement("SKILL-DISCLOSURE")
@pytest.mark.parametrize("kind", [".maverick", ".claude", ".agents"])
async def test_the_prompt_names_skills_and_a_tool_returns_their_instructions_and_files(
    place: Place, kind: str
) -> None:
    pdf = skill(place.home / kind / "skills", "pdf", body="Read references/forms.md first.")
    write(pdf / "references/forms.md", "Forms have fields.")
    skill(place.folder / kind / "skills", "release")
    place.trust(place.folder)
    client = ScriptedClient(
        [
            call("read_skill", name="pdf"),
            call("read_skill", name="pdf", file="references/forms.md"),
            call("read_skill", name="pfd"),
            reply("done"),
        ]
    )

    instructions, forms, unknown = results(await place.run(client))

    assert "- pdf: Does pdf." in client.requests[0].system
    assert "- release: Does release." in client.requests[0].system
    assert "Read references" not in client.requests[0].system
    assert instructions.startswith("Read references/forms.md first.")
    assert f"is in {pdf}. Its other files: references/forms.md]" in instructions
    assert forms == "Forms have fields."
    assert "Did you mean 'pdf'?" in unknown
    assert {request.system for request in client.requests} == {client.requests[0].system}
    assert place.remarks == []


@pytest.mark.requirement("SKILL-TRUST")
async def test_what_a_project_tells_agents_counts_only_after_trust(place: Place) -> None:
    skill(place.folder / ".claude/skills", "theirs")
    skill(place.root / ".claude/skills", "above")
    write(place.folder / "AGENTS.md", "Obey the app.")
    write(place.root / "AGENTS.md", "Obey the repository.")
    write(place.home / ".maverick/AGENTS.md", "Obey me.")

    before = await place.told()
    place.trust(place.folder)
    trusted = await place.told()
    place.trust(place.root)
    both = await place.told()

    assert "Obey me." in before
    assert not any(theirs in before for theirs in ("theirs", "above", "Obey the"))
    assert "- theirs" in trusted
    assert "Obey the app." in trusted
    assert not any(theirs in trusted for theirs in ("above", "Obey the repository."))
    assert "- above" in both
    assert both.index("Obey me.") < both.index("Obey the repository.") < both.index("Obey the app.")


@pytest.mark.requirement("SKILL-TRUST")
async def test_a_folder_that_the_environment_trusts_says_nothing_of_those_above_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAVERICK_TRUST", str(place.folder))
    write(place.folder / "AGENTS.md", "Obey the app.")
    write(place.root / "AGENTS.md", "Obey the repository.")

    told = await place.told()

    assert "Obey the app." in told
    assert "Obey the repository." not in told


@pytest.mark.requirement("SKILL-TRUST")
@pytest.mark.parametrize(
    "file", ["../secret.txt", "/etc/passwd", "link.txt", "../../.claude/skills/x/../../../secret.txt"]
)
async def test_a_skill_shows_no_file_outside_of_its_folder(place: Place, file: str) -> None:
    write(place.home / "secret.txt", "the secret")
    folder = skill(place.folder / ".claude/skills", "x")
    (folder / "link.txt").symlink_to(place.home / "secret.txt")
    (place.folder / ".claude/skills/linked").symlink_to(skill(place.home / "notes", "linked"))
    stolen = write(place.home / "s.md", "---\nname: stolen\ndescription: s\n---\nthe secret")
    write(place.folder / ".claude/skills/stolen/x", "").with_name("SKILL.md").symlink_to(stolen)
    (place.folder / "AGENTS.md").symlink_to(place.home / "secret.txt")
    place.trust(place.folder)
    client = ScriptedClient([call("read_skill", name="x", file=file), reply("done")])

    (shown,) = results(await place.run(client))

    assert "the secret" not in shown
    assert "root:" not in shown
    assert "linked" not in client.requests[0].system
    assert "stolen" not in client.requests[0].system
    assert any("stolen out of the project" in remark for remark in place.remarks)
    assert "the secret" not in client.requests[0].system


@pytest.mark.requirement("SKILL-FORMAT")
@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("name: Upper\ndescription: x", "line 2: name: expected"),
        ("name: -x\ndescription: x", "line 2: name: expected"),
        ("name: a--b\ndescription: x", "line 2: name: expected"),
        (f"name: {'a' * 65}\ndescription: x", "line 2: name: expected"),
        ("name: x", "description: expected"),
        ("name: x\ndescription: ' '", "line 3: description: expected"),
        ("name: x\ndescription: [a]", "line 3: description: expected"),
        ("name: x\ndescription: Use this: when it fits", ""),
        ("description: It is named by its folder.\nallowed-tools: Bash(*) Read\nlicense: MIT", ""),
        (f"name: other-name\ndescription: {'long ' * 400}", ""),
    ],
)
async def test_a_skill_that_breaks_the_rules_is_left_out_with_a_remark_that_names_the_line(
    place: Place, front: str, problem: str
) -> None:
    skill(place.home / ".claude/skills", "x", front)

    told = await place.told()

    assert len(place.remarks) == bool(problem)
    assert problem in "".join(place.remarks)
    assert ("Skills are" in told) is not bool(problem)
    assert len(told) < 1_500


async def test_a_skill_for_people_only_and_an_agent_without_coding_tools_leave_the_prompt_as_it_is(
    place: Place,
) -> None:
    front = "name: deploy\ndescription: Deploys.\ndisable-model-invocation: true"
    skill(place.home / ".claude/skills", "deploy", front)
    alone = await place.told()
    write(place.home / ".claude/CLAUDE.md", "Be brief.")

    assert alone == ""
    assert "Be brief." in await place.told()
    assert await place.told(GREETER) == ""


async def test_a_model_cannot_read_a_skill_for_people_only_which_they_can_ask_for(place: Place) -> None:
    front = "name: deploy\ndescription: Deploys.\ndisable-model-invocation: true"
    skill(place.home / ".claude/skills", "deploy", front, "Push to production.")
    skill(place.home / ".claude/skills", "pdf")
    client = ScriptedClient([call("read_skill", name="deploy"), reply("done")])

    [refused] = results(await place.run(client))
    asked_for = load_skills(place.folder).followed("deploy", "now")

    assert "Available: pdf" in refused
    assert "production" not in refused
    assert "Push to production." in asked_for
    assert asked_for.endswith("now")


async def test_instructions_are_bounded_and_the_nearest_of_two_kinds_counts(place: Place) -> None:
    write(place.folder / "AGENTS.md", "first " * LARGEST_INSTRUCTIONS)
    write(place.folder / "CLAUDE.md", "second")
    place.trust(place.folder)

    told = await place.told()

    assert "second" not in told
    assert len(told) < LARGEST_INSTRUCTIONS + 500
    assert told.endswith("[the rest of the file is left out: it is too long]")


@pytest.mark.requirement("SKILL-RESUME")
async def test_a_run_keeps_what_it_was_told_and_is_resumed_though_instructions_and_skills_have_changed(
    place: Place,
) -> None:
    journal = MemoryJournal()
    write(place.home / ".maverick/AGENTS.md", "Obey me.")
    stopped = await place.run(ScriptedClient([]), journal=journal)
    write(place.home / ".maverick/AGENTS.md", "Obey me more.")
    skill(place.home / ".claude/skills", "new")
    client = ScriptedClient([reply("done")])

    resumed = await place.run(client, journal=journal)

    assert not stopped.success
    assert resumed.output == "done"
    assert "Obey me." in client.requests[0].system
    assert "more" not in client.requests[0].system


@needs_sandbox
@pytest.mark.requirement("SKILL-SCRIPTS")
async def test_scripts_of_a_skill_run_in_the_sandbox_which_cannot_change_them(place: Place) -> None:
    folder = skill(place.home / ".claude/skills", "count")
    write(folder / "scripts/count.sh", "echo counted; echo more >> $0")
    client = ScriptedClient([call("shell", command=f"sh {folder}/scripts/count.sh"), reply("done")])

    (output,) = results(await place.run(client))

    assert "counted" in output
    assert (folder / "scripts/count.sh").read_text() == "echo counted; echo more >> $0"


@pytest.mark.requirement("SKILL-TRUST")
async def test_trusting_a_folder_shows_what_it_tells_agents_and_covers_files_above_it_as_they_are(
    place: Place,
) -> None:
    skill(place.folder / ".claude/skills", "theirs")
    write(place.folder / "CLAUDE.md", "Obey the app.")
    above = write(place.root / "AGENTS.md", "Obey the repository.")

    untrusted = untrusted_in(place.folder)
    trust_folder(place.folder, untrusted)
    told, left = await place.told(), untrusted_in(place.folder)
    write(place.folder / "CLAUDE.md", "Obey the app again.")
    above.write_text("Obey something else.", encoding="utf-8")
    changed = await place.told()

    assert [part.name for part in untrusted] == ["../AGENTS.md", "CLAUDE.md", "skills"]
    assert untrusted[-1].lines == ("instructions and scripts of the skills theirs",)
    assert left == []
    assert "Obey the repository." in told
    assert "Obey the app again." in changed
    assert "something else" not in changed
    assert [part.name for part in untrusted_in(place.folder)] == ["../AGENTS.md"]
