"""What all tests share: the options of the command line, and a guard that keeps them off the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from maverick.telemetry import logger
from maverick.testing import forbid_network

settings.register_profile("maverick", deadline=None)  # a busy machine is no failure
settings.load_profile("maverick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--runs", type=int, default=12_000, help="how many runs the simulation makes (default: 12000)"
    )


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Nothing in the suite calls a live service; servers on this machine stay reachable."""
    with forbid_network():
        yield


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    """A test that sets up logging leaves none of it behind."""
    level, handlers = logger.level, list(logger.handlers)
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers
