"""Permissions: which tool calls run, which need a person's consent, and which never run."""

from maverick.loop.policy import Policy, PolicyDecision, Verdict
from maverick.tools.permissions.policy import (
    Access,
    Mode,
    ModeSwitch,
    Permissions,
    StrictestPolicy,
    SwitchedPolicy,
    load_permissions,
)
from maverick.tools.permissions.rule import (
    CommandSubject,
    PathSubject,
    Rule,
    Subject,
    TextSubject,
    UrlSubject,
)

__all__ = [
    "Access", "CommandSubject", "Mode", "ModeSwitch", "PathSubject", "Permissions", "Policy",
    "PolicyDecision", "Rule", "StrictestPolicy", "Subject", "SwitchedPolicy", "TextSubject", "UrlSubject",
    "Verdict", "load_permissions",
]  # fmt: skip
