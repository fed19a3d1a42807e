"""The package as it is distributed: built, and installed where nothing of the repository is found."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from canary import lookout

ROOT = Path(__file__).parents[1]
NAME = "maverick-agents"
_PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel, and a home and a folder to work in that are empty."""

    bin: Path
    site_packages: Path
    home: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment to its end, with nothing on its standard input."""
        done = subprocess.run(  # noqa: S603 - what the wheel has installed
            [self.bin / program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env=self.variables,
            cwd=self.home,
            timeout=_PATIENCE,
            check=False,
        )
        lookout.look("the output of a command", (done.stdout, done.stderr))
        return done

    @property
    def variables(self) -> dict[str, str]:
        """What a new user has in the environment."""
        return {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONWARNINGS": "error",
        }


def built_wheel(factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist once for all processes of a test run."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "distribution"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            _build("sdist", ROOT, folder)
            with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
                archive.extractall(folder, filter="data")
            _build("wheel", next(folder.glob("*/pyproject.toml")).parent, folder)
    return next(folder.glob("*.whl"))


def install(wheel: Path, folder: Path, *extras: str) -> Installed:
    """Install the wheel with what it and the extras require, which is taken from the environment of the tests."""
    venv.create(folder, symlinks=True)
    installed = Installed(
        folder / "bin", next((folder / "lib").glob("python*")) / "site-packages", folder / "home"
    )
    installed.home.mkdir()
    uv = Path(sys.executable).with_name("uv")
    python = installed.bin / "python"
    subprocess.run(  # noqa: S603 - the tool of the project
        [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], check=True
    )
    [own] = distributions(name=NAME, path=[str(installed.site_packages)])
    for needed in _closure(own, extras):
        for file in needed.files or ():
            link = installed.site_packages / file.parts[0]
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(Path(str(needed.locate_file(file.parts[0]))))
    return installed


def _build(target: str, project: Path, folder: Path) -> None:
    subprocess.run(  # noqa: S603 - the tool of the project
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder],
        cwd=project,
        check=True,
        capture_output=True,
    )


def _closure(own: Distribution, extras: Iterable[str]) -> Iterator[Distribution]:
    """What a distribution requires, and what that requires."""
    seen: set[str] = set()
    waiting = [(own, frozenset(extras))]
    while waiting:
        having, wanted_extras = waiting.pop()
        for text in having.requires or ():
            requirement = Requirement(text)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *wanted_extras)
            )
            if applies and requirement.name not in seen:
                seen.add(requirement.name)
                needed = distribution(requirement.name)
                yield needed
                waiting.append((needed, frozenset(requirement.extras)))
