"""A streaming endpoint in a FastAPI application of your own: text as it is written, tool calls as they are made."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from pydantic_ai import (
    Agent,
    AgentRunError,
    FunctionToolCallEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

reporter = Agent("anthropic:claude-sonnet-5-5", instructions="You report the weather.")
app = FastAPI()
Question = Annotated[str, Body(embed=True)]


@reporter.tool_plain
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return {"Brest": "rain, 14 °C"}.get(city, "unknown")


@app.post("/ask")
async def ask(question: Question) -> StreamingResponse:
    return StreamingResponse(events(question), media_type="text/event-stream")


async def events(question: str) -> AsyncGenerator[str]:
    failure = None
    try:
        async with reporter.run_stream_events(question) as run:
            async for event in run:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        yield f"event: text\ndata: {json.dumps(text)}\n\n"
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        yield f"event: text\ndata: {json.dumps(text)}\n\n"
                    case FunctionToolCallEvent(part=call):
                        yield f"event: tool\ndata: {json.dumps(call.tool_name)}\n\n"
                    case _:
                        pass
    except AgentRunError as error:
        failure = str(error)
    yield f"event: done\ndata: {json.dumps(failure)}\n\n"
