"""Whatever a run goes through, a strict service refuses none of its requests and loses none of its blocks.

``make fuzz`` plays ``STRICT_RUNS`` runs with each provider.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ModelConfig, PromptConfig, RunConfig, ToolConfig, connect
from maverick.journal import MemoryJournal
from maverick.loop import TerminateReason
from maverick.loop.events import AgentActivityEvent, Compacted, PrefixChanged
from maverick.model import Image, Tool
from media_files import png
from strict.campaign import Outcome, Service, count, play, read
from strict.claude_author import ClaudeAuthor
from strict.claude_rules import Body
from strict.claude_server import Said, StrictClaude
from strict.improviser import Improviser
from strict.openai_server import StrictOpenAI

BATCHES = 2
RUNS = {"claude": 8, "openai-responses": 8, "claude-sdk": 2, "openai-chat": 2}
"""How many runs of each provider belong to the suite."""


def agent(*tools: Tool, window: int | None = None, max_turns: int | None = None) -> AgentDefinition[Any]:
    return AgentDefinition(
        name="reader",
        description="Reads pages.",
        prompt_config=PromptConfig(system_prompt="You read.", initial_messages=["${prompt}"]),
        model_config=ModelConfig(context_window=window, max_tokens=500),
        run_config=RunConfig(max_turns=max_turns, retry_delay=0.001),
        tool_config=ToolConfig(tools=tools),
    )


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("provider", RUNS)
async def test_no_request_is_refused_and_no_block_is_lost(provider: str, batch: int) -> None:
    runs = int(os.environ.get("STRICT_RUNS", RUNS[provider]))
    seen: Counter[str] = Counter()

    for seed in range(batch, runs, BATCHES):
        outcome = await play(provider, seed)
        assert outcome == Outcome(seen=outcome.seen), f"{provider}, seed {seed}"
        seen += outcome.seen

    assert seen["requests"]


@pytest.mark.parametrize("model", ["claude:claude-opus-5-5", "openai-responses:gpt-6.1-sol"])
async def test_a_run_that_is_condensed_three_times_can_be_forked(model: str) -> None:
    events: list[AgentActivityEvent] = []
    improviser = Improviser(2, turns=1000, ends=False)
    service: Service = (
        StrictClaude(ClaudeAuthor(improviser)) if "claude" in model else StrictOpenAI(improviser)
    )
    async with service, connect(model, base_url=service.url, api_key="key") as client:
        executor = AgentExecutor(client, journal=MemoryJournal())
        reader = agent(read, window=4_000, max_turns=40)
        await executor.execute(reader, inputs={"prompt": "Read."}, run_id="run", on_activity=events.append)
        for turn in (1, 12, 30):
            await executor.fork("run", reader, turn=turn, edit="Only the first page, please.")

    assert service.refused == []
    assert sum(isinstance(event, Compacted) for event in events) >= 3


@pytest.mark.parametrize("known", [True, False])
async def test_thinking_behind_other_tools_is_left_out_at_once_or_when_it_was_refused(known: bool) -> None:
    def author(_: Body) -> Said:
        said = f"So it is. ({len(service.accepted)})"
        return Said([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": said}])

    service = StrictClaude(author)
    async with service, connect("claude:claude-opus-5-5", base_url=service.url, api_key="key") as client:
        executor = AgentExecutor(client)
        first = await executor.execute(agent(read), inputs={"prompt": "Hi."})
        second = await executor.execute(
            agent(read, count),
            inputs={"prompt": "And?"},
            messages=first.messages if known else list(first.messages),
        )
        third = await executor.execute(agent(read, count), inputs={"prompt": "So?"}, messages=second.messages)

    assert second.success
    assert third.success
    assert len(service.refused) == (0 if known else 1)
    assert service.ledger.left_out == 2  # that of the first answer, in both requests after it
    assert "thinking" in str(
        service.accepted[-1]["messages"]
    )  # what was thought with the same tools goes back


@pytest.mark.parametrize(
    "model",
    [
        "claude:claude-opus-5-5",
        "openai-responses:gpt-6.1-sol",
        "openai-chat:gpt-4.1",
        "claude-sdk:claude-opus-5-5",
    ],
)
async def test_an_image_whose_pixels_are_broken_is_named_in_words_and_the_run_goes_on(model: str) -> None:
    events: list[AgentActivityEvent] = []
    broken = png().replace(b"IDATx", b"IDAT?")
    improviser = Improviser(3, turns=1)
    service: Service = (
        StrictClaude(ClaudeAuthor(improviser)) if "claude" in model else StrictOpenAI(improviser)
    )
    async with service, connect(model, base_url=service.url, api_key="key") as client:
        executor = AgentExecutor(client, journal=MemoryJournal())
        result = await executor.execute(
            agent(),
            inputs={"prompt": [Image.from_bytes(broken, name="shelf.png"), "What is this?"]},
            run_id="run",
            on_activity=events.append,
        )
        replayed = [event async for event in executor.replay("run", agent())]

    assert result.success
    assert result.messages[0].content == "[image: shelf.png: the provider could not read it]What is this?"
    assert len(service.refused) == 1
    assert [event.reason for event in events if isinstance(event, PrefixChanged)] == ["media refused"]
    assert [event.reason for event in replayed if isinstance(event, PrefixChanged)] == ["media refused"]


@pytest.mark.parametrize(
    ("model", "settings", "limits"),
    [
        ("openai-responses:gpt-6.1-sol", {}, range(1, 60, 2)),
        ("claude:claude-sonnet-4-5", {"thinking": 1024}, range(1020, 1080, 2)),
    ],
)
async def test_a_limit_that_leaves_too_few_tokens_for_an_answer_ends_a_run_as_that_limit(
    model: str, settings: dict[str, Any], limits: range
) -> None:
    improviser = Improviser(3, turns=1)
    service: Service = (
        StrictClaude(ClaudeAuthor(improviser)) if "claude" in model else StrictOpenAI(improviser)
    )
    async with service, connect(model, base_url=service.url, api_key="key") as client:
        definition = replace(agent(), model_config=ModelConfig(**settings))
        reasons = [
            (
                await AgentExecutor(client).execute(
                    replace(definition, run_config=RunConfig(max_total_tokens=limit)),
                    inputs={"prompt": "Hi."},
                )
            ).terminate_reason
            for limit in limits
        ]

    assert service.refused == []
    assert set(reasons) == {TerminateReason.MAX_TOTAL_TOKENS, TerminateReason.COMPLETE}
