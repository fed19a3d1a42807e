"""Permissions: which tool calls run, which need a person's consent, and which never run."""

from maverick.loop.policy import Policy, PolicyDecision, Verdict
from maverick.tools.permissions.mode import Access, Mode
from maverick.tools.permissions.policy import Permissions, StrictestPolicy, load_permissions
from maverick.tools.permissions.rule import (
    CommandSubject,
    PathSubject,
    Rule,
    Subject,
    TextSubject,
    UrlSubject,
)

__all__ = [
    "Access",
    "CommandSubject",
    "Mode",
    "PathSubject",
    "Permissions",
    "Policy",
    "PolicyDecision",
    "Rule",
    "StrictestPolicy",
    "Subject",
    "TextSubject",
    "UrlSubject",
    "Verdict",
    "load_permissions",
]
