"""``maverick mcp login`` and ``logout``: as a person does it, with a browser beside the command."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from attacks.stranger import Machine
from canary import lookout
from cli.command import PATIENCE, environment
from tools.mcp.sign_in_server import SignInServer, browse
from warm_start import Maverick


@pytest.mark.requirement("MCP-OAUTH", "P9")
async def test_a_person_signs_in_uses_the_server_and_signs_out(tmp_path: Path) -> None:
    machine, wiki = Machine(tmp_path), SignInServer()
    machine.env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    machine.write_own("mcp.json", f'{{"mcpServers": {{"wiki": {{"url": "{wiki.url}"}}}}}}')
    wiki.start()
    try:
        signing = Maverick(
            *("mcp", "login", "wiki", "--no-browser"),
            cwd=machine.project,
            env=environment(machine.home, **machine.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert signing.stderr is not None
        async with asyncio.timeout(PATIENCE):
            said, address = [await asyncio.to_thread(signing.stderr.readline) for _ in range(2)]
            page = await browse(address.strip())
            out, err = await asyncio.to_thread(signing.communicate)
        (kept,) = (machine.home / ".maverick/mcp-sign-ins").glob("*.json")
        lookout.plant(kept, kept.read_text())
        listed = await machine.maverick("mcp", "list", "wiki")
        left = await machine.maverick("mcp", "logout", "wiki")
    finally:
        wiki.stop()

    assert said == f"Sign in to wiki at {wiki.origin.removeprefix('http://')}:\n"
    assert "You are signed in." in page
    assert (out, signing.returncode) == ("signed in to wiki\n", 0), err
    assert "mcp__wiki__search" in listed.stdout, listed.stderr
    assert left.stdout == "signed out of wiki\n"
