"""Agents to write, register and run by name."""

from maverick.agents.context import AgentContext
from maverick.agents.defined import DefinedAgent
from maverick.agents.registry import AgentRegistry, registry
from maverick.agents.result import AgentResult, AgentUsage

__all__ = ["AgentContext", "AgentRegistry", "AgentResult", "AgentUsage", "DefinedAgent", "registry"]
