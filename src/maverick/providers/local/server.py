"""llama.cpp in a process of its own, so that a model cannot take the agent down with it.

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
from contextlib import suppress
from typing import Any

import msgspec

from maverick.exceptions import ProcessError, TimeoutError

_DYING_SECONDS = 1


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
    """The child as its parent sees it. It can be started again when it has ended.

    Args:
        settings: Its settings; a key is added to them.
        load_timeout: How many seconds it may take to load the model.
    """

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
        """Start the child, wait until it has loaded the model, and return its address.

        Raises:
            ProcessError: The child ended, or could not load the model.
            TimeoutError: Loading took too long.
        """
        self.stop()
        self._process = process = _spawn()
        report = Report(problem="the wait for it was cancelled")
        try:
            async with asyncio.timeout(self._load_timeout):
                report = await asyncio.to_thread(_report, process, self._settings)
        except builtins.TimeoutError as error:
            raise TimeoutError(
                f"The model {self._settings.name} was not loaded within {self._load_timeout:g} s. "
                "Raise load_timeout, or use a smaller model.",
                cause=error,
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
            f"No process could be started for the model: {error.strerror}. Check the memory and process limits.",
            cause=error,
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
