"""Any entry a run may have, for tests that try many of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from maverick import exceptions
from maverick.exceptions import AgentError, ErrorKind
from maverick.loop.entries import (
    ApprovalDecided,
    CallReview,
    CallRuled,
    CallsReviewed,
    Edited,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    OutputChecked,
    RequestReviewed,
    Resumed,
    RunStarted,
    Said,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.limits import Limits
from maverick.loop.policy import Verdict
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.model import (
    Message,
    ModelInfo,
    Price,
    Response,
    Role,
    StopReason,
    Text,
    Thought,
    ToolCall,
    Usage,
)
from maverick.model.media import Blob, Document, Image
from maverick.model.message import Opaque


def error_classes() -> Iterator[type[AgentError]]:
    """Every class of the error tree below ``AgentError``, itself included."""
    for found in vars(exceptions).values():
        if isinstance(found, type) and issubclass(found, AgentError):
            yield found


FIELDS: dict[str, SearchStrategy[Any]] = {
    "status": st.none() | st.integers(100, 599),
    "request_id": st.none() | st.text(),
    "retry_after": st.none() | st.floats(0, 1e6),
    "cli_path": st.none() | st.text(),
    "exit_code": st.none() | st.integers(-64, 255),
    "stderr": st.none() | st.text(),
    "partial_messages": st.lists(st.text()),
    "media": st.sampled_from(["image", "document"]),
    "moved_to": st.text(),
    "raw_response": st.text(),
    "tool_name": st.text(),
    "available_tools": st.lists(st.text()),
    "field": st.none() | st.text(),
    "raw_output": st.text(),
    "limit": st.text(),
    "reason": st.text(),
    "call_id": st.text(),
    "hook": st.text(),
    "run_id": st.text(),
    "readable": st.integers(0, 1 << 40),
    "changes": st.lists(st.text()),
    "approval_id": st.text(),
    "agent_name": st.text(),
    "available_agents": st.lists(st.text()),
    "line": st.none() | st.integers(1),
    "difference": st.none() | st.fixed_dictionaries({"path": st.text()}),
}
"""The fields that errors add, by name."""


def _fields_of(error: type[AgentError]) -> dict[str, SearchStrategy[Any]]:
    """What an error can be made with: the keywords of all its constructors."""
    names = {
        parameter.name
        for kind in error.__mro__
        if issubclass(kind, AgentError)
        for parameter in inspect.signature(kind.__init__).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    return {name: FIELDS[name] for name in names - {"kind", "cause", "retryable"}}


def errors_of(error: type[AgentError]) -> SearchStrategy[AgentError]:
    """Any error of one class."""
    return st.builds(
        error, texts, kind=st.sampled_from(ErrorKind), retryable=st.booleans(), **_fields_of(error)
    )


texts = st.text(st.characters(exclude_categories=[])).filter(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") == text
)
"""Text of any characters, lone surrogates and NUL too, but no two surrogates that together are one character."""
counts = st.integers(0, 2**40)
moments = st.floats(0, 1e11)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
usages = st.builds(Usage, counts, counts, counts, counts, st.none() | st.floats(0, 1e6))
tool_calls = st.builds(ToolCall, texts, texts, st.dictionaries(texts, json_values, max_size=4), texts)
opaque = st.builds(
    Opaque, st.sampled_from(["claude", "openai"]), st.dictionaries(texts, json_values, max_size=4)
)
blocks = st.none() | opaque
media = st.one_of(
    st.builds(Image, media_type=texts, blob=st.binary(max_size=9).map(Blob), name=texts),
    st.builds(Document, url=st.just("https://example.org/a.pdf"), name=texts),
    st.builds(Image, file_id=texts.filter(bool)),
)
parts = (
    st.builds(Text, texts, blocks)
    | st.builds(Thought, texts, texts, texts, blocks)
    | tool_calls
    | opaque
    | media
)
messages = st.builds(
    Message, st.sampled_from([Role.USER, Role.ASSISTANT]), st.lists(parts, max_size=4)
) | st.builds(Message.tool_result, texts, texts, is_error=st.booleans())
responses = st.builds(
    Response,
    st.lists(parts, max_size=5),
    usage=usages,
    stop_reason=st.sampled_from(StopReason),
    model=texts,
    request_id=texts,
)
limits = st.builds(
    Limits,
    st.none() | counts,
    st.none() | moments,
    st.none() | counts,
    st.none() | st.floats(0, 1e6),
    st.none() | counts,
)
errors = st.sampled_from(sorted(error_classes(), key=lambda kind: kind.__name__)).flatmap(errors_of)
prices = st.builds(Price, moments, moments, st.none() | moments, st.none() | moments)

ENTRIES: dict[type[Any], SearchStrategy[Any]] = {
    RunStarted: st.builds(
        RunStarted,
        at=moments,
        run_id=texts,
        trace_id=texts,
        agent=st.lists(texts, min_size=1, max_size=3).map(tuple),
        system=texts,
        messages=st.lists(messages, max_size=3).map(tuple),
        head=st.integers(0, 3),
        limits=limits,
        info=st.builds(ModelInfo, st.none() | counts, st.none() | prices, st.booleans()),
        fingerprint=st.none()
        | st.builds(Fingerprint, texts, texts, texts, texts, st.dictionaries(texts, texts, max_size=3)),
        user_id=st.none() | texts,
        parent=st.none() | texts,
    ),
    ModelCalled: st.builds(ModelCalled, at=moments, turn=counts, attempt=counts, compaction=st.booleans()),
    ModelReplied: st.builds(
        ModelReplied, at=moments, response=responses, review=st.booleans(), refusal=texts, refused_by=texts
    ),
    ModelFailed: st.builds(ModelFailed, at=moments, error=errors, partial_text=texts),
    ToolsStarted: st.builds(ToolsStarted, at=moments, turn=counts),
    ToolFinished: st.builds(
        ToolFinished,
        at=moments,
        index=counts,
        outcome=st.sampled_from(ToolOutcome),
        content=texts,
        parts=st.lists(parts, max_size=2).map(tuple),
        duration_ms=counts,
        usage=usages,
        turns=counts,
        tool_calls=counts,
    ),
    RequestReviewed: st.builds(
        RequestReviewed,
        at=moments,
        by=texts,
        refusal=texts,
        since=counts,
        messages=st.lists(messages, max_size=2).map(tuple),
        added=st.lists(messages, max_size=2).map(tuple),
    ),
    CallsReviewed: st.builds(
        CallsReviewed,
        at=moments,
        calls=st.lists(
            st.builds(CallReview, counts, texts, refusal=texts, call=st.none() | tool_calls), max_size=2
        ).map(tuple),
    ),
    OutputChecked: st.builds(OutputChecked, at=moments, retry=texts, output=texts),
    CallRuled: st.builds(CallRuled, at=moments, index=counts, verdict=st.sampled_from(Verdict), reason=texts),
    ApprovalDecided: st.builds(
        ApprovalDecided, at=moments, index=counts, approved=st.booleans(), by=texts, reason=texts
    ),
    Interrupted: st.builds(
        Interrupted,
        at=moments,
        reason=st.sampled_from(TerminateReason),
        message=texts,
        partial_text=texts,
        usage=usages,
        error=st.none() | errors,
    ),
    Resumed: st.builds(Resumed, at=moments, limits=limits),
    Edited: st.builds(
        Edited,
        at=moments,
        content=texts,
        parts=st.lists(media, max_size=2).map(tuple),
        keeps_media=st.booleans(),
    ),
    Said: st.builds(Said, at=moments, content=texts, parts=st.lists(media, max_size=2).map(tuple), by=texts),
}
"""Any entry of each kind."""

entries: SearchStrategy[Entry] = st.one_of(*ENTRIES.values())


def facts_of(entry: Entry) -> object:
    """What an entry says, in a form in which two of the same errors are equal."""
    if not isinstance(entry, ModelFailed | Interrupted) or entry.error is None:
        return entry
    error = entry.error
    rest = entry.partial_text if isinstance(entry, ModelFailed) else replace(entry, error=None)
    return entry.at, rest, type(error), str(error), error.kind, error.retryable, vars(error)
