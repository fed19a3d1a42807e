"""What can be completed at the prompt: slash commands, and files after an ``@``; and the files it mentions."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from maverick.agents.skills import Skills, load_skills
from maverick.exceptions import InvalidInputError
from maverick.model import Part
from maverick.model.media import media_from_path
from maverick.tui.keys import COMMANDS
from maverick.tui.plain_text import one_line

if TYPE_CHECKING:  # it brings MCP with it
    from maverick.tools.mcp import ServerPrompt

_COMMAND = re.compile(r"/([\w.:/-]*)")
_WORD = re.compile(r'(?<!\S)@("[^"\n]*|\S*)$')
_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_ENDING = ".,;:!?)"
"""What may follow a mention without being part of it."""
_MOST_FILES = 5_000
"""Files and folders that are looked at, to offer files."""
_MOST_OFFERS = 8
_FRESH = 5.0
"""Seconds for which a list of files is used again."""
_SKIPPED = {"node_modules", "__pycache__", "venv", "dist", "build", "target"}


class Offer(NamedTuple):
    """Something that can take the place of the end of what is typed."""

    label: str
    description: str
    begin: int
    """How many characters of the line stay."""
    text: str
    runs: bool = False
    """Whether it is a command that is complete."""


class Completer:
    """Completes what is typed, with the commands, the skills, the prompts of MCP servers and the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.prompts: Sequence[ServerPrompt] = ()
        """The prompts of MCP servers, once they are known."""
        self._folder = folder
        self._files: list[str] = []
        self._read_at = -_FRESH

    def offers(self, text: str) -> list[Offer]:
        """What the text up to the cursor may become, the best first."""
        if command := _COMMAND.fullmatch(text):
            return list(self._commands(command[1]))
        if word := _WORD.search(text):
            return list(self._mentions(word.start(), word[1].removeprefix('"')))
        return []

    @cached_property
    def skills(self) -> Skills:
        """The skills of the folder and the user."""
        return load_skills(self._folder)

    @property
    def for_agent(self) -> Mapping[str, Offer]:
        """The commands that are for the agent, by their names: skills, and the prompts of MCP servers."""
        skills = ((f"/{name}", f"/{name}", skill.description) for name, skill in self.skills.by_name.items())
        prompts = ((prompt.command, prompt.usage, prompt.description) for prompt in self.prompts)
        return {
            command[1:]: Offer(usage, one_line(description), 0, f"{command} ")
            for command, usage, description in (*skills, *prompts)
            if command[1:] not in COMMANDS and _COMMAND.fullmatch(command)
        }

    def _commands(self, wanted: str) -> Iterator[Offer]:
        for_agent = self.for_agent
        names = [*COMMANDS, *for_agent]
        for name in _best(wanted, names) if wanted else names:
            if name in for_agent:
                yield for_agent[name]
                continue
            key = COMMANDS[name]
            keys = f" ({key.shown})" if key.always else ""
            yield Offer(f"/{name} {key.takes}".rstrip(), key.description + keys, 0, f"/{name} ", runs=True)

    def _mentions(self, begin: int, wanted: str) -> Iterator[Offer]:
        if time.monotonic() - self._read_at > _FRESH:
            self._files, self._read_at = list(_files_below(self._folder)), time.monotonic()
        if wanted in self._files:  # there is nothing to complete, and Enter sends the prompt
            return
        for path in _best(wanted, self._files):
            yield Offer(path, "", begin, f'@"{path}" ' if " " in path else f"@{path} ")


def missing_mentions(text: str, folder: Path) -> list[str]:
    """The files that a text mentions as ``@path`` and that are not there; a word without a dot or a slash does not count."""
    missing = [
        name.rstrip(_ENDING)
        for name, places in _mentioned(text, folder)
        if not any(place.exists() for place in places)
    ]
    return [name for name in missing if "." in name or "/" in name]


def _mentioned(text: str, folder: Path) -> Iterator[tuple[str, tuple[Path, Path]]]:
    """What a text mentions, and where that may be: a mention may end a sentence."""
    for quoted, plain in _MENTION.findall(text):
        name = quoted or plain
        yield name, (folder / os.path.expanduser(name), folder / name.rstrip(_ENDING))  # noqa: PTH111 - Path.expanduser raises for an unknown user


def read_mentions(text: str, folder: Path) -> str | list[str | Part]:
    """The text, after the files that it mentions as ``@path``, unless one cannot be attached. What is no file stays text."""
    found = [
        next((place for place in places if place.is_file()), None) for _, places in _mentioned(text, folder)
    ]
    files = dict.fromkeys(path for path in found if path is not None)
    for path in files:
        _check_stays(path, folder)
    return [*map(media_from_path, files), text] if files else text


def _check_stays(path: Path, folder: Path) -> None:
    """Make sure that a file of the folder is in it: whoever wrote a link there must not choose what is sent."""
    inside, real = os.path.relpath(path, folder), path.resolve()
    if inside.partition("/")[0] != ".." and not real.is_relative_to(folder.resolve()):
        raise InvalidInputError(
            f"@{inside} leads through a link out of the folder, to {real}. "
            "Name that file itself if you want to attach it.",
            field="prompt",
        )


def _best(wanted: str, names: Iterable[str]) -> list[str]:
    """The names that fit best what is typed of one: those that begin with it, have it, or have its letters in order."""
    wanted = wanted.casefold()

    def rank(name: str) -> int:
        name = name.casefold()
        letters = iter(name)
        if name.rpartition("/")[2].startswith(wanted):
            return 0
        return 1 if wanted in name else 2 if all(letter in letters for letter in wanted) else 3

    ranks = {name: rank(name) for name in names}
    fitting = [name for name, rank in ranks.items() if rank < 3]
    return sorted(fitting, key=lambda name: (ranks[name], name.count("/"), len(name), name))[:_MOST_OFFERS]


def _files_below(folder: Path) -> Iterator[str]:
    """The files of a folder, relative to it, but for hidden ones and what programs make."""
    count = 0
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        for name in files[:_MOST_FILES]:
            if name[0] != "." and name.isprintable():
                yield os.path.relpath(os.path.join(path, name), folder)  # noqa: PTH118 - of thousands of files
                count += 1
        count += 1  # folders count too: a tree may have no files at all
        if count >= _MOST_FILES:
            return
