"""Every setting reaches every way to start a run: nine settings by seven entry points, each seen by a server."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from canary import CANARY
from cli.command import PATIENCE, Terminal, environment
from maverick.config.trust import SETTINGS_FILE, Trust, digest
from warm_start import Maverick, Program
from wire.claude_server import ClaudeServer
from wire.openai_server import OpenAIServer

Server = ClaudeServer | OpenAIServer

_PYTHON_AGENT = """\
from maverick import AgentDefinition
helper = AgentDefinition(name="helper", description="Helps.")
"""


@dataclass
class Place:
    """A user's home and a project in it, with settings from everywhere."""

    home: Path
    project: Path
    env: dict[str, str]

    @classmethod
    def made(
        cls, at: Path, *, own: Mapping[str, Any], project: Mapping[str, Any], env: Mapping[str, str]
    ) -> Place:
        home, folder = at / "home", at / "project"
        for place in (home / ".maverick", folder):
            place.mkdir(parents=True)
        (home / ".maverick" / "config.yaml").write_text(yaml.safe_dump({"agent": dict(own)}), "utf-8")
        written = yaml.safe_dump({"agent": dict(project)}).encode()
        (folder / SETTINGS_FILE).write_bytes(written)
        (folder / "helper.py").write_text(_PYTHON_AGENT, "utf-8")
        Trust(home).grant(folder, {SETTINGS_FILE: digest(written)})
        return cls(home, folder, environment(home, **env))

    @asynccontextmanager
    async def started(
        self, start: Callable[..., subprocess.Popen[bytes]], said: bytes = b""
    ) -> AsyncIterator[subprocess.Popen[bytes]]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with start(cwd=self.project, env=self.env, **pipes) as process:
            try:
                assert process.stdin is not None
                process.stdin.write(said)
                process.stdin.close()
                yield process
            finally:
                process.kill()


Entry = Callable[[Place, asyncio.Event], Awaitable[None]]


def _entry(start: Callable[..., subprocess.Popen[bytes]], said: bytes = b"") -> Entry:
    async def enter(place: Place, done: asyncio.Event) -> None:
        async with place.started(start, said) as process:
            while process.poll() is None and not done.is_set():  # noqa: ASYNC110 - a process has no events
                await asyncio.sleep(0.05)
            assert process.stderr is not None
            assert done.is_set(), process.stderr.read().decode()

    return enter


def _command(*words: str, said: bytes = b"") -> Entry:
    return _entry(partial(Maverick, *words), said)


def _program(what: str) -> Entry:
    def start(*, env: Mapping[str, str], **options: Any) -> Program:
        found = {**env, "PYTHONPATH": str(Path(__file__).parents[1])}
        return Program("cli.plain_program", what, env=found, **options)

    return _entry(start)


async def _serve(place: Place, done: asyncio.Event) -> None:
    async with place.started(
        partial(Maverick, "serve", "--no-browser", "--port", "0", "--signup")
    ) as process:
        assert process.stdout is not None
        line: bytes = await asyncio.to_thread(process.stdout.readline)
        found = re.search(r"http://\S+:\d+", line.decode())
        assert found is not None
        async with aiohttp.ClientSession(found[0]) as http:
            async with http.post("/api/signup", json={"name": "ana", "password": CANARY}) as signed:
                token = (await signed.json())["token"]
            headers = {"Authorization": f"Bearer {token}"}
            asked = asyncio.ensure_future(http.post("/api/chat", json={"message": "hello"}, headers=headers))
            await done.wait()
            asked.cancel()


async def _tui(place: Place, done: asyncio.Event) -> None:
    def start() -> Terminal:
        terminal = Terminal("tui", home=place.project, env={**place.env, "HOME": str(place.home)})
        terminal.__enter__()
        terminal.expect("ype a prompt.")  # the cursor is on the first letter
        terminal.type("hello\r")
        return terminal

    terminal = await asyncio.to_thread(start)
    try:
        await done.wait()
    finally:
        terminal.__exit__(None, None, None)


ENTRIES: Mapping[str, Entry] = {
    "run -p": _command("run", "-p", "hello"),
    "run helper.py": _command("run", "helper.py", "-p", "hello"),
    "chat": _command("chat", said=b"hello\n"),
    "serve": _serve,
    "tui": _tui,
    "connect()": _program("client"),
    "AgentExecutor()": _program("executor"),
}


@pytest.mark.requirement("002-R9", "002-AC6")
@pytest.mark.parametrize("entry", ENTRIES)
async def test_every_setting_is_obeyed_wherever_a_run_is_started(entry: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE * 2):
        claude = await stack.enter_async_context(ClaudeServer())
        openai = await stack.enter_async_context(OpenAIServer())
        slow = await stack.enter_async_context(ClaudeServer())
        on_claude = Place.made(
            tmp_path / "claude",
            own={"api_key": "key-of-the-user", "max_tokens": 777, "model": "overridden"},
            project={"base_url": claude.at("text"), "temperature": 0.25},
            env={"MAVERICK_AGENT_MODEL": "claude-opus-4-6", "OPENAI_API_KEY": "another"},
        )
        on_openai = Place.made(
            tmp_path / "openai",
            own={"model": "overridden", "temperature": 0.5},
            project={"provider": "openai", "model": "from-project", "max_tokens": 333},
            env={
                "MAVERICK_AGENT_API_KEY": "key-of-the-environment",
                "MAVERICK_AGENT_BASE_URL": openai.at("text"),
                "ANTHROPIC_API_KEY": "another",
            },
        )
        on_slow = Place.made(
            tmp_path / "slow",
            own={"api_key": "key", "base_url": slow.at("hang")},
            project={},
            env={"MAVERICK_AGENT_REQUEST_TIMEOUT": "300ms"},
        )

        enter = ENTRIES[entry]
        await asyncio.gather(
            enter(on_claude, claude.asked), enter(on_openai, openai.asked), enter(on_slow, slow.dropped)
        )

    asked, body = claude.received[0], claude.received[0].body
    assert asked.path.endswith("/v1/messages"), "provider, by default"
    assert asked.path.startswith("/text/"), "base_url of the project"
    assert body["model"] == "claude-opus-4-6", "model of the environment"
    assert body["max_tokens"] == 777, "max_tokens of the user"
    assert body["temperature"] == 0.25, "temperature of the project"
    assert asked.headers["x-api-key"] == "key-of-the-user", "api_key of the user"
    other, body = openai.received[0], openai.received[0].body
    assert other.path == "/text/v1/chat/completions", "provider of the project, base_url of the environment"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("from-project", 333, 0.5)
    assert other.headers["authorization"] == "Bearer key-of-the-environment", "api_key of the environment"
    assert slow.dropped.is_set(), "request_timeout of the environment"
