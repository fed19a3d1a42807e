"""For those who run the server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.chat_server import ChatServer, Person


@pytest.mark.requirement("SERVER-OPERATIONS")
async def test_health_and_readiness_are_there_for_anybody(server: ChatServer) -> None:
    nobody = server.person(None)

    assert (await nobody.get("/health")).body == {"status": "ok"}
    assert (await nobody.get("/ready")).body == {"status": "ready"}


def replace_by_folder(database: Path) -> None:
    for file in database.parent.glob(f"{database.name}*"):
        file.unlink()
    database.mkdir()


@pytest.mark.requirement("SERVER-OPERATIONS")
async def test_a_server_without_its_database_is_alive_and_not_ready(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db") as server:
        nobody = server.person(None)
        server.database.close()
        replace_by_folder(tmp_path / "chat.db")

        health, ready = await nobody.get("/health"), await nobody.get("/ready")

    assert health.status == 200
    assert (ready.status, ready.code) == (503, "unavailable")
    assert ready.headers["Retry-After"] == "2"


@pytest.mark.requirement("SERVER-OPERATIONS")
async def test_metrics_are_in_the_format_prometheus_reads(ana: Person) -> None:
    await ana.say("Add task buy milk")
    await ana.get("/api/tasks/999")
    await ana.get(f"/no/such/{'path' * 10}")

    answer = await ana.get("/metrics")

    line = re.compile(r'^(# (HELP|TYPE) .+|[a-z_]+({[a-z]+="[^"]*"(,[a-z]+="[^"]*")*})? [0-9.e+-]+)$')
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert [text for text in answer.body.splitlines() if not line.match(text)] == []
    assert (
        'maverick_http_requests_total{method="GET",route="/api/tasks/{task_id}",status="404"} 1.0'
        in answer.body
    )
    assert 'maverick_answers_total{status="complete"} 1.0' in answer.body
    assert "pathpath" not in answer.body
    assert "ana" not in answer.body
    assert "milk" not in answer.body


@pytest.mark.requirement("SERVER-OPERATIONS")
async def test_a_collector_has_a_token_of_its_own(tmp_path: Path) -> None:
    async with ChatServer(tmp_path / "chat.db", metrics_token="for prometheus") as server:
        collector, nobody, other = (server.bearer(token) for token in ("for prometheus", None, "wrong"))

        answers = [(await person.get("/metrics")).status for person in (collector, nobody, other)]
        tasks = await collector.get("/api/tasks")

    assert answers == [200, 401, 401]
    assert tasks.status == 401


@pytest.mark.requirement("SERVER-OPERATIONS")
async def test_the_interface_is_described(ana: Person) -> None:
    schema = (await ana.get("/openapi.json")).body

    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    assert schema["info"]["title"] == "Maverick Chat"
    assert all(operation.get("summary") and operation.get("description") for operation in operations)


@pytest.mark.requirement("SERVER-SAFE-PAGE")
async def test_every_response_keeps_browsers_from_loading_anything_from_elsewhere(server: ChatServer) -> None:
    nobody = server.person(None)

    for path in ("/", "/app.js", "/api/about", "/nowhere"):
        headers = (await nobody.get(path)).headers
        policy = headers["Content-Security-Policy"]

        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.requirement("SERVER-SAFE-PAGE")
def test_the_page_names_no_other_server() -> None:
    from maverick.server import app

    page = Path(app.__file__).parent / "page"
    addresses = {
        (file.name, address)
        for file in page.iterdir()
        for address in re.findall(r"https?://[\w.]+", file.read_text("utf-8"))
    }

    assert {address for _, address in addresses} <= {
        "http://www.w3.org"
    }  # the name of SVG, which nobody fetches


@pytest.mark.requirement("SERVER-SAFE-PAGE")
def test_the_page_writes_no_html() -> None:
    from maverick.server import app

    page = Path(app.__file__).parent / "page"
    scripts = "\n".join(file.read_text("utf-8") for file in page.glob("*.js"))
    writes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"

    # One place takes HTML, that of a block of Markdown which the server has rendered and escaped.
    assert [line.strip() for line in scripts.splitlines() if re.search(writes, line)] == [
        "made.innerHTML = html;"
    ]
