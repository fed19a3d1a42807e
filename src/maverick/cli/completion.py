"""``maverick completion``: the script with which a shell completes commands, options and the names of agents, runs and models."""

from __future__ import annotations

import argparse
from typing import Any

import shtab

from maverick.cli.main import command_parser
from maverick.cli.parser import CommandParser
from maverick.cli.screen import Screen

_NAMES = {
    "agent": "agents list",
    "run_id": "runs list --limit 50",
    "other_id": "runs list --limit 50",
    "request_id": "runs list --limit 50 --status waiting",
    "model": "models",
}
"""The commands that list what an argument may be."""
_FILES = ("FILE", "PATH", "COPY")
"""What the help calls an argument that is a file."""
_WHOLE_WORDS = r"""
# Bash splits "claude:name" into three words and replaces only the last; the line shows which of them belong together.
_maverick() {
  local line="$COMP_LINE" words=() at=-1 current=0 index word rest
  for index in "${!COMP_WORDS[@]}"; do
    word="${COMP_WORDS[index]}" rest="${line#"${line%%[![:space:]]*}"}"
    if [[ $at -ge 0 && "$rest" == "$line" && ( "$word" == :* || "${words[at]}" == *: ) ]]; then
      words[at]+="$word"
    else
      words[++at]="$word"
    fi
    line="${rest#"$word"}"
    [[ $index -eq $COMP_CWORD ]] && current=$at
  done
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$current
  _shtab_maverick
  word="${words[current]}"
  [[ "$COMP_WORDBREAKS" == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
  return 0
}

complete -o bashdefault -F _maverick maverick
"""


def write_script(options: argparse.Namespace) -> None:
    """Write the script of a shell to standard output."""
    Screen.of_process().say(script_of(options.shell))


def script_of(shell: str) -> str:
    """The script of a shell."""
    script = f"{shtab.complete(_complete(command_parser()), shell=shell)}\n"
    return script + _WHOLE_WORDS if shell == "bash" else script


def _complete(parser: CommandParser) -> CommandParser:
    """The parser with the arguments of all commands, each with what the shell looks up for it."""
    # argparse has no public way to read a parser; this name has been there since it was written.
    for action in parser.filled()._actions:  # noqa: SLF001
        if isinstance(action.choices, dict):  # the commands below this one
            for command in action.choices.values():
                _complete(command)
        argument: Any = action
        if command := _NAMES.get(action.dest):
            argument.complete = shtab.cmd(f"maverick {command} --names 2>/dev/null")
        elif action.metavar in _FILES:
            argument.complete = shtab.FILE
    return parser
