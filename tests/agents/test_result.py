"""What a run ended with: the result and the usage of the data model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from maverick import loop
from maverick.agents.result import AgentResult, AgentUsage
from maverick.exceptions import AgentError, ConfigError, InvalidInputError, NetworkError
from maverick.loop import TerminateReason

USAGE = AgentUsage(input_tokens=10, output_tokens=5, total_cost_usd=0.25, duration_ms=1200)
ERROR = NetworkError("Unreachable. Check the connection.")


def required(cls: type[Any]) -> set[str]:
    """The fields that have no default."""
    return {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is field.default_factory is dataclasses.MISSING
    }


@pytest.mark.requirement("001-RESULT", "001-USAGE")
@pytest.mark.parametrize("value", [AgentResult(success=True, output="x", usage=USAGE), USAGE])
def test_results_and_usages_are_frozen_dataclasses_with_slots(value: Any) -> None:
    first = dataclasses.fields(value)[0].name

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, first, None)
    assert not hasattr(value, "__dict__")


@pytest.mark.requirement("001-RESULT", "000-FR-008")
def test_a_result_cannot_be_made_without_success_output_and_usage() -> None:
    given: dict[str, Any] = {"success": True, "output": "Done.", "usage": USAGE}

    assert required(AgentResult) == set(given)
    for name in given:
        with pytest.raises(TypeError, match=name):
            AgentResult(**{other: value for other, value in given.items() if other != name})
    assert AgentResult(**given).success


@pytest.mark.requirement("001-RESULT-DEFAULTS", "000-FR-008")
def test_metadata_is_a_dict_and_errors_a_list_of_its_own_whatever_they_were_made_from() -> None:
    plain: AgentResult = AgentResult(success=True, output="", usage=USAGE)
    metadata: dict[str, Any] = {"session_id": "s1"}
    errors: list[AgentError] = [ERROR]
    given: AgentResult = AgentResult(success=False, output="", usage=USAGE, metadata=metadata, errors=errors)  # type: ignore[arg-type]  # it becomes one
    from_tuple: AgentResult = AgentResult(success=False, output="", usage=USAGE, errors=(ERROR,))  # type: ignore[arg-type]  # that is the point
    metadata["session_id"] = "s2"
    errors.clear()

    assert (plain.metadata, plain.errors) == ({}, [])
    assert (given.metadata, given.errors) == ({"session_id": "s1"}, [ERROR])
    assert from_tuple.errors == [ERROR]


@pytest.mark.requirement("001-RESULT-DEFAULTS")
@pytest.mark.parametrize("error", ["it broke", ValueError("x"), ConfigError("x"), None])
def test_what_is_no_agent_error_is_refused_among_the_errors(error: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected AgentErrors") as caught:
        AgentResult(success=False, output="", usage=USAGE, errors=[ERROR, error])

    assert caught.value.field == "errors"


@pytest.mark.requirement("001-RESULT", "001-RESULT-DEFAULTS")
@pytest.mark.parametrize("field", ["usage", "errors", "metadata"])
@pytest.mark.parametrize("value", [None, 3])
def test_what_is_no_usage_no_list_or_no_mapping_is_refused_by_field(field: str, value: Any) -> None:
    given: dict[str, Any] = {"success": True, "output": "Done.", "usage": USAGE, field: value}
    with pytest.raises(InvalidInputError, match=f"{field}: expected") as made:
        AgentResult(**given)

    assert made.value.field == field


@pytest.mark.requirement("001-RESULT-FACTORIES")
def test_the_factories_refuse_the_same() -> None:
    nothing: Any = None
    makers: list[tuple[str, Callable[[], object]]] = [
        ("usage", lambda: AgentResult.success_result("Done.", nothing)),
        ("usage", lambda: AgentResult.failure_result([ERROR], nothing)),
        ("errors", lambda: AgentResult.failure_result(nothing, USAGE)),
    ]

    for field, make in makers:
        with pytest.raises(InvalidInputError, match="expected") as caught:
            make()
        assert caught.value.field == field


@pytest.mark.requirement("001-RESULT-FAILURE-NEEDS-ERROR", "000-FR-008", "000-US5-AS3")
def test_a_failure_without_a_reason_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one error") as caught:
        AgentResult(success=False, output="", usage=USAGE)
    with pytest.raises(InvalidInputError):
        AgentResult.failure_result([], USAGE)

    assert caught.value.field == "errors"


@pytest.mark.requirement("001-RESULT-OUTPUT-NOT-NONE")
def test_a_success_may_have_an_empty_output_but_not_none() -> None:
    assert AgentResult.success_result("", USAGE).output == ""
    for make in (
        lambda: AgentResult(success=True, output=None, usage=USAGE),
        lambda: AgentResult.success_result(None, USAGE),
    ):
        with pytest.raises(InvalidInputError, match="needs an output") as caught:
            make()
        assert caught.value.field == "output"


@pytest.mark.requirement("001-RESULT-OUTPUT-NOT-NONE")
def test_none_is_an_output_where_a_model_answered_with_it() -> None:
    result: AgentResult[int | None] = AgentResult(success=True, output=None, usage=USAGE, raw_content="null")

    assert result.success


@pytest.mark.requirement("001-RESULT-FACTORIES", "000-FR-008")
def test_a_success_has_its_output_usage_and_metadata() -> None:
    result = AgentResult.success_result("Done.", USAGE, {"session_id": "s1"})

    assert (result.success, result.output, result.errors) == (True, "Done.", [])
    assert (result.usage, result.metadata) == (USAGE, {"session_id": "s1"})
    assert (result.raw_content, result.error, result.validated) == ("Done.", None, True)
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert AgentResult.success_result("Done.", USAGE).metadata == {}


@pytest.mark.requirement("001-RESULT-FACTORIES", "001-RESULT-OUTPUT-NOT-NONE", "000-FR-008")
def test_a_failure_has_its_errors_and_the_empty_string_as_output() -> None:
    result = AgentResult.failure_result([ERROR], USAGE, {"session_id": "s1"})

    assert (result.success, result.output, result.errors) == (False, "", [ERROR])
    assert (result.usage, result.metadata) == (USAGE, {"session_id": "s1"})
    assert result.error == "Unreachable. Check the connection."
    assert result.terminate_reason is TerminateReason.ERROR
    assert result.validated is False


@pytest.mark.requirement("001-USAGE", "000-FR-014")
def test_a_usage_needs_its_tokens_and_its_duration_and_may_lack_a_cost() -> None:
    assert AgentUsage(1, 2, None, 3) == AgentUsage(input_tokens=1, output_tokens=2, duration_ms=3)
    assert AgentUsage(1, 2, duration_ms=3).total_cost_usd is None
    with pytest.raises(TypeError, match="output_tokens"):
        AgentUsage(1, duration_ms=3)  # type: ignore[call-arg]  # that is the point
    with pytest.raises(InvalidInputError, match="duration_ms") as caught:
        AgentUsage(1, 2, 0.5)

    assert caught.value.field == "duration_ms"


@pytest.mark.requirement("001-USAGE-TOTAL")
def test_total_tokens_is_input_and_output_together() -> None:
    assert USAGE.total_tokens == 15
    assert AgentUsage(0, 0, 0.0, 0).total_tokens == 0


FIGURES = {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_cost_usd": 0.0,
    "duration_ms": 0,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
}


@pytest.mark.requirement("001-USAGE-NONNEGATIVE")
@pytest.mark.parametrize("field", FIGURES)
@pytest.mark.parametrize("value", [-1, "1", float("nan")], ids=["negative", "text", "no number"])
def test_a_figure_is_a_number_and_never_negative(field: str, value: Any) -> None:
    assert AgentUsage(**FIGURES).total_tokens == 0  # type: ignore[arg-type]  # each has the right type

    with pytest.raises(InvalidInputError) as caught:
        AgentUsage(**{**FIGURES, field: value})

    assert caught.value.field == field


def test_there_is_one_result_type_wherever_it_is_imported_from() -> None:
    assert AgentResult is loop.AgentResult
    assert AgentUsage is loop.AgentUsage


@pytest.mark.requirement("003-API-RESULT")
def test_the_reasons_a_run_ends_for_are_words() -> None:
    assert {reason.value for reason in TerminateReason} >= {
        "complete",
        "max_turns",
        "timeout",
        "aborted",
        "error",
    }
