"""Windows does not have all that Python has elsewhere: what needs it says so, and the rest does without."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maverick
from docs.documents import run_python
from without_posix import MODULES, OF_OS, OF_SIGNAL

_WITHOUT_POSIX = Path(__file__).with_name("without_posix.py")
_RUN = """
import asyncio
from maverick import AgentExecutor, SqliteJournal, define_agent, tool
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
print(main(["run", "-p", "hi"]), main(["models", "claude-sonnet-5-5"]), main(["tui"]))
"""


@pytest.mark.requirement("PLATFORM-IMPORT")
def test_no_import_needs_what_windows_does_not_have() -> None:
    names = {*MODULES, *(f"os.{name}" for name in OF_OS), *(f"signal.{name}" for name in OF_SIGNAL)}
    needed = {
        path.name
        for path in Path(maverick.__file__).parent.rglob("*.py")
        for node in _run_on_import(ast.parse(path.read_text(encoding="utf-8")))
        if names & {*_named(node)}
    }

    assert needed == {"supervisor.py"}, "only the program of a process that is never started there"


@pytest.mark.requirement("PLATFORM-IMPORT")
def test_without_what_windows_does_not_have_agents_run_and_the_rest_says_what_it_needs(
    tmp_path: Path,
) -> None:
    done = run_python(_WITHOUT_POSIX, _RUN, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "42" in done.stdout
    assert done.stdout.endswith("2 0 2\n")
    assert "maverick: Coding tools need Linux or macOS" in done.stderr
    assert done.stderr.endswith(
        "maverick: `maverick tui` needs the package 'termios', which Python does not have on this system. "
        "Use Linux, macOS, or WSL on Windows.\n"
    )


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """What is run when a module is imported, but for what stands under a condition."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.If | ast.IfExp):
            yield inner
            yield from _run_on_import(inner)


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom():
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        case ast.Attribute():
            yield ast.unparse(node)
