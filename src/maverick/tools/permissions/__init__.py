"""Permissions: which tool calls run, which need a person's consent, and which never run."""

from maverick.loop.policy import Policy, Ruling, Verdict
from maverick.tools.permissions.access import Access
from maverick.tools.permissions.mode import Mode
from maverick.tools.permissions.permission_file import load_permissions
from maverick.tools.permissions.policy import Permissions
from maverick.tools.permissions.rule import Rule
from maverick.tools.permissions.subject import (
    CommandSubject,
    PathSubject,
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
    "Rule",
    "Ruling",
    "Subject",
    "TextSubject",
    "UrlSubject",
    "Verdict",
    "load_permissions",
]
