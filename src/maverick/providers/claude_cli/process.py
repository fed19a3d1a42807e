"""The Claude CLI as a supervised program, and the streams to it."""

from __future__ import annotations

import asyncio
import errno
import logging
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from maverick.exceptions import AgentError, CLINotFoundError, InvalidInputError, ProcessError
from maverick.processes import Program, Streams
from maverick.telemetry import log

DEFAULT_LINE_BYTES = 32 * 1024 * 1024
"""The longest message the CLI may send; files and images it has read are in its messages."""

_STDERR_LINES = 20
_STDERR_LINE_BYTES = 64 * 1024


class CliProcess:
    """A CLI that runs; :meth:`start` makes one."""

    def __init__(
        self,
        program: Program,
        streams: Sequence[Streams],
        on_stderr: Callable[[str], None] | None,
    ) -> None:
        (_, self.stdin), (self.stdout, _), (stderr, _) = streams
        self._writers = [writer for _, writer in streams]
        self._program = program
        self._on_stderr = on_stderr
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._listening = asyncio.create_task(self._listen(stderr))
        self.pid = program.pid
        self.wait = program.wait
        self.exits_within = program.exits_within
        self.kill = program.kill

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        line_bytes: int = DEFAULT_LINE_BYTES,
        on_stderr: Callable[[str], None] | None = None,
    ) -> Self:
        """Start a CLI.

        Args:
            argv: The program and its arguments.
            env: Its whole environment.
            cwd: The folder it runs in.
            line_bytes: The longest line that may come out of it.
            on_stderr: Called with each line of its standard error.

        Raises:
            CLINotFoundError: There is no such program.
            InvalidInputError: There is no such folder, or the arguments are too long.
            ProcessError: It could not be started for another reason.
        """
        sockets = env.get("XDG_RUNTIME_DIR") or env.get("TMPDIR") or tempfile.gettempdir()
        try:
            program, streams = await Program.connect(
                argv,
                (1, line_bytes, _STDERR_LINE_BYTES),
                env=env,
                cwd=cwd,
                scratch="CLAUDE_CODE_TMPDIR",
                litter=f"{sockets}/cc-socks/{{pid}}.sock",  # the CLI leaves it when it is killed
            )
        except OSError as error:
            raise _not_started(error, argv[0], str(cwd)) from error
        return cls(program, streams, on_stderr)

    @property
    def stderr(self) -> str:
        """The last lines it wrote to its standard error."""
        return "\n".join(self._stderr)

    async def aclose(self) -> None:
        """End it with everything it has started, wait until nothing of it is left, and close its streams."""
        try:
            await self._program.aclose()
        finally:
            self._listening.cancel()
            for writer in self._writers:
                writer.transport.abort()

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stderr.readline()
            except ValueError:  # longer than a line may be: the reader has dropped it
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace").rstrip()
            self._stderr.append(text)
            if self._on_stderr is not None:
                try:
                    self._on_stderr(text)
                except Exception as error:  # noqa: BLE001 - the user's code; its failure harms nothing
                    name = type(error).__name__
                    log(
                        logging.ERROR, "A listener to the Claude CLI's standard error failed", {"error": name}
                    )


def _not_started(error: OSError, program: str, cwd: str) -> AgentError:
    """Why there is no process."""
    if error.filename == cwd:
        return InvalidInputError(
            f"cwd: the Claude CLI cannot run in {cwd!r}. Choose a folder that exists and may be entered.",
            field="cwd",
            cause=error,
        )
    if error.errno == errno.ENOENT:
        return CLINotFoundError(cli_path=program, cause=error)
    if error.errno == errno.E2BIG:
        return InvalidInputError(
            "The system prompt, the tools and the MCP settings together are too long for a command line. "
            'Shorten them, or give the prompt as a file: system_prompt={"type": "file", "path": …}.',
            field="system_prompt",
            cause=error,
        )
    return ProcessError(
        f"The Claude CLI at {program} could not be started: {error.strerror}. "
        "Check that it is a program for this machine and that you may run it.",
        cause=error,
    )
