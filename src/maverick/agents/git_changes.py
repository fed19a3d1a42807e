"""The changes that git sees in a folder, found without running anything that the repository's settings name.

A repository may be a stranger's, and its settings can name programs: filters, file system monitors, hooks, diff drivers,
remotes from which missing objects are fetched. Each version of git adds more. So git does not read those settings: it
looks at the files and objects of the repository from a git folder of our own, in which only our settings exist.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from maverick.config.programs import find_program, helper_environment
from maverick.exceptions import ProcessError, ToolError
from maverick.processes import run_program

_LARGEST_DIFF = 200_000
"""Characters of a diff that are kept: a model can read no more at once."""
_LONGEST = 120.0
"""Seconds git may take: a repository can be made so that it waits forever."""
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
_HARMLESS = re.compile(
    r"core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)\n([a-z0-9]+)", re.IGNORECASE
)
"""Settings that say how the files of a folder compare to what git has kept, and name no program."""
_ALONE: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
"""What keeps git from other settings, from writing, and from remotes."""


async def changes_since(cwd: Path, revision: str) -> str:
    """The diff between a revision and the files of a folder; a ``ProcessError`` if git cannot tell."""
    repository = await _Repository.of(cwd)
    tree = await repository.tree(revision)
    if tree is None:
        raise _failure(cwd, f"there is no revision {revision!r}")
    return await repository.diff(tree)


async def staged_changes(cwd: Path) -> str:
    """The diff of the next commit: what is staged, or all changes when nothing is; or a ``ProcessError``."""
    repository = await _Repository.of(cwd)
    tree = await repository.tree("HEAD")  # ``None`` before the first commit
    return await repository.diff("--cached", *([tree] if tree else [])) or await repository.diff()


@dataclass(frozen=True, slots=True)
class _Repository:
    """A repository that may be a stranger's."""

    git: str
    """The program."""
    top: Path
    """The folder whose files are in it."""
    objects: Path
    index: Path
    form: str
    """How its objects are named: ``sha1`` or ``sha256``."""
    settings: tuple[str, ...]

    @classmethod
    async def of(cls, cwd: Path) -> _Repository:
        """The repository that a folder is in; a ``ProcessError`` if it is in none."""
        top = _top_of(cwd)
        if top is None:
            raise _failure(cwd, "it is not in a repository")
        git = find_program("git", workspace=top)
        if git is None:
            raise ProcessError("git was not found. Install it, or pass the diff.")
        asked = ("--show-object-format", "--git-path", "objects", "--git-path", "index")
        form, objects, index = (await _rev_parse(git, top, *asked)).splitlines()
        config = [git, f"--git-dir={top / '.git'}", "config", "--null", "--get-regexp", "^core[.]"]
        told = (await _output(top, config, {}, none=1)).split("\0")
        settings = tuple(f"core.{found[1]}={found[2]}" for found in map(_HARMLESS.fullmatch, told) if found)
        return cls(git, top, top / objects, top / index, form, settings)

    async def tree(self, revision: str) -> str | None:
        """The name of the files at a revision; ``None`` if there is no such revision."""
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
        found = await _rev_parse(self.git, self.top, *asked, none=1)
        name = found.strip().rpartition("\n")[2]
        return name if re.fullmatch("[0-9a-f]{40,64}", name) else None

    async def diff(self, *arguments: str) -> str:
        """The output of ``git diff``, up to the length that a model can read."""
        chosen = [word for setting in self.settings for word in ("-c", setting)]
        with self._own_folder() as folder:
            environment = {
                "HOME": folder,
                "GIT_DIR": folder,
                "GIT_WORK_TREE": str(self.top),
                "GIT_OBJECT_DIRECTORY": str(self.objects),
            }
            return await _output(self.top, [self.git, *chosen, *_DIFF, *arguments, "--"], environment)

    @contextmanager
    def _own_folder(self) -> Iterator[str]:
        """A git folder with the repository's index and none of its settings."""
        with TemporaryDirectory(prefix="maverick-git-") as name:
            folder = Path(name)
            for part in ("objects", "refs"):
                (folder / part).mkdir()
            (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
            version = f"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectFormat = {self.form}\n"
            (folder / "config").write_text(version, encoding="utf-8")
            try:
                for file in (self.index, *self.index.parent.glob("sharedindex.*")):
                    if file.is_file():  # opening a pipe would wait for a writer
                        # With its time, since when it was written tells git what to look at again.
                        shutil.copy2(file, folder / file.name)
            except OSError as error:
                raise _failure(self.top, "its index cannot be read") from error
            yield name


def _top_of(cwd: Path) -> Path | None:
    """The folder of the repository that a folder is in: git itself would believe the repository's settings."""
    folder = cwd.resolve()
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


async def _rev_parse(git: str, top: Path, *words: str, none: int = 0) -> str:
    """What ``git rev-parse`` says of a repository, without the user's settings."""
    argv = [git, f"--git-dir={top / '.git'}", "rev-parse", *words]
    with TemporaryDirectory() as nowhere:
        return await _output(top, argv, {"HOME": nowhere}, none=none)


async def _output(cwd: Path, argv: list[str], environment: Mapping[str, str], *, none: int = 0) -> str:
    """The output of git, or a ``ProcessError`` if it fails or takes too long.

    ``none`` is the exit code that means that there is no output.
    """
    kept, length = bytearray(), 0

    def take(chunk: bytes) -> bool:
        nonlocal length
        length += len(chunk)
        kept.extend(chunk[: max(4 * _LARGEST_DIFF - len(kept), 0)])
        return True

    told = {**helper_environment(cwd), **_ALONE, **environment}
    with TemporaryFile() as complaint:
        try:
            async with asyncio.timeout(_LONGEST):
                code = await run_program(argv, take, cwd=cwd, env=told, errors=complaint.fileno())
        except TimeoutError as error:
            raise _failure(cwd, f"it took longer than {_LONGEST:g} seconds") from error
        except ToolError as error:
            raise _failure(cwd, str(error)) from error
        if code and code != none:
            complaint.seek(0)
            raise _failure(cwd, " ".join(complaint.read(10_000).decode(errors="replace").split()), code)
    text = kept.decode(errors="replace")
    if len(text) <= _LARGEST_DIFF and len(kept) == length:
        return text
    left_out = length - len(text[:_LARGEST_DIFF].encode())
    return f"{text[:_LARGEST_DIFF]}\n[{left_out} more bytes were cut off]\n"


def _failure(cwd: Path, why: str, code: int | None = None) -> ProcessError:
    said = why or "no reason was given"
    return ProcessError(
        f"git could not tell what changed in {cwd}: {said.rstrip('.')}. Pass the diff, or run it in a repository.",
        exit_code=code,
        stderr=why,
    )
