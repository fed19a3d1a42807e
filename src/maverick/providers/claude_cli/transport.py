"""The SDK's transport to a CLI that cannot outlive us.

The SDK's own transport leaves the CLI running when this process dies, and takes seconds to stop it. This one runs it as
a supervised program; the command line is still built by the SDK.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import claude_agent_sdk
import msgspec
from claude_agent_sdk import (
    ClaudeAgentOptions,
    CLIConnectionError,
    CLIJSONDecodeError,
    CLINotFoundError,
    Transport,
)
from claude_agent_sdk import ProcessError as SDKProcessError
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from maverick.config.programs import find_program, is_out_of_reach
from maverick.exceptions import AgentError, InvalidInputError, ProcessError
from maverick.exceptions import CLINotFoundError as OurCLINotFoundError
from maverick.misuse import refuse
from maverick.processes import Program, Streams
from maverick.providers.network import check_network_allowed
from maverick.telemetry import log

EXIT_SECONDS = 1.0
"""How long the CLI may take to exit by itself once its input has ended."""

PROVIDER = "claude-code"
"""What the provider is called where models are named."""

DEFAULT_LINE_BYTES = 32 * 1024 * 1024
"""The longest message the CLI may send; files and images it has read are in its messages."""

_STDERR_LINES = 20
_STDERR_LINE_BYTES = 64 * 1024
_SHOWN_BYTES = 64 * 1024
"""How much of a message that is too long an error keeps."""
_USUAL_ADDRESS = "https://api.anthropic.com"
_message = msgspec.json.Decoder(dict[str, Any])


class SupervisedTransport(Transport):
    """A CLI for one client of the SDK."""

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self._options = options
        self._process: CliProcess | None = None
        self._ready = False
        self._answered = False
        self._input_ended = False
        self._ended = False

    @property
    def stderr(self) -> str:
        """The last lines of the CLI's standard error."""
        return "" if self._process is None else self._process.stderr

    async def connect(self) -> None:
        """Start the CLI."""
        options = self._options
        if self._ended:
            raise CLIConnectionError("The Claude CLI was stopped before it was started.")
        surroundings = environment(options)
        check_network_allowed(PROVIDER, surroundings.get("ANTHROPIC_BASE_URL") or _USUAL_ADDRESS)
        self._process = await CliProcess.start(
            command_line(options),
            env=surroundings,
            cwd=Path(options.cwd or Path.cwd()),
            line_bytes=options.max_buffer_size or DEFAULT_LINE_BYTES,
            on_stderr=options.stderr,
        )
        self._ready = not self._ended
        if self._ended:
            self._process.kill()

    async def write(self, data: str) -> None:
        """Send what the SDK has to say."""
        if self._process is None or not self._ready:
            raise await self._lost()
        try:
            self._process.stdin.write(data.encode())
            await self._process.stdin.drain()
        except OSError as error:
            self._ready = False
            raise await self._lost() from error

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield what the CLI says, until it exits."""
        if self._process is None:
            raise CLIConnectionError("The Claude CLI is not running.")
        while line := await self._line(self._process):
            if line.lstrip().startswith(b"{"):  # some builds print other things in between
                try:
                    message = _message.decode(line)
                except msgspec.DecodeError as error:
                    raise CLIJSONDecodeError(line.decode("utf-8", "replace").rstrip("\n"), error) from error
                self._answered = True
                yield message
        self._ready = False
        exit_code = await self._process.wait()
        asked_for = self._ended or (exit_code == 0 and self._input_ended)
        if not (asked_for and self._answered):  # a caller may still wait for the first answer
            raise self._exited(exit_code)

    async def end_input(self) -> None:
        """Tell the CLI that nothing more will come."""
        if self._process is not None and self._ready:
            self._ready = False
            self._input_ended = True
            self._process.stdin.write_eof()

    def is_ready(self) -> bool:
        """Whether the CLI can be talked to."""
        return self._ready

    def kill(self) -> None:
        """Have the CLI and all it started end; see :meth:`CliProcess.kill`."""
        self._ready = False
        self._ended = True
        if self._process is not None:
            self._process.kill()

    async def finish(self) -> None:
        """Let the CLI exit by itself, which keeps its transcript whole, and end it if it takes too long."""
        if self._process is not None:
            await self.end_input()
            await self._process.exits_within(EXIT_SECONDS)
            await self.close()

    async def close(self) -> None:
        """End the CLI and all it started, at once."""
        self.kill()
        if self._process is not None:
            await self._process.aclose()

    async def _lost(self) -> Exception:
        """Why the CLI cannot be reached: how it exited, if it did."""
        if self._process is not None and await self._process.exits_within(EXIT_SECONDS):
            return self._exited(await self._process.wait())
        return CLIConnectionError("The Claude CLI is not running.")

    def _exited(self, exit_code: int) -> SDKProcessError:
        return SDKProcessError("The Claude CLI failed", exit_code=exit_code, stderr=self.stderr)

    @staticmethod
    async def _line(process: CliProcess) -> bytes:
        try:
            return await process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:  # the last line, which has no end
            return error.partial
        except asyncio.LimitOverrunError as error:
            began = await process.stdout.read(_SHOWN_BYTES)
            raise CLIJSONDecodeError(began.decode("utf-8", "replace"), error) from error


def command_line(options: ClaudeAgentOptions) -> list[str]:
    """The program and the flags that the options stand for."""
    if options.user is not None:
        refuse(
            "user",
            "the Claude CLI runs under the account of this process. Start this process under another one.",
        )
    if options.can_use_tool is not None:
        options = replace(options, permission_prompt_tool_name="stdio")
    maker = SubprocessCLITransport(prompt="", options=options)
    maker._cli_path = maker._cli_path or _find_cli(maker, options)  # noqa: SLF001 - the SDK has no public way to its flags
    return maker._build_command()  # noqa: SLF001 - as above


def _find_cli(maker: SubprocessCLITransport, options: ClaudeAgentOptions) -> str:
    """The CLI that comes with the SDK, or else an installed one that no agent can have put there."""
    folder = Path(options.cwd or Path.cwd())
    bundled = maker._find_bundled_cli()  # noqa: SLF001 - the SDK has no public way to it
    found = bundled or find_program("claude", workspace=folder)
    if found is not None:
        return found
    elsewhere = maker._find_cli()  # noqa: SLF001 - as above; it raises if it finds none
    if not is_out_of_reach(elsewhere, folder):
        raise CLINotFoundError("Claude Code is only installed where agents can write", elsewhere)
    return elsewhere


def environment(options: ClaudeAgentOptions) -> dict[str, str]:
    """The environment of the CLI: this process's, what the SDK adds, and what the options say."""
    inherited = {name: value for name, value in os.environ.items() if name != "CLAUDECODE"}
    added = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
    if options.client_app is not None:
        added["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    if options.enable_file_checkpointing:
        added["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    if options.cwd is not None:
        added["PWD"] = str(options.cwd)
    return {**inherited, **added, **options.env, "CLAUDE_AGENT_SDK_VERSION": claude_agent_sdk.__version__}


class CliProcess:
    """A CLI that runs; :meth:`start` makes one."""

    def __init__(
        self, program: Program, streams: Sequence[Streams], on_stderr: Callable[[str], None] | None
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
        """Start a CLI, with this whole environment; ``on_stderr`` is called with each line of its standard error."""
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
        return OurCLINotFoundError(cli_path=program, cause=error)
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
