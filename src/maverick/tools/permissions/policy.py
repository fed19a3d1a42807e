"""The policy a person gives an executor: rules and a mode, outside of anything a model can say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maverick.exceptions import InvalidInputError
from maverick.loop.policy import Policy, Ruling, Verdict
from maverick.model import Tool, ToolCall
from maverick.tools.permissions.access import Access, access_of
from maverick.tools.permissions.mode import Mode
from maverick.tools.permissions.rule import Rule, own_question

_ALLOWED = Ruling(Verdict.ALLOW)
_HARM = {
    Access.READ: "only looks",
    Access.EDIT: "changes files of the workspace",
    Access.NETWORK: "reaches other machines",
    Access.EXECUTE: "may do anything",
}


class Permissions:
    """Rules on tool calls: a denying rule wins over an asking one, that over an allowing one, that over the mode.

    Args:
        mode: What becomes of calls that no rule speaks of: ``plan``, ``ask``, ``accept-edits`` or ``yolo``.
        allow: Calls that run.
        ask: Calls that a person is asked about, in every mode.
        deny: Calls that never run.

    Raises:
        InvalidInputError: A rule is not one, or there is no such mode.
    """

    def __init__(
        self,
        mode: Mode | str = Mode.ASK,
        *,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
    ) -> None:
        self.mode = Mode.named(mode)
        self.allow = _rules("allow", allow)
        self.ask = _rules("ask", ask)
        self.deny = _rules("deny", deny)

    def rule(self, call: ToolCall, tool: Tool) -> Ruling:
        """Whether a call may run, must be asked about, or must not run."""
        for rule in self.deny:
            if rule.forbids(call, tool):
                return Ruling(Verdict.DENY, f"the permissions deny {rule.text}. {_ADVICE}")
        access = access_of(tool)
        usual = self.mode.verdict(access)
        if usual is Verdict.DENY and self.mode.is_final:
            return Ruling(
                Verdict.DENY, f"{call.tool_name} {_HARM[access]}, not in {self.mode} mode. {_ADVICE}"
            )
        for rule in self.ask:
            if rule.forbids(call, tool):
                return Ruling(Verdict.ASK, f"the permissions ask about {rule.text}.")
        if (reason := self._own_question(call, tool)) != "":
            return Ruling(Verdict.ASK, f"{call.tool_name}: {reason}")
        if usual is Verdict.ALLOW or any(rule.allows(call, tool) for rule in self.allow):
            return _ALLOWED
        return Ruling(usual, f"{call.tool_name} {_HARM[access]}.")

    def _own_question(self, call: ToolCall, tool: Tool) -> str:
        """What the tool itself wants asked, unless a rule allows the very thing, or the mode allows everything."""
        if self.mode is Mode.YOLO:
            return ""
        reason = own_question(call, tool)
        if reason and any(rule.is_about_arguments and rule.allows(call, tool) for rule in self.allow):
            return ""
        return reason

    def narrowed_by(self, *others: Policy) -> Policy:
        """These permissions and others together: of what they say of a call, the strictest counts."""
        return _Strictest((self, *others))


_ADVICE = "Do it another way, or tell the user what you would need."


class ToolQuestions:
    """The policy where nobody has given one: everything runs, except for what a tool itself wants a person asked about."""

    __slots__ = ()

    def rule(self, call: ToolCall, tool: Tool) -> Ruling:
        """Ask if the tool says so."""
        reason = own_question(call, tool)
        return Ruling(Verdict.ASK, f"{call.tool_name}: {reason}") if reason else _ALLOWED


class _Strictest:
    """Several policies at once."""

    __slots__ = ("_policies",)

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    def rule(self, call: ToolCall, tool: Tool) -> Ruling:
        """The strictest of the rulings."""
        return max(
            (policy.rule(call, tool) for policy in self._policies),
            key=lambda ruling: ruling.verdict.strictness,
        )


def _rules(field: str, texts: Iterable[str]) -> tuple[Rule, ...]:
    if isinstance(texts, str):
        raise InvalidInputError(f"{field}: expected a list of rules, got {texts!r}.", field=field)
    return tuple(Rule(text) for text in texts)
