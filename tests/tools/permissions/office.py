"""Tools to rule on: they do nothing, and say of themselves what tools may say."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from maverick import tool
from maverick.loop.policy import Policy, PolicyDecision
from maverick.model import Tool, ToolCall
from maverick.tools.coding.toolbox import CodingTool
from maverick.tools.permissions import Access, CommandSubject, PathSubject, UrlSubject


def canonical(path: str) -> str | None:
    """A path as a workspace would understand it."""
    names: list[str] = []
    for part in PurePosixPath(path).parts:
        if part == "..":
            if not names:
                return None
            names.pop()
        else:
            names.append(part)
    return None if path.startswith("/") else "/".join(names) or "."


def read(path: str = ".") -> str:
    """Read."""
    return path


def write(path: str, content: str = "") -> str:
    """Write."""
    return path + content


def shell(command: str) -> str:
    """Run."""
    return command


def fetch(url: str) -> str:
    """Fetch."""
    return url


@tool
def send_mail(to: str, body: str = "") -> str:
    """Send."""
    return to + body


@tool(effect="pure")
def look_up(word: str) -> str:
    """Look up."""
    return word


TOOLS: dict[str, Tool] = {
    made.name: made
    for made in (
        CodingTool(read, Access.READ, PathSubject("path", canonical)),
        CodingTool(write, Access.EDIT, PathSubject("path", canonical)),
        CodingTool(shell, Access.EXECUTE, CommandSubject("command")),
        CodingTool(fetch, Access.NETWORK, UrlSubject("url")),
        send_mail,
        look_up,
    )
}


def ruled(policy: Policy, name: str, **arguments: Any) -> PolicyDecision:
    """What a policy says of a call."""
    return policy.decide(ToolCall("call_1", name, arguments), TOOLS[name])


def verdict(policy: Policy, name: str, **arguments: Any) -> str:
    """Its verdict on a call."""
    return ruled(policy, name, **arguments).verdict.value
