"""``maverick trust``: trusts a folder, lists those that are trusted, or takes it back."""

from __future__ import annotations

import argparse
from pathlib import Path

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.project_trust import show, trust_folder, untrusted_in
from maverick.cli.screen import Screen
from maverick.config.own_files import own_folder, persons_home
from maverick.config.trust import Trust
from maverick.exceptions import InvalidInputError
from maverick.runtime.consent import Grants, visible


def trust(options: argparse.Namespace) -> int:
    """Trust a folder as it is now, and say what that lets it decide; or list the trusted folders, or remove one.

    Raises:
        ConfigError: The person has no home to keep it in.
        InvalidInputError: There is no such folder.
    """
    screen = Screen.of_process(interactive=False)
    if options.listing:
        screen.say("".join(f"{folder}\n" for folder in Trust(persons_home()).folders()))
        for allowed in Grants(Path.cwd()).of_project():
            screen.remark(f"always allowed in this folder: {visible(allowed)}")
        return SUCCESS
    folder = Path(options.path or ".").expanduser().absolute()
    if options.remove:
        removed = [Trust(persons_home()).revoke(folder), Grants(folder).revoke()]
        screen.say(f"{'no longer trusted' if any(removed) else 'was not trusted'}: {folder}\n")
        return SUCCESS if any(removed) else FAILURE
    if not folder.is_dir():
        raise InvalidInputError(
            f"There is no folder {options.path!r}. Name the project's folder.", field="path"
        )
    own_folder()  # which raises an error for a user without a home
    untrusted = untrusted_in(folder)
    show(untrusted, screen)
    trust_folder(folder, untrusted)
    screen.say(f"trusted: {folder}\n")
    return SUCCESS
