"""Scripts with which shells complete what is typed after ``maverick``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from maverick.cli.completion.words import Place, all_places
from maverick.cli.exit_codes import SUCCESS
from maverick.cli.screen import Screen, one_line

_BASH = """\
# Completion of maverick for bash.
_maverick() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} place=maverick words= index
    for ((index = 1; index < COMP_CWORD; index++)); do
        case "$place ${{COMP_WORDS[index]}}" in
            {paths}) place="$place ${{COMP_WORDS[index]}}" ;;
        esac
    done
    case "$place" in
{cases}
    esac
    case "$place" in
        {agents}) [[ $current == -* ]] || words="$words $(maverick agents list --names 2>/dev/null)" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _maverick maverick
"""

_ZSH = """\
#compdef maverick
autoload -U +X bashcompinit && bashcompinit
{bash}
# The first time, zsh runs this file in place of what it defines.
_bash_complete -o default -F _maverick
"""

_FISH = """\
# Completion of maverick for fish.
function __maverick_path
    set -l path maverick
    for word in (commandline -opc)[2..-1]
        switch "$path $word"
            case {paths}
                set path "$path $word"
        end
    end
    echo $path
end
{lines}
"""


def write_script(options: argparse.Namespace) -> int:
    """Write the script of a shell to standard output."""
    places = all_places()
    bash = _bash(places)
    script = {"bash": bash, "zsh": _ZSH.format(bash=bash)}.get(options.shell) or _fish(places)
    Screen.of_process(interactive=False).say(script)
    return SUCCESS


def _bash(places: Sequence[Place]) -> str:
    cases = (
        f"        {_quoted(place.path)}) words={_quoted(' '.join(_texts(place)))} ;;" for place in places
    )
    return _BASH.format(
        paths="|".join(_quoted(place.path) for place in places[1:]),
        cases="\n".join(cases),
        agents="|".join(_quoted(place.path) for place in places if place.names_agent),
    )


def _texts(place: Place) -> list[str]:
    return [word.text for word in (*place.commands, *place.options)]


def _fish(places: Sequence[Place]) -> str:
    lines = []
    for place in places:
        at = f"complete -c maverick -n 'test (__maverick_path) = \"{place.path}\"'"
        for word in (*place.commands, *place.options):
            kind = f"-l {word.text[2:]}" if word.text.startswith("--") else f"-a {word.text}"
            lines.append(f"{at} {kind} -d {_fish_quoted(word.description)}")
        if place.names_agent:
            lines.append(f"{at} -a '(maverick agents list --names 2>/dev/null)'")
    paths = " ".join(_fish_quoted(place.path) for place in places[1:])
    return _FISH.format(paths=paths, lines="\n".join(lines))


def _quoted(text: str) -> str:
    return shlex.quote(text)


def _fish_quoted(text: str) -> str:
    escaped = one_line(text).replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
