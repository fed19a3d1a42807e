"""Windows does not have all that Python has elsewhere: what needs it says so, and the rest does without."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.documents import run_python

_WITHOUT_POSIX = Path(__file__).with_name("without_posix.py")
_IMPORT_ALL = """
import importlib, pkgutil, maverick
names = [module.name for module in pkgutil.walk_packages(maverick.__path__, "maverick.")]
for name in names:
    # The first is the program of a process that is never started there.
    if name not in ("maverick.processes.supervisor", "maverick.__main__") and not name.startswith(
        ("maverick.cli.tui", "maverick.tui.app", "maverick.tui.terminal_driver")
    ):
        importlib.import_module(name)
print(len(names))
from maverick.cli.main import main
raise SystemExit(main(["tui"]))
"""
_RUN = """
import asyncio
from maverick import AgentExecutor, SqliteJournal, define_agent, run_sync, tool
from maverick.exceptions import ConfigError
@tool(effect="pure")
def double(number: int) -> int:
    "Twice a number."
    return 2 * number
doubler = define_agent("doubler", model="offline:", tools=[double])
async def main():
    async with SqliteJournal("runs.db") as journal:
        result = await AgentExecutor(journal=journal).execute(doubler, inputs={"prompt": "double 21"}, run_id="one")
        return result.unwrap(), len([_ async for _ in journal.read("one")])
print(asyncio.run(main()))
from maverick.cli.main import main
print(main(["run", "-p", "hi"]), main(["models", "claude-sonnet-5-5"]), main(["runs", "list"]))
"""


@pytest.mark.requirement("PLATFORM-IMPORT")
@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="there is nothing to hide")
def test_all_modules_but_those_of_the_tui_are_imported_without_what_windows_does_not_have(
    tmp_path: Path,
) -> None:
    done = run_python(_WITHOUT_POSIX, _IMPORT_ALL, cwd=tmp_path)

    assert int(done.stdout) > 300
    assert done.returncode == 2
    assert done.stderr == (
        "maverick: `maverick tui` needs the package 'termios', which Python does not have on this system. "
        "Use Linux, macOS, or WSL on Windows.\n"
    )


@pytest.mark.requirement("PLATFORM-IMPORT")
@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="there is nothing to hide")
def test_agents_run_without_what_windows_does_not_have_and_coding_tools_say_what_they_need(
    tmp_path: Path,
) -> None:
    done = run_python(_WITHOUT_POSIX, _RUN, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "42" in done.stdout
    assert "Coding tools need Linux or macOS" in done.stderr
