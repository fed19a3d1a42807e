"""``maverick runs approve``, ``deny`` and ``say``: a person's word, given from another process than the run's."""

from __future__ import annotations

import getpass

import pytest

from cli.folder import Folder
from cli.office_agents import clerk
from cli.runs_command import AGENTS, Runs, fits
from maverick import AgentExecutor
from maverick.journal import Approval, ApprovalStatus, Journal
from maverick.journal.approvals import reopened
from maverick.testing import ScriptedClient, call
from maverick.tui.plain_text import one_line
from media_files import png


def request(runs: Runs, approval_id: str) -> Approval:
    return runs.use(lambda journal: journal.get_approval(approval_id))


@pytest.mark.requirement("P7")
def test_an_approved_call_is_made_when_the_run_is_resumed(runs: Runs) -> None:
    decided = runs.start("approve", "wait:1:0", "--by", "ana")
    resumed = runs.start("resume", "wait", "--agents", AGENTS)

    assert decided.returncode == 0, decided.stderr
    assert decided.stdout.splitlines() == [
        "wait:1:0 (delete_file) is approved by ana.",
        "  delete_file(name='a.txt')",
        f"Resume with: maverick runs resume wait --journal {runs.file}",
    ]
    assert resumed.returncode == 0, resumed.stderr
    assert "deleted a.txt" in resumed.stdout
    assert "(approved by ana)" in resumed.stderr


@pytest.mark.requirement("P7")
def test_a_denied_call_is_not_made_and_the_model_is_told_why(runs: Runs) -> None:
    decided = runs.start("deny", "wait:1:0", "--by", "ana", "--reason", "Still needed.")
    resumed = runs.start("resume", "wait", "--agents", AGENTS)

    assert "is denied by ana." in decided.stdout
    assert resumed.returncode == 0, resumed.stderr
    assert "denied by ana. Still needed." in resumed.stderr
    assert "deleted" not in resumed.stdout


@pytest.mark.requirement("P7")
@pytest.mark.parametrize(
    "options", [("--set", "name=b.txt"), ("--arguments", '{"name": "b.txt"}')], ids=["set", "arguments"]
)
def test_one_command_approves_other_arguments_and_resumes(runs: Runs, options: tuple[str, str]) -> None:
    done = runs.start("approve", "wait", "--by", "ana", *options, "--resume", "--agents", AGENTS)
    shown = runs.run("show", "wait")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "wait:1:0 (delete_file) is approved by ana with other arguments.\n  delete_file(name='b.txt')\n"
    )
    assert "deleted b.txt" in done.stdout
    assert "delete_file(name='b.txt')" in shown.stdout
    assert "delete_file was approved by ana with other" in one_line(shown.stdout)


def test_one_command_denies_with_a_reason_and_resumes(runs: Runs) -> None:
    done = runs.start(
        "deny", "wait", "--by", "ana", "--reason", "Still needed.", "--resume", "--agents", AGENTS
    )

    assert done.returncode == 0, done.stderr
    assert "denied by ana. Still needed." in done.stderr


def test_the_command_to_resume_names_the_file_of_the_agents_and_a_run_that_is_resumed_how_to_decide(
    runs: Runs,
) -> None:
    parked = runs.start("resume", "two", "--agents", AGENTS)
    decided = runs.run("approve", "two:1:0", "--agents", AGENTS)

    assert f"maverick runs approve two:1:1 --resume --agents {AGENTS}" in parked.stderr
    assert f"Resume with: maverick runs resume two --agents {AGENTS}" in decided.stdout


@pytest.mark.parametrize("given", ['["b.txt"]', "{", "b.txt"])
def test_arguments_that_are_no_json_object_are_refused(runs: Runs, given: str) -> None:
    assert "expected a JSON object" in runs.refuse("approve", "wait", "--arguments", given)
    assert request(runs, "wait:1:0").status is ApprovalStatus.PENDING


def test_the_run_is_enough_when_it_waits_for_one_decision(runs: Runs) -> None:
    assert runs.json("approve", "wait", "--by", "ana")["approval_id"] == "wait:1:0"
    assert request(runs, "wait:1:0").status is ApprovalStatus.APPROVED


@pytest.mark.parametrize("named", ["wai", "wai:1:0", "wait"])
def test_a_run_that_waits_may_be_named_by_the_beginning_of_its_id(named: str, runs: Runs) -> None:
    assert runs.json("approve", named, "--by", "ana")["approval_id"] == "wait:1:0"


def test_the_last_run_is_named_as_that(runs: Runs) -> None:
    assert "waits for no decision" in runs.refuse("deny", "last")


def test_the_outermost_run_stands_for_a_subagent_that_waits(runs: Runs) -> None:
    done = runs.run("deny", "deep", "--by", "ana")

    decided, _, then = done.stdout.splitlines()
    assert decided == "deep/1/0:1:0 (delete_file) is denied by ana."
    assert then.startswith("Resume with: maverick runs resume deep ")


def test_a_run_that_waits_for_several_decisions_has_them_named(runs: Runs) -> None:
    line = runs.refuse("approve", "two", "--by", "ana")

    assert "waits for 2 decisions. Name one of them: two:1:0, two:1:1." in line
    assert request(runs, "two:1:0").status is ApprovalStatus.PENDING


@pytest.mark.parametrize("run_id", ["sum", "nest/1/0"])
def test_a_run_that_waits_for_nothing_says_so(runs: Runs, run_id: str) -> None:
    assert f"The run '{run_id}' waits for no decision." in runs.refuse("approve", run_id)


def test_by_default_the_user_of_the_computer_decides(runs: Runs) -> None:
    runs.run("approve", "wait")

    assert request(runs, "wait:1:0").decided_by == getpass.getuser()


def test_a_user_without_a_name_has_to_say_who_decides(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nobody)

    assert "--by" in runs.refuse("approve", "wait")


@pytest.mark.requirement("P7")
def test_a_decision_counts_once(runs: Runs) -> None:
    runs.run("approve", "wait:1:0")

    assert "counts once" in runs.refuse("deny", "wait:1:0")


@pytest.mark.requirement("P7")
def test_only_the_user_the_run_acts_for_may_decide(runs: Runs) -> None:
    async def ask(journal: Journal) -> None:
        inputs = {"prompt": "delete the file 'e.txt'"}
        await AgentExecutor(journal=journal).execute(clerk, inputs=inputs, run_id="hers", user_id="ana")

    runs.use(ask)

    assert "can only be decided by the run's own user" in runs.refuse("approve", "hers", "--by", "eve")
    assert runs.json("approve", "hers", "--by", "ana")["approved"] is True


def test_the_whole_call_is_shown_and_how_long_there_is_to_decide(runs: Runs) -> None:
    name = "\u202e" + "very-" * 50 + "long.txt"

    async def ask(journal: Journal) -> None:
        executor = AgentExecutor(
            ScriptedClient([call("delete_file", name=name)]), journal=journal, approval_expires_in=7250
        )
        await executor.execute(clerk, inputs={"prompt": "Delete it."}, run_id="long")

    runs.use(ask)
    shown = runs.run("show", "long").stdout

    told = shown[shown.index("Waiting for a decision") :]
    assert "2 h 0 min left:" in told
    assert "delete_file(name='\\u202every-" in told
    assert "".join(told.split()).count("very-") == 50
    assert fits(told.split("  maverick runs")[0])


def test_a_call_that_is_far_too_long_is_cut_off_and_says_so(runs: Runs) -> None:
    async def ask(journal: Journal) -> None:
        client = ScriptedClient([call("delete_file", name="x" * 10_000)])
        await AgentExecutor(client, journal=journal).execute(clerk, inputs={"prompt": "Go."}, run_id="long")

    runs.use(ask)

    assert "more characters; --json shows them)" in one_line(runs.run("show", "long").stdout)
    assert "x" * 10_000 in runs.json("show", "long")["approvals"][0]["arguments"]


def test_a_request_for_nothing_known_is_one_line(runs: Runs) -> None:
    assert "no run 'wait:9:9'" in runs.refuse("deny", "wait:9:9")


def test_a_run_that_waits_hears_when_it_is_resumed_and_one_that_has_ended_does_not(runs: Runs) -> None:
    (runs.home / "shelf.png").write_bytes(png())
    said = runs.run("say", "wait", "Hurry up.", "--by", "ana", "--attach", "shelf.png")
    runs.run("deny", "wait", "--by", "ana")
    resumed = runs.start("resume", "wait", "--agents", AGENTS)
    shown = runs.run("show", "wait")

    assert said.stdout.splitlines() == [
        "The run wait hears it when it is resumed.",
        f"Resume with: maverick runs resume wait --journal {runs.file}",
    ]
    assert resumed.returncode == 0, resumed.stderr
    assert "a person wrote: [image: shelf.png] Hurry up." in one_line(shown.stdout)
    assert "The run 'sum' has ended (complete)" in runs.refuse("say", "sum", "Hello?")


RULED = '''
from maverick import AgentExecutor, define_agent, tool
from maverick.testing import ScriptedClient, call, reply

@tool(approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"

payer = define_agent("payer", tools=[pay])

def executor(definition, user_id):
    client = ScriptedClient(lambda request: reply("Done.") if len(request.messages) > 1 else call("pay", amount=1))
    return AgentExecutor(client, may_approve=lambda asked, by: by == "boss")
'''


@pytest.mark.requirement("P7")
def test_who_may_not_decide_and_arguments_that_do_not_fit_are_refused_at_once(
    folder: Folder, runs: Runs
) -> None:
    folder.write("payer.py", RULED)
    parked = folder.main("run", "payer.py", "-p", "Pay.", "--run-id", "pay", "--journal", str(runs.file))

    strange = runs.refuse("approve", "pay", "--by", "eve", "--agents", "payer.py")
    unfit = runs.refuse(
        "approve", "pay", "--by", "boss", "--arguments", '{"amount": "much"}', "--agents", "payer.py"
    )
    pending = request(runs, "pay:1:0").status
    unknown = runs.run("approve", "pay", "--by", "eve", "--agents", "gone.py")
    waiting = reopened(request(runs, "pay:1:0"))
    runs.use(lambda journal: journal.settle_approval(waiting, ApprovalStatus.APPROVED))
    done = runs.run("approve", "pay", "--by", "boss", "--set", "amount=2", "--resume", "--agents", "payer.py")

    assert parked.returncode == 3, parked.stderr
    assert "cannot be decided by 'eve'" in strange
    assert "amount" in unfit
    assert pending is ApprovalStatus.PENDING
    assert "if eve may not decide, the run keeps waiting" in unknown.stdout
    assert "Done." in done.stdout
