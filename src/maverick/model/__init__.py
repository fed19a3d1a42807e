"""What one turn is: messages, tools, a request, a response, and the client between them. No I/O here."""

from maverick.model.client import LLMClient, ModelInfo, model_info
from maverick.model.history import History
from maverick.model.media import Blob, Document, Image
from maverick.model.message import Message, Opaque, Part, Role, Text, Thought, ToolCall
from maverick.model.request import OutputSchema, Request, RequestConfig
from maverick.model.response import Response, StopReason, StreamItem, TextDelta, ThinkingDelta
from maverick.model.tool import Effect, Outcome, ProgramResult, StructuredResult, Tool, ToolContext
from maverick.model.usage import ExecutionMetrics, Price, Usage

__all__ = [
    "Blob", "Document", "Effect", "ExecutionMetrics", "History", "Image", "LLMClient", "Message", "ModelInfo",
    "Opaque", "Outcome", "OutputSchema", "Part", "Price", "ProgramResult", "Request", "RequestConfig", "Response",
    "Role", "StopReason", "StreamItem", "StructuredResult", "Text", "TextDelta", "ThinkingDelta", "Thought", "Tool",
    "ToolCall", "ToolContext", "Usage", "model_info",
]  # fmt: skip
