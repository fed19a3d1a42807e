"""The arguments of ``maverick runs``. Each option is a parameter of the function that does the work."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from maverick.cli.fleet.arguments import add_connection
from maverick.cli.parser import CommandParser, add_names, unicode_text, whole_number
from maverick.cli.run.arguments import add_attachments, add_changes, assignment

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_arguments(runs: CommandParser) -> None:
    """Add the verbs of ``runs``."""
    runs.description = "Runs that are kept in a journal."
    runs.set_defaults(command=runs.show_help)
    verbs = Verbs(runs)
    _add_looking(verbs)
    _add_deciding(verbs)
    _add_going_on(verbs)
    _add_keeping(verbs)


class Verbs:
    """The verbs of ``maverick runs``, all with the same two options beside their own."""

    def __init__(self, runs: CommandParser) -> None:
        self._verbs = runs.add_subparsers(title="commands", metavar="COMMAND")
        self._common = CommandParser(add_help=False)
        self._common.add_argument(
            "--json", action="store_true", dest="as_json", help="write JSON, for other programs"
        )

    def add(self, name: str, summary: str, description: str = "") -> CommandParser:
        """Add a verb."""
        parser = self._verbs.add_parser(
            name,
            parents=[self._common],
            help=summary,
            description=description or f"{summary[0].upper()}{summary[1:]}.",
        )
        parser.add_argument(
            "--journal",
            *(() if name == "move" else ("--db",)),  # a move is about two places
            metavar="PATH",
            help="the journal: a file or a postgresql:// address; default: MAVERICK_JOURNAL, the "
            "settings, or ~/.maverick/runs.db",
        )
        parser.set_defaults(command="maverick.cli.runs.command:run_verb", verb=name)
        return parser

    def add_for_run(self, name: str, summary: str, description: str = "") -> CommandParser:
        """Add a verb that is about one run."""
        parser = self.add(name, summary, description)
        parser.add_argument(
            "run_id",
            metavar="RUN",
            type=unicode_text,
            help="the run's id, the beginning of it, or `last` for the newest run",
        )
        return parser


def _add_looking(verbs: Verbs) -> None:
    listing = verbs.add("list", "list the newest runs")
    listing.add_argument(
        "--status", metavar="STATUS", help="only runs that are running, waiting, complete or stopped"
    )
    listing.add_argument(
        "--limit", metavar="N", type=whole_number(1), default=20, help="how many (default: 20)"
    )
    listing.add_argument(
        "--all", action="store_true", dest="with_subagents", help="show the runs of subagents too"
    )
    add_names(listing)
    verbs.add_for_run("show", "show a run turn by turn, with its tools, tokens, cost and durations")
    tail = verbs.add_for_run("tail", "show the last entries of a run")
    tail.add_argument(
        "-n", "--lines", metavar="N", type=whole_number(0), default=10, help="how many (default: 10)"
    )
    tail.add_argument(
        "-f", "--follow", action="store_true", help="follow new entries until the run ends; Ctrl-C leaves"
    )
    diff = verbs.add(
        "diff",
        "compare two runs and show where they differ",
        "Compare two runs, ignoring times and ids, and show where they differ. The exit code is 0 if they are the same, else 1.",
    )
    diff.add_argument("run_id", metavar="RUN", type=unicode_text, help="a run's id")
    diff.add_argument("other_id", metavar="OTHER", type=unicode_text, help="the other run's id")


def _add_deciding(verbs: Verbs) -> None:
    about = (
        "The run continues when it is resumed (--resume), and in a fleet by itself. A decision applies once, and to exactly "
        "that call."
    )
    approve = verbs.add(
        "approve", "approve a tool call that a run waits for", f"Approve a tool call. {about}"
    )
    deny = verbs.add("deny", "deny a tool call that a run waits for", f"Deny a tool call. {about}")
    say = verbs.add_for_run(
        "say",
        "say something to a run that goes on",
        "Say something to a run, from any process. It is the user's message before the next turn; a run that is stopped or "
        "waits hears it when it is resumed.",
    )
    say.add_argument("text", metavar="TEXT", type=unicode_text, help="what to say")
    add_attachments(say, "the words")
    abort = verbs.add_for_run(
        "abort", "stop a run of a fleet", "Stop a run of a fleet, wherever it is driven. It can be resumed."
    )
    abort.add_argument(
        "--reason", metavar="TEXT", type=unicode_text, default="", help="the reason, which is recorded"
    )
    for decision in (approve, deny):
        decision.add_argument(
            "request_id",
            metavar="REQUEST",
            type=unicode_text,
            help="the request's id, as in `runs show`, or the run's if it waits for only one decision; the beginning of "
            "the run's id, or `last` for the newest run, is enough",
        )
        decision.add_argument(
            "--reason",
            metavar="TEXT",
            type=unicode_text,
            default="",
            help="the reason, which is recorded"
            + (", and which the model is told" if decision is deny else ""),
        )
        decision.add_argument(
            "--resume", action="store_true", help="continue the run at once, in this terminal"
        )
        _add_agents(decision)
    approve.add_argument(
        "--arguments",
        metavar="JSON",
        type=_json_object,
        help="approve the call with these arguments in place of the model's",
    )
    approve.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="changed",
        type=_changed,
        help="approve the call with this argument changed; JSON, or a text; may be given several times",
    )
    for verb in (approve, deny, say):
        verb.add_argument(
            "--by",
            metavar="NAME",
            type=unicode_text,
            help="who you are; by default the user of this computer",
        )


def _add_going_on(verbs: Verbs) -> None:
    resume = verbs.add_for_run(
        "resume",
        "resume a run that was interrupted, stopped, failed or waited",
        "Resume a run whose process died, or that was stopped, failed or waited for a decision. A process that "
        "still works on it is stopped. Ctrl-C stops the run, and it can be resumed; Ctrl-C twice kills it.",
    )
    resume.add_argument("--accept-changes", action="store_true", help="resume although the agent has changed")
    replay = verbs.add_for_run(
        "replay",
        "show a run again, as it happened",
        "Show a run again from the journal. No model is called and no tool is run.",
    )
    fork = verbs.add_for_run(
        "fork",
        "run again from a turn",
        "Start a new run that shares the beginning of another one. What happened there is not done again.",
    )
    fork.add_argument(
        "--turn", metavar="N", type=whole_number(1), required=True, help="the turn to begin with"
    )
    fork.add_argument(
        "--edit",
        metavar="TEXT",
        type=unicode_text,
        help="a message to put before it: it replaces the user's last message, or follows the last tool results",
    )
    add_attachments(fork, "the message, in place of files that went with the one it replaces")
    fork.add_argument("--new-id", metavar="ID", type=unicode_text, help="the id of the new run")
    move = verbs.add_for_run(
        "move",
        "move a run to a fleet, or back",
        "Have a fleet continue a run, also one that is in progress, or take it back. It keeps its id and its entries. A move "
        "that was interrupted can be repeated.",
    )
    move.add_argument(
        "--to",
        metavar="PLACE",
        required=True,
        type=_place,
        help="temporal://host:port/namespace, or local: the journal that --journal names",
    )
    add_connection(move)
    add_changes(resume, "as when the run began")
    add_changes(fork, "from here on")
    for parser in (resume, replay, fork):
        _add_agents(parser)


def _add_agents(parser: CommandParser) -> None:
    parser.add_argument(
        "--agents",
        metavar="FILE",
        help="the Python or Markdown file, or the module, that defines the run's agent; by default it is found "
        "by its name, as in `maverick agents list`",
    )


def _add_keeping(verbs: Verbs) -> None:
    export = verbs.add_for_run(
        "export",
        "write a run as JSON, a line for each entry",
        "Write a run and its subagents' runs as JSON: a line for each run, and one for each of its entries.",
    )
    export.add_argument(
        "-o", "--output", metavar="FILE", help="the file to write; by default standard output"
    )
    export.add_argument("--force", action="store_true", help="overwrite an existing file")
    check = verbs.add(
        "check",
        "check which runs can be read",
        "Check which runs can be read, and how far the others can. The exit code is 0 if all can, else 1.",
    )
    check.add_argument("run_id", metavar="RUN", nargs="?", type=unicode_text, help="the run; by default all")
    check.add_argument(
        "--repair",
        metavar="COPY",
        dest="copy",
        help="save what can be read to a new file; the journal itself is not changed",
    )
    prune = verbs.add(
        "prune",
        "remove old runs",
        "Remove runs that ended long ago, and their subagents' runs. Without --yes, only list them.",
    )
    prune.add_argument(
        "--older-than", metavar="AGE", type=_age, required=True, help="how long ago: 30d, 12h, 2w …"
    )
    prune.add_argument(
        "--unfinished",
        action="store_true",
        help="also runs that have not ended: they wait for a decision, or their process died",
    )
    prune.add_argument("--yes", action="store_true", help="do it")


def _place(text: str) -> str:
    if text != "local" and not text.startswith("temporal://"):
        raise argparse.ArgumentTypeError(
            f"expected local, or an address such as temporal://host:7233, got {text!r}"
        )
    return text


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(
            f"""expected a JSON object, such as '{{"to": "ana"}}', got {text!r}"""
        )
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
        raise argparse.ArgumentTypeError(
            f"expected a number and a unit, such as 30d, 12h or 2w, got {text!r}"
        )
    return int(found[1]) * _UNIT_SECONDS[found[2]]
