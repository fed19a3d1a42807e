"""The inputs of an agent as they come from a command line: options, a prompt, and what is piped in."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from maverick.cli.screen import Screen
from maverick.exceptions import InvalidInputError
from maverick.loop import Input
from maverick.loop.inputs import REQUIRED
from maverick.model import Part
from maverick.model.media import media_from_path

PROMPT = "prompt"
_PIPED = "-"
_PATIENCE = 1.0
"""Seconds until a person is told that something is waited for."""


def gather_inputs(
    declared: Mapping[str, Input] | None,
    given: Sequence[tuple[str, str]],
    prompt: str | None,
    screen: Screen,
    piped_into: str = PROMPT,
    attached: Sequence[str] = (),
) -> dict[str, Any]:
    """The values of the inputs that are declared, or of all that are given if nothing is; of two with one name, the last counts.

    What is piped in is the value of the input that is given as ``-``, or of ``piped_into``, or stands below a prompt.
    Attached files go before the prompt: models read images best before the question.
    """
    media = [media_from_path(path) for path in attached]
    texts = dict(given) | ({} if prompt is None else {PROMPT: prompt})
    piped = _piped(screen)
    takes_all = [name for name, value in texts.items() if value == _PIPED]
    if len(takes_all) > 1:
        problem = f"{' and '.join(takes_all)} cannot both be the piped input. Give one of them as text."
        raise InvalidInputError(problem, field="inputs")
    if takes_all:
        if piped is None:
            raise InvalidInputError(
                f"{takes_all[0]}: there is no piped input. Write: … | maverick run …", field="inputs"
            )
        texts[takes_all[0]] = piped
    elif piped and (declared is None or piped_into in declared):
        texts[piped_into] = f"{texts[piped_into]}\n\n{piped}" if piped_into in texts else piped
    if prompt is not None and not texts[PROMPT].strip() and not media:
        raise InvalidInputError('The prompt is empty. Say what to do: -p "…"', field=PROMPT)
    if declared is None:
        values: dict[str, Any] = dict(texts)
    else:
        _check_complete(declared, texts)
        values = {name: _read(declared.get(name), value) for name, value in texts.items()}
    if media and PROMPT not in values:
        raise InvalidInputError('--attach: files go with a prompt. Add: -p "…"', field=PROMPT)
    return values | {PROMPT: [*media, values[PROMPT]]} if media else values


def with_files(text: str, attached: Sequence[str]) -> str | list[str | Part]:
    """A message with the files that go before its words, if there are any."""
    return [*map(media_from_path, attached), text] if attached else text


def _check_complete(declared: Mapping[str, Input], given: Mapping[str, str]) -> None:
    missing = [name for name, spec in declared.items() if name not in given and spec.default is REQUIRED]
    if missing == [PROMPT]:
        raise InvalidInputError('The prompt is missing. Give it with -p "…", or pipe it in.', field=PROMPT)
    if missing:
        ways = " ".join('-p "…"' if name == PROMPT else f"-i {name}=…" for name in missing)
        raise InvalidInputError(f"Inputs are missing. Add: {ways}", field=missing[0])


def _read(spec: Input | None, text: str) -> object:
    """The value that was meant; of an image or a document, the file is named."""
    if spec is None:
        return text
    return spec.read(text) if spec.takes_text else media_from_path(text)


def _piped(screen: Screen) -> str | None:
    """What is piped in, or nothing when standard input is a keyboard or is not there."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:  # closed by the parent process, or not a file of the system
        return None
    if not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind)):
        return None
    if not select.select([sys.stdin], [], [], _PATIENCE)[0]:
        screen.remark("(waiting for standard input to end; use < /dev/null for no input)")
    return sys.stdin.read().strip() or None
