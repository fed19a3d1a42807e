"""The arguments of ``maverick runs``. Each option is a parameter of the function that does the work."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from maverick.cli.fleet.arguments import add_connection
from maverick.cli.parser import CommandParser, add_json, add_names, whole_number
from maverick.cli.run.arguments import add_attachments, add_changes, add_journal, assignment

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_runs(runs: CommandParser) -> None:
    """Add the verbs of ``runs``."""
    runs.description = "Runs that are kept in a journal."
    _add_looking(runs)
    _add_deciding(runs)
    _add_going_on(runs)
    _add_keeping(runs)


def _add(
    runs: CommandParser, usage: str, function: str, summary: str, description: str = ""
) -> CommandParser:
    """Add a verb, with ``RUN`` after it if it is about one run; its function is one of this package."""
    name, _, about_run = usage.partition(" ")
    verb = runs.verb(name, summary, "runs.command:run_verb", description)
    verb.set_defaults(function=function)
    add_json(verb)
    add_journal(verb, "the journal", "--journal" if name == "move" else "--journal --db")  # a move has two
    if about_run:
        verb.option("run_id RUN", "the run's id, the beginning of it, or `last` for the newest run")
    return verb


def _add_looking(runs: CommandParser) -> None:
    listing = _add(runs, "list", "list:list_runs", "list the newest runs")
    listing.option("--status STATUS", "only runs that are running, waiting, complete or stopped")
    listing.option("--limit N", "how many (default: 20)", type=whole_number(1), default=20)
    listing.option("--all with_subagents", "show the runs of subagents too")
    add_names(listing)
    _add(
        runs,
        "show RUN",
        "show:show_run",
        "show a run turn by turn, with its tools, tokens, cost and durations",
    )
    tail = _add(runs, "tail RUN", "tail:show_tail", "show the last entries of a run")
    tail.option("-n --lines N", "how many (default: 10)", type=whole_number(0), default=10)
    tail.option("-f --follow", "follow new entries until the run ends; Ctrl-C leaves")
    diff = _add(
        runs,
        "diff",
        "show:show_difference",
        "show where two runs differ, ignoring times and ids; the exit code is 0 if they are the same, else 1",
    )
    diff.option("run_id RUN", "a run's id")
    diff.option("other_id OTHER", "the other run's id")


def _add_deciding(runs: CommandParser) -> None:
    about = (
        "The run continues when it is resumed (--resume), and in a fleet by itself. A decision applies once, and to exactly "
        "that call."
    )
    approve, deny = (
        _add(
            runs,
            verb,
            f"approve:{verb}",
            f"{verb} a tool call that a run waits for",
            f"{verb.capitalize()} a tool call. {about}",
        )
        for verb in ("approve", "deny")
    )
    say = _add(
        runs,
        "say RUN",
        "approve:say",
        "say something to a run in progress",
        "Say something to a run, from any process. It is the user's message before the next turn; a run that is stopped or "
        "waits hears it when it is resumed.",
    )
    say.option("text TEXT", "what to say")
    add_attachments(say, "the words")
    abort = _add(
        runs,
        "abort RUN",
        "in_fleet:abort_run",
        "stop a run of a fleet, wherever it is driven; it can be resumed",
    )
    for verb, why in ((approve, ""), (deny, ", and which the model is told"), (abort, "")):
        verb.option("--reason TEXT", f"the reason, which is recorded{why}", default="")
    for decision in (approve, deny):
        decision.option(
            "request_id REQUEST",
            "the request's id, as in `runs show`, or the run's if it waits for only one decision; the beginning of "
            "the run's id, or `last` for the newest run, is enough",
        )
        decision.option("--resume", "continue the run at once, in this terminal")
        _add_agents(decision)
    approve.option(
        "--arguments JSON", "approve the call with these arguments in place of the model's", type=_json_object
    )
    approve.option(
        "--set changed NAME=VALUE...",
        "approve the call with this argument changed; JSON, or a text",
        type=_changed,
    )
    for verb in (approve, deny, say):
        verb.option("--by NAME", "who you are; by default the user of this computer")


def _add_going_on(runs: CommandParser) -> None:
    resume = _add(
        runs,
        "resume RUN",
        "resume:resume_run",
        "resume a run that was interrupted, stopped, failed or waited",
        "Resume a run whose process died, or that was stopped, failed or waited for a decision. A process that "
        "still works on it is stopped. Ctrl-C stops the run, and it can be resumed; Ctrl-C twice kills it.",
    )
    resume.option("--accept-changes", "resume although the agent has changed")
    replay = _add(
        runs,
        "replay RUN",
        "resume:replay_run",
        "show a run again as it happened; no model is called and no tool is run",
    )
    fork = _add(
        runs,
        "fork RUN",
        "resume:fork_run",
        "run again from a turn; what happened before it is not done again",
        "Run again from a turn on, as a new run; what happened before it is not done again. A run of a fleet is forked in the "
        "fleet; with --agents, or an option that changes the agent, in this terminal.",
    )
    fork.option("--turn N", "the turn to begin with", type=whole_number(1), required=True)
    fork.option(
        "--edit TEXT",
        "a message to put before it: it replaces the user's last message, or follows the last tool results",
    )
    add_attachments(fork, "the message, in place of files that went with the one it replaces")
    fork.option("--new-id ID", "the id of the new run")
    move = _add(
        runs,
        "move RUN",
        "in_fleet:move_run",
        "move a run to a fleet, or back",
        "Have a fleet continue a run, also one that is in progress, or take it back. It keeps its id and its entries. A move "
        "that was interrupted can be repeated.",
    )
    move.option(
        "--to PLACE",
        "temporal://host:port/namespace, or local: the journal that --journal names",
        type=_place,
        required=True,
    )
    add_connection(move)
    add_changes(resume, "as when the run began")
    add_changes(fork, "from here on")
    for verb in (resume, replay, fork):
        _add_agents(verb)


def _add_agents(verb: CommandParser) -> None:
    verb.option(
        "--agents FILE",
        "the Python or Markdown file, or the module, that defines the run's agent; by default it is found "
        "by its name, as in `maverick agents list`",
        type=str,
    )


def _add_keeping(runs: CommandParser) -> None:
    export = _add(
        runs,
        "export RUN",
        "export:write_export",
        "write a run and its subagents' runs as JSON, a line for each run and each entry",
    )
    export.option("-o --output FILE", "the file to write; by default standard output", type=str)
    export.option("--force", "overwrite an existing file")
    check = _add(
        runs,
        "check",
        "check:check_journal",
        "check which runs can be read, and how far the others can; the exit code is 0 if all can, else 1",
    )
    check.option("run_id RUN?", "the run; by default all")
    check.option(
        "--repair copy COPY",
        "save what can be read to a new file; the journal itself is not changed",
        type=str,
    )
    prune = _add(
        runs,
        "prune",
        "list:prune_runs",
        "remove runs that ended long ago, and their subagents' runs; without --yes, only list them",
    )
    prune.option("--older-than AGE", "how long ago: 30d, 12h, 2w …", type=_age, required=True)
    prune.option(
        "--unfinished", "also runs that have not ended: they wait for a decision, or their process died"
    )
    prune.option("--yes", "do it")


def _place(text: str) -> str:
    if text != "local" and not text.startswith("temporal://"):
        problem = f"expected local, or an address such as temporal://host:7233, got {text!r}"
        raise argparse.ArgumentTypeError(problem)
    return text


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        problem = f"""expected a JSON object, such as '{{"to": "ana"}}', got {text!r}"""
        raise argparse.ArgumentTypeError(problem)
    return value


def _changed(text: str) -> tuple[str, Any]:
    name, value = assignment(text)
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _age(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text)
    if found is None:
        problem = f"expected a number and a unit, such as 30d, 12h or 2w, got {text!r}"
        raise argparse.ArgumentTypeError(problem)
    return int(found[1]) * _UNIT_SECONDS[found[2]]
