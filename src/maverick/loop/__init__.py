"""The pure agent loop: what an agent is, what can happen to it, and what to do next. No I/O here."""

from maverick.loop.config import ModelConfig, PromptConfig, RunConfig, ToolConfig
from maverick.loop.definition import AgentDefinition, AgentTool, define_agent
from maverick.loop.inputs import Input, InputConfig
from maverick.loop.limits import Limits
from maverick.loop.machine import AgentLoop
from maverick.loop.output import OutputConfig
from maverick.loop.result import AgentResult, AgentUsage, TerminateReason, ToolOutcome, ToolRecord

__all__ = [
    "AgentDefinition", "AgentLoop", "AgentResult", "AgentTool", "AgentUsage", "Input", "InputConfig",
    "Limits", "ModelConfig", "OutputConfig", "PromptConfig", "RunConfig", "TerminateReason", "ToolConfig",
    "ToolOutcome", "ToolRecord", "define_agent",
]  # fmt: skip
