"""Agents of a small office. Tests run them, and the command line loads this file with ``--agents``."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from maverick import AgentDefinition, ModelConfig, PromptConfig, ToolConfig, tool


@tool(effect="pure")
async def calculate(expression: str) -> str:
    """Work out a product or a sum.

    Args:
        expression: Two numbers with * or + between them.
    """
    left, sign, right = expression.split()
    return f"{expression} = {int(left) * int(right) if sign == '*' else int(left) + int(right)}."


@tool(approval=True)
async def delete_file(name: str) -> str:
    """Delete a file.

    Args:
        name: The file's name.
    """
    return f"deleted {name}"


@tool
async def ring(name: str) -> str:
    """Ring somebody up, who never answers.

    Args:
        name: Whom to ring.
    """
    await asyncio.Event().wait()
    return f"talked to {name}"


@tool
async def hold(name: str) -> str:
    """Hold something, and not let go of it.

    Args:
        name: What to hold.
    """
    try:
        await asyncio.Event().wait()
    finally:
        sys.stderr.write("not letting go\n")
        sys.stderr.flush()
        time.sleep(600)  # noqa: ASYNC251 - a tool that hangs the whole process
    return f"held {name}"


def clerk_with(**options: Any) -> AgentDefinition:
    """The clerk, perhaps different in some way."""
    settings: dict[str, Any] = {
        "prompt_config": PromptConfig("Be brief.", ["${prompt}"]),
        "model_config": ModelConfig(model="offline:"),
        "tool_config": ToolConfig(tools=[calculate, delete_file, ring, hold]),
    }
    return AgentDefinition("clerk", "Does office work.", **settings | options)


clerk = clerk_with()

chief = AgentDefinition(
    "chief",
    "Has others do the work.",
    model_config=ModelConfig(model="offline:"),
    tool_config=ToolConfig(tools=[clerk.as_tool("ask_clerk", "Ask the clerk to do something.")]),
)
