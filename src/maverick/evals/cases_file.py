"""Cases in a YAML file, and the form they have there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from maverick.config.trust import ADVICE
from maverick.evals import checks
from maverick.evals.case import AnyCheck, Case, judge
from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.loop import AgentResult
from maverick.misuse import refuse

_NOT_TRUSTED = f"is not used, since you have not trusted this folder. {ADVICE}"
_LARGEST_FILE = 4 * 1024 * 1024
_PLACE = re.compile(r" - at `(\$.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_KIND = re.compile(r"`(\w+)`")
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "names with values",
}
"""What a person calls the types of YAML."""


class CallForm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A tool call."""

    tool: str
    arguments: dict[str, Any] = {}


class ChecksForm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Checks, each by its name."""

    equals: Any = UNSET
    contains: str | list[str] | UnsetType = UNSET
    not_contains: str | list[str] | UnsetType = UNSET
    matches: str | UnsetType = UNSET
    schema: dict[str, Any] | UnsetType = UNSET
    calls: str | CallForm | UnsetType = UNSET
    not_calls: str | CallForm | UnsetType = UNSET
    max_turns: int | UnsetType = UNSET
    max_cost: float | UnsetType = UNSET
    ends: str | UnsetType = UNSET
    judge: str | UnsetType = UNSET
    function: str | UnsetType = UNSET


class CaseForm(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A case."""

    name: str
    run: str | None = None
    prompt: str | None = None
    """The input ``prompt``."""
    inputs: dict[str, Any] | None = None
    checks: ChecksForm | list[ChecksForm] = []
    min_pass_rate: float = 1.0


class CasesForm(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A file of cases."""

    agent: str | None = None
    """The agent, by name or by a file beside this one."""
    checks: ChecksForm | list[ChecksForm] = []
    """Checks for every case."""
    cases: list[CaseForm]


_FORMS = {"checks": ChecksForm, "calls": CallForm, "not_calls": CallForm, "cases": CaseForm}
"""The form of what stands below a name."""


def load_cases(path: str | Path) -> list[Case]:
    """The cases of a YAML file. A check that names a Python function loads the file it is in.

    Raises:
        InvalidInputError: The file is missing or wrong; the message names the line and the field.
    """
    return CasesFile(Path(path)).cases()


class CasesFile:
    """A YAML file of cases. What is wrong with it is an ``InvalidInputError`` that names the line and the field.

    Python functions and agents in files that it names are only loaded if it is trusted.
    """

    def __init__(self, path: Path, *, trusted: bool = True) -> None:
        self.path = path
        self._trusted = trusted
        self._lines: dict[str, int] = {}
        self._form = self._read()

    @property
    def agent(self) -> str | None:
        """The agent it names; a file lies beside this one."""
        agent = self._form.agent
        if agent is None or not (agent.rpartition(":")[0] or agent).endswith((".py", ".md")):
            return agent
        if not self._trusted:
            raise self._error("$.agent", f"{agent} {_NOT_TRUSTED}")
        return str(self.path.parent / agent)

    def cases(self) -> list[Case]:
        """Its cases."""
        shared = self._checks("$", self._form.checks)
        return [self._case(f"$.cases[{n}]", form, shared) for n, form in enumerate(self._form.cases)]

    def _case(self, place: str, form: CaseForm, shared: Sequence[AnyCheck]) -> Case:
        inputs = form.inputs if form.prompt is None else {**(form.inputs or {}), "prompt": form.prompt}
        own = self._checks(place, form.checks)
        with self._at(place):
            case = Case(form.name, inputs, [*shared, *own], run=form.run, min_pass_rate=form.min_pass_rate)
        return replace(case, source=self._source(place))

    def _checks(self, owner: str, form: ChecksForm | Sequence[ChecksForm]) -> list[AnyCheck]:
        if isinstance(form, ChecksForm):
            forms = {f"{owner}.checks": form}
        else:
            forms = {f"{owner}.checks[{n}]": one for n, one in enumerate(form)}
        made: list[AnyCheck] = []
        for place, one in forms.items():
            with self._at(place):
                made += self._made(one)
        return made

    @contextmanager
    def _at(self, place: str) -> Iterator[None]:
        """Have an error name the line."""
        try:
            yield
        except InvalidInputError as error:
            raise self._error(place, str(error), error) from error

    def _made(self, form: ChecksForm) -> Iterator[AnyCheck]:
        for name, value in msgspec.structs.asdict(form).items():
            if value is UNSET:
                continue
            match name, value:
                case "function", str():
                    if not self._trusted:
                        refuse("function", f"{value} {_NOT_TRUSTED}")
                    yield _function(self.path.parent, value)
                case "schema", dict() if not self._trusted and _has_pattern(value):
                    refuse("schema", f"its pattern {_NOT_TRUSTED}")
                case "judge", _:
                    yield judge(value)
                case "calls" | "not_calls", CallForm(tool=tool, arguments=arguments):
                    yield getattr(checks, name)(tool, **arguments)
                case "contains" | "not_contains", list():
                    yield getattr(checks, name)(*value)
                case _:
                    yield getattr(checks, name)(value)

    def _read(self) -> CasesForm:
        import yaml  # here, since cases may be written in Python

        try:
            with self.path.open("rb") as file:
                content = file.read(_LARGEST_FILE + 1)
        except OSError as error:
            problem = f"could not be read: {error.strerror}. Name a YAML or Python file with cases."
            raise InvalidInputError(f"{self.path} {problem}", field="path") from error
        if len(content) > _LARGEST_FILE:
            raise InvalidInputError(f"{self.path} is larger than 4 MiB. Split it.", field="path")
        try:
            loader = yaml.SafeLoader(content)
            node = loader.get_single_node()
            self._find_lines("$", node, set())
            tree = None if node is None else loader.construct_document(node)
        except InvalidInputError:
            raise
        except yaml.MarkedYAMLError as error:
            self._lines = {"$": 1 if error.problem_mark is None else error.problem_mark.line + 1}
            raise self._error("$", "this is not valid YAML. Check indentation, quotes and colons.") from error
        except Exception as error:  # PyYAML lets ValueError, KeyError, RecursionError and more through
            raise self._error("$", "this is not valid YAML. Check the values and quotes.") from error
        try:
            return msgspec.convert(tree, CasesForm)
        except msgspec.ValidationError as error:
            raise self._explained(str(error), error) from error

    def _find_lines(self, place: str, node: Any, seen: set[int]) -> None:  # noqa: ANN401 - PyYAML has no public types for it
        """Remember where everything is; what is written twice, or refers to another place, is refused."""
        if node is None:
            return
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node.value, str):
            return
        if id(node) in seen:
            raise self._error(
                place, "anchors and aliases are not supported. Write it out, or use `checks:` of the file."
            )
        seen.add(id(node))
        for number, child in enumerate(node.value):
            if not isinstance(child, tuple):
                self._find_lines(f"{place}[{number}]", child, seen)
                continue
            below = f"{place}.{child[0].value}"
            if below in self._lines:
                self._lines[below] = child[0].start_mark.line + 1
                raise self._error(below, "is written twice. Remove one of the two.")
            self._lines[below] = child[0].start_mark.line + 1
            self._find_lines(below, child[1], seen)

    def _explained(self, problem: str, cause: Exception) -> InvalidInputError:
        found = _PLACE.search(problem)
        place = found[1] if found else "$"
        said = _PLACE.sub("", problem)
        if unknown := _UNKNOWN.fullmatch(said):
            name = re.sub(r"\[\d+\]", "", place).rpartition(".")[2]
            fields = _FORMS.get(name, CasesForm).__struct_fields__
            said, place = describe_unknown("field", unknown[1], fields), f"{place}.{unknown[1]}"
        elif missing := _MISSING.fullmatch(said):
            said = f"{missing[1]} is missing."
        else:
            said = f"{_KIND.sub(lambda kind: _KINDS.get(kind[1], kind[1]), said.replace(' | ', '` or `'))}."
        return self._error(place, said, cause)

    def _error(self, place: str, problem: str, cause: Exception | None = None) -> InvalidInputError:
        field = place.removeprefix("$").removeprefix(".")
        said = f"{field}: {problem}" if field else problem
        return InvalidInputError(f"{self._source(place)}: {said}", field=field, cause=cause)

    def _source(self, place: str) -> str:
        while place not in self._lines and place != "$":
            place = place[: max(place.rfind("."), place.rfind("["))] or "$"
        return f"{self.path}, line {self._lines.get(place, 1)}"


def _has_pattern(schema: object) -> bool:
    """Whether a JSON Schema may have regular expressions, which can take forever."""
    if isinstance(schema, list):
        return any(map(_has_pattern, schema))
    if not isinstance(schema, dict):
        return False
    return not schema.keys().isdisjoint(("pattern", "patternProperties")) or _has_pattern([*schema.values()])


def case_from_result(run_id: str, result: AgentResult[Any]) -> CaseForm:
    """A case of a recorded run, with checks that hold for it: the tools it called, how it ended, and its answer."""
    made: list[str | CallForm] = [
        CallForm(call.tool_name, checks.plain(call.arguments)) if call.arguments else call.tool_name
        for call in result.tool_calls
    ]
    found = [ChecksForm(calls=call) for call in {repr(call): call for call in made}.values()]
    if not result.success:
        found.append(ChecksForm(ends=result.terminate_reason.value))
    elif result.output is not None:
        found.append(ChecksForm(equals=checks.plain(result.output)))
    return CaseForm(run_id, run=run_id, checks=found)


def dump_cases(form: CasesForm) -> str:
    """Cases as YAML."""
    import yaml

    return yaml.safe_dump(
        msgspec.to_builtins(form), sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )


def _function(folder: Path, named: str) -> AnyCheck:
    from maverick.agents.python_source import load_python  # here, since it is rarely needed

    source, _, name = named.rpartition(":")
    if not source.endswith(".py") or not name.isidentifier():
        refuse("function", f"expected FILE.py:NAME, such as checks.py:is_polite, got {named!r}.")
    found = getattr(load_python(str(folder / source), "function"), name, None)
    if not callable(found):
        refuse("function", f"{source} has no function {name!r}.")
    check: AnyCheck = found
    return check
