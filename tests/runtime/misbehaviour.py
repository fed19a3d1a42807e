"""Tools that misbehave, each in up to three forms: a coroutine, a function that blocks, and a command.

A kind is a class with the forms as methods: ``awaited`` and ``blocking`` are tools as they are; ``command`` is what the
shell tool is asked to run.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from maverick.model import ToolContext

RELEASE = threading.Event()
"""Set at the end of a test, so that no thread stays behind for good."""
LEFTOVERS: list[Any] = []
"""What tools have left lying about; the test tidies up."""


class Kind:
    """A way to misbehave."""

    command: ClassVar[str] = ""
    fails: ClassVar[bool] = True
    """Whether its result is a failure; if not, something can be made of what it returns."""
    hangs: ClassVar[bool] = False
    """Whether only its deadline ends it."""


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unfinished(BaseException):
    """Not even an Exception."""


class Everything:
    """Has every attribute one asks for, and none of them works."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self


class Liar(str):
    """A text that will not say how long it is."""

    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("guess")


def raising(error: BaseException, command: str = "") -> type[Kind]:
    """A kind that raises this error."""

    class Raising(Kind):
        async def awaited(self) -> None:
            """Fail."""
            raise error

        def blocking(self) -> None:
            """Fail."""
            raise error

    Raising.command = command
    return Raising


def returning(make: Callable[[], object], command: str = "", *, fails: bool = False) -> type[Kind]:
    """A kind that returns what is made for it."""

    class Returning(Kind):
        async def awaited(self) -> Any:
            """Return something odd."""
            return make()

        def blocking(self) -> Any:
            """Return something odd."""
            return make()

    Returning.command, Returning.fails = command, fails
    return Returning


class Hangs(Kind):
    hangs = True
    command = "sleep 3602"

    async def awaited(self) -> None:
        """Hang."""
        await asyncio.Event().wait()

    def blocking(self) -> None:
        """Hang."""
        RELEASE.wait()


class Spins(Kind):
    hangs = True
    command = "while :; do :; done"

    def blocking(self) -> None:
        """Spin."""
        while not RELEASE.is_set():
            pass


class BlocksTheLoop(Kind):
    fails = False

    async def awaited(self) -> str:
        """Block everything for a while."""
        RELEASE.wait(0.3)
        return "at last"


class CancelsItself(Kind):
    command = "kill -TERM $$"

    async def awaited(self) -> None:
        """Cancel the task it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


class IgnoresItsEnd(Kind):
    hangs = True
    command = "trap '' TERM INT HUP; sleep 3603; sleep 3603"

    async def awaited(self) -> None:
        """Go on, whatever happens."""
        while not RELEASE.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue


class RecursesForever(Kind):
    command = f"{sys.executable} -c 'f = lambda: f(); f()'"

    def again(self) -> int:
        return self.again() + 1

    async def awaited(self) -> int:
        """Never arrive."""
        return self.again()

    def blocking(self) -> int:
        """Never arrive."""
        return self.again()


class StreamsForever(Kind):
    command = "yes"
    fails = False

    async def awaited(self) -> AsyncIterator[str]:
        """Talk on."""

        async def talk() -> AsyncIterator[str]:
            while True:
                yield "and another thing "

        return talk()

    def blocking(self) -> Iterator[str]:
        """Talk on."""
        while True:
            yield "and another thing "


class BreaksOff(Kind):
    command = "echo some; exit 9"

    def blocking(self) -> Iterator[str]:
        """Begin, and fail."""
        yield "some"
        raise ValueError("no more")


class StreamsNothing(Kind):
    hangs = True

    async def awaited(self) -> AsyncIterator[str]:
        """Promise a stream that never begins."""

        async def silence() -> AsyncIterator[str]:
            await asyncio.Event().wait()
            yield ""

        return silence()


class ReturnsACoroutine(Kind):
    async def awaited(self) -> Coroutine[Any, Any, None]:
        """Forget to await."""
        LEFTOVERS.append(asyncio.sleep(0))
        made: Coroutine[Any, Any, None] = LEFTOVERS[-1]
        return made


class LeavesSomethingRunning(Kind):
    command = "(setsid sleep 3604 >/dev/null 2>&1 &)"
    fails = False

    async def awaited(self) -> str:
        """Leave a task behind."""
        LEFTOVERS.append(asyncio.ensure_future(asyncio.sleep(3600)))
        return "left"

    def blocking(self) -> str:
        """Leave a thread behind."""
        threading.Thread(target=RELEASE.wait, daemon=True).start()
        return "left"


class Forks(Kind):
    command = f"{sys.executable} -c 'import os, time; os.fork() or time.sleep(3605)'"
    fails = False

    async def awaited(self) -> str:
        """Come back twice."""
        os.fork()
        return "here"

    def blocking(self) -> str:
        """Come back twice."""
        os.fork()
        return "here"


SLEEPER = ("sleep", "3607")
"""A program that does nothing for long."""


class HangsWithAProgram(Kind):
    hangs = True

    async def awaited(self, context: ToolContext) -> None:
        """Wait for a program that does not end."""
        await context.run_program(SLEEPER)


class ClingsToAProgram(Kind):
    hangs = True

    async def awaited(self, context: ToolContext) -> None:
        """Start a program again when it is ended."""
        with suppress(asyncio.CancelledError):
            await context.run_program(SLEEPER)
        await context.run_program(["true"])


class LosesItsFolder(Kind):
    command = "mkdir gone && cd gone && rmdir ../gone && pwd; ls"
    fails = False

    def lose(self) -> str:
        home = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
        LEFTOVERS.append(home)
        return "lost"

    async def awaited(self) -> str:
        """Delete the folder we are in."""
        return self.lose()

    def blocking(self) -> str:
        """Delete the folder we are in."""
        return self.lose()


class ClosesItsOutput(Kind):
    command = "exec >&- 2>&- <&-; sleep 0.1"
    fails = False

    async def awaited(self) -> str:
        """Close the standard output."""
        sys.stdout.close()
        return "closed"

    def blocking(self) -> str:
        """Close the standard output."""
        sys.stdout.close()
        return "closed"


class KillsItsParent(Kind):
    hangs = True
    command = "kill -9 $PPID; sleep 3606"


class DiesAtOnce(Kind):
    command = "kill -9 $$"


class EatsMemory(Kind):
    command = f"ulimit -v 200000; {sys.executable} -c 'x = bytearray(10**9)'"


class AsksForInput(Kind):
    command = "read answer; cat; exit 4"

    async def awaited(self) -> str:
        """Ask nobody."""
        return input()  # noqa: ASYNC250 - that is the misbehaviour

    def blocking(self) -> str:
        """Ask nobody."""
        return input()


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    return deep


KINDS: dict[str, type[Kind]] = {
    "hangs": Hangs,
    "spins": Spins,
    "blocks the loop": BlocksTheLoop,
    "cancels itself": CancelsItself,
    "ignores its end": IgnoresItsEnd,
    "raises": raising(ValueError("no"), "exit 1"),
    "raises SystemExit": raising(SystemExit(3), "exit 3"),
    "raises KeyboardInterrupt": raising(KeyboardInterrupt(), "kill -INT $$"),
    "raises CancelledError": raising(asyncio.CancelledError()),
    "raises GeneratorExit": raising(GeneratorExit()),
    "raises StopIteration": raising(StopIteration("x")),
    "raises StopAsyncIteration": raising(StopAsyncIteration()),
    "raises MemoryError": raising(MemoryError()),
    "raises an error without words": raising(UnspeakableError()),
    "raises an error of many words": raising(ValueError("x" * 10_000_000)),
    "raises no Exception": raising(Unfinished("odd")),
    "raises a group": raising(BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError()])),
    "recurses forever": RecursesForever,
    "returns 100 MB": returning(lambda: "x" * 100_000_000, "head -c 99000000 /dev/zero"),
    "streams forever": StreamsForever,
    "streams nothing": StreamsNothing,
    "breaks off": BreaksOff,
    "returns what has no text": returning(object, fails=True),
    "returns a lock": returning(threading.Lock, fails=True),
    "returns a cycle": returning(cycle, fails=True),
    "returns lists in lists": returning(nested, fails=True),
    "returns no number": returning(lambda: float("nan")),
    "returns a long number": returning(lambda: 10**10_000, fails=True),
    "returns a lone surrogate": returning(lambda: "\udcff"),
    "returns odd bytes": returning(lambda: b"\xff\x00\xfe", "printf '\\377\\000\\376'", fails=True),
    "returns what pretends to be everything": returning(Everything, fails=True),
    "returns a text that lies": returning(lambda: Liar("x"), fails=True),
    "returns a coroutine": ReturnsACoroutine,
    "leaves something running": LeavesSomethingRunning,
    "forks": Forks,
    "hangs with a program": HangsWithAProgram,
    "clings to a program": ClingsToAProgram,
    "loses its folder": LosesItsFolder,
    "closes its output": ClosesItsOutput,
    "asks for input": AsksForInput,
    "kills its parent": KillsItsParent,
    "dies at once": DiesAtOnce,
    "eats memory": EatsMemory,
}
"""The ways to misbehave, by name."""
