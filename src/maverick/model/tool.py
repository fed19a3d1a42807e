"""What a tool is: something a model can ask for by name, and the context it gets when it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, cast, runtime_checkable

from msgspec import Struct
from typing_extensions import TypeIs, TypeVar

from maverick.model.message import Part

D = TypeVar("D", default=Any)


@runtime_checkable
class Tool(Protocol):
    """A function the model can call.

    Any object with these four members is a tool; ``@tool`` makes one from a function. A tool may also have
    ``effect``, ``timeout`` (seconds), ``approval`` (whether a person is asked about each call, or the reason),
    ``max_output`` (characters), ``untrusted`` (whether what it returns was written by others) and
    ``sequential`` (whether a call waits for those before it in the turn, and those after it wait for it), and its
    ``execute`` may take a second argument, the :class:`ToolContext`.
    """

    @property
    def name(self) -> str:
        """What the model calls it, such as ``read_file``."""
        ...

    @property
    def description(self) -> str:
        """What it does, worded for the model."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        ...

    def execute(self, args: dict[str, Any], /) -> Awaitable[Any]:
        """Run it; what it returns is sent to the model."""
        ...


def is_tool(thing: object) -> TypeIs[Tool]:
    """Whether an object has the members of a tool: what ``isinstance`` says, at a tenth of its cost."""
    return all(hasattr(thing, name) for name in ("name", "description", "parameters", "execute"))


class Effect(StrEnum):
    """What running a tool again would do: what a resumed run may assume."""

    PURE = "pure"
    """Nothing outside changes; running it again is free."""
    KEYED = "keyed"
    """It changes something, and a second call with the same idempotency key does not change it again."""
    TRANSACTIONAL = "transactional"
    """Its change and its journal entry are one database transaction."""
    IRREVERSIBLE = "irreversible"
    """It changes something for good; it is never run again by itself."""


class ToolContext(Struct, Generic[D], frozen=True, kw_only=True):
    """What a tool may know of the call it serves. None of it is in the schema the model sees."""

    run_id: str
    """The run the call belongs to."""
    trace_id: str
    """Correlates everything that happens for one request."""
    agent: tuple[str, ...]
    """The path of agent names, outermost first."""
    turn: int
    """The turn the call was made in."""
    call_id: str
    """The model's id of the call."""
    idempotency_key: str
    """The same for every attempt at this call, and for no other: ``run/turn/index``."""
    deadline: float
    """When the call is cut off, in seconds of the event loop's clock."""
    user_id: str | None = None
    """The verified user the run acts for; never taken from the model."""
    session: Any = None
    """For a transactional tool: the open transaction in the journal's database."""
    deps: D = cast("D", None)
    """What the program gave to the run (``execute(…, deps=…)``); annotate it with ``ToolContext[Deps]``. Never recorded."""

    async def run_program(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        max_output: int = 1_000_000,
    ) -> ProgramResult:
        """Run a program to its end. When the call or the run is stopped, it ends with everything it has started.

        It also ends when this process dies, whatever it dies of. It has no input.

        Args:
            argv: The program and its arguments; no shell reads them.
            cwd: The folder it runs in; by default the current one.
            env: Its whole environment; by default ``PATH``, ``HOME``, the locale and the like, and no keys.
            max_output: Bytes of its output that are kept.

        Raises:
            ToolError: It could not be started.
        """
        from maverick.processes import run_program  # here, since few tools start programs

        output = bytearray()

        def take(chunk: bytes) -> bool:
            output.extend(chunk[: max_output - len(output)])
            return True

        exit_code = await run_program(argv, take, cwd=cwd, env=env)
        return ProgramResult(exit_code, output.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What came of a program."""

    exit_code: int
    """As a shell says it: 128 and the number of the signal, for a program that a signal has ended."""
    output: str
    """What it has printed, errors included, or the beginning of that."""


class StructuredResult(Struct, frozen=True):
    """What a tool may return in place of text: what the model reads, and the same as data for programs."""

    text: str
    """What the model reads."""
    data: dict[str, Any]
    """JSON values, for whoever reads the run's tool calls."""
    is_error: bool = False
    """Whether the call failed."""
    parts: tuple[Part, ...] = ()
    """What the model gets in place of the text, where that is more: images, documents."""


class Outcome(Struct, frozen=True):
    """What a tool's ``reconcile`` says of a call that was running when the process died."""

    happened: bool | None
    """Whether it took effect; ``None`` when that is unknown."""
    result: str = ""
    """What the call returned, if it took effect."""

    @classmethod
    def done(cls, result: str = "Done.") -> Outcome:
        """It took effect, with this result."""
        return cls(happened=True, result=result)

    @classmethod
    def not_done(cls) -> Outcome:
        """It did not take effect; it is run now."""
        return cls(happened=False)

    @classmethod
    def unknown(cls) -> Outcome:
        """It is unknown; the model is told so."""
        return cls(happened=None)
