"""The smallest agent: one definition, one tool, one run.

It answers offline. Give it another model to talk to that one::

    python examples/hello.py claude:claude-sonnet-5-5
"""

from __future__ import annotations

import sys

from maverick import AgentDefinition, ModelConfig, ToolConfig, run_sync, tool


@tool(effect="pure")
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def main(model: str = "offline:") -> None:
    """Ask the agent something it needs its tool for."""
    calculator = AgentDefinition(
        name="calculator",
        description="Works with numbers.",
        model_config=ModelConfig(model=model),
        tool_config=ToolConfig(tools=[multiply]),
    )
    result = run_sync(calculator, inputs={"prompt": "Multiply 6 by 7."})
    print(result.output if result.success else result.error)
    print(f"{result.turn_count} turns, {result.usage.total_tokens} tokens")


if __name__ == "__main__":
    main(*sys.argv[1:2])
