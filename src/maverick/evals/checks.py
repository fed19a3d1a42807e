"""Checks on the result of a run: its answer, its tool calls, its cost."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from maverick.evals.report import CheckResult, Status
from maverick.exceptions import AgentError, InvalidInputError, MaverickError, OutputValidationError
from maverick.loop import AgentResult, TerminateReason, ToolRecord
from maverick.loop.output import OutputFormat
from maverick.misuse import refuse

_LONGEST_QUOTE = 200
_LONGEST_SEARCH = 10.0
"""Seconds that a regular expression may take."""
_SEARCH = """
import json, re, sys
pattern, flags, text = json.load(sys.stdin)
print("found" if re.search(pattern, text, flags) else "", end="")
"""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What a check, or a judge, says of a result."""

    passed: bool
    """Whether the result passes."""
    reason: str = ""
    """Why, in a sentence or two."""


CheckFunction: TypeAlias = Callable[[AgentResult[Any]], bool | CheckVerdict | Awaitable[bool | CheckVerdict]]
"""A check of one's own: it gets the result of a run and says whether it passes. A failed ``assert`` in it is a no."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check with a name."""

    name: str
    """What it is called in the report."""
    test: CheckFunction
    """Says whether a result passes."""
    allows_failure: bool = False
    """Whether a run that did not succeed may pass."""
    tool: str = ""
    """The tool it is about, which the agent has to have."""


def equals(expected: object) -> Check:
    """The answer is this: a text, spaces around it aside, or a value of the agent's output type, or its JSON."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        if isinstance(expected, str):
            return CheckVerdict(text_of(result).strip() == expected.strip(), _answer(result))
        same = result.output == expected or plain(result.output) == plain(expected)
        return CheckVerdict(same, _answer(result))

    return Check(f"equals {_quoted(expected)}", test)


def contains(*texts: str, ignore_case: bool = False) -> Check:
    """All of these are in the answer."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        missing = set(texts) - _found(texts, result, ignore_case=ignore_case)
        return CheckVerdict(not missing, f"Missing: {_list(missing)}. {_answer(result)}")

    return Check(f"contains {_list(texts)}", test)


def not_contains(*texts: str, ignore_case: bool = False) -> Check:
    """None of these is in the answer."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        found = _found(texts, result, ignore_case=ignore_case)
        return CheckVerdict(not found, f"Found: {_list(found)}. {_answer(result)}")

    return Check(f"does not contain {_list(texts)}", test)


def matches(pattern: str | re.Pattern[str]) -> Check:
    """A regular expression is found in the answer.

    Raises:
        InvalidInputError: It is not one.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        problem = f"matches: {pattern!r} is not a regular expression: {error}."
        raise InvalidInputError(problem, field="matches") from error

    async def test(result: AgentResult[Any]) -> CheckVerdict:
        return CheckVerdict(await _searched(compiled, text_of(result)), _answer(result))

    return Check(f"matches {_quoted(compiled.pattern)}", test)


def schema(expected: type[Any] | Mapping[str, Any]) -> Check:
    """The answer is JSON that fits a JSON Schema, or a type that Pydantic can validate.

    Raises:
        InvalidInputError: The schema is not valid.
    """
    kind: Any = expected
    if isinstance(expected, Mapping):
        from maverick.loop.json_schema import JsonSchema  # here, since it is rarely needed

        kind = JsonSchema(expected).as_type()
    output: OutputFormat[Any] = OutputFormat("answer", kind)

    def test(result: AgentResult[Any]) -> CheckVerdict:
        is_text = result.output is None or isinstance(result.output, str)
        try:
            output.parse(text_of(result) if is_text else json.dumps(plain(result.output)))
        except OutputValidationError as error:
            return CheckVerdict(passed=False, reason=str(error))
        return CheckVerdict(passed=True)

    return Check(f"fits the schema {getattr(expected, '__name__', '')}".rstrip(), test)


def calls(tool: str, /, **arguments: object) -> Check:
    """The model has called a tool, with at least these arguments; calls of subagents do not count."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        made = ", ".join(_call(record.tool_name, record.arguments) for record in result.tool_calls)
        return CheckVerdict(bool(_made(result, tool, arguments)), f"Calls made: {made or 'none'}.")

    return Check(f"calls {_call(tool, arguments)}", test, tool=tool)


def not_calls(tool: str, /, **arguments: object) -> Check:
    """The model has not called a tool, or not with these arguments; a call that was denied is a call."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        made = _made(result, tool, arguments)
        return CheckVerdict(not made, f"It called {', '.join(_call(tool, call.arguments) for call in made)}.")

    return Check(f"does not call {_call(tool, arguments)}", test, tool=tool)


def max_turns(most: int) -> Check:
    """The run took at most so many turns; those of its subagents do not count."""
    return Check(
        f"at most {most} turns",
        lambda result: CheckVerdict(result.turn_count <= most, f"It took {result.turn_count}."),
    )


def max_cost(most: float) -> Check:
    """The run cost at most so many US dollars, its subagents included."""

    def test(result: AgentResult[Any]) -> CheckVerdict:
        cost = result.usage.total_cost_usd
        if cost is None:
            raise AgentError("The cost of the run is not known, since the price of its model is not.")
        return CheckVerdict(cost <= most, f"It cost ${cost:.4f}.")

    return Check(f"costs at most ${most:g}", test)


def ends(reason: TerminateReason | str) -> Check:
    """The run ended for this reason, such as ``refused`` or ``max_turns``; it need not have succeeded.

    Raises:
        InvalidInputError: There is no such reason.
    """
    if reason not in list(TerminateReason):
        known = ", ".join(TerminateReason)
        refuse("ends", f"expected one of {known}, got {reason!r}.")

    def test(result: AgentResult[Any]) -> CheckVerdict:
        return CheckVerdict(
            result.terminate_reason == reason, f"It ended with {result.terminate_reason.value}."
        )

    return Check(f"ends with {TerminateReason(reason).value}", test, allows_failure=True)


async def tested(check: Check, result: AgentResult[Any]) -> CheckResult:
    """What a check says of a result; one that says neither yes nor no is an error, and not a pass."""
    try:
        said = check.test(result)
        verdict = await said if inspect.isawaitable(said) else said
    except AssertionError as error:
        verdict = CheckVerdict(passed=False, reason=str(error) or "An assertion failed.")
    except MaverickError as error:
        return CheckResult(check.name, Status.ERROR, str(error))
    except Exception as error:  # noqa: BLE001 - a function of the user's own may raise anything
        return CheckResult(check.name, Status.ERROR, _short(f"It raised {type(error).__name__}: {error}"))
    if isinstance(verdict, bool):
        verdict = CheckVerdict(verdict)
    if not isinstance(verdict, CheckVerdict):
        problem = f"It returned {_quoted(verdict)}. Return True or False, or a CheckVerdict."
        return CheckResult(check.name, Status.ERROR, problem)
    return CheckResult(check.name, Status.PASSED if verdict.passed else Status.FAILED, verdict.reason)


def text_of(result: AgentResult[Any]) -> str:
    """The answer as text."""
    return result.output if isinstance(result.output, str) else result.raw_content


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """A value as JSON has it."""
    from pydantic_core import to_jsonable_python  # here, since it is slow to load

    return to_jsonable_python(value, fallback=repr)


async def _searched(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a pattern is found, by a process of its own: it may be anyone's, and only a process can be stopped."""
    given = json.dumps([pattern.pattern, pattern.flags, text]).encode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _SEARCH, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_LONGEST_SEARCH):
            found, _ = await process.communicate(given)
    except TimeoutError as error:
        problem = (
            f"matches: {pattern.pattern!r} takes too long. Write a pattern with fewer nested repetitions."
        )
        raise InvalidInputError(_short(problem), field="matches") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    return found == b"found"


def _found(texts: tuple[str, ...], result: AgentResult[Any], *, ignore_case: bool) -> set[str]:
    answer = text_of(result)
    if ignore_case:
        return {text for text in texts if text.casefold() in answer.casefold()}
    return {text for text in texts if text in answer}


def _made(result: AgentResult[Any], tool: str, arguments: Mapping[str, object]) -> list[ToolRecord]:
    return [
        record
        for record in result.tool_calls
        if record.tool_name == tool and {**record.arguments, **arguments} == record.arguments
    ]


def _answer(result: AgentResult[Any]) -> str:
    return f"The answer is {_quoted(text_of(result))}."


def _call(tool: str, arguments: Mapping[str, object]) -> str:
    return _short(f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")


def _list(values: tuple[str, ...] | set[str]) -> str:
    return ", ".join(_quoted(value) for value in sorted(values))


def _quoted(value: object) -> str:
    return _short(repr(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
