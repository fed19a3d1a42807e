"""The commands of a fleet, as a user types them: a real Temporal server, a real Postgres, and real processes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from canary import CANARY
from cli.command import PATIENCE, environment
from cli.folder import Folder
from warm_start import Maverick

AGENTS = """
    import asyncio
    from pathlib import Path
    from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
    from maverick.testing import ScriptedClient, call, reply

    @tool(effect="keyed", approval=True)
    def publish(text: str) -> str:
        '''Publish something.'''
        return f"published {text}"

    @tool(effect="keyed")
    async def wait() -> str:
        '''Wait.'''
        while not Path("go").exists():
            await asyncio.sleep(0.05)
        return "Waited."

    clerk = AgentDefinition("clerk", "Works.", tool_config=ToolConfig(tools=[publish, wait]))

    def executor(definition, user_id):
        def answer(request):
            said = request.messages[0].content
            for name, arguments in {"publish": {"text": "news"}, "wait": {}}.items():
                if name in said and len(request.messages) < 2:
                    return call(name, **arguments)
            return reply(f"{said} Done for {user_id}.")
        return AgentExecutor(ScriptedClient(answer))
"""


class FleetFolder:
    """A user's folder in which a fleet is set."""

    def __init__(self, folder: Folder, temporal: str, database: str) -> None:
        self.folder = folder
        self.settings = {
            "MAVERICK_TEMPORAL": temporal,
            "MAVERICK_JOURNAL": database,
            "MAVERICK_TEMPORAL_QUEUE": f"test-{uuid.uuid4().hex[:8]}",
        }
        folder.write("office.py", AGENTS)
        for name, value in self.settings.items():
            folder.set(name, value)

    def start(self, *words: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """A command in a process of its own."""
        return Maverick(
            *words,
            env=environment(self.folder.path, **self.settings),
            cwd=self.folder.path,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def worker(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A worker process, from when it is ready."""
        process = self.start("worker", *words)
        try:
            eventually(lambda: self.folder.json("fleet", "status")["workers"])
            yield process
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def fleet(folder: Folder, temporal_server: str, postgres_url: str) -> FleetFolder:
    return FleetFolder(folder, temporal_server, postgres_url)


def eventually(is_so: Callable[[], object]) -> None:
    """Wait for what another process does."""
    patience = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < patience
        time.sleep(0.1)


def test_a_worker_tells_what_it_offers_and_leaves_when_it_is_told_to(fleet: FleetFolder) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with fleet.worker("--agents", "office.py", "--max-runs", "7", "--health-port", str(port)) as process:
        (worker,) = fleet.folder.json("fleet", "status")["workers"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=PATIENCE) as response:
            assert response.status == 200
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)

    offered = ["clerk"]
    assert (worker["agents"], worker["capacity"], worker["runs"]) == (offered, 7, 0)
    assert re.search(r"clerk; up to 7 runs at once", said)
    assert process.returncode == 0, said
    assert "No worker is running" in fleet.folder.main("fleet", "status").stdout


def test_a_run_in_a_fleet_is_shown_like_one_here_and_waits_for_whoever_decides(fleet: FleetFolder) -> None:
    folder = fleet.folder
    with fleet.worker("--agents", "office.py"):
        done = folder.main("run", "clerk", "-p", "Hello.", "--on", "fleet")
        anas = folder.main("run", "clerk", "-p", "Hi.", "--on", "fleet", "--user", "ana", "--priority", "1")
        empty = folder.main("run", "clerk", "--on", "fleet")
        waits = folder.main("run", "office.py", "-p", "Please publish.", "--on", "fleet", "--run-id", "news")
        folder.main("runs", "approve", "news", "--by", "ana")
        eventually(lambda: folder.json("runs", "show", "news")["run"]["status"] == "complete")
        forked = folder.main("runs", "fork", "news", "--turn", "1", "--edit", "Go on.", "--new-id", "again")
        no_turn = folder.refuse("runs", "fork", "news", "--turn", "9")
        events = folder.main("run", "clerk", "-p", "Hello.", "--on", "fleet", "--json").stdout.splitlines()

    assert (done.returncode, done.stdout) == (0, "Hello. Done for None.\n"), done.stderr
    assert re.search(r"run_\w+: complete, 1 turn", done.stderr)
    assert anas.stdout == "Hi. Done for ana.\n"
    assert empty.returncode == 2
    assert empty.stderr == 'maverick: clerk: inputs: prompt missing. Add -p "…" or -i NAME=VALUE.\n'
    assert (waits.returncode, waits.stdout) == (3, "")
    assert "publish(text='news')" in waits.stderr
    assert "continues by itself" in waits.stderr
    assert (forked.returncode, forked.stdout) == (0, "Go on. Done for None.\n"), forked.stderr
    assert "has turns 1 to 2, not 9" in no_turn
    assert '"type":"run_end"' in events[-1]


def test_ctrl_c_stops_watching_a_run_in_a_fleet_and_twice_stops_the_run(fleet: FleetFolder) -> None:
    def watched(run_id: str) -> subprocess.Popen[str]:
        words = ["run", "clerk", "-p", "Please wait.", "--on", "fleet", "--run-id", run_id]
        process = fleet.start(*words)
        eventually(lambda: run_id in fleet.folder.main("fleet", "status").stdout)
        eventually(lambda: "tools started" in fleet.folder.main("runs", "tail", run_id).stdout)
        process.send_signal(signal.SIGINT)
        return process

    with fleet.worker("--agents", "office.py"):
        left, stopped = watched("left"), watched("stopped")
        assert stopped.stderr is not None
        while "Press Ctrl-C again" not in stopped.stderr.readline():
            pass
        stopped.send_signal(signal.SIGINT)
        said = [process.communicate(timeout=PATIENCE)[1] for process in (left, stopped)]
        status = [fleet.folder.json("runs", "show", run)["run"]["status"] for run in ("left", "stopped")]
        followed = fleet.start("runs", "tail", "left", "--follow", stdout=subprocess.PIPE)
        assert followed.stdout is not None
        while "tools started" not in followed.stdout.readline():
            pass
        fleet.folder.main("runs", "abort", "left")
        _, tail = followed.communicate(timeout=PATIENCE)
        eventually(lambda: fleet.folder.json("runs", "show", "left")["run"]["status"] == "stopped")
        fleet.folder.write("go", "")
        eventually(lambda: fleet.folder.main("fleet", "status").stdout.endswith("Runs: 2 ended\n"))
        resumed = fleet.folder.main("runs", "resume", "left")

    assert (left.returncode, stopped.returncode) == (130, 130), said
    assert "Follow it with: maverick runs tail left --follow" in said[0]
    assert status == ["running", "stopped"]
    assert (followed.returncode, "Cut short" in tail) == (0, True), tail
    assert (resumed.returncode, resumed.stdout) == (0, "Please wait. Done for None.\n"), resumed.stderr


def test_a_run_whose_agent_no_worker_has_waits_says_so_and_can_be_stopped(fleet: FleetFolder) -> None:
    process = fleet.start("run", "nobody", "-p", "Work.", "--on", "fleet", "--run-id", "work")
    assert process.stderr is not None
    said = process.stderr.readline()

    aborted = fleet.folder.main("runs", "abort", "work", "--reason", "no one has it")
    _, rest = process.communicate(timeout=PATIENCE)

    assert said == "(work waits for a worker that has the agent 'nobody')\n"
    assert aborted.returncode == 0, aborted.stderr
    assert (process.returncode, "(stopped)" in rest) == (130, True), rest
    assert "has ended" in fleet.folder.refuse("runs", "abort", "work")


@pytest.mark.parametrize(
    ("settings", "words", "code", "problem"),
    [
        ({}, ("worker",), 2, "No fleet is configured. Name its Temporal server with --temporal"),
        ({}, ("run", "-p", "Hello.", "--on", "fleet"), 2, "Name its Temporal server with --on temporal://"),
        ({}, ("run", "-p", "Hi.", "--on", "fleet", "--max-turns", "3"), 2, "--max-turns does not apply to a run"),
        ({}, ("run", "-p", "Hello.", "--on", "fleet", "--no-journal"), 2, "--no-journal does not apply to a run"),
        ({}, ("run", "-p", "Hello.", "--user", "ana"), 2, "--user is for runs in a fleet. Add --on fleet"),
        ({}, ("fleet", "status", "--temporal", "127.0.0.1:1"), 2, "A fleet keeps its runs in Postgres."),
        ({}, ("serve", "--db", "chat.db"), 2, "--db is the database of a fleet"),
        ({}, ("serve", "--temporal", "127.0.0.1:1"), 2, "A fleet keeps its runs in Postgres."),
        (
            {"MAVERICK_TEMPORAL": "127.0.0.1:1"},
            ("serve", "--model", "claude:x"),
            2,
            "--model cannot be used with a fleet.",
        ),
        (
            {"MAVERICK_JOURNAL": f"postgresql://ana:{CANARY}@127.0.0.1/x"},
            ("serve", "--temporal", "127.0.0.1:1"),
            1,
            "Temporal cannot be reached at 127.0.0.1:1.",
        ),
        (
            {"MAVERICK_TEMPORAL": "127.0.0.1:1", "MAVERICK_JOURNAL": f"postgresql://ana:{CANARY}@127.0.0.1/x"},
            ("fleet", "status"),
            1,
            "Temporal cannot be reached at 127.0.0.1:1.",
        ),
        (
            {"MAVERICK_TEMPORAL": "127.0.0.1:1", "MAVERICK_JOURNAL": "postgresql://x", "MAVERICK_TEMPORAL_TLS_CA": "no.pem"},
            ("fleet", "adopt"),
            2,
            "temporal.tls_ca: no.pem could not be read.",
        ),
        (
            {"MAVERICK_TEMPORAL": "127.0.0.1:1", "MAVERICK_JOURNAL": "postgresql://x", "MAVERICK_TEMPORAL_TLS_KEY": "k.pem"},
            ("fleet", "adopt"),
            2,
            "temporal.tls_cert is missing",
        ),
    ],
)  # fmt: skip
def test_a_fleet_that_cannot_be_reached_is_one_line(
    folder: Folder, settings: dict[str, str], words: tuple[str, ...], code: int, problem: str
) -> None:
    for name, value in settings.items():
        folder.set(name, value)

    done = folder.main(*words)

    assert (done.returncode, done.stdout) == (code, "")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert CANARY not in done.stderr


def test_a_namespace_or_an_agent_that_is_not_there_is_named(fleet: FleetFolder) -> None:
    wrong = f"temporal://{fleet.settings['MAVERICK_TEMPORAL']}/nowhere"

    assert "has no namespace 'nowhere'" in fleet.folder.refuse("fleet", "status", "--temporal", wrong)
    assert "no Python file 'nothing.py'" in fleet.folder.refuse("worker", "--agents", "nothing.py")


def test_a_worker_that_cannot_reach_the_database_does_not_say_that_it_is_ready(fleet: FleetFolder) -> None:
    done = fleet.folder.main("worker", "--agents", "office.py", "--db", "postgresql://ana@127.0.0.1:1/x")

    assert done.returncode == 1
    assert "up to" not in done.stderr


def test_schedules_are_added_listed_and_removed(fleet: FleetFolder) -> None:
    folder = fleet.folder
    assert "day of the week" in folder.refuse("schedule", "add", "often", "clerk", "-p", "Work.")
    nowhere = folder.refuse("schedule", "add", "0 7 * * *", "clerk", "-p", "Work.", "--timezone", "Mars/Base")
    assert "There is no time zone named 'Mars/Base'." in nowhere
    daily = ("0 7 * * *", "office.py", "-p", "Work.", "--timezone", "Europe/Paris")
    folder.main("schedule", "add", *daily, "--user", "ana", "--priority", "2")

    (listed,) = folder.json("schedule", "list")
    removed = folder.main("schedule", "remove", "clerk")

    assert (listed["agent"], listed["inputs"]) == ("clerk", {"prompt": "Work."})
    assert (listed["time_zone"], listed["user_id"], listed["priority"]) == ("Europe/Paris", "ana", 2)
    assert removed.stdout == "The schedule clerk is removed.\n"
    assert folder.json("schedule", "list") == []


@pytest.mark.parametrize("words", [["worker"], ["run", "clerk", "--on", "fleet", "-p", "Hello."]])
def test_without_temporals_client_a_command_says_how_to_install_it(folder: Folder, words: list[str]) -> None:
    without = (
        "import sys\n"
        "sys.modules['temporalio'] = None  # as if it were not installed\n"
        "from maverick.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", without, *words],
        cwd=folder.path,
        env=environment(folder.path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert re.fullmatch(r"maverick: A fleet needs the package 'temporalio', .*\[temporal\].*\n", done.stderr)
