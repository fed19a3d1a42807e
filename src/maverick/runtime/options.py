"""The options of an executor, to copy one with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from maverick.config import AgentConfig
from maverick.journal import Journal
from maverick.journal.approvals import MayApprove
from maverick.loop.policy import Policy
from maverick.model import LLMClient
from maverick.runtime.approver import Approver
from maverick.runtime.hooks import Hooks
from maverick.runtime.toolset import Guidance
from maverick.tools import ToolRegistry


class ExecutorOptions(TypedDict, total=False):
    """The arguments of :class:`~maverick.AgentExecutor`."""

    client: LLMClient | None
    tool_registry: ToolRegistry | None
    journal: Journal | None
    approve: Approver | None
    approval_expires_in: float | None
    permissions: Policy | None
    max_depth: int
    settings: AgentConfig | None
    deps: object
    may_approve: MayApprove | None
    hooks: Sequence[Hooks]
    guidance: Guidance | None
