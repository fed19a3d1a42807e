"""A program that is started for us ends with everything it started, whatever ends us."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

from claude_cli.census import gone, marked, open_handles, parent_of, there, until
from maverick.exceptions import CLINotFoundError, InvalidInputError, ProcessError
from maverick.providers.claude_cli.transport import CliProcess

pytestmark = [
    pytest.mark.requirement("CLI-NO-ORPHANS"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

FAMILY = "(setsid sleep 600 &); setsid sleep 601 & sleep 602 & echo started; exec sleep 603"
"""Four sleeping processes: a daemon whose parent is gone, one in a session of its own, a child, and the program."""


@pytest.fixture
def mark() -> str:
    return f"MARK={uuid.uuid4().hex}"


def marked_env(mark: str) -> dict[str, str]:
    name, _, value = mark.partition("=")
    return {**os.environ, name: value}


async def family(mark: str, cwd: Path) -> CliProcess:
    process = await CliProcess.start(["/bin/sh", "-c", FAMILY], env=marked_env(mark), cwd=cwd)
    assert await process.stdout.readline() == b"started\n"
    assert len(await there(mark, 4)) == 4
    return process


async def test_what_it_says_can_be_read_and_what_is_written_it_reads(tmp_path: Path) -> None:
    process = await CliProcess.start(["/bin/sh", "-c", "pwd; cat; exit 3"], env={}, cwd=tmp_path)

    process.stdin.write(b"hello\n")
    process.stdin.write_eof()
    said = await process.stdout.read()

    assert said.decode() == f"{tmp_path}\nhello\n"
    assert await process.wait() == 3
    await process.aclose()


async def test_killing_it_kills_its_children_its_daemons_and_those_in_other_sessions(
    tmp_path: Path, mark: str
) -> None:
    process = await family(mark, tmp_path)

    process.kill()

    assert await gone(mark) == []
    assert await process.wait() == -signal.SIGTERM
    await process.aclose()


async def test_a_program_that_ignores_the_polite_request_is_killed_all_the_same(
    tmp_path: Path, mark: str
) -> None:
    stubborn = "trap '' TERM; echo started; while true; do sleep 1; done"
    process = await CliProcess.start(["/bin/sh", "-c", stubborn], env=marked_env(mark), cwd=tmp_path)
    await process.stdout.readline()

    await process.aclose()

    assert await gone(mark) == []
    assert await process.wait() == -signal.SIGKILL


async def test_what_it_leaves_behind_when_it_exits_by_itself_is_ended_too(tmp_path: Path, mark: str) -> None:
    leave = "setsid sleep 600 & echo started"
    process = await CliProcess.start(["/bin/sh", "-c", leave], env=marked_env(mark), cwd=tmp_path)

    assert await process.wait() == 0

    assert await gone(mark) == []
    await process.aclose()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_it_ends_when_the_process_that_started_it_is_killed(
    tmp_path: Path, mark: str, number: signal.Signals
) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("owner.py")),
        FAMILY,
        env=marked_env(mark),
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"started\n"
    assert len(await there(mark, 5)) >= 5

    owner.send_signal(number)
    await owner.wait()

    assert await gone(mark) == []


async def test_a_forked_child_of_ours_does_not_keep_it_alive(tmp_path: Path, mark: str) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("owner.py")),
        FAMILY,
        "fork",
        env=marked_env(mark),
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"started\n"
    child = int(await owner.stdout.readline())

    owner.kill()
    await owner.wait()

    try:
        assert await until(lambda: marked(mark) == [child])
    finally:
        os.kill(child, signal.SIGKILL)


async def test_when_its_keeper_is_killed_it_dies_and_we_are_told(tmp_path: Path, mark: str) -> None:
    process = await family(mark, tmp_path)

    os.kill(parent_of(process.pid), signal.SIGKILL)

    assert await process.wait() == -signal.SIGKILL
    assert await gone(mark) == []
    await process.aclose()


async def test_a_new_supervisor_is_started_when_somebody_killed_the_old_one(
    tmp_path: Path, mark: str
) -> None:
    first = await family(mark, tmp_path)

    os.kill(parent_of(parent_of(first.pid)), signal.SIGKILL)

    assert await gone(mark) == []
    second = await CliProcess.start(["/bin/sh", "-c", "exit 5"], env={}, cwd=tmp_path)
    assert await second.wait() == 5
    await first.aclose()
    await second.aclose()


async def test_cancelling_the_wait_for_its_end_does_not_keep_it_from_ending(
    tmp_path: Path, mark: str
) -> None:
    process = await family(mark, tmp_path)
    closing = asyncio.create_task(process.aclose())
    await asyncio.sleep(0)

    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)

    assert await gone(mark) == []


async def test_no_handle_and_no_folder_is_left(tmp_path: Path) -> None:
    async def once() -> Path:
        process = await CliProcess.start(
            ["/bin/sh", "-c", "touch $CLAUDE_CODE_TMPDIR/x; echo $CLAUDE_CODE_TMPDIR; exec sleep 600"],
            env=dict(os.environ),
            cwd=tmp_path,
        )
        scratch = (await process.stdout.readline()).decode().strip()
        await process.aclose()
        await asyncio.sleep(0)
        return Path(scratch)

    await once()
    before = open_handles()

    folders = [await once() for _ in range(5)]

    assert open_handles() == before
    assert not any(folder.exists() for folder in folders)


async def test_the_socket_that_a_cli_leaves_when_it_is_killed_is_removed(tmp_path: Path) -> None:
    leave = "mkdir cc-socks; touch cc-socks/$$.sock cc-socks/other.sock; echo started; exec sleep 600"
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    process = await CliProcess.start(["/bin/sh", "-c", leave], env=env, cwd=tmp_path)
    await process.stdout.readline()

    await process.aclose()

    assert os.listdir(tmp_path / "cc-socks") == ["other.sock"]  # noqa: PTH208 - pathlib may not be used in async code


@pytest.mark.requirement("000-FR-007")
@pytest.mark.parametrize(
    ("argv", "cwd", "error", "words"),
    [
        (["/no/such/claude"], ".", CLINotFoundError, "The Claude CLI was not found at /no/such/claude"),
        (["/bin/true"], "/no/such/folder", InvalidInputError, "cwd: the Claude CLI cannot run in"),
        (["/bin/true", "x" * 200_000], ".", InvalidInputError, "too long for a command line"),
        (["/etc/passwd"], ".", ProcessError, "could not be started: Permission denied"),
    ],
)
async def test_why_it_did_not_start_is_said(
    argv: list[str], cwd: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        await CliProcess.start(argv, env={}, cwd=Path(cwd))

    assert isinstance(raised.value.__cause__, OSError)


async def test_the_last_lines_of_its_standard_error_are_kept_and_told(tmp_path: Path) -> None:
    told: list[str] = []

    def listen(line: str) -> None:
        told.append(line)
        raise RuntimeError("a listener's failure harms nothing")

    process = await CliProcess.start(
        ["/bin/sh", "-c", "for i in $(seq 30); do echo line $i >&2; done"],
        env=dict(os.environ),
        cwd=tmp_path,
        on_stderr=listen,
    )
    await process.wait()

    assert await until(lambda: len(told) == 30)
    assert process.stderr.splitlines() == [f"line {number}" for number in range(11, 31)]
    await process.aclose()
