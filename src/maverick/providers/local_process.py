"""llama.cpp in a process of its own: a model cannot take the agent down with it, and its memory is given back.

The two talk over the pipes that a process is born with. The child reads its settings, loads the model, writes one line
that says where it listens, and then waits for its input to end. That happens when the parent closes it, and also when
the parent is killed, so a model never outlives the process it serves.

This module is both sides: what it defines is for the parent, and run as a program it is the child.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import secrets
import subprocess
import sys
from typing import Any

import msgspec

from maverick.exceptions import ProcessError, TimeoutError


class ServerSettings(msgspec.Struct, frozen=True):
    """What the server is told when it starts."""

    path: str
    """The GGUF file."""
    name: str
    """What the model calls itself in answers."""
    context_window: int
    """How many tokens a conversation and its answer may have together."""
    threads: int
    """How many threads compute."""
    gpu_layers: int | None = None
    """How many layers of the model a graphics card holds; ``None`` is llama.cpp's own choice."""
    key: str = ""
    """What requests have to show, so that others on this machine cannot use the server."""


class Listening(msgspec.Struct, frozen=True):
    """What the server says once it is there, or why it is not."""

    address: str = ""
    problem: str = ""


class LocalProcess:
    """The server as its parent sees it.

    Args:
        settings: What it is told; a key is added.
        load_timeout: How many seconds it may take to load the model.
    """

    def __init__(self, settings: ServerSettings, *, load_timeout: float) -> None:
        self.key = secrets.token_urlsafe(32)
        """What requests have to show."""
        self._settings = msgspec.structs.replace(settings, key=self.key)
        self._load_timeout = load_timeout
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process, and it has not ended."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> str:
        """Start the server and wait until it has loaded the model; return where it listens.

        Raises:
            ProcessError: The process ended, or could not load the model.
            TimeoutError: Loading took too long.
        """
        self._process = process = self._spawn()
        try:
            async with asyncio.timeout(self._load_timeout):
                said = await asyncio.to_thread(process.stdout.readline)  # type: ignore[union-attr] # it has a pipe
        except BaseException as error:  # also when the wait is cancelled: nobody is left who would stop it
            self.stop()
            if not isinstance(error, asyncio.TimeoutError):
                raise
            raise TimeoutError(
                f"{self._settings.name} was not loaded within {self._load_timeout:g} s. Raise load_timeout, or use a "
                "smaller model.",
                cause=error,
            ) from error
        if not said:
            raise self._ended()
        listening = msgspec.json.decode(said, type=Listening)
        if listening.problem:
            self.stop()
            raise ProcessError(
                f"llama.cpp could not load {self._settings.path}: {listening.problem.rstrip('.')}. The file may be "
                "damaged or too new, or need more memory than there is; a smaller context_window needs less."
            )
        return listening.address

    def stop(self) -> None:
        """End the process, and wait until it has."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # the server pays no attention to anything gentler
        process.communicate()

    def _spawn(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - this very interpreter, running this very module
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C in the terminal is the parent's to handle
        )
        assert process.stdin is not None  # noqa: S101 - it was asked for
        process.stdin.write(msgspec.json.encode(self._settings) + b"\n")
        process.stdin.flush()
        return process

    def _ended(self) -> ProcessError:
        ...
