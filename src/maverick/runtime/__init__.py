"""Drivers: what runs the pure loop against real models and tools."""

from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest
from maverick.runtime.executor import AgentExecutor
from maverick.runtime.interruption import AbortSignal
from maverick.runtime.replay import Fork
from maverick.runtime.sync import run_sync

__all__ = ["AbortSignal", "AgentExecutor", "ApprovalAnswer", "ApprovalRequest", "Fork", "run_sync"]
