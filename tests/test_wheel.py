"""The built wheel, in an environment where nothing of the repository is found."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import maverick
from docs.documents import ROOT, read_blocks
from wheel import Installed, built_wheel, install

_USE = """\
# pyright: strict
from typing import assert_type
from pydantic import BaseModel
from maverick import AgentResult, define_agent, run_sync
class Report(BaseModel):
    summary: str
result = run_sync(define_agent("reporter", output=Report), inputs={"prompt": "hi"})
assert_type(result, AgentResult[Report])
assert_type(result.unwrap().summary, int)
"""
_USES_OF_EXTRAS = {
    "from maverick.server import create_app": "server",
    "from maverick.chat import AgentRunner": "chat",
    "from maverick.fleet import Fleet": "temporal",
    "from maverick.journal import PostgresJournal; PostgresJournal('postgresql://ana@localhost/runs')": "postgres",
    "from maverick.tools.mcp import MCPConnection": "mcp",
    "from maverick import connect; connect('claude-sdk:claude-sonnet-5-5', api_key='k')": "claude-sdk",
    "from maverick import define_agent, run_sync\n"
    "run_sync(define_agent('a', model='claude-code:sonnet'), inputs={'prompt': 'hi'}).unwrap()": "claude-code",
    "from maverick import connect; connect('local:model.gguf')": "local",
    "from maverick.telemetry import instrument; instrument()": "otel",
}
_TRY = """
from maverick.exceptions import MaverickError
for use in {uses!r}:
    try:
        exec(use)
    except MaverickError as error:
        print(error)
"""
_COMMANDS_OF_EXTRAS = {
    "chat": "chat",
    "tui": "tui",
    "acp": "acp",
    "serve": "server",
    "users list": "server",
    "mcp list": "mcp",
    "worker": "temporal",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel without any extra."""
    return install(built_wheel(tmp_path_factory), tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with what README's line installs."""
    return install(built_wheel(tmp_path_factory), tmp_path_factory.mktemp("serving"), "server")


@pytest.mark.requirement("DIST-WHEEL")
def test_the_command_and_the_module_are_those_of_the_wheel(bare: Installed) -> None:
    command, module = bare.run("maverick", "--version"), bare.run("python", "-m", "maverick", "--version")
    home = bare.run("python", "-c", "import maverick; print(maverick.__file__)")

    assert (command.stdout, module.stdout) == (f"maverick {maverick.__version__}\n",) * 2
    assert Path(home.stdout).is_relative_to(bare.site_packages)
    assert {path.name for path in bare.site_packages.glob("maverick_agents-*/licenses/*")} == {"LICENSE"}


@pytest.mark.requirement("DIST-TOUR")
def test_the_tour_of_the_readme_works_without_the_repository(serving: Installed) -> None:
    blocks = read_blocks(ROOT / "README.md")
    commands = [
        shlex.split(line, comments=True)
        for block in blocks
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("maverick ")
    ]
    [(program, printed)] = [
        (block.text, blocks[place + 1].text)
        for place, block in enumerate(blocks)
        if block.language == "python"
    ]

    assert len(commands) >= 6
    for command in commands:
        done = serving.run(*command)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout or command == ["maverick", "mcp", "list"], command
    ran = serving.run("python", "-c", program)
    assert ran.stdout.strip() == printed, ran.stderr


@pytest.mark.requirement("DIST-WHEEL")
def test_the_page_is_served_with_all_its_files(serving: Installed) -> None:
    with subprocess.Popen(  # noqa: S603 - what the wheel has installed
        [serving.bin / "maverick", "serve", "--port", "0", "--no-browser"],
        env=serving.variables,
        cwd=serving.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            assert server.stdout
            address = next(
                found[0] for line in server.stdout if (found := re.search(r"http://\S+[\w/]", line))
            )
            page = _fetch(address)
            files = re.findall(r'(?:src|href)="([\w.-]+\.(?:js|css|svg))"', page)

            assert len(set(files)) >= 3
            for file in files:
                assert _fetch(f"{address.rstrip('/')}/{file}")
        finally:
            server.terminate()
            server.communicate()


@pytest.mark.requirement("DIST-EXTRAS")
def test_what_needs_an_extra_names_it_where_it_is_missing(bare: Installed) -> None:
    (bare.home / "model.gguf").write_bytes(b"GGUF")

    done = bare.run("python", "-c", _TRY.format(uses=[*_USES_OF_EXTRAS]))

    assert done.returncode == 0, done.stderr
    for error, extra in zip(done.stdout.splitlines(), _USES_OF_EXTRAS.values(), strict=True):
        assert "not installed" in error
        assert f"install 'maverick-agents[{extra}]" in error.replace(f"--python {bare.bin / 'python'} ", "")


@pytest.mark.requirement("DIST-EXTRAS")
def test_a_command_that_needs_an_extra_names_it_and_shows_nothing_else(bare: Installed) -> None:
    servers = bare.home / ".maverick" / "mcp.json"  # to list none of them needs no extra
    servers.parent.mkdir(exist_ok=True)
    servers.write_text('{"mcpServers": {"notes": {"command": "true"}}}', encoding="utf-8")
    for command, extra in _COMMANDS_OF_EXTRAS.items():
        done = bare.run("maverick", *command.split())

        assert (done.returncode, done.stdout) == (2, ""), command
        assert f"'maverick-agents[{extra}]" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    servers.unlink()


@pytest.mark.requirement("F-TWINS")
def test_the_comparison_says_how_many_packages_the_wheel_brings(bare: Installed) -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")

    [said] = re.findall(r"^\| Maverick .*, (\d+) \|$", page, re.MULTILINE)

    assert len([*bare.site_packages.glob("*.dist-info")]) == int(said)


@pytest.mark.requirement("DIST-WHEEL")
def test_a_type_checker_sees_the_types_of_the_wheel(bare: Installed) -> None:
    program = bare.home / "use.py"
    program.write_text(_USE, encoding="utf-8")

    checked = subprocess.run(  # noqa: S603 - the tool of the project
        [sys.executable, "-m", "pyright", "--pythonpath", bare.bin / "python", "--outputjson", program],
        env=bare.variables | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        cwd=bare.home,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (bare.site_packages / "maverick" / "py.typed").exists()
    [wrong] = json.loads(checked.stdout)["generalDiagnostics"]
    assert (wrong["rule"], wrong["range"]["start"]["line"]) == ("reportAssertTypeFailure", 8)


def _fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as response:  # noqa: S310 - a server of the test
        text: str = response.read().decode()
    return text
