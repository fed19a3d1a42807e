"""Runs of a real agent over HTTP against a strict service, each drawn from a seed.

A run reads pages with tools until its window is full and it is condensed; it gets images and documents, searches the web,
hears words while it works, is stopped and resumed with other tools, forked and edited, asked something else, and moved
to another model when the first one is overloaded. Whatever happens, the service refuses nothing, and every block it sent
comes back.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from maverick import (
    AbortSignal,
    AgentDefinition,
    AgentExecutor,
    AgentResult,
    Document,
    Image,
    ModelConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    connect,
    tool,
)
from maverick.exceptions import AgentError
from maverick.journal import MemoryJournal
from maverick.loop.events import AgentActivityEvent, Compacted, TurnEnd
from maverick.model import LLMClient, Tool
from maverick.providers import Client
from maverick.providers.wrappers import FallbackClient
from strict.claude_author import ClaudeAuthor
from strict.claude_server import StrictClaude
from strict.improviser import Improviser
from strict.openai_server import StrictOpenAI

Service: TypeAlias = StrictClaude | StrictOpenAI

RED_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
MODELS = {
    "claude": ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"),
    "claude-sdk": ("claude-opus-5-5", "claude-sonnet-5-5"),
    "openai-responses": ("gpt-5.6-sol", "gpt-6-sol", "gpt-6.1-sol"),
    "openai-chat": ("gpt-4.1",),
}
"""The models that each provider is asked for."""
_CALLS = re.compile(r'"type": "(tool_use|function_call)"')


@tool(effect="pure")
async def read(page: int, note: str) -> str:
    """Read a page."""
    return f"page {page} ({note}): " + "star " * (page * 4)


@tool(effect="pure")
async def look(page: int, note: str) -> list[str | Image | Document]:
    """Look at a page as it is printed."""
    return [f"page {page}", Image.from_bytes(RED_DOT), note] if page % 2 else [Image.from_bytes(RED_DOT)]


@tool(effect="pure")
async def fail(page: int, note: str) -> str:
    """Fail at a page."""
    raise ValueError(f"page {page} is torn")


@tool(effect="pure")
async def count(page: int, note: str) -> int:
    """Count the words of a page."""
    return page


@dataclass
class Outcome:
    """What came of a seed."""

    refused: list[str] = field(default_factory=list)
    """Why the services refused requests."""
    lost: list[str] = field(default_factory=list)
    """Blocks that were sent and never came back, though the run went on."""
    errors: list[str] = field(default_factory=list)
    """What else went wrong."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each thing happened."""


async def play(provider: str, seed: int) -> Outcome:
    """Play everything that a seed says."""
    rng, outcome = Random(seed), Outcome()
    failing = rng.choice((0, 0, 0.2))
    async with AsyncExitStack() as stack:
        services: list[Service] = [await stack.enter_async_context(_service(provider, seed, failing))]
        models = rng.sample(MODELS[provider], k=min(2 if failing else 1, len(MODELS[provider])))
        clients: list[LLMClient] = [
            await stack.enter_async_context(_client(provider, model, services[0])) for model in models
        ]
        if failing and rng.random() < 0.5:
            other = "claude" if provider.startswith("openai") else "openai-responses"
            services.append(await stack.enter_async_context(_service(other, seed, 0, first=10_000)))
            clients.append(await stack.enter_async_context(_client(other, MODELS[other][0], services[1])))
        client = clients[0] if len(clients) == 1 else FallbackClient(clients)
        executor = AgentExecutor(client, journal=MemoryJournal())
        player = _Player(rng, executor, outcome, provider, say_after=(0, 0, 1, 2)[seed % 4])
        aborted = await player.play()
        for service in services:
            outcome.refused += service.refused
            outcome.seen["requests"] += len(service.accepted)
            outcome.seen["thinking left out"] += service.ledger.left_out
            outcome.lost += _lost(service, aborted) if len(services) == 1 else []
        outcome.seen["models"] += len({body["model"] for service in services for body in service.accepted})
    return outcome


class _Player:
    """One run and what is done with it."""

    def __init__(
        self, rng: Random, executor: AgentExecutor, outcome: Outcome, provider: str, *, say_after: int
    ) -> None:
        self._rng, self._executor, self._outcome = rng, executor, outcome
        self._say_after = say_after
        self._words: asyncio.Task[None] | None = None
        searches = provider != "openai-chat" and rng.random() < 0.5
        self._model = ModelConfig(
            context_window=rng.choice((None, 4_000, 6_000)),
            max_tokens=500,
            effort=rng.choice((None, "high")) if provider != "openai-chat" else None,
            cache=rng.choice((None, "1h", "off")) if provider.startswith("claude") else None,
            server_tools=["web_search"] if searches else None,
        )
        self._streams = rng.random() < 0.7
        self._aborted = 0

    async def play(self) -> int:
        """Play it; how often an answer may have been cut off."""
        rng = self._rng
        tools: list[Tool] = [read, look, fail]
        definition = self._agent(tools)
        inputs = {"prompt": self._prompt()}
        stop_after = rng.choice((0, 0, 2, 4))
        result = await self._watch(
            self._executor.execute, definition, stop_after, inputs=inputs, run_id="run"
        )
        if stop_after and not result.success:
            changed = rng.random() < 0.5
            definition = self._agent([*tools, count] if changed else tools)
            self._outcome.seen["resumed with other tools" if changed else "resumed"] += 1
            result = await self._watch(
                self._executor.resume, definition, 0, run_id="run", accept_changes=changed
            )
        if result.turn_count > 2 and rng.random() < 0.6:
            edit = rng.choice((None, "Only the first page, please."))
            self._outcome.seen["edited" if edit else "forked"] += 1
            turn = rng.randint(1, result.turn_count)
            await self._watch(
                self._executor.fork, definition, 0, run_id="run", turn=turn, edit=edit, new_run_id="fork"
            )
        for _ in range(rng.randint(1, 2)):
            inputs = {"prompt": "And now?"}
            result = await self._watch(
                self._executor.execute, definition, 0, inputs=inputs, messages=result.messages
            )
        return self._aborted

    async def _watch(
        self, action: Any, definition: AgentDefinition[Any], stop_after: int, **options: Any
    ) -> Any:
        signal = AbortSignal()
        turns = 0

        def notice(event: AgentActivityEvent) -> None:
            nonlocal turns
            self._outcome.seen[type(event).__name__] += isinstance(event, Compacted)
            turns += isinstance(event, TurnEnd)
            if turns == self._say_after > 0 and options.get("run_id") == "run" and self._words is None:
                self._words = asyncio.create_task(self._say("run"))
            if stop_after and turns == stop_after and not signal.aborted:
                self._aborted += 1
                signal.abort("enough")

        listening = notice if self._streams or stop_after or self._say_after else None
        arguments = {"on_activity": listening, "signal": signal, **options}
        if "run_id" in options and action != self._executor.execute:
            run_id = arguments.pop("run_id")
            result: AgentResult[Any] = await action(run_id, definition, **arguments)
        else:
            result = await action(definition, **arguments)
        if self._words is not None:
            await self._words
        if not result.success and not signal.aborted:
            self._outcome.errors.append(f"{result.terminate_reason}: {result.error}")
        return result

    async def _say(self, run_id: str) -> None:
        try:
            await self._executor.say(run_id, "Leave out the last page.")
            self._outcome.seen["words"] += 1
        except AgentError:  # the run was over before the words came
            self._outcome.seen["words too late"] += 1

    def _agent(self, tools: Sequence[Tool]) -> AgentDefinition[Any]:
        return AgentDefinition(
            name="reader",
            description="Reads pages.",
            prompt_config=PromptConfig(system_prompt="You read.", initial_messages=["${prompt}"]),
            model_config=self._model,
            run_config=RunConfig(max_turns=None, retry_delay=0.001),
            tool_config=ToolConfig(tools=tools),
        )

    def _prompt(self) -> Any:
        if self._rng.random() < 0.5:
            return "Read all pages."
        self._outcome.seen["media"] += 1
        return ["Read these.", Image.from_bytes(RED_DOT), Document.from_bytes(PDF, name="list.pdf")]


def _service(provider: str, seed: int, failing: float, *, first: int = 1) -> Service:
    improviser = Improviser(seed, first=first)
    if provider.startswith("claude"):
        return StrictClaude(ClaudeAuthor(improviser), seed=seed, failing=failing)
    return StrictOpenAI(improviser, seed=seed, failing=failing)


def _client(provider: str, model: str, service: Service) -> Client:
    return connect(f"{provider}:{model}", base_url=service.url, api_key="key")


def _lost(service: Service, aborted: int) -> list[str]:
    """Answers that never came back, though the run went on from them.

    Those in which the run was stopped may be gone, and so may the last answer of the fork and of the whole.
    """
    ledger = service.ledger
    unseen = [
        answer
        for answer, with_tools in zip(ledger.answers, ledger.with_tools, strict=True)
        if with_tools and answer and not ledger.returned.intersection(answer)
    ]
    calling = [answer for answer in unseen if any(_CALLS.search(text) for text in answer)]
    final = [answer for answer in unseen if answer not in calling]
    return [text for answer in (*calling[aborted:], *final[aborted + 2 :]) for text in answer]
