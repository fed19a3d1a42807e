"""The arguments of ``maverick eval``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text, whole_number
from maverick.cli.run.arguments import add_changes

_DESCRIPTION = """\
Run the cases of YAML or Python files, and check what the agent does. Every case is
a run in the journal. Results are compared with the last time the same file was
evaluated. With --from-runs, write cases made of recorded runs instead: they are
played back without a model, or from their last turn on with --model."""
_EPILOG = """\
exit codes: 0 all cases passed, 1 a case failed or the budget was spent, 2 wrong
usage, 130 stopped with Ctrl-C; what was done until then is shown and kept"""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``eval``."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=unicode_text,
        help="cases: a .yaml file, or a .py file with `cases`",
    )
    parser.add_argument(
        "--from-runs",
        metavar="RUN",
        nargs="+",
        default=[],
        type=unicode_text,
        help="write cases made of these runs to standard output, as YAML",
    )
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        type=unicode_text,
        help="the agent, by name or file as in `maverick run`; default: the one that the file of cases names or defines",
    )
    parser.add_argument(
        "--judge-model", metavar="PROVIDER:MODEL", help="the model of judges (default: the agent's)"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        type=unicode_text,
        help="only cases of this name, or whose names fit a pattern such as 'refund*'; may be given several times",
    )
    parser.add_argument(
        "--repeat", metavar="N", type=whole_number(1), default=1, help="run each case N times"
    )
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=whole_number(1, 1000),
        default=8,
        help="how many runs at once (default: %(default)s)",
    )
    parser.add_argument(
        "--compare",
        metavar="FILE",
        type=unicode_text,
        help="compare with what `maverick eval --json` wrote to this file, in place of the last time",
    )
    parser.add_argument(
        "--json", action="store_true", dest="as_json", help="write a line of JSON for each file of cases"
    )
    parser.add_argument(
        "--journal",
        "--db",
        metavar="PATH",
        help="where runs are kept: a file or a postgresql:// address; default: MAVERICK_JOURNAL, the settings, or "
        "~/.maverick/runs.db",
    )
    add_changes(parser, "in every run", "cost in US dollars of all cases together, judges included")
    parser.set_defaults(command="maverick.cli.eval.command:evaluate_files")
