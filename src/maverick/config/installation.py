"""How Maverick came onto this computer, and how more of it gets there."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_SOURCES = Path(__file__).resolve().parents[2]


def install_command(extra: str) -> str:
    """The command that adds an optional part, from where Maverick itself was installed from.

    Args:
        extra: What the part is called in ``pyproject.toml``.
    """
    checkout = _SOURCES.parent
    if _SOURCES.name == "src" and (checkout / "pyproject.toml").is_file():
        wanted = f"-e {shlex.quote(f'{checkout}[{extra}]')}"
    else:
        wanted = shlex.quote(f"maverick[{extra}]{_origin()}")
    return f"{shlex.quote(sys.executable or 'python')} -m pip install {wanted}"


def _origin() -> str:
    """The address that was named when Maverick was installed; nothing if it came from a package index."""
    try:
        told = distribution("maverick").read_text("direct_url.json")
    except PackageNotFoundError:
        told = None
    if not told:
        return ""
    origin = json.loads(told)
    if "vcs_info" in origin:
        return f" @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    return f" @ {origin['url']}"
