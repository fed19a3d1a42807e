"""The conversation of a run, how much of the context window it takes, and how it differs from what was sent before.

Each request of a run extends the one before it, or the conversation says why not (:class:`~maverick.loop.prefix.PrefixReason`): providers
charge again for a prefix that has changed, and accept a signed thought only behind the messages it was made for. So the
thoughts behind a change are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from maverick.exceptions import AgentError, MediaRejectedError, ThinkingRejectedError
from maverick.loop.prefix import (
    PrefixChange,
    PrefixReason,
    any_thought,
    bound_anew,
    bound_thought,
    has_media,
    made_behind,
    without_media,
    without_thoughts,
)
from maverick.model import (
    Document,
    History,
    Image,
    Message,
    Opaque,
    Part,
    Request,
    Response,
    Role,
    Text,
    Thought,
    Tool,
    ToolCall,
)
from maverick.model.message import describe_part, parts_of
from maverick.model.untrusted import cut_out

_BYTES_PER_TOKEN = 3
"""English has about four, code and other scripts fewer; an estimate that is too high is the safe side."""
_USUAL_ANSWER = 4096
"""Tokens kept free for an answer whose size the definition leaves to the client."""
_SMALLEST_RESULT = 100
_NOTE = 40
"""About how many characters the note takes that replaces what was cut."""


class Conversation:
    """The conversation of one run, how much of the context window it takes, and what of it was sent before."""

    def __init__(self, system: str, messages: Iterable[Message]) -> None:
        self.history = History(messages)
        self.size: int | None = None
        """How many tokens the model can read, if known."""
        self._system = system
        self._call_ids = {call.id: None for message in self.history for call in message.tool_calls}
        """A dict, since an empty set takes three times the memory."""
        self._whole: History | None = None
        """The history without the partial answer at its end, if it has one."""
        self._tool_tokens = 0
        """How many of the tokens are the tools' schemas."""
        self._sent = 0
        """How many messages the last request had."""
        self._change: PrefixChange | None = None
        self._thoughts_refused = False
        self.tokens = _conversation_tokens(system, self.history)
        """About how many tokens the next request has."""

    def sending(self) -> PrefixChange | None:
        """Note that the history is sent as it is; says how it fails to extend what was sent before, if it does."""
        self._sent = len(self.history)
        change, self._change = self._change, None
        return change

    def say(self, message: Message, counted: int = 0) -> None:
        """Add a message; ``counted`` is what the provider says the whole conversation has with it."""
        self.history = self.history.extended(message)
        self.tokens = counted or self.tokens + message_tokens(message)

    def answer(self, response: Response, turn: int) -> tuple[Response, tuple[ToolCall, ...]]:
        """Add the model's answer; returns it, and its tool calls, each with an id of its own."""
        calls = response.tool_calls
        if calls and not _have_own_ids(calls, self._call_ids):
            response = _with_own_ids(response, turn, self._call_ids)
            calls = response.tool_calls
        for call in calls:
            self._call_ids[call.id] = None
        if response.parts:  # no provider accepts an empty message
            self.say(made_behind(self.history, response.message), response.usage.total_tokens)
        return response, calls

    def say_partly(self, answer: str) -> None:
        """Add an answer that was cut short by an interruption."""
        self._whole = self.history
        self.say(Message.assistant(answer))

    def drop_partial(self) -> None:
        """Remove an answer that was cut short: the model answers again, and half an answer before it would confuse it."""
        if self._whole is not None:
            self.history, self._whole = self._whole, None
            self._recount()

    def edit(self, content: str | Iterable[str | Part], *, keeps_media: bool = False) -> None:
        """Replace the user's last message, all of it or only its text, or add one after the last tool results."""
        last = len(self.history) - 1
        if self.history[last].role is Role.USER:
            if keeps_media:
                media = [part for part in self.history[last].parts if isinstance(part, Image | Document)]
                content = [*media, *parts_of(content)]
            self.history = History(self.history[:last])
            if self._sent > last:
                self.note_change(PrefixReason.EDITED, last)
        self.interject(Message.user(content))

    def interject(self, message: Message) -> None:
        """Add a message that the model did not wait for: what a provider's tool had only begun is taken back.

        No message may come between such a call and its result.
        """
        if has_open_call(self.history):
            place = max(at for at, known in enumerate(self.history) if known.role is Role.ASSISTANT)
            kept = _without_open_calls(self.history[place].parts)
            rest = [Message.assistant(kept)] if any(not isinstance(part, Thought) for part in kept) else []
            self.history = History((*self.history[:place], *rest, *self.history[place + 1 :]))
        self.say(message)

    def revise(self, since: int, messages: Sequence[Message], added: Sequence[Message]) -> None:
        """Continue with other messages from ``since`` on, one for one, and with more at the end."""
        if messages and since < self._sent:
            self.rewrite((*self.history[:since], *messages), PrefixReason.EDITED, since)
        elif messages:
            self.history = History((*self.history[:since], *messages))
            self._recount()
        for message in added:
            self.interject(message)

    def place_of(self, message: Message) -> int:
        """Where a message is; 0 if it was compacted together with those before it."""
        return next((place for place, known in enumerate(self.history) if known is message), 0)

    def rewrite(self, messages: Iterable[Message], reason: PrefixReason, since: int | None = None) -> None:
        """Continue with messages that are others from ``since`` on, or with other tools or another model.

        The thoughts from there on are left out that are valid only behind what came before them.
        """
        every = reason in (PrefixReason.MODEL_CHANGED, PrefixReason.THINKING_REFUSED)
        self.history = without_thoughts(messages, since or 0, any_thought if every else bound_thought)
        self._recount()
        self.note_change(reason, since)

    def replace_first(self, count: int, message: Message) -> None:
        """Put a provider's own summary in the place of the first messages; it keeps later thoughts valid."""
        self.history = bound_anew((message, *self.history[count:]))
        self._recount()
        self.note_change(PrefixReason.CONDENSED, 0)

    def leave_out_refused(self, error: AgentError) -> bool:
        """Leave out what the provider refused: all thoughts, once a run, or media; says whether that may help."""
        if isinstance(error, MediaRejectedError):
            return self._leave_out_media(Image if error.media == "image" else Document)
        if (
            not isinstance(error, ThinkingRejectedError)
            or self._thoughts_refused
            or not any(isinstance(part, Thought) for message in self.history for part in message.parts)
        ):
            return False
        self._thoughts_refused = True
        self.rewrite(self.history, PrefixReason.THINKING_REFUSED, 0)
        return True

    def _leave_out_media(self, kind: type[Image | Document]) -> bool:
        """Put words in the place of images or documents: those that are new, since the provider does not say which one."""
        answers = [place for place, message in enumerate(self.history) if message.role is Role.ASSISTANT]
        newest = answers[-1] + 1 if answers else 0
        found = [place for place, message in enumerate(self.history) if has_media(message, kind)]
        found = [place for place in found if place >= newest] or found
        if not found:
            return False
        messages = [
            without_media(message, kind) if place in found else message
            for place, message in enumerate(self.history)
        ]
        self.rewrite(messages, PrefixReason.MEDIA_REFUSED, found[0])
        return True

    def note_change(self, reason: PrefixReason, since: int | None = None) -> None:
        """Note that the next request differs from the last one, from its beginning or from this message on.

        Of several changes, the costliest is told.
        """
        if not self._sent:
            return
        tokens = self.tokens
        if since is not None:
            tokens = sum(message_tokens(message) for message in self.history[since:])
        if self._change is None or tokens > self._change.tokens:
            self._change = PrefixChange(reason, tokens)

    def offer_tools(self, tokens: int) -> None:
        """Continue with tools whose schemas take so many tokens."""
        self.tokens = max(self.tokens + tokens - self._tool_tokens, 0)
        self._tool_tokens = tokens

    def overflowed(self) -> None:
        """Learn from the provider that the conversation is too long as it is."""
        self.size = self.tokens if self.size is None else min(self.size, self.tokens)

    def is_full(self, asked: int) -> bool:
        """Whether there is no room for an answer of the asked size; 0 is one of usual size."""
        if self.size is None:
            return False
        return self.tokens + min(asked or _USUAL_ANSWER, self.size // 4) > self.size

    def next_turn_tokens(self, asked: int) -> int:
        """About what the next request and its answer take together."""
        return self.tokens + (asked or _USUAL_ANSWER)

    def result_share(self, count: int) -> int | None:
        """How many tokens each of ``count`` tool results may have, so that together they fill half the window."""
        return None if self.size is None else max(self.size // (2 * count), _SMALLEST_RESULT)

    def shorten(self) -> bool:
        """Cut the largest tool results; says whether there were any to cut."""
        tokens = max((self.size or self.tokens) // 8, _SMALLEST_RESULT)
        messages = [
            Message.tool_result(
                message.tool_call_id or "", fit(message.parts, tokens), is_error=message.is_error
            )
            if message.role is Role.TOOL_RESULT
            else message
            for message in self.history
        ]
        changed = (place for place, message in enumerate(self.history) if messages[place] != message)
        since = next(changed, None)
        if since is None:
            return False
        self.rewrite(messages, PrefixReason.SHORTENED, since)
        return True

    def _recount(self) -> None:
        self.tokens = _conversation_tokens(self._system, self.history) + self._tool_tokens


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has; rather too many than too few."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size // _BYTES_PER_TOKEN + 1


def request_tokens(request: Request) -> int:
    """About how many tokens a request has."""
    return _conversation_tokens(request.system, request.messages) + tool_tokens(request.tools)


def tool_tokens(tools: Iterable[Tool]) -> int:
    """About how many tokens it takes to offer these tools."""
    return sum(estimate_tokens(f"{tool.description}{tool.parameters}") for tool in tools)


def truncate(text: str, tokens: int) -> str:
    """The text, with its middle cut out if it has more than about so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    keep = max(tokens * len(text) // estimate_tokens(text) - _NOTE, 2)
    head, tail = keep * 2 // 3, keep // 3
    left_out = len(text) - head - tail
    return cut_out(text, head, len(text) - tail, f"\n[… {left_out} characters left out …]\n")


def fit(parts: Iterable[Part], tokens: int) -> list[Part]:
    """The parts of a tool's result in about so many tokens: texts are cut, images and documents are named instead."""
    fitted: list[Part] = []
    for part in parts:
        if isinstance(part, Text):
            kept: Part = Text(truncate(part.text, max(tokens, _SMALLEST_RESULT)))
        else:
            kept = part if _part_tokens(part) <= tokens else Text(f"{describe_part(part)[:-1]}: left out]")
        tokens -= _part_tokens(kept)
        fitted.append(kept)
    return fitted


def has_open_call(messages: Sequence[Message]) -> bool:
    """Whether a provider's own tool is at work, whose result the next answer begins with."""
    for message in reversed(messages):
        if message.role is not Role.TOOL_RESULT:
            return message.role is Role.ASSISTANT and bool(_open_calls(message.parts))
    return False


def _open_calls(parts: Sequence[Part]) -> set[object]:
    """The ids of the calls of a provider's own tools whose result is not among the parts."""
    blocks = [part.data for part in parts if type(part) is Opaque]
    begun = {data.get("id") for data in blocks if data.get("type") in ("server_tool_use", "mcp_tool_use")}
    return begun - {data.get("tool_use_id") for data in blocks} if begun else begun


def _without_open_calls(parts: Sequence[Part]) -> list[Part]:
    """The parts without such calls, and without the thoughts behind them."""
    begun, kept = _open_calls(parts), list[Part]()
    taken_back = False
    for part in parts:
        if isinstance(part, Opaque) and part.data.get("id") in begun:
            taken_back = True
        elif not (taken_back and isinstance(part, Thought)):
            kept.append(part)
    return kept


def _have_own_ids(calls: Sequence[ToolCall], taken: Mapping[str, None]) -> bool:
    """Whether each call has an id, and one that no other call of the run has."""
    if len(calls) == 1:
        return calls[0].id != "" and calls[0].id not in taken
    ids = {call.id for call in calls}
    return len(ids) == len(calls) and "" not in ids and ids.isdisjoint(taken)


def _with_own_ids(response: Response, turn: int, used: Mapping[str, None]) -> Response:
    """The response with an id of its own for each tool call, where the model sent none or one twice."""
    taken: set[str] = set()
    parts: list[Part] = []
    for index, part in enumerate(response.parts):
        if isinstance(part, ToolCall):
            own = part.id
            if not own or own in taken or own in used:
                own = f"{part.id or 'call'}_{turn}_{index}"
            while own in taken or own in used:
                own += "_"
            taken.add(own)
            parts.append(part if own == part.id else replace(part, id=own, block=None))
        else:
            parts.append(part)
    return response.with_parts(parts)


def _conversation_tokens(system: str, messages: Iterable[Message]) -> int:
    return estimate_tokens(system) + sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    """About how many tokens a message has."""
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        return 4 + estimate_tokens(parts[0].text)
    return 4 + sum(map(_part_tokens, parts))


def _part_tokens(part: Part) -> int:
    match part:
        case Image() | Document():
            return part.tokens
        case Thought():
            return estimate_tokens(part.text + part.signature + part.redacted)
        case Opaque():
            return estimate_tokens(str(part.data))
    return estimate_tokens(describe_part(part))
