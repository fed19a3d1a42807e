"""How an agent's work ended: the result types, where seed users look for them."""

from maverick.loop.result import AgentResult, AgentUsage

__all__ = ["AgentResult", "AgentUsage"]
