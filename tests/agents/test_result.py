from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from maverick import loop
from maverick.agents.result import AgentResult, AgentUsage
from maverick.exceptions import InvalidInputError, NetworkError
from maverick.loop import TerminateReason

USAGE = AgentUsage(input_tokens=10, output_tokens=5, total_cost_usd=0.25, duration_ms=1200)


@pytest.mark.requirement("001-RESULT", "000-FR-008")
def test_a_success_has_its_output_usage_and_metadata() -> None:
    result = AgentResult.success_result("Done.", USAGE, {"session_id": "s1"})

    assert (result.success, result.output, list(result.errors)) == (True, "Done.", [])
    assert (result.usage, result.metadata) == (USAGE, {"session_id": "s1"})
    assert (result.raw_content, result.error, result.validated) == ("Done.", None, True)
    assert result.terminate_reason is TerminateReason.COMPLETE


@pytest.mark.requirement("001-RESULT", "000-FR-008")
def test_a_failure_has_its_errors_and_an_output_that_is_not_none() -> None:
    error = NetworkError("Unreachable. Check the connection.")

    result = AgentResult.failure_result([error], USAGE)

    assert (result.success, result.output, list(result.errors)) == (False, "", [error])
    assert result.error == "Unreachable. Check the connection."
    assert (result.metadata, result.terminate_reason) == ({}, TerminateReason.ERROR)
    assert result.validated is False


@pytest.mark.requirement("000-FR-008", "001-RESULT")
def test_a_failure_without_a_reason_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one error") as caught:
        AgentResult(success=False, output="")
    with pytest.raises(InvalidInputError):
        AgentResult.failure_result([], USAGE)

    assert caught.value.field == "errors"


@pytest.mark.requirement("001-RESULT", "001-USAGE")
@pytest.mark.parametrize("value", [AgentResult(success=True, output="x"), USAGE])
def test_results_are_frozen_and_have_slots(value: Any) -> None:
    first = dataclasses.fields(value)[0].name

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, first, None)
    assert not hasattr(value, "__dict__")


@pytest.mark.requirement("001-RESULT")
def test_what_the_caller_does_with_its_own_mapping_later_does_not_change_the_result() -> None:
    metadata = {"session_id": "s1"}
    result = AgentResult.success_result("Done.", USAGE, metadata)
    metadata["session_id"] = "s2"

    assert result.metadata == {"session_id": "s1"}


@pytest.mark.requirement("001-USAGE", "000-FR-014")
def test_usage_adds_up_its_tokens_and_knows_a_missing_cost() -> None:
    assert USAGE.total_tokens == 15
    assert AgentUsage(1, 2).total_cost_usd is None
    assert AgentUsage(0, 0, 0.0, 0).total_tokens == 0


@pytest.mark.requirement("001-USAGE")
@pytest.mark.parametrize(
    "field",
    [
        "input_tokens",
        "output_tokens",
        "total_cost_usd",
        "duration_ms",
        "cache_read_tokens",
        "cache_write_tokens",
    ],
)
def test_no_figure_of_a_usage_is_negative(field: str) -> None:
    figures: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0, field: -1}

    with pytest.raises(InvalidInputError) as caught:
        AgentUsage(**figures)

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
