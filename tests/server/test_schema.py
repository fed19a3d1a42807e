"""Whatever the OpenAPI document allows, and what it does not: made up by schemathesis, answered by the real server."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings

from maverick.server import Principal, ServerLimits
from server.chat_server import PATIENCE, ChatServer

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "4"))
ENDLESS = "/api/updates"
"""A stream without an end, which no generated request would read to it."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    """A server in a thread, with limits that a flood of requests does not reach."""
    limits = ServerLimits(requests_per_minute=10**6, sign_ins_per_minute=10**6, answers=1000, streams=1000)
    path: Path = tmp_path_factory.mktemp("schema")
    server = ChatServer(path / "chat.db", limits=limits, allowed_hosts=["*"])
    uvicorn_server = uvicorn.Server(uvicorn.Config(server.app, port=0, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=uvicorn_server.run)
    thread.start()
    deadline = threading.Event()
    for _ in range(PATIENCE * 100):
        if uvicorn_server.started or deadline.wait(0.01):
            break
    server.url = f"http://127.0.0.1:{uvicorn_server.servers[0].sockets[0].getsockname()[1]}"
    yield server
    uvicorn_server.should_exit = True
    thread.join()
    server.database.close()


def operations(server: ChatServer) -> Iterator[Any]:
    """Every operation of the document that ends by itself."""
    import schemathesis  # here and below, since no other test uses it, and every worker loads this module
    from schemathesis.core.result import Ok

    document = schemathesis.openapi.from_asgi("/openapi.json", server.app)
    document.config.update(base_url=server.url)
    for found in document.exclude(path=ENDLESS).get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


@pytest.mark.requirement("SERVER-SCHEMA")
def test_nothing_makes_the_server_fail(running: ChatServer) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

    checks = [not_a_server_error, content_type_conformance, response_schema_conformance]
    tried, headers = [], {}

    for operation in operations(running):
        token = running.signer.issue(
            Principal("user_fuzz", "fuzz")
        )  # a new one, since one of the operations signs out
        headers["Authorization"] = f"Bearer {token}"

        @settings(
            max_examples=EXAMPLES, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=checks, timeout=PATIENCE)

        check()
        tried.append(operation.label)

    assert len(tried) > 25
