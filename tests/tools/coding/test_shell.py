"""Commands: what they print, how they are stopped, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path

import pytest

from canary import CANARY
from maverick.exceptions import ConfigError
from maverick.loop.fingerprint import hash_tool
from maverick.model import ToolContext
from maverick.tools import Workspace, coding_tools
from maverick.tools.coding import toolbox
from maverick.tools.coding.sandbox import sandbox_problem
from maverick.tools.permissions import Access
from programs import needs_sandbox
from tools.coding.desk import SECRET, Desk

PATIENCE = 60


@pytest.fixture(
    params=[pytest.param(True, id="sandbox", marks=needs_sandbox), pytest.param(False, id="plain")]
)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, sandbox=request.param)


def running(mark: str) -> list[str]:
    """The processes that have this in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


async def count_is(wanted: int, mark: str) -> bool:
    """Whether so many such processes run, after as long as it takes the system to notice."""
    for _ in range(2000):
        if len(running(mark)) == wanted:
            return True
        await asyncio.sleep(0.01)
    return False


async def gone(mark: str) -> bool:
    """Whether no such process is left."""
    return await count_is(0, mark)


@pytest.mark.requirement("C-SHELL")
async def test_a_command_runs_in_the_workspace_and_its_output_errors_and_exit_code_come_back(
    desk: Desk,
) -> None:
    answer = await desk.use("shell", command="pwd; echo oops >&2; cat; exit 3")

    assert str(desk.root) in answer
    assert "oops" in answer
    assert answer.endswith("[exit code 3]")


@pytest.mark.requirement("C-SHELL")
async def test_a_command_with_half_of_a_character_is_refused(desk: Desk) -> None:
    answer = await desk.use("shell", command="echo \ud83d")

    assert answer.startswith("refused: ")
    assert "could not be started" in answer


@pytest.mark.requirement("C-SHELL", "P9")
async def test_a_command_sees_no_secret_of_our_environment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)

    answer = await desk.use("shell", command="env; cat /proc/$PPID/environ")

    assert CANARY not in answer
    assert "PATH=" in answer


@pytest.mark.requirement("C-SHELL", "P4")
async def test_a_command_that_takes_too_long_is_stopped_with_what_it_had_said(desk: Desk) -> None:
    async with asyncio.timeout(PATIENCE):
        answer = await desk.use("shell", command="echo begun; sleep 3601", seconds=2)

    assert "begun" in answer
    assert answer.endswith("[stopped after 2 seconds]")
    assert await gone("sleep\0003601")


@pytest.mark.requirement("C-SHELL", "P4")
@pytest.mark.parametrize(
    "command",
    [
        "sleep {n} & echo done",
        "(setsid sleep {n} >/dev/null 2>&1 &) ; echo done",
        "nohup sh -c 'trap \"\" TERM HUP INT; sleep {n}; sleep {n}' >/dev/null 2>&1 & echo done",
        'python3 -c \'import os; os.fork() or os.setsid() or os.fork() or os.execlp("sleep", "sleep", "{n}")\'; echo done',
    ],
    ids=["background", "own session", "deaf", "daemon"],
)
async def test_what_a_command_leaves_behind_ends_with_it(desk: Desk, command: str) -> None:
    mark = str(time.monotonic_ns() % 10**9 + 10**9)

    async with asyncio.timeout(PATIENCE):
        answer = await desk.use("shell", command=command.format(n=mark))

    assert "done" in answer
    assert await gone(f"sleep\0{mark}")


@pytest.mark.requirement("C-SHELL", "P4")
@pytest.mark.parametrize(
    "attack",
    [
        "kill -9 0",
        "kill -9 $PPID",
        "kill -STOP $PPID",
        "kill -9 {above}",
        "kill -STOP {above}; kill -9 $PPID",
        "kill -STOP {above}; kill -STOP $PPID",
        "pkill -9 -f turncoat-{mark}",
    ],
    ids=[
        "group",
        "parent",
        "stopped parent",
        "grandparent",
        "stopped grandparent",
        "both stopped",
        "by words",
    ],
)
async def test_a_command_that_turns_against_those_who_watch_it_leaves_nothing_either(
    desk: Desk, attack: str
) -> None:
    mark = str(time.monotonic_ns() % 10**9 + 10**9)
    attack = attack.format(mark=mark, above="$(cut -d ' ' -f 4 /proc/$PPID/stat)")

    async with asyncio.timeout(PATIENCE):
        answer = await desk.use(
            "shell",
            command=f"mkfifo ready; setsid sh -c 'echo > ready; exec sleep {mark}' >/dev/null 2>&1 & "
            f"read begun < ready; echo begun; {attack}",
            seconds=2,
        )

    assert "begun" in answer
    assert await gone(f"sleep\0{mark}")


@pytest.mark.requirement("C-SHELL", "P4")
async def test_a_cancelled_call_takes_its_processes_along(desk: Desk) -> None:
    mark = str(time.monotonic_ns() % 10**9 + 10**9)
    call = asyncio.ensure_future(
        desk.use("shell", command=f"(setsid sleep {mark} &); trap '' TERM; sleep {mark}; sleep {mark}")
    )
    async with asyncio.timeout(PATIENCE):
        assert await count_is(2, f"sleep\0{mark}")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert await gone(f"sleep\0{mark}")


KILLED = """
import asyncio, sys
from pathlib import Path
from maverick.tools import Workspace, coding_tools
sys.path.insert(0, sys.argv[4])
from tools.coding.desk import CONTEXT
tools = {tool.name: tool for tool in coding_tools(Workspace(Path(sys.argv[1])), sandbox=sys.argv[2] == "True")}
asyncio.run(tools["shell"].execute({"command": f"(setsid sleep {sys.argv[3]} &); sleep {sys.argv[3]}"}, CONTEXT))
"""


@pytest.mark.requirement("C-SHELL", "P4")
@pytest.mark.parametrize("sandbox", [pytest.param(True, marks=needs_sandbox), False])
async def test_a_command_does_not_outlive_the_process_that_ran_it(sandbox: bool, tmp_path: Path) -> None:
    mark = str(time.monotonic_ns() % 10**9 + 10**9)
    tests = str(Path(__file__).parents[2])
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(tmp_path), str(sandbox), mark, tests
    )
    async with asyncio.timeout(PATIENCE):
        assert await count_is(2, f"sleep\0{mark}")
        owner.kill()
        await owner.wait()

    assert await gone(f"sleep\0{mark}")


@pytest.mark.requirement("C-SHELL")
async def test_a_long_output_is_cut_in_its_middle_and_kept_in_a_file_that_can_be_read(desk: Desk) -> None:
    answer = await desk.use("shell", command="echo first; seq 1 20000; echo last")

    assert len(answer) < 30_000
    assert "first\n1\n" in answer
    assert "20000\nlast" in answer
    (kept,) = (desk.root / ".maverick/output").glob("run-1-0-*.txt")
    assert (
        kept.read_text(encoding="utf-8") == "first\n" + "".join(f"{n}\n" for n in range(1, 20001)) + "last\n"
    )
    assert f".maverick/output/{kept.name}" in answer
    assert "20001\t20000" in await desk.use(
        "read_file", path=f".maverick/output/{kept.name}", first_line=20_000
    )
    assert (desk.root / ".maverick/output/.gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.requirement("C-SHELL")
async def test_a_command_that_never_stops_talking_is_stopped(desk: Desk) -> None:
    async with asyncio.timeout(PATIENCE):
        answer = await desk.use("shell", command="yes")

    assert answer.endswith("[stopped: too much output]")
    (kept,) = (desk.root / ".maverick/output").glob("*.txt")
    assert kept.stat().st_size == 8_000_000


@pytest.mark.requirement("C-SHELL")
async def test_a_command_that_closes_its_output_is_waited_for(desk: Desk) -> None:
    await desk.use("shell", command="exec >&- 2>&-; sleep 0.2; echo late > late.txt")

    assert (desk.root / "late.txt").read_text(encoding="utf-8") == "late\n"


@pytest.mark.requirement("C-SHELL")
async def test_output_is_told_while_it_comes_and_a_listener_that_fails_harms_nothing(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []

    def listen(context: ToolContext, text: str) -> None:
        told.append((context.call_id, text))
        raise RuntimeError("broken")

    answer = await Desk(tmp_path, sandbox=False, on_output=listen).use("shell", command="echo one; echo two")

    assert "one\ntwo" in answer
    assert {who for who, _ in told} == {"call"}
    assert "".join(text for _, text in told) == "one\ntwo\n"


@pytest.mark.requirement("C-SANDBOX")
@needs_sandbox
async def test_in_the_sandbox_there_is_the_workspace_and_no_network_and_nothing_else(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sandbox=True)
    before = desk.outside()
    home = Path.home() / ".bashrc"

    answer = await desk.use(
        "shell",
        command=f"cat {desk.base}/outside/secret.txt {home} /etc/shadow; echo x > {desk.base}/outside/new; "
        "echo x > /usr/new; ls /proc | grep -c '^[0-9]'; echo y > inside.txt; "
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 22), 2)\"",
    )

    assert SECRET not in answer
    assert answer.count("No such file") >= 3
    assert "Error" in answer
    assert desk.outside() == before
    assert (desk.root / "inside.txt").read_text(encoding="utf-8") == "y\n"


@pytest.mark.requirement("C-SANDBOX")
@needs_sandbox
async def test_in_the_sandbox_what_is_protected_can_not_be_changed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sandbox=True)
    (desk.root / ".git/hooks").mkdir(parents=True)
    (desk.root / "maverick.yaml").write_text("agent: {}\n", encoding="utf-8")

    answer = await desk.use(
        "shell",
        command="echo x > .git/hooks/pre-commit; rm -rf .git; mv .git g; echo x > maverick.yaml; rm maverick.yaml",
    )

    assert "Read-only file system" in answer
    assert list((desk.root / ".git/hooks").iterdir()) == []
    assert (desk.root / "maverick.yaml").read_text(encoding="utf-8") == "agent: {}\n"


@pytest.mark.requirement("C-SANDBOX", "C-CONFINED")
@needs_sandbox
@pytest.mark.parametrize("name", [".git", "maverick.yaml", ".maverick"])
@pytest.mark.parametrize(
    "target", ["../outside", "../outside/secret.txt", "{base}/outside", "/proc/self/root"]
)
async def test_a_link_in_place_of_something_protected_leads_nowhere(
    name: str, target: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, sandbox=True)
    before = desk.outside()

    (desk.root / name).symlink_to(target.format(base=desk.base))
    answer = await desk.use(
        "shell", command=f"ls {name}/ {name}/outside; cat {name} {name}/secret.txt; echo x > {name}"
    )

    assert (desk.root / name).is_symlink()
    assert SECRET not in answer
    assert desk.outside() == before


SWAPPING = """
while :; do
    mkdir real; mv -T real .git; mv .git away; ln -s ../outside .git; rm .git; rmdir away
done
"""


@pytest.mark.requirement("C-SANDBOX", "C-CONFINED")
@needs_sandbox
async def test_a_link_that_another_program_puts_in_place_meanwhile_leads_nowhere(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sandbox=True)
    before = desk.outside()
    swapping = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", SWAPPING, cwd=desk.root, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        for _ in range(40):
            answer = await desk.use(
                "shell", command="cat .git/secret.txt; echo x > .git/new; echo x >> .git/secret.txt"
            )
            assert SECRET not in answer
    finally:
        swapping.kill()
        await swapping.wait()

    assert desk.outside() == before


@pytest.mark.requirement("C-SANDBOX")
def test_without_a_sandbox_a_person_is_asked_and_told_why(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "sandbox_problem", lambda: "bubblewrap is not installed")

    shell = {tool.name: tool for tool in coding_tools(desk.workspace)}["shell"]

    assert getattr(shell, "approval", None) == "bubblewrap is not installed."
    assert getattr(shell, "access", None) is Access.EXECUTE
    with pytest.raises(ConfigError, match="Bubblewrap is not installed"):
        coding_tools(desk.workspace, sandbox=True)


@pytest.mark.requirement("C-SANDBOX", "P7", "P10")
@needs_sandbox
def test_a_shell_without_its_sandbox_is_another_tool(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    shells = [
        made
        for sandbox in (True, False)
        for made in coding_tools(workspace, sandbox=sandbox)
        if made.name == "shell"
    ]

    assert hash_tool(shells[0]) != hash_tool(shells[1])
    assert "no network" in shells[0].description


@pytest.mark.requirement("C-SANDBOX")
def test_a_sandbox_that_can_not_be_made_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    problems = []
    for path in (str(tmp_path), str(tmp_path / "nowhere")):
        monkeypatch.setenv("PATH", path)
        problems.append(sandbox_problem())

    assert "does not let bubblewrap" in problems[0]
    assert "not installed" in problems[1]


async def test_a_pipe_that_nobody_reads_ends_whoever_writes_to_it(desk: Desk) -> None:
    answer = await desk.use("shell", command="{ yes; echo $? >&2; } | head -n 1")

    assert {"y", str(128 + signal.SIGPIPE)} < set(answer.splitlines())
