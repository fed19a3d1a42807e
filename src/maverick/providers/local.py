"""A model in a file: the client ``local:path.gguf``, on llama.cpp through the ``local`` extra.

The first request starts llama.cpp's server in a process of its own, so that a model cannot take the agent down with it.
That takes as long as the model takes to load; after that it is asked like any other Chat Completions server.

Parent and child talk over standard input and output. The child reads its settings, loads the model, writes one line
that says where it listens, and then waits for its input to end. That happens when the parent is done with it, and also
when the parent is killed: a model never outlives the process it serves.

Imported, this module is the parent's side; run as a program, it is the child.
"""

from __future__ import annotations

import asyncio
import builtins
import importlib
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, NetworkError, ProcessError, StreamingError, TimeoutError
from maverick.misuse import refuse
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.client import Client, open_stream, requested_model
from maverick.providers.http.transport import Timeouts
from maverick.providers.openai.client import OpenAIChatClient

_FREE = Price(0, 0)
_MAGIC = b"GGUF"
_DYING_SECONDS = 1


class LocalClient(Client):
    """A client of a model in a GGUF file. Nothing is loaded before the first request.

    Args:
        model: The path of the file.
        context_window: How many tokens a conversation and its answer may have together. More needs more memory.
        threads: How many threads to use; by default one less than there are processors.
        gpu_layers: How many layers of the model to put on the GPU; by default, what llama.cpp finds best.
        load_timeout: How many seconds the model may take to load.
        timeouts: How long to wait for an answer.
        max_tokens: The most tokens of an answer when a request does not say; small models do not always stop.
        extra: Fields to add to every request, such as ``{"top_p": 0.9}``.

    Raises:
        InvalidInputError: There is no such file, or it is not a GGUF file.
        ModuleNotFoundError: The extra is not installed; ``maverick.connect`` says how to install it.
    """

    def __init__(
        self,
        model: str,
        *,
        context_window: int = 8192,
        threads: int | None = None,
        gpu_layers: int | None = None,
        load_timeout: float = 600,
        timeouts: Timeouts | None = None,
        max_tokens: int = 1024,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        path = Path(model.removeprefix("local:")).expanduser()
        _check_file(path)
        if find_spec("xllamacpp") is None:  # only the server's process will import it
            raise ModuleNotFoundError("The package xllamacpp is not installed.", name="xllamacpp")
        self.model = f"local:{path.stem}"
        self._server = LocalServer(
            Settings(
                path=str(path.resolve()),
                name=path.stem,
                context_window=context_window,
                threads=threads or max(1, (os.cpu_count() or 1) - 1),
                gpu_layers=gpu_layers,
            ),
            load_timeout=load_timeout,
        )
        self._info = ModelInfo(context_window, _FREE, native_output=True)
        self._connect = partial(
            OpenAIChatClient,
            path.stem,
            prices={path.stem: _FREE},
            timeouts=timeouts,
            max_tokens=max_tokens,
            extra=extra,
        )
        self._client: OpenAIChatClient | None = None
        self._starting = asyncio.Lock()

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        async with self._asking() as client:
            return await client.run(self._asked(request))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self._asked(request)
        async with self._asking() as client, open_stream(client, request) as items:
            async for item in items:
                yield item

    def check(self, request: Request) -> None:
        """Refuse a request that names another model than the one in the file."""
        self._asked(request)

    def _asked(self, request: Request) -> Request:
        """The request with the client's defaults, as the server is asked it: which has one model."""
        own, named = self.model.removeprefix("local:"), requested_model(request, self.model)
        if own not in (named, Path(named).stem):
            refuse(
                "model",
                f"the client's file is {own!r}, which cannot answer as {named!r}. Connect to that file.",
            )
        return replace(request, config=replace(self.defaults.completed(request.config), model=""))

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - there is only this one
        """What is known of the model in the file."""
        return self._info

    async def aclose(self) -> None:
        """End the server; the next request starts it again."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await asyncio.to_thread(self._server.stop)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[OpenAIChatClient]:
        """A client to ask. If its connection breaks, a server that is about to end gets the time to do so."""
        client = await self._ready()
        try:
            yield client
        except (NetworkError, StreamingError):
            await asyncio.to_thread(self._server.settle)
            raise

    async def _ready(self) -> OpenAIChatClient:
        """The client of a server that is running; one that is not, or has crashed, is started."""
        async with self._starting:
            if self._client is None or not self._server.is_running:
                if self._client is not None:
                    await self._client.aclose()
                address = await self._server.start()
                self._client = self._connect(base_url=address, api_key=self._server.key)
            return self._client


connect = LocalClient
"""What ``maverick.connect`` calls."""


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidInputError(
            f"There is no model file at {str(path)!r}. Write it as local:path/to/model.gguf.", field="model"
        )
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except OSError as error:
        raise InvalidInputError(
            f"The model file {str(path)!r} cannot be read: {error.strerror}.", field="model"
        ) from error
    if beginning != _MAGIC:
        raise InvalidInputError(
            f"{str(path)!r} is not a GGUF file, the only kind llama.cpp reads. Download the model in that format, "
            "or convert it.",
            field="model",
        )


class Settings(msgspec.Struct, frozen=True):
    """The settings of the server."""

    path: str
    """The GGUF file."""
    name: str
    """What the model is called in its answers."""
    context_window: int
    """How many tokens a conversation and its answer may have together."""
    threads: int
    """How many threads to use."""
    gpu_layers: int | None = None
    """How many layers of the model to put on the GPU; ``None`` is llama.cpp's own choice."""
    key: str = ""
    """The key that requests must have, so that no one else on this machine can use the server."""


class Report(msgspec.Struct, frozen=True):
    """What the child reports: where it listens, or why it does not."""

    address: str = ""
    problem: str = ""
    exit_code: int | None = None
    """The exit code of a child that ended without a report; the parent fills it in."""


class LocalServer:
    """The child as its parent sees it, with a key added to its settings. It can be started again when it has ended."""

    def __init__(self, settings: Settings, *, load_timeout: float) -> None:
        self.key = secrets.token_urlsafe(32)
        """The key that requests must have."""
        self._settings = msgspec.structs.replace(settings, key=self.key)
        self._load_timeout = load_timeout
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the child was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> str:
        """Start the child, wait until it has loaded the model, and return its address."""
        self.stop()
        self._process = process = _spawn()
        report = Report(problem="the wait for it was cancelled")
        try:
            async with asyncio.timeout(self._load_timeout):
                report = await asyncio.to_thread(_report, process, self._settings)
        except builtins.TimeoutError as error:
            raise TimeoutError(
                f"The model {self._settings.name} was not loaded within {self._load_timeout:g} s. "
                "Raise load_timeout, or use a smaller model."
            ) from error
        finally:
            if report.problem:  # also when the wait was cancelled
                self.stop()
        if report.problem:
            raise ProcessError(
                f"llama.cpp could not load {self._settings.path}: {report.problem.rstrip('.')}. The file may be "
                "damaged or of a newer format, or there is not enough memory; a smaller context_window needs less.",
                exit_code=report.exit_code,
            )
        return report.address

    def settle(self) -> None:
        """Wait briefly for the child to end, in case it is about to: its connections end before it does."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_DYING_SECONDS)

    def stop(self) -> None:
        """End the child, if there is one, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # the server ignores other signals
            process.communicate()


def _spawn() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent to handle
        )
    except OSError as error:
        raise ProcessError(
            f"No process could be started for the model: {error.strerror}. Check the memory and process limits."
        ) from error


def _report(process: subprocess.Popen[bytes], settings: Settings) -> Report:
    """Send the child its settings and wait for its report."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        process.stdin.write(msgspec.json.encode(settings) + b"\n")
        process.stdin.flush()
        return msgspec.json.decode(process.stdout.readline(), type=Report)
    except (OSError, msgspec.DecodeError):  # the pipe is closed, or empty
        status = process.wait()
        return Report(problem=f"its process ended with status {status}", exit_code=status)


def _serve(settings: Settings) -> Any:  # noqa: ANN401 - the package has no types, and need not be installed
    """Load the model and listen; the server runs in threads of its own for as long as the object lives."""
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = settings.path
    params.model_alias = settings.name
    params.hostname, params.port = "127.0.0.1", 0
    params.api_keys = [settings.key]
    params.n_ctx = settings.context_window
    params.n_parallel = 1
    params.cpuparams.n_threads = settings.threads
    if settings.gpu_layers is not None:
        params.n_gpu_layers = settings.gpu_layers
    params.use_jinja = True  # the model's own template, without which it cannot call tools
    params.webui = False
    params.verbosity = -1
    return llama.Server(params)


def main() -> None:
    """Serve until the input ends."""
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    try:
        server = _serve(settings)
        report = Report(address=server.listening_address)
    except (RuntimeError, ImportError) as error:
        report = Report(problem=str(error))
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # the server's threads do not end by themselves


if __name__ == "__main__":
    main()
