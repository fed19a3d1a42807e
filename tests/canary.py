"""A secret that is planted wherever Maverick is given one, and looked for wherever it could come out (promise P9).

Tests use :data:`CANARY` as the key, token or password of what they test. It is also in the environment of the whole
test run. This plugin of pytest looks for it, and for either half of it, in

- every file below pytest's temporary folder: journals, cassettes, exports, spilled output, databases of servers;
- what tests print, and what is captured by ``capsys`` and ``capfd``;
- every record of Maverick's logger, and every error Maverick makes, with what it was caused by;
- whatever else is shown to it with :meth:`Lookout.look`: the output of commands, spans, a server's own files.

The test run fails if it was seen anywhere, and says where. A file that a test has to put the secret into is written
with :meth:`Lookout.plant`, and is the only one that may have it.
"""

from __future__ import annotations

import functools
import logging
import os
import secrets
import sys
from base64 import b64encode
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from maverick.exceptions import AgentError, MaverickError
from maverick.telemetry import JsonFormatter, logger

_VARIABLE = "CANARY_API_KEY"
"""Where the secret is kept for the other workers, and for every process a test starts."""
_PLANTED = ("OPENAI_API_KEY", "MAVERICK_SERVER_METRICS_TOKEN", "PGPASSWORD")
"""What else has it all the time. Where other secrets are set, other things happen: tests set those themselves."""
_PREFIX = "sk-ant-"

CANARY = os.environ.setdefault(_VARIABLE, _PREFIX + secrets.token_hex(20))
"""The secret of this test run. Neither JSON nor an address writes its letters in another way."""


class Lookout:
    """Knows the secret in every form, and keeps the places where it was seen.

    Args:
        secret: The secret.
    """

    def __init__(self, secret: str) -> None:
        core = secret.removeprefix(_PREFIX).encode()
        middle = len(core) // 2
        # By halves, so that a secret which is cut off, or torn in two by a page of a database, is found as well.
        self._forms = {**_forms(core[:middle]), **_forms(core[middle:])}
        self._planted: set[Path] = set()
        self._suspects: list[BaseException] = []
        self.sightings: set[str] = set()
        """Each with the place, the form and the offset."""

    def plant(self, file: Path, text: str) -> Path:
        """Write a file that has the secret by design."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self._planted.add(file.resolve())
        return file

    def look(self, place: str, content: object) -> None:
        """Look at what was told to somebody in the test that is running."""
        for found in self._find(_encoded(content)):
            test = os.environ.get("PYTEST_CURRENT_TEST", "no test")
            self.sightings.add(f"{place}, in {test}: {found}")

    def look_at(self, error: BaseException) -> None:
        """Look at an error that is being made, and again in the end if it could be told with one that has the secret."""
        self.look("an error", _words_of(error))
        handled = sys.exception()
        if handled is not None and self._find(_encoded(_words_of(handled))):
            self._suspects.append(error)

    def look_again(self) -> None:
        """Look at what the suspects were raised from, now that it is known."""
        while self._suspects:
            self.look("what an error was raised from", _words_of(self._suspects.pop()))

    def look_into(self, folder: Path) -> None:
        """Look at the bytes of every file below a folder."""
        for parent, _, names in os.walk(folder):
            for file in (Path(parent, name) for name in names):
                if file.is_file() and not file.is_symlink() and file.resolve() not in self._planted:
                    self._read(file)

    def _read(self, file: Path) -> None:
        try:
            content = file.read_bytes()
        except FileNotFoundError:  # a server that is still at work has removed it
            return
        self.sightings.update(f"{file}: {found}" for found in self._find(content))

    def _find(self, content: bytes) -> list[str]:
        return [
            f"{form}, at byte {offset}"
            for written, form in self._forms.items()
            if (offset := content.find(written)) >= 0
        ]


def _encoded(content: object) -> bytes:
    return str(content).encode(errors="surrogatepass")


def _words_of(error: BaseException) -> str:
    """What is shown of an error, and of those it is shown with."""
    words, shown = [], []
    following: BaseException | None = error
    while following is not None and following not in shown:
        shown.append(following)
        # Not traceback's own lines, which say no more of an error, but take longer than most tests that make one.
        words += [str(following), *getattr(following, "__notes__", ()), str(getattr(following, "text", ""))]
        context = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or context
    return "\n".join(words)


def _forms(secret: bytes) -> dict[bytes, str]:
    """What a secret looks like, and what that is called."""
    forms = {secret: "plain", secret.hex().encode(): "hex", secret.hex().upper().encode(): "hex"}
    for before in range(3):  # base64 depends on where in a group of three bytes the secret begins
        encoded = b64encode(bytes(before) + secret)
        # Only the characters that none of its neighbours has a part in.
        forms[encoded[-(-8 * before // 6) : 8 * (before + len(secret)) // 6]] = "base64"
    return forms


lookout = Lookout(CANARY)
"""The one of this process."""


class _Listener(logging.Handler):
    """Looks at each record as it would be written."""

    def emit(self, record: logging.LogRecord) -> None:
        lookout.look("a log record", self.format(record))


_listener = _Listener()
_listener.setFormatter(JsonFormatter())
_patches = pytest.MonkeyPatch()


def pytest_configure() -> None:
    """Plant the secret in the environment, and begin to look at logs, errors and what is captured."""
    for name in _PLANTED:
        _patches.setenv(name, CANARY)
    for kind in (MaverickError, AgentError):
        _patches.setattr(kind, "__init__", _looking_at_errors(kind))
    _patches.setattr(pytest.CaptureFixture, "readouterr", _readouterr)
    logger.addHandler(_listener)


def pytest_unconfigure() -> None:
    """Leave everything as it was."""
    logger.removeHandler(_listener)
    _patches.undo()


def _looking_at_errors(kind: type[MaverickError]) -> Any:
    make = kind.__init__

    @functools.wraps(make)
    def made(error: Any, *values: Any, **details: Any) -> None:
        make(error, *values, **details)
        if kind is AgentError or not isinstance(error, AgentError):  # else it is still being made
            lookout.look_at(error)

    return made


_read_captured = pytest.CaptureFixture.readouterr


def _readouterr(fixture: pytest.CaptureFixture[Any]) -> Any:
    captured = _read_captured(fixture)
    lookout.look("what was captured", captured)
    return captured


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look at what a test printed, logged and raised, whether it passed or not."""
    report = yield
    lookout.look_again()
    for title, text in report.sections:
        lookout.look(f"{title} of {report.nodeid}", text)
    return report


@pytest.fixture(scope="session", autouse=True)
def _files_looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Look at what all the tests of this process have left."""
    yield
    lookout.look_into(tmp_path_factory.getbasetemp())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker has seen."""
    lookout.sightings.update(getattr(node, "workeroutput", {}).get("canary", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the secret was seen, or leave it to the process that started this worker."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["canary"] = sorted(lookout.sightings)
    elif lookout.sightings:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the secret was seen."""
    if lookout.sightings:
        terminalreporter.section("the canary got out", red=True)
        terminalreporter.write_line(
            "A secret that was given to Maverick, or to what it was tested with, is in these places:"
        )
        for sighting in sorted(lookout.sightings):
            terminalreporter.write_line(f"  {sighting}")
