"""What may be written after ``maverick run``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, dollars, seconds, unicode_text, whole_number

_MOST_TOKENS = 1_000_000_000
_DESCRIPTION = """\
Run an agent. Its words are shown as they come, and what it does beside them;
at the end a line says what it used. Into a pipe or a file only its final
answer is written. The run is kept in the journal, so that it can be looked at,
resumed and forked with `maverick runs`."""
_EPILOG = """\
exit codes: 0 done, 1 failed, 2 wrong use, 3 waits for a decision, 4 a limit was
reached, 5 the model declined, 6 the answer does not fit the schema, 124 out of
time, 130 stopped with Ctrl-C, 143 with SIGTERM, 129 since the terminal is gone"""


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
        "(FILE.py:NAME picks one of several); by default a general one that works on the prompt",
    )
    parser.add_argument(
        "-p",
        "--prompt",
        metavar="TEXT",
        type=unicode_text,
        help="what to do; what is piped in is put below it, or takes its place",
    )
    parser.add_argument(
        "-i",
        "--input",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="inputs",
        type=_assignment,
        help="an input of the agent, - for what is piped in; may be given several times",
    )
    add_changes(parser, "for this run")
    parser.add_argument(
        "--json", action="store_true", dest="as_json", help="write each event as a line of JSON"
    )
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where to keep the run: a file or a postgresql:// address; by default what MAVERICK_JOURNAL or the "
        "settings say, or else ~/.maverick/runs.db",
    )
    parser.add_argument(
        "--no-journal", action="store_false", dest="kept", help="keep the run nowhere; it can not be resumed"
    )
    parser.add_argument("--run-id", metavar="ID", type=unicode_text, help="the id of the run")
    parser.set_defaults(command="maverick.cli.run.command:run_agent")


def add_changes(parser: CommandParser, when: str) -> None:
    """Add what can be different about an agent in one run.

    Args:
        parser: To what.
        when: In which run, in words.
    """
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help=f"who answers, {when}")
    parser.add_argument("--output-schema", metavar="FILE", help=f"a JSON Schema of the answer, {when}")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="what the agent may do without asking: look only; look; change files too; anything",
    )
    add_servers(parser, when)
    _add_limits(parser)


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


def _add_limits(parser: CommandParser) -> None:
    limits = parser.add_argument_group("limits", "Each in place of the agent's own.")
    limits.add_argument("--max-turns", metavar="N", type=whole_number(1), help="calls of the model")
    limits.add_argument("--max-cost", metavar="USD", type=dollars, dest="max_cost_usd", help="money")
    limits.add_argument(
        "--max-tokens",
        metavar="N",
        type=whole_number(1, _MOST_TOKENS),
        dest="max_total_tokens",
        help="tokens read and written, in all turns together",
    )
    limits.add_argument("--max-tool-calls", metavar="N", type=whole_number(0), help="calls of tools")
    limits.add_argument("--timeout", metavar="TIME", type=seconds, help="how long: 90s, 5m, 1h30m")


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = unicode_text(text).partition("=")
    if not equals or not name.strip().isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, such as city=Brest, got {text!r}")
    return name.strip(), value
