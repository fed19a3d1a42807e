"""What all tests share: the options of the command line, and a guard that keeps them off the network."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import settings

from maverick.telemetry import logger
from maverick.testing import forbid_network
from programs import summary

pytest_plugins = ["canary"]

_MEMORY = "/dev/shm"  # noqa: S108 - pytest makes a folder of its own in it
"""Where to keep the tests' files: they are synced to a disk thousands of times, and no test depends on that."""
_NEEDED = 8 << 30
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables that say where the certificates are."""

settings.register_profile("maverick", deadline=None)  # a busy machine is no failure
settings.load_profile("maverick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--runs", type=int, default=12_000, help="how many runs the simulation makes (default: 12000)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C: a shell has what it starts in the background ignore it, and every child inherits that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _has_room(_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a worker tell the controller no more of a test that goes well than that."""
    for plugin in session.config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):
            plugin.sendevent = _only_telling(plugin.sendevent)


def _only_telling(send: Callable[..., None]) -> Callable[..., None]:
    def sendevent(name: str, **told: Any) -> None:
        report = told.get("data") if name == "testreport" else None
        is_said = report is None or report["when"] == "call" or report["outcome"] != "passed"
        if is_said and name not in ("logstart", "logfinish"):
            send(name, **told)

    return sendevent


def _has_room(folder: str) -> bool:
    """Whether all that the tests write fits into a folder, and programs may be run there."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize > _NEEDED and not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in what is loaded and collected, which all stays: neither now nor in the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """More workers than cores: a good part of the suite waits for timers, disks and other processes."""
    cores = os.cpu_count() or 1
    return 2 * cores + 1


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Say at the end, below the list of all that was skipped, which programs were missed."""
    yield
    skipped = terminalreporter.getreports("skipped")
    if said := summary(str(report.longrepr) for report in skipped):
        terminalreporter.write_line(said, yellow=True)


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Nothing in the suite calls a live service; servers on this machine stay reachable."""
    with forbid_network():
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_read_once() -> Iterator[None]:
    """Read the certificates that all clients of an SDK trust for the first only: it takes longer than most tests."""
    if "httpx2" not in sys.modules:  # no test that was collected has such a client
        yield
        return
    make = import_module("httpcore2").default_ssl_context
    read = cache(lambda _file, _folder, options: make(**dict(options)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "httpcore2.default_ssl_context",
            lambda **options: read(*map(os.environ.get, _CERTIFICATES), tuple(options.items())),
        )
        yield


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    """A test that sets up logging leaves none of it behind."""
    level, handlers = logger.level, list(logger.handlers)
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers
