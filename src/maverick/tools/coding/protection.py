"""What programs run automatically in a workspace, and agents therefore may not change.

A file that only runs when a person runs it (a test, a build script) is that person's to judge. These run without
a decision: the settings and hooks of git, what shells and editors load with a folder, what tells us which programs to
start, and the Python that runs us.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path

PROTECTED = (".git", ".maverick", "maverick.yaml", ".claude", ".agents", ".mcp.json")
"""What decides how other programs, and we ourselves, treat the workspace: agents, skills, permissions, programs to start."""

ASKED = (
    ".envrc", ".vscode", ".idea", ".devcontainer", ".pre-commit-config.yaml", ".husky", ".githooks", "lefthook.yml",
    "mise.toml", ".mise.toml", ".mise", ".gitattributes", ".npmrc", ".yarnrc.yml", ".cargo", "*.code-workspace", ".zed",
    ".cursor", ".codex", ".gemini", ".kiro", ".roo", ".opencode", "opencode.json", ".windsurf", ".windsurfrules", ".clinerules",
    "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", "copilot-instructions.md",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".inputrc", ".vimrc", ".exrc", ".nvim.lua", ".gdbinit", ".lldbinit", ".tmux.conf", ".gitconfig", ".ssh", ".config", ".local",
)  # fmt: skip
"""What other programs run or obey automatically; the user may want it changed, and is asked."""

FOLDERS = frozenset({".git", ".maverick", ".claude", ".agents", ".vscode", ".idea"})
"""Those of them that are folders, and that other programs may make at any time."""

GIT_SETTINGS = (".git/config", ".git/hooks", ".git/modules", ".git/worktrees")
"""What of a repository decides which programs git starts."""

GIT_REDIRECTIONS = (".git/commondir", ".git/config.worktree")
"""What makes git read its settings elsewhere; ordinary repositories do not have them."""


def what_runs_us(root: Path) -> tuple[str, ...]:
    """The places below a folder that programs of this process are run from, relative to it, the outermost of them only.

    That is Python with its packages and scripts, this package, and the folders on ``PATH``; a virtual environment
    counts as a whole.
    """
    below: set[Path] = set()
    for place in _executed():
        real = Path(os.path.realpath(place))
        if root in real.parents and real.exists():
            below.add(real)
    outermost = (place for place in below if below.isdisjoint(place.parents))
    return tuple(sorted(place.relative_to(root).as_posix() for place in outermost))


def _executed() -> Iterator[str | Path]:
    from sysconfig import get_paths  # here, since most runs change nothing

    yield from (sys.prefix, sys.exec_prefix, sys.base_prefix, Path(sys.prefix, "pyvenv.cfg"))
    paths = get_paths()
    yield from (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))
    yield site.getusersitepackages()
    yield Path(__file__).parents[2]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            is_environment = Path(folder).parent.joinpath("pyvenv.cfg").exists()
            yield Path(folder).parent if is_environment else folder
