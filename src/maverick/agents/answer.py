"""The outcome of one prompt: its messages, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maverick.agents.query import PartialAnswer, extract_all_text
from maverick.exceptions import AgentError, MalformedResponseError, OutputValidationError, RefusalError
from maverick.loop.result import AgentResult
from maverick.loop.termination import reason_of
from maverick.providers.claude_cli import UsageMeter

if TYPE_CHECKING:
    from claude_agent_sdk import Message, ResultMessage
    from pydantic import BaseModel


class Answer:
    """Follows the messages of a prompt and makes a result of them.

    Args:
        output_type: What the answer has to be; ``None`` is text.
    """

    def __init__(self, output_type: type[BaseModel] | None = None) -> None:
        self._output_type = output_type
        self._meter = UsageMeter()
        self._partial = PartialAnswer()
        self._end: ResultMessage | None = None

    def see(self, message: Message) -> None:
        """Take a message into account."""
        from claude_agent_sdk import ResultMessage

        self._meter.see(message)
        self._partial.see(message)
        if isinstance(message, ResultMessage):
            self._end = message

    def result(self) -> AgentResult[Any]:
        """The result of an answer that is complete."""
        end = self._end
        if end is None:
            return self.failure(
                MalformedResponseError(
                    "The Claude CLI gave no result. Start the run again.",
                    raw_response=extract_all_text(self._partial.messages),
                )
            )
        if end.stop_reason == "refusal":
            return self.failure(RefusalError("Claude declined to answer. Change the prompt."))
        if self._output_type is None:
            said = (
                end.result if isinstance(end.result, str) else extract_all_text(self._partial.messages[-1:])
            )
            return self._outcome(success=True, output=said, raw_content=said)
        return self._typed(self._output_type, end)

    def failure(self, error: AgentError) -> AgentResult[Any]:
        """The result of a prompt that failed, with what had come until then."""
        return self._outcome(
            success=False,
            output="" if self._output_type is None else None,
            errors=[error],
            raw_content=extract_all_text(self._partial.messages),
            terminate_reason=reason_of(error),
            validated=False,
        )

    def _typed(self, output_type: type[BaseModel], end: ResultMessage) -> AgentResult[Any]:
        from pydantic import ValidationError

        raw = end.result or ""
        try:
            output = output_type.model_validate(end.structured_output)
        except ValidationError as error:
            fields = sorted({".".join(map(str, problem["loc"])) for problem in error.errors()})
            failure = OutputValidationError(
                f"The answer is not a valid {output_type.__name__}: look at {', '.join(filter(None, fields)) or 'it'}. "
                "Say in the prompt what is wanted, or simplify the type.",
                raw_output=raw,
                cause=error,
            )
            return self._outcome(
                success=False, output=None, errors=[failure], raw_content=raw, validated=False
            )
        return self._outcome(success=True, output=output, raw_content=raw)

    def _outcome(self, **facts: Any) -> AgentResult[Any]:
        end = self._end
        about: dict[str, Any] = {}
        if end is not None:
            about = {
                "session_id": end.session_id,
                "duration_api_ms": end.duration_api_ms,
                "permission_denials": end.permission_denials or [],
            }
        return AgentResult(metadata=about, usage=self._meter.read(), turn_count=self._meter.turns, **facts)
