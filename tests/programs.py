"""The programs that some tests need and not every machine has: where they are, and how to install them.

``python tests/programs.py`` prints the packages of those that are missing. With a folder, it fills that with links to
every program on the path but these: with the folder as its path, a test run is what it is on a fresh machine.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from maverick.tools.coding.sandbox import sandbox_problem

PACKAGES = {
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "fish": "fish",
    "node": "nodejs",
    "npm": "npm",
    "rg": "ripgrep",
    "tmux": "tmux",
    "zsh": "zsh",
}
"""The package that has each program."""
_OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome", "google-chrome-stable")}
_INSTALLERS = ("apt-get", "dnf", "brew")
_MISSING = "needs {}, which is not installed"


def find(name: str) -> str | None:
    """Where a program is, if it is installed."""
    return next(filter(None, map(shutil.which, (name, *_OTHER_NAMES.get(name, ())))), None)


def require(name: str) -> str:
    """Where a program is; the test is skipped where it is not installed."""
    path = find(name)
    if path is None:
        pytest.skip(_MISSING.format(name))
    return path


def needs(name: str) -> pytest.MarkDecorator:
    """Skip a test where a program is not installed."""
    return pytest.mark.skipif(find(name) is None, reason=_MISSING.format(name))


needs_sandbox = pytest.mark.skipif(
    bool(sandbox_problem()),
    reason=_MISSING.format("bwrap") if find("bwrap") is None else f"needs a sandbox: {sandbox_problem()}",
)
"""Skip a test where no sandbox can be made."""


def summary(reasons: Iterable[str]) -> str:
    """What was skipped for want of a program and how to install it, in a line; empty if nothing was."""
    pattern = re.compile(re.escape(_MISSING).replace(r"\{\}", "(.+)"))
    found = [match[1] for reason in reasons if (match := pattern.search(reason))]
    if not found:
        return ""
    names = sorted(set(found))
    installer = next(filter(shutil.which, _INSTALLERS), "your package manager:")
    packages = " ".join(PACKAGES[name] for name in names)
    return (
        f"Skipped {len(found)} tests that need {', '.join(names)}. To install: {installer} install {packages}"
    )


def link_others(folder: Path) -> None:
    """Fill a folder with links to every program on the path but the optional ones."""
    hidden = {*PACKAGES, "nodejs", "npx", *(other for names in _OTHER_NAMES.values() for other in names)}
    for place in map(Path, os.get_exec_path()):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name not in hidden and not link.is_symlink():
                link.symlink_to(program.absolute())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        link_others(Path(sys.argv[1]))
    else:
        sys.stdout.write(" ".join(package for name, package in PACKAGES.items() if find(name) is None) + "\n")
