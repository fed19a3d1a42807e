"""A streaming endpoint in a FastAPI application of your own: text as it is written, tool calls as they are made.

::

    uvicorn fastapi_streaming:app
    curl -N localhost:8000/ask -H 'Content-Type: application/json' -d '{"question": "What is the weather in Brest?"}'
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from functools import cache
from typing import Annotated

from fastapi import Body, Depends, FastAPI
from fastapi.responses import StreamingResponse

from maverick import AgentExecutor, ContentChunk, RunEnd, ToolCallStart, define_agent, tool


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return {"Brest": "rain, 14 °C"}.get(city, "unknown")


reporter = define_agent(
    "reporter", "You report the weather.", model="claude:claude-sonnet-5-5", tools=[get_weather]
)
app = FastAPI()


@cache
def get_executor() -> AgentExecutor:
    """One executor for all requests; a test overrides this dependency."""
    return AgentExecutor()


Executor = Annotated[AgentExecutor, Depends(get_executor)]
Question = Annotated[str, Body(embed=True)]


@app.post("/ask")
async def ask(question: Question, executor: Executor) -> StreamingResponse:
    """Answer a question as server-sent events. A client that leaves stops the run."""
    return StreamingResponse(events(executor, question), media_type="text/event-stream")


async def events(executor: AgentExecutor, question: str) -> AsyncGenerator[str]:
    """What the client is sent."""
    async for event in executor.stream(reporter, inputs={"prompt": question}):
        match event:
            case ContentChunk(content=text):
                yield f"event: text\ndata: {json.dumps(text)}\n\n"
            case ToolCallStart(tool_call=call):
                yield f"event: tool\ndata: {json.dumps(call.tool_name)}\n\n"
            case RunEnd(result=result):
                yield f"event: done\ndata: {json.dumps(result.error)}\n\n"
            case _:
                pass
