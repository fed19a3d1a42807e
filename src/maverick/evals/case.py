"""A case: what an agent is given, and what is checked of what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from maverick.evals.checks import Check, CheckFunction
from maverick.evals.judge import Judge
from maverick.exceptions import InvalidInputError
from maverick.model import Message

AnyCheck: TypeAlias = Check | Judge | CheckFunction
"""A check of this package, or a function of one's own."""


@dataclass(frozen=True, slots=True)
class Case:
    """What an agent is given, and what is checked of what it does.

    Besides the checks, the run has to succeed, unless a check says how it :func:`~maverick.evals.ends`.

    Raises:
        InvalidInputError: The name is empty, a rate is not between 0 and 1, or a recorded run is given inputs.
    """

    name: str
    """What it is called in the report; unique among the cases of an evaluation."""
    inputs: Mapping[str, Any] | None = None
    """The values of the agent's variables."""
    checks: Sequence[AnyCheck] = ()
    """What is checked: checks of this package, or functions that get the result of the run."""
    _: KW_ONLY
    run: str | None = None
    """The recorded run that is played back, in place of inputs."""
    messages: Sequence[Message] = ()
    """The conversation so far."""
    deps: object = None
    """What tools find in ``ToolContext.deps``."""
    min_pass_rate: float = 1.0
    """How many of the repetitions have to pass, from 0 to 1."""

    def __post_init__(self) -> None:
        problem = ""
        if not isinstance(self.name, str) or not self.name.strip():
            problem = f"name: expected a text, got {self.name!r}"
        elif not 0 <= self.min_pass_rate <= 1:
            problem = f"min_pass_rate: expected a number from 0 to 1, got {self.min_pass_rate!r}"
        elif self.run is not None and (self.inputs is not None or self.messages):
            problem = "run: a recorded run has its own inputs; give only one of the two"
        elif isinstance(self.checks, str) or not isinstance(self.checks, Sequence):
            problem = (
                f"checks: expected a list, such as [contains('sunny')], got {type(self.checks).__name__}"
            )
        elif wrong := [
            check for check in self.checks if not isinstance(check, Check | Judge) and not callable(check)
        ]:
            problem = f"checks: expected checks such as contains('sunny'), or functions, got {wrong[0]!r}"
        if problem:
            field = problem.partition(":")[0]
            raise InvalidInputError(f"Case {self.name!r}: {problem}.", field=field)
