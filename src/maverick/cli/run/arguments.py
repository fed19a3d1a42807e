"""The arguments of ``maverick run`` and ``eval``, and those that other commands share with them."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, add_json, dollars, seconds, unicode_text, whole_number

EFFORTS = ("low", "medium", "high", "max")
THINKING_MODES = ("adaptive", "between_tools", "off")
"""As ``maverick.config.model_settings`` has them, which would load msgspec for no more than a help text."""
_MODES = ("plan", "ask", "accept-edits", "yolo")
_MOST_TOKENS = 1_000_000_000
_RUN = """\
Run an agent. The answer is streamed, with each tool call; a last line says what
the run used. A pipe or a file gets only the final answer. The run is kept in the
journal: show, resume or fork it with `maverick runs`."""
_RUN_CODES = """\
exit codes: 0 success, 1 failure, 2 wrong usage, 3 waiting for approval, 4 limit
reached, 5 refused by the model, 6 answer does not match the schema, 124 timeout,
130 stopped with Ctrl-C, 143 stopped with SIGTERM, 129 terminal closed"""
_EVAL = """\
Run the cases of YAML or Python files, and check what the agent does. Every case is
a run in the journal. Results are compared with the last time the same file was
evaluated. With --from-runs, write cases made of recorded runs instead: they are
played back without a model, or from their last turn on with --model."""
_EVAL_CODES = """\
exit codes: 0 all cases passed, 1 a case failed or the budget was spent, 2 wrong
usage, 130 stopped with Ctrl-C; what was done until then is shown and kept"""


def add_run(parser: CommandParser) -> None:
    """Add the arguments of ``run``."""
    parser.describe(_RUN, "run.command:run_agent", epilog=_RUN_CODES)
    parser.option(
        "agent AGENT?",
        "the agent's name (see `maverick agents list`), or a file: Markdown, or Python with one definition "
        "(FILE.py:NAME picks one of several); default: general. Several words are a prompt for that one",
    )
    add_inputs(parser)
    parser.option("-c --continue continues", "continue the last conversation of this folder")
    add_attachments(parser, "the prompt")
    add_changes(parser, "for this run")
    add_json(parser, "write each event as a line of JSON")
    add_journal(parser, "where to keep the run")
    parser.option(
        "--on URL",
        "run it in a fleet: the address of its Temporal server, such as temporal://host:7233/namespace, or `fleet` for "
        "the one in the settings; --db is then the fleet's database. Ctrl-C stops watching, Ctrl-C twice stops the run",
    )
    parser.option("--no-journal kept", "do not keep the run; it cannot be resumed", action="store_false")
    add_sender(parser, " in a fleet")
    parser.option("--run-id ID", "the id of the run")


def add_eval(parser: CommandParser) -> None:
    """Add the arguments of ``eval``."""
    parser.describe(_EVAL, "eval:evaluate_files", epilog=_EVAL_CODES)
    parser.option("files FILE*", "cases: a .yaml file, or a .py file with `cases`")
    parser.option(
        "--from-runs RUN+", "write cases made of these runs to standard output, as YAML", default=[]
    )
    parser.option(
        "--agent AGENT",
        "the agent, by name or file as in `maverick run`; default: the one that the file of cases names or defines",
    )
    parser.option("--judge-model PROVIDER:MODEL", "the model of judges (default: the agent's)")
    parser.option("--only NAME...", "only cases of this name, or whose names fit a pattern such as 'refund*'")
    parser.option("--repeat N", "run each case N times", type=whole_number(1), default=1)
    parser.option(
        "--concurrency N",
        "how many runs at once (default: %(default)s)",
        type=whole_number(1, 1000),
        default=8,
    )
    parser.option(
        "--compare FILE",
        "compare with what `maverick eval --json` wrote to this file, in place of the last time",
    )
    add_json(parser, "write a line of JSON for each file of cases")
    add_journal(parser, "where runs are kept")
    add_changes(parser, "in every run", "cost in US dollars of all cases together, judges included")


def add_journal(parser: CommandParser, what: str, names: str = "--journal --db") -> None:
    """Add the option for the journal; ``what`` is what it is for."""
    where = (
        "a file or a postgresql:// address; default: MAVERICK_JOURNAL, the settings, or ~/.maverick/runs.db"
    )
    parser.option(f"{names} PATH", f"{what}: {where}", type=str)


def add_sender(parser: CommandParser, where: str = "") -> None:
    """Add for whom a fleet runs something, and how urgently."""
    parser.option("--user ID", f"the user that a run{where} acts for (default: none)")
    parser.option(
        "--priority N",
        f"the priority of a run{where}: 1, the first, to 5 (default: 3)",
        type=whole_number(1, 5),
    )


def add_inputs(parser: CommandParser) -> None:
    """Add what an agent is given."""
    parser.option("-p --prompt TEXT", "what to do; piped input is appended to it, or used instead of it")
    parser.option(
        "-i --input inputs NAME=VALUE...", "an input of the agent, - for piped input", type=assignment
    )


def add_attachments(parser: CommandParser, to: str) -> None:
    """Add the option for files that go with a message."""
    parser.option("--attach FILE...", f"an image, a PDF or a text to send with {to}")


def add_changes(parser: CommandParser, when: str, cost: str = "cost in US dollars") -> None:
    """Add what can be different about an agent in one run.

    ``when`` says in which run, and ``cost`` what the limit on money is for.
    """
    parser.option("-m --model PROVIDER:MODEL", f"the model, {when}")
    add_effort(parser, f", {when}")
    parser.option(
        "--thinking MODE",
        f"adaptive, between_tools, off, or the most tokens to think for, {when}",
        type=_thinking,
    )
    parser.option("--output-schema FILE", f"the JSON Schema of the answer, {when}", type=str)
    add_mode(parser, "what the agent may do without asking")
    add_servers(parser, when)
    limits = parser.add_argument_group("limits", "Each replaces the agent's own.")
    parser.option("--max-turns N", "model calls", to=limits, type=whole_number(1))
    parser.option("--max-cost max_cost_usd USD", cost, to=limits, type=dollars)
    parser.option(
        "--max-tokens max_total_tokens N",
        "input and output tokens of all turns",
        to=limits,
        type=whole_number(1, _MOST_TOKENS),
    )
    parser.option("--max-tool-calls N", "tool calls", to=limits, type=whole_number(0))
    parser.option("--timeout TIME", "time limit, such as 90s, 5m or 1h30m", to=limits, type=seconds)


def add_effort(parser: CommandParser, when: str = "") -> None:
    """Add the option for the model's effort."""
    parser.option("--effort", f"how much work the model puts into an answer{when}", choices=EFFORTS)


def add_mode(parser: CommandParser, what: str) -> None:
    """Add the option for what agents may do without asking."""
    parser.option(
        "--mode",
        f"{what}: read only (nothing else is allowed); read; edit files too; anything",
        choices=_MODES,
    )


def add_servers(parser: CommandParser, when: str) -> None:
    """Add the option for MCP servers whose tools an agent gets; ``when`` is in which run."""
    parser.option(
        "--mcp SERVER...", f"give the agent the tools of an MCP server, {when} (see `maverick mcp list`)"
    )


def _thinking(text: str) -> str | int:
    if text in THINKING_MODES:
        return text
    try:
        return int(whole_number(1)(text))
    except argparse.ArgumentTypeError as error:
        problem = f"expected {', '.join(THINKING_MODES)} or a number of tokens, got {text!r}"
        raise argparse.ArgumentTypeError(problem) from error


def assignment(text: str) -> tuple[str, str]:
    """The name and the value of ``NAME=VALUE``, for the parser of a command."""
    name, equals, value = unicode_text(text).partition("=")
    if not equals or not name.strip().isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, such as city=Brest, got {text!r}")
    return name.strip(), value


def pair(text: str) -> tuple[str, str]:
    """The name and the value of ``NAME=VALUE``, where the name may be any text."""
    name, equals, value = unicode_text(text).partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value
