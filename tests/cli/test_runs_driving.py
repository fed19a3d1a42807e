"""``maverick runs resume``, ``replay`` and ``fork``, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

from canary import CANARY, lookout
from cli.command import PATIENCE, Terminal, environment
from cli.office_agents import clerk
from cli.runs_command import AGENTS, WILD, Runs, die_after, is_safe
from maverick import AgentExecutor
from maverick.journal import Journal, RunRecord, RunStatus
from media_files import png
from warm_start import Maverick
from wire.claude_server import HELLO, ClaudeServer

OTHER_CLERK = """
from maverick import AgentDefinition, ModelConfig, PromptConfig
from maverick.agents import registry

registry.register(
    AgentDefinition(
        "clerk",
        "Does office work.",
        prompt_config=PromptConfig("Be long.", ["${prompt}"]),
        model_config=ModelConfig(model="MODEL"),
    )
)
"""


def record(runs: Runs, run_id: str) -> RunRecord:
    return runs.use(lambda journal: journal.get(run_id))


def cut_off(runs: Runs, prompt: str) -> None:
    """A run ``cut`` whose process died before the model answered."""

    async def work(journal: Journal) -> None:
        running = AgentExecutor(journal=journal).execute(clerk, inputs={"prompt": prompt}, run_id="cut")
        await die_after(journal, "ModelCalled", running)

    runs.use(work)


def other_clerk(runs: Runs, model: str = "offline:") -> str:
    """A file with a clerk that is not the one the runs were made with."""
    file = runs.home / "other.py"
    file.write_text(OTHER_CLERK.replace("MODEL", model))
    return str(file)


class Driven:
    """A command that is at work on a run, for the length of a ``with`` block."""

    def __init__(self, runs: Runs, *words: str) -> None:
        self._words = ["runs", *words, "--journal", str(runs.file)]
        self._home = runs.home
        self.seen = ""
        """What it has written to standard error."""

    def __enter__(self) -> Self:
        self.process = Maverick(
            *self._words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(self._home),
            cwd=self._home,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def expect(self, text: str) -> None:
        """Wait for a line on standard error that has this text."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.seen += line
            if text in line:
                return
        raise AssertionError(f"{text!r} was not written; written was: {self.seen!r}")

    def press_ctrl_c(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        self.seen += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode


# Resuming


@pytest.mark.requirement("P1")
def test_a_run_whose_process_died_goes_on_and_the_answer_is_the_output(runs: Runs) -> None:
    done = runs.start("resume", "crash", "--agents", AGENTS)

    assert (done.returncode, done.stdout) == (0, "5 * 5 = 25.\n")
    first, *_, last = done.stderr.splitlines()
    assert first == "  (resumed)"
    assert last.startswith("crash: complete, 2 turns, ")
    assert ", cost $0, " in last
    assert record(runs, "crash").status is RunStatus.COMPLETE


def test_a_run_that_has_its_answer_gives_it_again(runs: Runs) -> None:
    told = runs.run("resume", "sum", "--agents", AGENTS)
    (end,) = runs.run("resume", "sum", "--agents", AGENTS, "--json").stdout.splitlines()

    assert (told.returncode, told.stdout) == (0, "12 * 7 = 84.\n")
    assert json.loads(end)["result"]["content"] == "12 * 7 = 84."


def test_a_run_that_still_waits_says_for_what_and_ends_with_3(runs: Runs) -> None:
    done = runs.run("resume", "deep", "--agents", AGENTS)

    assert (done.returncode, done.stdout) == (3, "")
    assert "  delete_file(name='d.txt')\n" in done.stderr
    assert (
        f"maverick runs approve deep/1/0:1:0 --resume --agents {AGENTS} --journal {runs.file}\n"
        in done.stderr
    )
    assert done.stderr.endswith(
        f"Resume with: maverick runs resume deep --agents {AGENTS} --journal {runs.file}\n"
    )


def test_a_subagent_goes_on_with_the_run_that_called_it(runs: Runs) -> None:
    assert runs.run("approve", "deep").returncode == 0

    line = runs.refuse("resume", "deep/1/0", "--agents", AGENTS)
    done = runs.run("resume", "deep", "--agents", AGENTS)

    assert "maverick runs resume deep " in line
    assert done.returncode == 0, done.stderr
    assert "deleted d.txt" in done.stdout
    assert "    · delete_file(name='d.txt')" in done.stderr


@pytest.mark.requirement("P10")
def test_a_changed_agent_is_named_and_only_accepted_on_request(runs: Runs) -> None:
    changed = other_clerk(runs)

    refused = runs.run("resume", "fail", "--agents", changed)
    accepted = runs.run("resume", "fail", "--agents", changed, "--accept-changes")

    assert refused.returncode == 2
    assert "the prompt has changed; the tool 'calculate' is gone" in refused.stderr
    assert "--accept-changes" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr
    assert accepted.stdout.startswith("This is Maverick's offline model")


def test_the_key_and_address_of_the_settings_are_used(runs: Runs, server: ClaudeServer) -> None:
    agents = other_clerk(runs, model="claude:claude-mine")
    settings = f"agent:\n  api_key: {CANARY}\n  base_url: {server.at('text')}\n"
    lookout.plant(runs.home / ".maverick" / "config.yaml", settings)

    done = runs.run("resume", "fail", "--agents", agents, "--accept-changes")

    assert done.stdout == f"{HELLO}\n", done.stderr
    assert server.received[0].headers["x-api-key"] == CANARY
    assert server.received[0].body["model"] == "claude-mine"


def test_a_failing_model_is_one_line_and_the_run_can_be_resumed(runs: Runs, server: ClaudeServer) -> None:
    agents = other_clerk(runs, model="claude:claude-mine")
    runs.set("ANTHROPIC_API_KEY", CANARY)
    runs.set("ANTHROPIC_BASE_URL", server.at("wrong_key"))

    done = runs.run("resume", "fail", "--agents", agents, "--accept-changes")

    assert (done.returncode, done.stdout) == (2, "")
    resumed, changed, complaint, summary, advice = done.stderr.splitlines()
    assert resumed == "  (resumed)"
    assert changed.startswith("  (tools changed: ")
    assert complaint.startswith("maverick: ")
    assert summary.startswith("fail: error, ")
    assert advice.startswith("Resume with: maverick runs resume fail ")


def test_in_a_terminal_remarks_are_dimmed(runs: Runs) -> None:
    words = ("runs", "resume", "crash", "--agents", AGENTS, "--journal", str(runs.file))
    with Terminal(*words, home=runs.home) as terminal:
        terminal.expect("\x1b[2m  (resumed)\x1b[0m")
        terminal.expect("5 * 5 = 25.")
        terminal.expect("\x1b[2mcrash: complete")

        assert terminal.end() == 0


# Stopping


@pytest.mark.requirement("P4")
def test_ctrl_c_stops_the_run_and_says_how_it_goes_on(runs: Runs) -> None:
    cut_off(runs, "ring Ana")
    with Driven(runs, "resume", "cut", "--agents", AGENTS) as driven:
        driven.expect("· ring(name='Ana')")
        driven.press_ctrl_c()

        assert driven.end() == 130

    assert "(stopped)\ncut: aborted, 1 turn, " in driven.seen
    assert driven.seen.endswith(
        f"Resume with: maverick runs resume cut --agents {AGENTS} --journal {runs.file}\n"
    )
    assert "Traceback" not in driven.seen
    assert (record(runs, "cut").status, record(runs, "cut").reason) == (RunStatus.STOPPED, "aborted")


@pytest.mark.requirement("P1")
def test_ctrl_c_twice_kills_and_nothing_is_lost(runs: Runs) -> None:
    cut_off(runs, "hold the line")
    with Driven(runs, "resume", "cut", "--agents", AGENTS) as driven:
        driven.expect("· hold(")
        driven.press_ctrl_c()
        driven.expect("not letting go")
        driven.press_ctrl_c()

        assert driven.end() == -signal.SIGINT

    assert record(runs, "cut").status is RunStatus.RUNNING
    assert runs.json("show", "cut")["turns"][0]["tools"][0]["outcome"] == "unfinished"


def test_a_reader_who_has_seen_enough_stops_the_run(runs: Runs) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            [
                *(sys.executable, "-m", "maverick", "runs", "resume", "crash"),
                *("--agents", AGENTS, "--json", "--journal", str(runs.file)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(runs.home),
            cwd=runs.home,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (1, b"")
    assert record(runs, "crash").reason == "aborted"


# Replaying


def test_a_replay_tells_the_run_without_doing_anything(runs: Runs) -> None:
    before = record(runs, "sum")
    done = runs.run("replay", "sum", "--agents", AGENTS)

    assert (done.returncode, done.stdout) == (0, "12 * 7 = 84.\n")
    call, result, summary = done.stderr.splitlines()
    assert call == "  · calculate(expression='12 * 7')"
    assert result == "  · calculate → 12 * 7 = 84."
    assert summary.startswith("sum: complete, 2 turns, ")
    assert record(runs, "sum") == before


def test_a_replay_as_json_is_an_event_a_line(runs: Runs) -> None:
    done = runs.run("replay", "sum", "--agents", AGENTS, "--json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [events[0]["type"], events[-1]["type"]] == ["run_start", "run_end"]
    assert events[-1]["result"]["success"] is True
    assert events[-1]["result"]["tool_calls"][0]["tool_name"] == "calculate"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("run_id", "code", "summary"),
    [
        ("fail", 2, "fail: error, 1 turn"),
        ("crash", 1, "crash: not ended"),
        ("wait", 3, "approve wait:1:0"),
    ],
)
def test_a_replay_ends_with_the_code_of_the_run(runs: Runs, run_id: str, code: int, summary: str) -> None:
    done = runs.run("replay", run_id, "--agents", AGENTS)

    assert done.returncode == code
    assert summary in done.stderr


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_nothing_that_a_run_says_reaches_the_terminal_as_a_command(
    runs: Runs, as_json: tuple[str, ...]
) -> None:
    done = runs.run("replay", "wild", "--agents", AGENTS, *as_json)

    assert done.returncode == 0, done.stderr
    assert is_safe(done.stdout + done.stderr)
    if as_json:
        assert json.loads(done.stdout.splitlines()[-1])["result"]["content"] == WILD


# Forking


def test_a_fork_runs_again_from_a_turn_on_with_other_words(runs: Runs) -> None:
    done = runs.run(
        *("fork", "sum", "--agents", AGENTS, "--turn", "1", "--edit", "calculate 6 * 6", "--new-id", "again")
    )

    assert (done.returncode, done.stdout) == (0, "6 * 6 = 36.\n")
    assert done.stderr.splitlines()[-1].startswith("again: complete, 2 turns, ")
    assert (record(runs, "again").forked_from, record(runs, "sum").entries) == ("sum", 7)


def test_a_fork_may_have_another_image(runs: Runs) -> None:
    (runs.home / "shelf.png").write_bytes(png())
    words = ("fork", "sum", "--agents", AGENTS, "--turn", "1", "--new-id", "again", "--attach", "shelf.png")

    assert 'files go with a message. Add: --edit "…"' in runs.refuse(*words)
    done = runs.run(*words, "--edit", "calculate 6 * 6")

    assert (done.returncode, done.stdout) == (0, "6 * 6 = 36.\n")
    assert "a person wrote: [image: shelf.png]" in runs.run("replay", "again", "--agents", AGENTS).stderr


def test_a_fork_may_have_another_model(runs: Runs) -> None:
    words = ("fork", "sum", "--agents", AGENTS, "--turn", "2", "--new-id", "again")

    assert "There is no provider named 'nowhere'" in runs.refuse(*words, "--model", "nowhere:at-all")
    assert runs.run(*words, "--model", "offline:newer").returncode == 0
    assert runs.json("show", "again")["model"] == "offline:newer"


def test_a_fork_may_have_other_limits_and_another_mode(runs: Runs) -> None:
    words = ("fork", "sum", "--agents", AGENTS, "--turn", "1", "--new-id", "again")

    done = runs.run(*words, "--max-turns", "1", "--mode", "plan")

    assert done.returncode == 4
    assert "--mode plan --max-turns 2" in done.stderr


def test_a_turn_the_run_never_had_is_refused(runs: Runs) -> None:
    assert "has turns 1 to 2, not 9" in runs.refuse("fork", "sum", "--agents", AGENTS, "--turn", "9")


def test_an_id_that_is_taken_is_refused(runs: Runs) -> None:
    words = ("fork", "sum", "--agents", AGENTS, "--turn", "1", "--new-id", "nest")

    assert "already has a run 'nest'" in runs.refuse(*words)


# Wrong input


def test_a_run_that_is_unknown_is_one_line(runs: Runs) -> None:
    assert "no run 'nope'" in runs.refuse("resume", "nope", "--agents", AGENTS)


def test_an_agent_that_is_not_in_the_file_is_one_line_with_the_nearest(runs: Runs) -> None:
    file = runs.home / "agents.py"
    file.write_text("from maverick import AgentDefinition\nclark = AgentDefinition('clark', 'Flies.')\n")

    line = runs.refuse("replay", "sum", "--agents", str(file))

    assert "There is no agent named 'clerk'. Did you mean 'clark'?" in line


def test_a_file_that_fails_is_one_line_with_the_place(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text('import sys\n\nint("x")\n')

    done = runs.run("resume", "sum", "--agents", "agents.py")

    assert done.returncode == 2
    assert done.stderr == (
        "maverick: agents.py cannot be loaded. agents.py, line 3: ValueError: invalid literal for int() with base 10: 'x'\n"
    )


def test_an_agent_that_is_nowhere_has_to_be_named(runs: Runs) -> None:
    assert "There is no agent named 'clerk'" in runs.refuse("resume", "sum")


def test_a_run_of_an_agent_that_is_found_by_its_name_goes_on_by_its_id_alone(runs: Runs) -> None:
    file = runs.home / ".maverick" / "agents" / "clerk.md"
    file.parent.mkdir(parents=True)
    file.write_text('---\ndescription: Does office work.\nmodel: "offline:"\ntools: []\n---\nBe brief.\n')

    done = runs.run("resume", "fail", "--accept-changes")

    assert done.returncode == 0, done.stderr
    assert record(runs, "fail").status is RunStatus.COMPLETE
