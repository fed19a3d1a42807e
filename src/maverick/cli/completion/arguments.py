"""What may be written after ``maverick completion``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser

_DESCRIPTION = """\
Write what your shell needs to complete maverick's commands. Put it where the shell looks:

  bash   maverick completion bash > ~/.local/share/bash-completion/completions/maverick
  zsh    maverick completion zsh > ~/.zfunc/_maverick     (with fpath+=~/.zfunc before compinit)
  fish   maverick completion fish > ~/.config/fish/completions/maverick.fish"""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``completion``."""
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    from maverick.cli.completion.scripts import write_script  # here, since it loads all commands

    return write_script(options.shell)
