"""Drivers: what runs the pure loop against real models and tools."""

from maverick.runtime.executor import AgentExecutor, run_sync
from maverick.runtime.interruption import AbortSignal

__all__ = ["AbortSignal", "AgentExecutor", "run_sync"]
