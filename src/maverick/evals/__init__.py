"""Evals: cases for an agent, checks on what it does, and a report that says which passed.

Above: the command ``maverick eval``, and tests of users. Below: the executor, which runs each case as a journaled run.
"""

from maverick.evals.case import AnyCheck, Case, Judge, judge
from maverick.evals.cases_file import load_cases
from maverick.evals.checks import (
    Check,
    CheckFunction,
    CheckVerdict,
    calls,
    contains,
    ends,
    equals,
    matches,
    max_cost,
    max_turns,
    not_calls,
    not_contains,
    schema,
)
from maverick.evals.evaluation import evaluate
from maverick.evals.report import Attempt, CaseReport, CheckResult, Report, Status

__all__ = [
    "AnyCheck", "Attempt", "Case", "CaseReport", "Check", "CheckFunction", "CheckResult", "CheckVerdict",
    "Judge", "Report", "Status", "calls", "contains", "ends", "equals", "evaluate", "judge", "load_cases",
    "matches", "max_cost", "max_turns", "not_calls", "not_contains", "schema",
]  # fmt: skip
