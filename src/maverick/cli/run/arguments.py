"""The arguments of ``maverick run``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, dollars, seconds, unicode_text, whole_number

EFFORTS = ("low", "medium", "high", "max")
THINKING_MODES = ("adaptive", "between_tools", "off")
"""As ``maverick.config.model_settings`` has them, which would load msgspec for no more than a help text."""
_MOST_TOKENS = 1_000_000_000
_DESCRIPTION = """\
Run an agent. The answer is streamed, with each tool call; a last line says what
the run used. A pipe or a file gets only the final answer. The run is kept in the
journal: show, resume or fork it with `maverick runs`."""
_EPILOG = """\
exit codes: 0 success, 1 failure, 2 wrong usage, 3 waiting for approval, 4 limit
reached, 5 refused by the model, 6 answer does not match the schema, 124 timeout,
130 stopped with Ctrl-C, 143 stopped with SIGTERM, 129 terminal closed"""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``run``."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        type=unicode_text,
        help="the agent's name (see `maverick agents list`), or a file: Markdown, or Python with one definition "
        "(FILE.py:NAME picks one of several); default: general. Several words are a prompt for that one",
    )
    add_inputs(parser)
    parser.add_argument(
        "-c",
        "--continue",
        action="store_true",
        dest="continues",
        help="continue the last conversation of this folder",
    )
    add_attachments(parser, "the prompt")
    add_changes(parser, "for this run")
    parser.add_argument(
        "--json", action="store_true", dest="as_json", help="write each event as a line of JSON"
    )
    parser.add_argument(
        "--journal",
        "--db",
        metavar="PATH",
        help="where to keep the run: a file or a postgresql:// address; default: MAVERICK_JOURNAL, the "
        "settings, or ~/.maverick/runs.db",
    )
    parser.add_argument(
        "--on",
        metavar="URL",
        type=unicode_text,
        help="run it in a fleet: the address of its Temporal server, such as temporal://host:7233/namespace, or `fleet` for "
        "the one in the settings; --db is then the fleet's database. Ctrl-C stops watching, Ctrl-C twice stops the run",
    )
    parser.add_argument(
        "--no-journal", action="store_false", dest="kept", help="do not keep the run; it cannot be resumed"
    )
    add_sender(parser, " in a fleet")
    parser.add_argument("--run-id", metavar="ID", type=unicode_text, help="the id of the run")
    parser.set_defaults(command="maverick.cli.run.command:run_agent")


def add_sender(parser: CommandParser, where: str = "") -> None:
    """Add for whom a fleet runs something, and how urgently."""
    parser.add_argument(
        "--user", metavar="ID", type=unicode_text, help=f"the user that a run{where} acts for (default: none)"
    )
    parser.add_argument(
        "--priority",
        metavar="N",
        type=whole_number(1, 5),
        help=f"the priority of a run{where}: 1, the first, to 5 (default: 3)",
    )


def add_inputs(parser: CommandParser) -> None:
    """Add what an agent is given."""
    parser.add_argument(
        "-p",
        "--prompt",
        metavar="TEXT",
        type=unicode_text,
        help="what to do; piped input is appended to it, or used instead of it",
    )
    parser.add_argument(
        "-i",
        "--input",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="inputs",
        type=assignment,
        help="an input of the agent, - for piped input; may be given several times",
    )


def add_attachments(parser: argparse.ArgumentParser, to: str) -> None:
    """Add the option for files that go with a message."""
    parser.add_argument(
        "--attach",
        metavar="FILE",
        action="append",
        default=[],
        type=unicode_text,
        help=f"an image, a PDF or a text to send with {to}; may be given several times",
    )


def add_changes(parser: CommandParser, when: str, cost: str = "cost in US dollars") -> None:
    """Add what can be different about an agent in one run.

    Args:
        parser: To what.
        when: In which run, in words.
        cost: What the limit on money is for.
    """
    parser.add_argument("-m", "--model", metavar="PROVIDER:MODEL", help=f"the model, {when}")
    parser.add_argument(
        "--effort",
        choices=EFFORTS,
        help=f"how much work the model puts into an answer, {when}",
    )
    parser.add_argument(
        "--thinking",
        metavar="MODE",
        type=_thinking,
        help=f"adaptive, between_tools, off, or the most tokens to think for, {when}",
    )
    parser.add_argument("--output-schema", metavar="FILE", help=f"the JSON Schema of the answer, {when}")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="what the agent may do without asking: read only (nothing else is allowed); read; edit files too; anything",
    )
    add_servers(parser, when)
    _add_limits(parser, cost)


def add_servers(parser: CommandParser, when: str) -> None:
    """Add what gives an agent the tools of MCP servers.

    Args:
        parser: To what.
        when: In which run, in words.
    """
    parser.add_argument(
        "--mcp",
        metavar="SERVER",
        action="append",
        type=unicode_text,
        help=f"give the agent the tools of an MCP server, {when} (see `maverick mcp list`); may be given several times",
    )


def _add_limits(parser: CommandParser, cost: str) -> None:
    limits = parser.add_argument_group("limits", "Each replaces the agent's own.")
    limits.add_argument("--max-turns", metavar="N", type=whole_number(1), help="model calls")
    limits.add_argument("--max-cost", metavar="USD", type=dollars, dest="max_cost_usd", help=cost)
    limits.add_argument(
        "--max-tokens",
        metavar="N",
        type=whole_number(1, _MOST_TOKENS),
        dest="max_total_tokens",
        help="input and output tokens of all turns",
    )
    limits.add_argument("--max-tool-calls", metavar="N", type=whole_number(0), help="tool calls")
    limits.add_argument(
        "--timeout", metavar="TIME", type=seconds, help="time limit, such as 90s, 5m or 1h30m"
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
