"""The permissions a person gives an executor: a mode, and rules that come before it, out of reach of the model.

They come from Python or from files: the user's own decides, the project's takes away, and allows only if it is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from maverick.config.loading import parse_settings
from maverick.config.own_files import persons_home, read_small_file
from maverick.config.trust import PERMISSIONS_FILE, Trust
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.loop.definition import AgentTool
from maverick.loop.policy import Policy, PolicyDecision, Verdict
from maverick.misuse import refuse
from maverick.model import Effect, Tool, ToolCall
from maverick.tools.permissions.rule import Rule, own_question


class Access(StrEnum):
    """The most a tool can do. A tool says so with its attribute ``access``."""

    READ = "read"
    """It reads, and changes nothing."""
    EDIT = "edit"
    """It changes files of the workspace, and nothing else."""
    NETWORK = "network"
    """It sends requests to other machines, which learn something from them."""
    EXECUTE = "execute"
    """Anything else: it may do whatever the process may."""


def access_of(tool: Tool) -> Access:
    """How far a tool reaches; one that does not say so may do the worst that its effect allows.

    An agent that is called as a tool does nothing itself: each of its own calls is checked.
    """
    declared = getattr(tool, "access", None)
    if declared is not None:
        return Access(declared)
    if isinstance(tool, AgentTool) or getattr(tool, "effect", None) is Effect.PURE:
        return Access.READ
    return Access.EXECUTE


class Mode(StrEnum):
    """How much an agent may do without asking."""

    PLAN = "plan"
    """Look and think; change nothing."""
    ASK = "ask"
    """Look freely, ask before anything else."""
    ACCEPT_EDITS = "accept-edits"
    """Change files of the workspace freely, ask before anything else."""
    YOLO = "yolo"
    """Do anything that no rule forbids. Never read from a file, and a default only for what an agent's author gave it."""

    @classmethod
    def named(cls, mode: str) -> Mode:
        """The mode of this name.

        Raises:
            InvalidInputError: There is no such mode.
        """
        try:
            return cls(mode)
        except ValueError as error:
            refuse("mode", f"there is no mode {mode!r}. Choose one of {', '.join(cls)}.", error)

    def verdict(self, access: Access) -> Verdict:
        """What this mode says of a tool that reaches this far, if no rule matches."""
        return _VERDICTS[self][list(Access).index(access)]


_VERDICTS: Mapping[Mode, tuple[Verdict, Verdict, Verdict, Verdict]] = {
    Mode.PLAN: (Verdict.ALLOW, Verdict.DENY, Verdict.ASK, Verdict.DENY),
    Mode.ASK: (Verdict.ALLOW, Verdict.ASK, Verdict.ASK, Verdict.ASK),
    Mode.ACCEPT_EDITS: (Verdict.ALLOW, Verdict.ALLOW, Verdict.ASK, Verdict.ASK),
    Mode.YOLO: (Verdict.ALLOW, Verdict.ALLOW, Verdict.ALLOW, Verdict.ALLOW),
}
"""By mode, what happens to a call that no rule matches, for each :class:`Access`."""


_ALLOWED = PolicyDecision(Verdict.ALLOW)
_HARM = {
    Access.READ: "only looks",
    Access.EDIT: "changes files of the workspace",
    Access.NETWORK: "may reach other machines",
    Access.EXECUTE: "may do anything",
}
_ADVICE = "Do it another way, or tell the user what you would need."
_FILE = Path(PERMISSIONS_FILE)
_FIELDS = ("mode", "allow", "ask", "deny")


class Permissions:
    """Rules on tool calls: a denying rule wins over an asking one, that over an allowing one, that over the mode.

    Args:
        mode: What happens to calls that no rule matches: ``plan``, ``ask``, ``accept-edits`` or ``yolo``.
        allow: Calls that run.
        ask: Calls that a person is asked about, in every mode.
        deny: Calls that never run.

    Raises:
        InvalidInputError: A rule is invalid, or there is no such mode.
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

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """Whether a call may run, must be asked about, or must not run."""
        for rule in self.deny:
            if rule.forbids(call, tool):
                return PolicyDecision(Verdict.DENY, f"the permissions deny {rule.text}. {_ADVICE}")
        access = access_of(tool)
        usual = self.mode.verdict(access)
        if usual is Verdict.DENY:  # which holds even where a rule allows the call
            return PolicyDecision(
                Verdict.DENY, f"{call.tool_name} {_HARM[access]}, not in {self.mode} mode. {_ADVICE}"
            )
        for rule in self.ask:
            if rule.forbids(call, tool):
                return PolicyDecision(Verdict.ASK, f"the permissions ask about {rule.text}.")
        if (reason := self._own_question(call, tool)) != "":
            return PolicyDecision(Verdict.ASK, f"{call.tool_name}: {reason}")
        if usual is Verdict.ALLOW or any(rule.allows(call, tool) for rule in self.allow):
            return _ALLOWED
        return PolicyDecision(usual, f"{call.tool_name} {_HARM[access]}.")

    def _own_question(self, call: ToolCall, tool: Tool) -> str:
        """Why the tool wants a person to be asked; empty if a rule with arguments allows the call, or the mode is yolo."""
        if self.mode is Mode.YOLO:
            return ""
        reason = own_question(call, tool)
        if reason and any(rule.is_about_arguments and rule.allows(call, tool) for rule in self.allow):
            return ""
        return reason

    def narrowed_by(self, *others: Policy) -> StrictestPolicy:
        """These permissions combined with others: the strictest decision on a call counts."""
        return StrictestPolicy((self, *others))


class ToolQuestions:
    """The default policy: everything runs, unless the tool itself wants a person to be asked."""

    __slots__ = ()

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """Ask if the tool says so."""
        reason = own_question(call, tool)
        return PolicyDecision(Verdict.ASK, f"{call.tool_name}: {reason}") if reason else _ALLOWED


class StrictestPolicy:
    """Several policies at once."""

    __slots__ = ("_policies",)

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    @property
    def mode(self) -> Mode:
        """The strictest of their modes."""
        modes = [
            policy.mode for policy in self._policies if isinstance(policy, Permissions | StrictestPolicy)
        ]
        return min(modes, key=list(Mode).index, default=Mode.YOLO)

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """The strictest of their decisions."""
        return max(
            (policy.decide(call, tool) for policy in self._policies),
            key=lambda decision: decision.verdict.strictness,
        )


class ModeSwitch:
    """A mode that can be changed while runs are in progress: it decides on their next tool calls.

    Args:
        mode: The mode to begin with; without one, the user's own, or else the agent's usual one.
    """

    def __init__(self, mode: Mode | str | None = None) -> None:
        self.mode = None if mode is None else Mode.named(mode)


class SwitchedPolicy:
    """The permissions of the mode that a switch has at the time."""

    __slots__ = ("_policies", "_switch")

    def __init__(self, switch: ModeSwitch, *, project: Path, usual: Mode) -> None:
        self._switch = switch
        self._policies = {mode: load_permissions(mode, project=project) for mode in Mode}
        if switch.mode is None:
            switch.mode = Mode.named(_own_permissions(None).get("mode", usual))

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        """What the permissions of the current mode say."""
        return self._policies[self._switch.mode or Mode.ASK].decide(call, tool)


def _own_permissions(home: Path | None) -> dict[str, Any]:
    home = home or persons_home()
    file = None if home is None else home / _FILE
    return {} if file is None else read_permissions(file, read_small_file(file))


def _rules(field: str, texts: Iterable[str]) -> tuple[Rule, ...]:
    if isinstance(texts, str):
        refuse(field, f"expected a list of rules, got {texts!r}.")
    return tuple(Rule(text) for text in texts)


def load_permissions(
    mode: Mode | str | None = None,
    *,
    project: Path | None = None,
    home: Path | None = None,
    usual: Mode | str = Mode.ASK,
) -> Permissions | StrictestPolicy:
    """The permissions of ``~/.maverick/permissions.yaml``, narrowed by the project's file of the same name.

    A project may have been written by a stranger, so what its file allows counts only if the user has trusted it as it
    is. What it denies, or wants asked about, always counts. A missing file says nothing. ``yolo`` is not
    read from files.

    Args:
        mode: The mode, in place of the one in the user's file.
        project: The project's folder; by default, the current one.
        home: The user's home; by default, the user's.
        usual: The mode if neither says one.

    Raises:
        ConfigError: A file cannot be read, or has an invalid setting.
        InvalidInputError: There is no such mode.
    """
    home = home or persons_home()
    own_file = None if home is None else home / _FILE
    project_file = (project or Path()) / _FILE
    own = _own_permissions(home)
    own_mode = own.pop("mode", Mode.named(usual))
    own_mode = own_mode if mode is None else Mode.named(mode)
    content = b"" if _same_file(own_file, project_file) else read_small_file(project_file)
    narrowing = read_permissions(project_file, content)
    if not narrowing:
        return _made(own_file, own_mode, own)
    allowed = narrowing.get("allow", [])
    if allowed and not Trust(home).covers(project or Path(), PERMISSIONS_FILE, content):
        narrowing["allow"] = allowed = []
    _made(own_file, own_mode, own)  # so that a mistake is blamed on the right file
    permissions = _made(project_file, own_mode, {**own, "allow": [*own.get("allow", []), *allowed]})
    return permissions.narrowed_by(_made(project_file, narrowing.pop("mode", Mode.YOLO), narrowing))


def _made(path: Path | None, mode: Mode | str, rules: dict[str, Any]) -> Permissions:
    try:
        return Permissions(mode, **rules)
    except InvalidInputError as error:
        raise ConfigError(f"{path}: {error}", source=str(path), field=error.field) from error


def read_permissions(path: Path, content: bytes) -> dict[str, Any]:
    """What a permissions file with this content says; a ``ConfigError`` if something in it is wrong."""
    said = parse_settings(path, content)
    if not isinstance(said, dict) or not all(isinstance(key, str) for key in said):
        raise ConfigError(f"{path}: expected mode, allow, ask and deny.", source=str(path))
    for field, value in said.items():
        is_list = isinstance(value, list) and all(isinstance(rule, str) for rule in value)
        if field not in _FIELDS:
            problem = f"{path} has an unknown setting. The settings are mode, allow, ask and deny."
        elif field == "mode" and value == Mode.YOLO:
            problem = f"{path} has the mode yolo, which a file cannot set. Choose another mode there."
        elif field != "mode" and value is not None and not is_list:
            problem = f"{path} needs a list of rules here, each a string."
        else:
            continue
        raise ConfigError(f"{field}: {problem}", source=str(path), field=field)
    return {field: value for field, value in said.items() if value is not None}


def _same_file(one: Path | None, other: Path) -> bool:
    try:
        return one is not None and one.samefile(other)
    except OSError:
        return False
