"""A seeded world for the pure loop: a definition, a provider and tools that misbehave in every way they can."""

from __future__ import annotations

import random
from typing import Any

from maverick import (
    AgentDefinition,
    InputConfig,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    tool,
)
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    MalformedResponseError,
    MediaRejectedError,
    NetworkError,
    RateLimitError,
    ServerError,
    ThinkingRejectedError,
    TimeoutError,
)
from maverick.loop.result import ToolOutcome
from maverick.loop.steps import CallModel
from maverick.loop.tool_round import PlannedCall
from maverick.model import (
    Image,
    ModelInfo,
    Opaque,
    Part,
    Price,
    Response,
    StopReason,
    Text,
    Tool,
    ToolCall,
    Usage,
)
from simulation.strict_provider import StrictProvider

PRICE = Price(input=3.0, output=15.0)
IMAGE = Image.from_file_id("file_1")


@tool
async def search(query: str) -> str:
    """Search for something."""
    return query


@tool(approval=True)
async def delete(name: str) -> str:
    """Delete something."""
    return name


helper = AgentDefinition(
    "helper", "Helps.", prompt_config=PromptConfig(initial_messages=["Help with ${task}."])
)

TOOLS: dict[str, Tool] = {made.name: made for made in (search, delete, helper.as_tool())}
NAMES = [*TOOLS, "search", "unknown", ""]
PROMPTS = PromptConfig("Be ${how}.", ["Do ${what}."])
TOOL_CONFIG = ToolConfig(tools=list(TOOLS.values()))
INPUT_CONFIG = InputConfig({"how": str, "what": str})
OUTPUTS = [
    OutputConfig("numbers", list[int], max_repairs=repairs, validators=validators)
    for repairs in (0, 1, 2)
    for validators in ([], [lambda output, ctx: None])
]
"""Made once: a validator takes longer to build than a run takes."""
IDS = ["", "a", "a", "b", "c", "d", "e"]


class World:
    """Everything random about one run, drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        rng = self.rng
        self.endurance = rng.random() < 0.2
        """Whether the run is long, and is condensed again and again."""
        self.chaos = rng.choice([0.0, 0.0, 0.01, 0.1])
        """How likely an interruption is at each point."""
        self.mortality = rng.choice([0.0, 0.0, 0.02, 0.1])
        """How likely the process dies at each point, and another one goes on."""
        self.trouble = rng.choice([0.0, 0.05, 0.3])
        """How likely a model call fails."""
        self.oddity = rng.choice([0, 1, 1, 4])
        """How often the reason an answer ended for is an odd one, beside fourteen usual ones."""
        self.fickleness = rng.choice([0.0, 0.0, 0.2])
        """How likely another model answers than the first, as when a client falls back to it."""
        self.unsteadiness = rng.choice([0.0, 0.5])
        """How likely the agent has other tools when a run is resumed."""
        self.provider = StrictProvider()
        self.model = "one"
        self.clock = 1_000.0
        self.priced = rng.random() < 0.7
        self.definition: AgentDefinition[Any] = AgentDefinition(
            "simulated",
            "Runs in a simulation.",
            prompt_config=PROMPTS,
            model_config=ModelConfig(
                max_tokens=rng.choice([0, 50, 400]),
                context_window=rng.choice([1000, 1500] if self.endurance else [None, 1000, 1500, 4000]),
            ),
            run_config=RunConfig(max_turns=30, max_retries=3)
            if self.endurance
            else RunConfig(
                max_turns=rng.choice([1, 2, 5, 12, 25]),
                timeout_ms=rng.choice([None, None, 500, 5_000, 60_000]),
                max_tool_calls=rng.choice([None, None, 0, 5, 20]),
                max_calls_per_turn=rng.choice([None, 1, 2, 128]),
                max_total_tokens=rng.choice([None, None, 300, 3_000, 30_000]),
                max_cost_usd=rng.choice([0.002, 0.05])
                if rng.random() < (0.4 if self.priced else 0.1)
                else None,
                max_retries=rng.choice([0, 1, 3]),
            ),
            tool_config=TOOL_CONFIG,
            input_config=INPUT_CONFIG,
            output_config=rng.choice([None, rng.choice(OUTPUTS)]),
        )
        self.info = ModelInfo(
            price=PRICE if self.priced else None,
            native_output=rng.random() < 0.5,
            native_compaction=rng.random() < 0.5,
        )

    def tick(self) -> float:
        """Let some time pass; now and then a lot, and once in a while the clock goes back."""
        self.clock += self.rng.choice([0.0, 0.001, 0.001, 0.05, 0.4, 2.0, -0.5])
        return self.clock

    def interrupts(self) -> bool:
        return self.rng.random() < self.chaos

    def crashes(self) -> bool:
        return self.rng.random() < self.mortality

    def usage(self, step: CallModel, input_tokens: int) -> Usage:
        """What an honest provider counts: no more input than the loop expected, no more output than was allowed."""
        rng = self.rng
        if rng.random() < 0.1:
            return Usage(cost_usd=0.0 if self.priced else None)
        output = rng.randint(0, min(step.request.config.max_tokens or 300, 300))
        usage = Usage(rng.randint(input_tokens * 3 // 4, input_tokens), output)
        return Usage(usage.input_tokens, output, cost_usd=PRICE.cost(usage) if self.priced else None)

    def response(self, step: CallModel, input_tokens: int) -> Response:
        """What the provider answers to a request that it has accepted."""
        rng, provider = self.rng, self.provider
        if step.request.compact:
            return self.condensed(step, input_tokens)
        parts: list[Part] = []
        if not step.compaction:
            parts = provider.server_tool(step.request.messages, rng)
        begun = bool(parts) and isinstance(parts[-1], Opaque) and parts[-1].type == "server_tool_use"
        if not step.compaction and not begun:
            parts += [provider.thought(parts) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
        reason: StopReason | None = StopReason.PAUSE
        if begun:
            if rng.random() < 0.5:  # it works on while the tools run
                parts.append(ToolCall("", "search", {"query": "x"}))
                reason = StopReason.TOOL_USE
            provider.answer(parts)
            usage = self.usage(step, input_tokens)
            return Response(parts, usage=usage, stop_reason=reason, model=self.model)
        if rng.random() < 0.6:
            parts.append(Text(rng.choice(["[1, 2, 3]", "Sorry?", "word " * rng.choice([1, 10, 400])])))
        if self.endurance or rng.random() < 0.85:
            parts += [self.tool_call() for _ in range(rng.choice([1, 1, 1, 2, 4]))]
        usual: list[StopReason | None] = [None] * 14
        reason = rng.choice([*usual, *list(StopReason) * self.oddity])
        provider.answer(parts)
        return Response(parts, usage=self.usage(step, input_tokens), stop_reason=reason, model=self.model)

    def condensed(self, step: CallModel, input_tokens: int) -> Response:
        """The provider's own summary, or something else that it answers in its place."""
        block: Part = self.provider.condense()
        usage, fate = self.usage(step, input_tokens), self.rng.random()
        if fate < 0.1:
            return Response([Text("I would rather not.")], usage=usage, model=self.model)
        if fate < 0.2:
            block = Opaque("claude", {"type": "compaction", "content": None})
        return Response([block], usage=usage, stop_reason=StopReason.COMPACTION, model=self.model)

    def choose_model(self) -> str:
        """The model that answers next."""
        self.model = "two" if self.rng.random() < self.fickleness else "one"
        return self.model

    def tools(self) -> dict[str, Tool]:
        """The tools of an agent that is resumed, in any order."""
        names = list(TOOLS)
        if self.rng.random() < self.unsteadiness:
            names = self.rng.sample(names, self.rng.randint(0, len(names)))
        return {name: TOOLS[name] for name in names}

    def tool_call(self) -> ToolCall:
        rng = self.rng
        malformed = '{"query": ' if rng.random() < 0.1 else ""
        arguments = {} if malformed else {"query": rng.choice(["x", "y", "é" * 50])}
        return ToolCall(rng.choice(IDS), rng.choice(NAMES), arguments, malformed)

    def failure(self) -> AgentError:
        return self.rng.choice(
            [
                NetworkError("The connection broke."),
                TimeoutError("No answer."),
                ServerError("Overloaded.", status=529),
                RateLimitError("Slow down.", retry_after=self.rng.choice([None, 0.0, 1.0, 600.0])),
                MalformedResponseError("Not JSON.", raw_response="<html>"),
                AuthenticationError("Wrong key.", status=401),
                ContextOverflowError("Too long.", status=400),
                ThinkingRejectedError("The thinking is not mine.", status=400),
                MediaRejectedError("The image is broken.", status=400),
            ]
        )

    def outcome(self, planned: PlannedCall) -> dict[str, Any]:
        """What became of a tool call; a subagent uses up to all it was granted."""
        rng = self.rng
        if planned.refusal:
            outcome = ToolOutcome.UNKNOWN if planned.begun else ToolOutcome.DENIED
            return {"outcome": outcome, "content": planned.refusal}
        fields: dict[str, Any] = {
            "outcome": rng.choice(list(ToolOutcome)),
            "content": rng.choice(["ok", "", "x" * rng.choice([10, 5_000, 30_000])]),
        }
        if rng.random() < 0.2:
            fields["parts"] = (Text(fields["content"] or "See:"), IMAGE)
        if planned.grant is not None:
            grant = planned.grant
            tokens = rng.randint(0, 200 if grant.tokens is None else min(grant.tokens, 200))
            # Input only: the cheapest tokens there are, so that money never runs out before tokens do.
            cost = PRICE.cost(Usage(tokens, 0))
            if grant.cost_usd is not None and cost > grant.cost_usd:
                tokens, cost = 0, 0.0
            fields["usage"] = Usage(tokens, 0, cost_usd=cost if self.priced else None)
            fields["turns"] = rng.randint(1, min(grant.turns or 3, 3))
            fields["tool_calls"] = rng.randint(0, 2 if grant.tool_calls is None else min(grant.tool_calls, 2))
        return fields
