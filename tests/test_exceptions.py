"""The error tree: what a caller can catch, read and branch on."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from maverick import exceptions
from maverick.exceptions import (
    AbortedError,
    AgentError,
    AgentNotFoundError,
    ApprovalError,
    ApprovalRequiredError,
    AuthenticationError,
    CassetteMissError,
    CLINotFoundError,
    ConfigError,
    ContextOverflowError,
    DuplicateAgentError,
    ErrorKind,
    HookError,
    HookRefusedError,
    InvalidInputError,
    InvalidToolError,
    JournalDamagedError,
    JournalError,
    LeaseLostError,
    LimitExceededError,
    MalformedResponseError,
    MaverickError,
    MediaRejectedError,
    NetworkError,
    OutputValidationError,
    ProcessError,
    ProviderError,
    RateLimitError,
    RefusalError,
    RetryOutput,
    RunChangedError,
    RunExistsError,
    RunHandedOverError,
    RunMovedError,
    RunNotFoundError,
    ServerError,
    StorageError,
    StreamingError,
    StreamTimeoutError,
    ThinkingRejectedError,
    TimeoutError,
    ToolError,
    WorkflowError,
)

TREE: dict[type[MaverickError], type[Exception]] = {
    MaverickError: Exception,
    AgentError: MaverickError,
    ProviderError: AgentError,
    AuthenticationError: ProviderError,
    RateLimitError: ProviderError,
    ServerError: ProviderError,
    ContextOverflowError: ProviderError,
    ThinkingRejectedError: ProviderError,
    MediaRejectedError: ProviderError,
    RefusalError: AgentError,
    CassetteMissError: AgentError,
    CLINotFoundError: AgentError,
    ProcessError: AgentError,
    TimeoutError: AgentError,
    NetworkError: AgentError,
    StreamingError: AgentError,
    StreamTimeoutError: StreamingError,
    MalformedResponseError: AgentError,
    ToolError: AgentError,
    HookError: AgentError,
    HookRefusedError: RefusalError,
    RetryOutput: MaverickError,
    InvalidToolError: AgentError,
    InvalidInputError: AgentError,
    OutputValidationError: AgentError,
    LimitExceededError: AgentError,
    AbortedError: AgentError,
    ApprovalRequiredError: AgentError,
    JournalError: AgentError,
    RunNotFoundError: JournalError,
    RunExistsError: JournalError,
    RunMovedError: JournalError,
    JournalDamagedError: JournalError,
    LeaseLostError: JournalError,
    RunChangedError: JournalError,
    ApprovalError: JournalError,
    StorageError: AgentError,
    DuplicateAgentError: AgentError,
    AgentNotFoundError: AgentError,
    RunHandedOverError: MaverickError,
    WorkflowError: MaverickError,
    ConfigError: MaverickError,
}

KINDS: dict[type[AgentError], tuple[str, bool]] = {
    AgentError: ("agent", False),
    ProviderError: ("agent", False),
    AuthenticationError: ("agent", False),
    RateLimitError: ("rate_limit", True),
    ServerError: ("agent", True),
    ContextOverflowError: ("invalid", False),
    ThinkingRejectedError: ("invalid", False),
    MediaRejectedError: ("invalid", False),
    RefusalError: ("agent", False),
    CassetteMissError: ("invalid", False),
    CLINotFoundError: ("agent", False),
    ProcessError: ("agent", False),
    TimeoutError: ("timeout", True),
    NetworkError: ("network", True),
    StreamingError: ("network", True),
    StreamTimeoutError: ("timeout", True),
    MalformedResponseError: ("agent", True),
    ToolError: ("tool", False),
    HookError: ("invalid", False),
    HookRefusedError: ("agent", False),
    InvalidToolError: ("invalid", False),
    InvalidInputError: ("invalid", False),
    OutputValidationError: ("invalid", False),
    LimitExceededError: ("agent", False),
    AbortedError: ("agent", False),
    ApprovalRequiredError: ("tool", False),
    JournalError: ("agent", False),
    RunNotFoundError: ("invalid", False),
    RunExistsError: ("invalid", False),
    RunMovedError: ("invalid", False),
    JournalDamagedError: ("agent", False),
    LeaseLostError: ("agent", False),
    RunChangedError: ("invalid", False),
    ApprovalError: ("invalid", False),
    StorageError: ("agent", True),
    DuplicateAgentError: ("invalid", False),
    AgentNotFoundError: ("invalid", False),
}

FIELDS: list[tuple[type[AgentError], dict[str, Any]]] = [
    (ProviderError, {"status": 400, "request_id": "req_1"}),
    (AuthenticationError, {"status": 401, "request_id": "req_2"}),
    (RateLimitError, {"status": 429, "request_id": "req_3", "retry_after": 2.5}),
    (ServerError, {"status": 529, "request_id": "req_4", "retry_after": 1.0}),
    (CassetteMissError, {"line": 3, "difference": None}),
    (CLINotFoundError, {"cli_path": "/opt/claude"}),
    (ProcessError, {"exit_code": 2, "stderr": "no such option"}),
    (StreamingError, {"partial_messages": ["half"]}),
    (StreamTimeoutError, {"partial_messages": ["half"]}),
    (MalformedResponseError, {"raw_response": "<html>"}),
    (ToolError, {"tool_name": "search"}),
    (HookError, {"hook": "Guard.before_tool"}),
    (HookRefusedError, {"hook": "Guard.before_model", "reason": "not here"}),
    (InvalidToolError, {"tool_name": "serach", "available_tools": ["search"]}),
    (InvalidInputError, {"field": "run_config.max_turns"}),
    (OutputValidationError, {"raw_output": "{}"}),
    (LimitExceededError, {"limit": "max_turns"}),
    (AbortedError, {"reason": "enough", "partial_messages": ["half"]}),
    (ApprovalRequiredError, {"tool_name": "delete", "call_id": "call_1"}),
    (RunNotFoundError, {"run_id": "run_1"}),
    (RunExistsError, {"run_id": "run_1"}),
    (RunMovedError, {"run_id": "run_1", "moved_to": "temporal://fleet:7233"}),
    (JournalDamagedError, {"run_id": "run_1", "readable": 4}),
    (LeaseLostError, {"run_id": "run_1"}),
    (RunChangedError, {"changes": ["the tool 'search' has other parameters"]}),
    (ApprovalError, {"approval_id": "approval_1"}),
    (DuplicateAgentError, {"agent_name": "greeter"}),
    (AgentNotFoundError, {"agent_name": "greter", "available_agents": ["greeter"]}),
]


def classes_of_the_module() -> Iterator[type[MaverickError]]:
    for _, value in inspect.getmembers(exceptions, inspect.isclass):
        if issubclass(value, MaverickError):
            yield value


@pytest.mark.requirement("001-ERRORS")
def test_the_errors_of_the_data_model_are_where_it_draws_them() -> None:
    agents = {
        CLINotFoundError,
        ProcessError,
        TimeoutError,
        NetworkError,
        StreamingError,
        MalformedResponseError,
        InvalidToolError,
        DuplicateAgentError,
        AgentNotFoundError,
    }

    assert {cls.__bases__[0] for cls in (AgentError, WorkflowError, ConfigError)} == {MaverickError}
    assert {cls.__bases__[0] for cls in agents} == {AgentError}
    assert {cls.__module__ for cls in agents} == {"maverick.exceptions"}


@pytest.mark.requirement("001-ERRORS", "002-AC5")
def test_the_tree_is_complete_and_each_class_hangs_where_it_should() -> None:
    assert set(classes_of_the_module()) == set(TREE)
    assert {cls: cls.__bases__[0] for cls in TREE} == TREE


@pytest.mark.requirement("001-ERRORS")
def test_the_docstring_draws_every_class_of_the_tree() -> None:
    drawn = exceptions.__doc__ or ""

    assert [cls.__name__ for cls in TREE if f" {cls.__name__}" not in drawn] == []


@pytest.mark.requirement("002-R8-KINDS")
def test_the_kinds_have_the_spelling_of_the_specification() -> None:
    assert [kind.value for kind in ErrorKind] == [
        "agent",
        "tool",
        "timeout",
        "rate_limit",
        "network",
        "invalid",
    ]


@pytest.mark.requirement("002-R8", "002-R8-RETRY")
@pytest.mark.parametrize(("cls", "expected"), KINDS.items())
def test_each_agent_error_has_its_kind_and_says_whether_trying_again_may_help(
    cls: type[AgentError], expected: tuple[str, bool]
) -> None:
    error = cls("It broke. Mend it.")

    assert (error.kind.value, error.retryable) == expected


def test_every_agent_error_has_an_expected_kind() -> None:
    assert set(KINDS) == {cls for cls in TREE if issubclass(cls, AgentError)}


@pytest.mark.requirement("002-R8")
def test_kind_and_retryable_can_be_set_for_one_error() -> None:
    error = NetworkError("Offline on purpose.", kind="invalid", retryable=False)

    assert error.kind is ErrorKind.INVALID
    assert error.retryable is False


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="sunspots"):
        AgentError("It broke.", kind="sunspots")


@pytest.mark.requirement("002-R8")
def test_the_cause_is_kept_as_python_keeps_it() -> None:
    cause = OSError("connection reset")
    error = NetworkError("The service went away. Try again.", cause=cause)

    assert error.cause is cause
    assert error.__cause__ is cause
    assert AgentError("No cause.").cause is None


@pytest.mark.requirement(
    "001-ERROR-CLI-NOT-FOUND",
    "001-ERROR-PROCESS",
    "001-ERROR-STREAMING",
    "001-ERROR-MALFORMED",
    "001-ERROR-INVALID-TOOL",
    "001-ERROR-DUPLICATE",
    "001-ERROR-NOT-FOUND",
)
@pytest.mark.parametrize(("cls", "fields"), FIELDS)
def test_the_fields_a_caller_branches_on_are_there(cls: type[AgentError], fields: dict[str, Any]) -> None:
    error = cls("It broke. Mend it.", **fields)

    assert {name: getattr(error, name) for name in fields} == fields
    assert error.message == str(error) == "It broke. Mend it."


@pytest.mark.requirement("001-ERRORS")
def test_a_config_error_names_the_source_and_the_field() -> None:
    error = ConfigError("model: expected a name.", source="maverick.yaml", field="agent.model")

    assert (error.source, error.field) == ("maverick.yaml", "agent.model")


@pytest.mark.requirement("000-FR-007")
@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (CLINotFoundError(), "npm install -g @anthropic-ai/claude-code"),
        (CLINotFoundError(cli_path="/opt/claude"), "/opt/claude"),
        (InvalidToolError(tool_name="serach", available_tools=["search", "read"]), "Did you mean 'search'?"),
        (InvalidToolError(tool_name="x", available_tools=["search", "read"]), "Available: read, search."),
        (InvalidToolError(tool_name="x"), "No tools are available."),
        (AgentNotFoundError(agent_name="greter", available_agents=["greeter"]), "Did you mean 'greeter'?"),
        (AgentNotFoundError(agent_name="greeter"), "No agents are available."),
        (DuplicateAgentError(agent_name="greeter"), "unregister it first"),
        (RunNotFoundError(run_id="run_1"), "maverick runs list"),
        (RunExistsError(run_id="run_1"), "Choose another id"),
    ],
)
def test_messages_made_from_fields_say_what_to_do_next(error: AgentError, advice: str) -> None:
    assert advice in str(error)


@pytest.mark.requirement("001-ERRORS")
def test_a_timeout_is_also_the_builtin_timeout() -> None:
    with pytest.raises(builtins.TimeoutError):
        raise TimeoutError("The model did not answer within 5 s. Try again.")


def test_a_stream_that_ran_out_of_time_is_a_timeout_too() -> None:
    with pytest.raises(TimeoutError):
        raise StreamTimeoutError("The answer broke off.", partial_messages=["half"])


def test_an_invalid_input_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="max_turns"):
        raise InvalidInputError("max_turns: expected 1 or more.", field="max_turns")


def test_lists_in_errors_are_their_own_so_that_a_caller_can_keep_them() -> None:
    names = ["search"]
    error = InvalidToolError(tool_name="x", available_tools=names)
    names.append("later")

    assert error.available_tools == ["search"]


@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301
def test_an_error_survives_being_copied_and_sent_to_another_process(copied: Any) -> None:
    error = RateLimitError("Slow down.", status=429, retry_after=3.0, retryable=False)

    twin = copied(error)

    assert type(twin) is RateLimitError
    assert (str(twin), twin.status, twin.retry_after, twin.retryable) == ("Slow down.", 429, 3.0, False)


def test_the_module_imports_nothing_of_the_package() -> None:
    tree = ast.parse(inspect.getsource(exceptions))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
    }

    assert [name for name in imported if name.split(".")[0] in ("maverick", "")] == []


def test_of_hundreds_of_names_an_error_tells_the_nearest_and_how_many_there_are() -> None:
    tools = [f"shop_{number}" for number in range(500)]

    told = exceptions.describe_unknown("tool", "shop_12x", tools)

    assert told.startswith("There is no tool named 'shop_12x'. Did you mean 'shop_12")
    assert told.endswith(" and 490 more.")
    assert exceptions.describe_unknown("agent", "x", tools).endswith(
        "and 490 more, listed by `maverick agents list`."
    )


def test_a_class_of_errors_declares_its_kind_and_whether_to_retry_for_itself_and_those_below_it() -> None:
    class BusyError(ToolError, kind=ErrorKind.RATE_LIMIT, retryable=True):
        """A tool has too much to do."""

    class VeryBusyError(BusyError):
        """It has far too much to do."""

    error = VeryBusyError("Wait a minute.", tool_name="mail")

    assert (error.kind, error.retryable, error.tool_name) == (ErrorKind.RATE_LIMIT, True, "mail")
    assert (ToolError.default_kind, ToolError.default_retryable) == (ErrorKind.TOOL, False)
