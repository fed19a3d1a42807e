"""What agents are told in a folder: the instructions of the user and the project, and which skills there are.

Instructions are in ``AGENTS.md``, or else in ``CLAUDE.md``. The user's own are in ``~/.maverick/AGENTS.md``, or else
``~/.claude/CLAUDE.md``. A project's are those of the current folder and of the folders above it, up to the root of its git
repository; the nearest comes last. They count only after the user has trusted the folder. A file above it counts if that
folder is trusted too, or if the user has trusted this very content together with the current folder.

Skills (Agent Skills) are folders with a ``SKILL.md``, which tells an agent how to do a certain kind of task. They are looked for in
``.maverick/skills``, ``.claude/skills`` and ``.agents/skills``, of the project (in the same folders, each only after the user has
trusted it) and of the user; of two with one name the nearest counts.
An agent is told no more than it needs: the system prompt has the names and descriptions; the tool ``read_skill`` returns
the instructions of a skill, and its other files one by one. Scripts of a skill are run as any other command is: with the
shell tool, under the permissions and in the sandbox. What a skill itself says of allowed tools grants nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from maverick.agents.front_matter import read_front_matter
from maverick.config.own_files import persons_home
from maverick.config.trust import INSTRUCTION_FILES, SKILL_FOLDERS, Trust, digest, folders_of_project
from maverick.exceptions import AgentError, InvalidInputError, ToolError, describe_unknown
from maverick.model import Effect
from maverick.runtime.toolset import Guidance
from maverick.tools import FunctionTool

FILE = "SKILL.md"
_COMMAND = r"/[A-Za-z0-9_.-]{1,64}"
_NAME = r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*"
_LONGEST_DESCRIPTION = 1024
_MOST_SKILLS = 100
"""How many an agent is told of, and how many folders of one place are looked at."""
_LARGEST_FILE = 200_000
"""The characters of a file that the model is shown, and nearly the bytes of the largest that is read."""
_MOST_FILES = 100

_ABOUT_SKILLS = (
    "Skills are instructions for certain kinds of tasks. When one of these fits what you are asked to do, call read_skill "
    "with its name before you begin, and follow it:"
)

LARGEST_INSTRUCTIONS = 64 * 1024
"""The bytes of a file that agents are told; the rest is left out."""
_OWN_FILES = (".maverick/AGENTS.md", ".claude/CLAUDE.md")


class InstructionFile(Struct, frozen=True):
    """A file with instructions for agents."""

    name: str
    """Its path relative to the project's folder, or from the user's home."""
    content: bytes
    folder: Path
    """The folder it is in."""

    @property
    def digest(self) -> str:
        """What its content is remembered by."""
        return digest(self.content)

    def is_trusted(self, folder: Path, trust: Trust) -> bool:
        """Whether it counts for agents in a folder."""
        by_content = self.folder != folder.absolute() and trust.covers(folder, self.name, self.content)
        return by_content or trust.covers_folder(self.folder)


def project_instructions(folder: Path) -> list[InstructionFile]:
    """The files of a project, trusted or not, the outermost first."""
    places = folders_of_project(folder)
    found = (_first(place, INSTRUCTION_FILES, within=places[-1]) for place in reversed(places))
    return [
        InstructionFile(os.path.relpath(path, folder.absolute()), content, path.parent)
        for path, content in filter(None, found)
    ]


def _instructions(folder: Path, home: Path | None, trust: Trust) -> Iterator[str]:
    """What agents in a folder are told by the user and, as far as it is trusted, by the project."""
    own = None if home is None else _first(home, _OWN_FILES)
    if own is not None:
        yield _told("The user's instructions", f"~/{own[0].relative_to(home or '')}", own[1])
    for file in project_instructions(folder):
        if file.is_trusted(folder, trust):
            yield _told("The project's instructions", file.name, file.content)


def _told(whose: str, name: str, content: bytes) -> str:
    text = content[:LARGEST_INSTRUCTIONS].decode("utf-8", "replace").strip()
    rest = (
        "\n[the rest of the file is left out: it is too long]" if len(content) > LARGEST_INSTRUCTIONS else ""
    )
    return f"{whose}, from {name}:\n\n{text}{rest}"


def _first(place: Path, names: tuple[str, ...], within: Path | None = None) -> tuple[Path, bytes] | None:
    """The first of these files that has something in it; none that a link takes out of the project."""
    for name in names:
        path = place / name
        try:
            real = path.resolve(strict=True)
            if real.is_file() and (within is None or real.is_relative_to(within.resolve())):
                with real.open("rb") as file:
                    if content := file.read(LARGEST_INSTRUCTIONS + 1).strip():
                        return path, content
        except (OSError, RuntimeError):  # it does not exist or cannot be read, or links lead in a circle
            continue
    return None


class Skill(Struct, frozen=True):
    """A skill."""

    name: str
    description: str
    """What it does, and when to use it."""
    folder: Path
    is_offered: bool = True
    """Whether models are told of it; some skills are for people to ask for by name."""


class Skills:
    """The skills of a folder and its user, as far as they are trusted."""

    def __init__(self, folder: Path, home: Path | None, trust: Trust) -> None:
        self.problems: list[str] = []
        """What is wrong with those that are left out."""
        self.by_name: dict[str, Skill] = {}
        """The skills, the nearest first."""
        own = [] if home is None else [home]
        places = [place for place in folders_of_project(folder) if trust.covers_folder(place)]
        for place in dict.fromkeys([*places, *own]):
            for path in skill_folders(place):
                real, within = (path.resolve(), (path / FILE).resolve()), place.resolve()
                if place in own or all(one.is_relative_to(within) for one in real):
                    self._take(path)
                else:
                    self.problems.append(f"A skill is left out: a link leads from {path} out of the project.")

    @property
    def catalogue(self) -> str:
        """The names and descriptions, for the system prompt; empty if there are none."""
        lines = [
            f"- {skill.name}: {skill.description}" for skill in islice(self._offered.values(), _MOST_SKILLS)
        ]
        return "\n".join([_ABOUT_SKILLS, *lines]) if lines else ""

    def read_skill(self, name: str, file: str = FILE) -> str:
        """Read a skill: its instructions, or another of its files.

        Args:
            name: The skill, as it is named in your instructions.
            file: The file, relative to the skill's folder.
        """
        from maverick.tools.coding.workspace import Workspace  # here, since it is not there on every system

        offered = self._offered
        if name not in offered:
            raise ToolError(describe_unknown("skill", name, list(offered)))
        workspace = Workspace(offered[name].folder)
        if (workspace.canonical(file) or file) == FILE:
            return self._instructions(offered[name])
        content = workspace.read(file, _LARGEST_FILE)
        if b"\0" in content:
            raise ToolError(f"{file} is not a text file. It is {workspace.root / file}.")
        return content.decode("utf-8", "replace")

    def followed(self, name: str, words: str = "") -> str:
        """What a model is told when a user asks for a skill by name, with further words; also for people's own skills."""
        return f"Follow the skill {name}:\n\n{self._instructions(self.by_name[name])}\n\n{words}".rstrip()

    def expanded(self, prompt: str) -> str:
        """What a prompt means: one that begins with a slash is the skill that it names, with the words after it.

        If there is no such skill, it is an ``InvalidInputError``, and if it cannot be read a ``ToolError``.
        """
        command, *rest = prompt.split(maxsplit=1) or [""]
        name = command[1:]
        if not re.fullmatch(_COMMAND, command) or Path(command).exists():  # a file may be meant
            return prompt
        if name not in self.by_name:
            unknown = describe_unknown("skill", name[:100], list(self.by_name))
            raise InvalidInputError(f"{unknown} If it is no command, put a word before it.", field="prompt")
        return self.followed(name, *rest)

    @property
    def _offered(self) -> dict[str, Skill]:
        return {name: skill for name, skill in self.by_name.items() if skill.is_offered}

    def _instructions(self, skill: Skill) -> str:
        root = skill.folder.resolve()
        try:
            body = read_front_matter(root / FILE, lenient=True, noun="skill").body
        except InvalidInputError as error:
            raise ToolError(str(error)) from error
        files = sorted(str(path.relative_to(root)) for path in islice(_files(root), _MOST_FILES))
        others = f" Its other files: {', '.join(files)}" if files else ""
        return f"{body}\n\n[The skill {skill.name} is in {root}.{others}]"

    def _take(self, folder: Path) -> None:
        try:
            skill = _read(folder)
        except AgentError as error:
            self.problems.append(f"A skill is left out: {error}")
        else:
            self.by_name.setdefault(skill.name, skill)


def skill_folders(place: Path) -> Iterator[Path]:
    """The folders of skills that a project's folder, or a home, has."""
    for name in SKILL_FOLDERS:
        try:
            for path in sorted(islice((place / name).iterdir(), 10 * _MOST_SKILLS))[:_MOST_SKILLS]:
                if (path / FILE).is_file():
                    yield path
        except OSError:
            continue  # there are none, or they are not this user's to read


def _read(folder: Path) -> Skill:
    front = read_front_matter(folder / FILE, lenient=True, noun="skill")
    name, said = front.fields.get("name", folder.name), front.fields.get("description")
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        front.refuse(
            "name", "name: expected at most 64 lowercase letters, digits and single hyphens between them."
        )
    description = " ".join(said.split()) if isinstance(said, str) else ""
    if not description.isprintable() or not description:
        front.refuse("description", "description: expected a text that says what the skill does, and when.")
    hidden = str(front.fields.get("disable-model-invocation", "")).lower() == "true"
    return Skill(name, description[:_LONGEST_DESCRIPTION], folder, not hidden)


def _files(root: Path) -> Iterator[Path]:
    """The files of a skill, but for its instructions; no links, and nothing deeper than two folders."""
    for pattern in ("*", "*/*", "*/*/*"):
        for path in root.glob(pattern):
            if path.is_file() and not path.is_symlink() and path != root / FILE:
                yield path


def load_skills(folder: Path) -> Skills:
    """The skills of a folder and of the user, as far as the folder is trusted."""
    home = persons_home()
    return Skills(folder, home, Trust(home))


def guidance_in(folder: Path, skills: Skills) -> Guidance:
    """What coding agents are told in a folder: the user's and the project's instructions, and which skills there are."""
    home = persons_home()
    told = (*_instructions(folder, home, Trust(home)), skills.catalogue)
    tool = FunctionTool(skills.read_skill, effect=Effect.PURE, max_output=_LARGEST_FILE)
    return Guidance("\n\n".join(filter(None, told)), (tool,) if skills.catalogue else ())
