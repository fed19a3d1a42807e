"""The last evaluation of each file of cases, kept in the user's own folder: what the next one is compared with."""

from __future__ import annotations

import hashlib
from pathlib import Path

from maverick.config.own_files import own_folder, replace_file
from maverick.evals import Report
from maverick.exceptions import ConfigError, InvalidInputError


def last_report(file: str) -> Report | None:
    """The last evaluation of a file of cases, if there was one that can still be read."""
    try:
        return Report.from_json(_place(file).read_bytes())
    except (OSError, InvalidInputError, ConfigError):  # it is for comparison only
        return None


def keep_report(file: str, report: Report) -> None:
    """Keep an evaluation; of cases that were not run, what is known stays.

    A folder that cannot be written to is no reason to fail: the next evaluation has less to compare with.
    """
    try:
        replace_file(_place(file), report.updating(last_report(file)).to_json())
    except (OSError, ConfigError):
        return


def report_in(file: str, agent: str) -> Report:
    """The report on an agent in a file that ``maverick eval --json`` has written.

    Raises:
        InvalidInputError: The file cannot be read, or has none.
    """
    try:
        lines = Path(file).read_bytes().splitlines()
    except OSError as error:
        problem = f"--compare: {file} could not be read: {error.strerror}."
        raise InvalidInputError(problem, field="compare", cause=error) from error
    reports = [Report.from_json(line) for line in lines if line.strip()]
    for report in reports:
        if report.agent == agent:
            return report
    raise InvalidInputError(f"--compare: {file} has no evaluation of the agent {agent!r}.", field="compare")


def _place(file: str) -> Path:
    path = Path(file).resolve()
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return own_folder() / "evals" / f"{path.stem}-{digest}.json"
