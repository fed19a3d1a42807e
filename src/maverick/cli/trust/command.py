"""``maverick trust``: trusts a folder, lists those that are trusted, or takes it back."""

from __future__ import annotations

from pathlib import Path

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.screen import Screen
from maverick.cli.trust.asking import show, trust_folder
from maverick.cli.trust.project import untrusted_in
from maverick.config.loading import own_folder, persons_home
from maverick.config.trust import Trust
from maverick.exceptions import InvalidInputError


def trust(path: str | None, *, listing: bool, remove: bool) -> int:
    """Trust a folder as it is now, and say what that lets it decide.

    Args:
        path: The folder; by default the current one.
        listing: Whether to list the folders that are trusted.
        remove: Whether to trust it no longer.

    Returns:
        The exit code.

    Raises:
        ConfigError: The person has no home to keep it in.
        InvalidInputError: There is no such folder.
    """
    screen = Screen.of_process(interactive=False)
    if listing:
        screen.say("".join(f"{folder}\n" for folder in Trust(persons_home()).folders()))
        return SUCCESS
    folder = Path(path or ".").expanduser().absolute()
    if remove:
        removed = Trust(persons_home()).revoke(folder)
        screen.say(f"{'no longer trusted' if removed else 'was not trusted'}: {folder}\n")
        return SUCCESS if removed else FAILURE
    if not folder.is_dir():
        raise InvalidInputError(f"There is no folder {path!r}. Name the project's folder.", field="path")
    own_folder()  # which says what to do for who has no home
    untrusted = untrusted_in(folder)
    show(untrusted, screen)
    trust_folder(folder, untrusted)
    screen.say(f"trusted: {folder}\n")
    return SUCCESS
