"""How more of Maverick is installed, from wherever it came from."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

import maverick
from maverick.config import installation
from maverick.config.installation import install_command


@pytest.fixture
def site_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Maverick is installed in, and found in first."""
    monkeypatch.setattr(installation, "_SOURCES", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    metadata = tmp_path / "maverick_agents-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: maverick-agents\nVersion: 0.1.0\n")
    return metadata


@pytest.mark.requirement("007-ERRORS")
def test_a_clone_is_where_more_of_it_comes_from() -> None:
    clone = Path(maverick.__file__).parents[2]

    assert shlex.split(install_command("tui"))[-2:] == ["-e", f"{clone}[tui]"]


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    ("environment", "has_pip", "command"),
    [
        ("", True, f"{sys.executable} -m pip install"),
        ("", False, f"uv pip install --python {sys.executable}"),
        ("uv-receipt.toml", False, "uv tool install --force"),
        ("pipx_metadata.json", False, "pipx install --force"),
        ("archive-v0/x", False, "uvx --from"),
    ],
)
def test_more_is_installed_with_what_has_installed_maverick(
    environment: str,
    has_pip: bool,
    command: str,
    site_packages: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = tmp_path / environment if "/" in environment else tmp_path
    monkeypatch.setattr(sys, "prefix", str(prefix))
    if environment and prefix == tmp_path:
        (tmp_path / environment).touch()
    monkeypatch.setattr("importlib.util.find_spec", {"pip": has_pip or None}.get)

    assert install_command("server") == f"{command} 'maverick-agents[server]'"


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    ("receipt", "text"),
    [
        (
            "uv-receipt.toml",
            '[tool]\nrequirements = [{ name = "maverick-agents", extras = ["server", "mcp"] }]\n',
        ),
        (
            "pipx_metadata.json",
            json.dumps({"main_package": {"package_or_url": "maverick-agents[server,mcp]"}}),
        ),
        (
            "pipx_metadata.json",
            json.dumps(
                {
                    "injected_packages": {"uvicorn": {"package_or_url": "uvicorn[standard]"}},
                    "main_package": {"package_or_url": "maverick-agents[server,mcp]==0.1.0"},
                }
            ),
        ),
    ],
)
def test_the_extras_that_a_tool_was_installed_with_are_kept(
    receipt: str, text: str, site_packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / receipt).write_text(text)

    assert shlex.split(install_command("tui"))[-1] == "maverick-agents[mcp,server,tui]"


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ({"url": "file:///home/ana/maverick", "dir_info": {}}, " @ file:///home/ana/maverick"),
        (
            {"url": "https://example.org/m.git", "vcs_info": {"vcs": "git", "commit_id": "abc1"}},
            " @ git+https://example.org/m.git@abc1",
        ),
        (None, ""),
    ],
)
def test_what_is_installed_elsewhere_is_installed_from_there_again(
    origin: dict[str, object] | None, address: str, site_packages: Path
) -> None:
    if origin is not None:
        (site_packages / "direct_url.json").write_text(json.dumps(origin))

    assert shlex.split(install_command("tui"))[-1] == f"maverick-agents[tui]{address}"
