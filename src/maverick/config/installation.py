"""How Maverick came onto this computer, and how more of it gets there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maverick.exceptions import AgentError, ErrorKind

_DISTRIBUTION = "maverick-agents"
"""What the package is called where it is installed from; it is imported as ``maverick``."""
_SOURCES = Path(__file__).resolve().parents[2]


@contextmanager
def extra_needed(extra: str, purpose: str) -> Iterator[None]:
    """Explain how to install an extra if a package of it is missing when it is imported for a purpose.

    That is an ``AgentError`` of the kind ``invalid``.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "maverick"):
            raise
        if package in sys.stdlib_module_names:
            fault = "which Python does not have on this system. Use Linux, macOS, or WSL on Windows."
        else:
            fault = f"which is not installed. Run: {install_command(extra)}"
        raise AgentError(
            f"{purpose} needs the package {package!r}, {fault}", kind=ErrorKind.INVALID
        ) from error


def install_command(extra: str) -> str:
    """The command that adds an extra, from where Maverick itself was installed from, with what installed it."""
    checkout = _SOURCES.parent
    if _SOURCES.name == "src" and (checkout / "pyproject.toml").is_file():
        return f"{_installer()} -e {shlex.quote(f'{checkout}[{extra}]')}"
    extras = ",".join(sorted({*_replaced_extras(), extra}))
    return f"{_installer()} {shlex.quote(f'{_DISTRIBUTION}[{extras}]{_origin()}')}"


def _installer() -> str:
    """The command that installs packages where this interpreter finds them."""
    from importlib.util import find_spec  # here, since it is seldom wanted

    environment = Path(sys.prefix)
    if (environment / "uv-receipt.toml").is_file():
        return "uv tool install --force"
    if (environment / "pipx_metadata.json").is_file():
        return "pipx install --force"
    if environment.parent.name.startswith("archive-v"):  # what `uvx` makes for a single command
        return "uvx --from"
    python = shlex.quote(sys.executable or "python")
    # An environment that uv has made has no pip.
    return f"uv pip install --python {python}" if find_spec("pip") is None else f"{python} -m pip install"


def _replaced_extras() -> list[str]:
    """The extras that the environment of a tool was made with, which installing the tool again would leave out."""
    import json  # here, since they are seldom wanted
    import re

    found = None
    # There may be no receipt, or one of another form.
    with suppress(OSError, ValueError, LookupError, TypeError):
        if (receipt := Path(sys.prefix) / "uv-receipt.toml").is_file():
            told = receipt.read_text(encoding="utf-8")
            found = re.search(r'name = "maverick-agents", extras = \[([^]]*)\]', told)
        else:
            receipt = receipt.with_name("pipx_metadata.json")
            told = json.loads(receipt.read_bytes())["main_package"]["package_or_url"]
            found = re.search(r"\[([\w, -]+)\]", told)
    return re.findall(r"[\w-]+", found[1]) if found else []


def _origin() -> str:
    """The address that was named when Maverick was installed; nothing if it came from a package index."""
    import json  # here, since they are seldom wanted
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        told = distribution(_DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        told = None
    if not told:
        return ""
    origin = json.loads(told)
    if "vcs_info" in origin:
        return f" @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    return f" @ {origin['url']}"
