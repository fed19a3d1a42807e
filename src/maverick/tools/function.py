"""Tools made from functions: the signature is the schema, the docstring is the description."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from maverick.exceptions import InvalidToolError, ToolError
from maverick.misuse import explain_arguments
from maverick.model import Effect, Outcome, ToolContext
from maverick.tools.signature import ToolSignature, is_method, read_docstring
from maverick.tools.threads import run_in_thread

_WORKER = Path(__file__).with_name("worker_process.py")

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

Reconciler: TypeAlias = Callable[[dict[str, Any], ToolContext], Awaitable[Outcome]]
"""Takes the arguments and the context of a call and says whether it took effect."""


class FunctionTool(Generic[P, R]):
    """A tool made from a function; made by :func:`tool`. It can still be called as the function it was."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        effect: Effect | str = Effect.IRREVERSIBLE,
        approval: bool | str = False,
        timeout: float | None = None,
        max_output: int | None = None,
        untrusted: bool = False,
        process: bool = False,
        sequential: bool = False,
        local_names: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise InvalidToolError(
                _no_function(function), tool_name=name or str(getattr(function, "__name__", function))
            )
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        documented, notes = read_docstring(function)
        self.description = description if description is not None else documented
        if not self.description.strip():
            raise InvalidToolError(
                f"{self.name!r} cannot be a tool: it has no docstring, so the model would not know what it does. Add one, "
                "or write @tool(description=…).",
                tool_name=self.name,
            )
        self.effect = _effect(self.name, effect)
        self.approval = approval
        self.timeout = _positive(self.name, "timeout", timeout)
        self.max_output = _positive(self.name, "max_output", max_output)
        self.untrusted = untrusted
        self.sequential = sequential
        self.function = function
        self.reconciler: Reconciler | None = None
        called = getattr(function, "__call__", None)  # noqa: B004 - an object's may be async
        self._awaited = any(map(inspect.iscoroutinefunction, (function, called)))
        self._blocking = not self._awaited and not inspect.isasyncgenfunction(function)
        self._signature = ToolSignature(self.name, function, notes, local_names or {})
        self._importable = self._import_path() if process else None
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without checks."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> FunctionTool[P, R]: ...
    @overload
    def __get__(
        self: FunctionTool[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> FunctionTool[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The tool of an instance, if the function is a method: ``ToolConfig(tools=[shop.find])``."""
        if instance is None or not is_method(self.function):
            return self
        bound = copy(self)
        bound.function = self.function.__get__(instance)
        if self.reconciler is not None and is_method(self.reconciler):
            bound.reconciler = self.reconciler.__get__(instance)
        return bound

    async def execute(self, args: dict[str, Any], context: ToolContext | None = None, /) -> object:
        """Check the arguments and call the function, in a thread if it is not async, or in a process with ``process=True``.

        Raises:
            ToolError: The arguments do not fit the function's signature.
        """
        checked = self.check(args)
        if self._importable is not None:
            return await _run_in_process(*self._importable, args)
        if self._signature.context_name is not None:
            checked[self._signature.context_name] = context
        function: Callable[..., Any] = self.function
        if self._awaited:
            return await function(**checked)
        if self._blocking:
            return await run_in_thread(function, **checked)
        return function(**checked)

    def check(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function's types.

        Raises:
            ToolError: They do not fit the function's signature.
        """
        return self._signature.arguments.check(args)

    def reconcile(self, function: Reconciler) -> Reconciler:
        """Decorate the function that is asked, after a crash, whether a call took effect."""
        self.reconciler = function
        return function

    def _import_path(self) -> tuple[str, str]:
        found = _import_path(self.function)
        if self._signature.context_name is not None:
            found = "it takes a ToolContext, which is only known in this process"
        if isinstance(found, str):
            raise InvalidToolError(
                f"The tool {self.name!r} cannot run in a process: {found}.", tool_name=self.name
            )
        return found

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments.

        Raises:
            InvalidToolError: The function is a method, and this is not the tool of an instance.
        """
        if is_method(self.function):
            raise InvalidToolError(
                f"The tool {self.name!r} is a method of a class. Give the agent the tool of an instance, such as "
                f"{_owner(self.function).lower()}.{self.name} with {_owner(self.function).lower()} = "
                f"{_owner(self.function)}(…).",
                tool_name=self.name,
            )
        return self._signature.schema

    @property
    def takes_context(self) -> bool:
        """Whether the function has a parameter for the :class:`ToolContext`."""
        return self._signature.context_name is not None

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


explain_arguments(
    FunctionTool, shown="tool", hint=lambda name: "timeout=…, in seconds" * (name == "timeout_ms")
)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | str = Effect.IRREVERSIBLE,
    approval: bool | str = False,
    timeout: float | None = None,
    max_output: int | None = None,
    untrusted: bool = False,
    process: bool = False,
    sequential: bool = False,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool from a function, plain (``@tool``) or with options (``@tool(timeout=30)``).

    The model sees the function's name, the docstring, and the parameters as JSON Schema; a parameter annotated
    with :class:`ToolContext` is filled in when it runs and not shown. Arguments are checked before the function
    runs. A function that is not ``async`` runs in a thread. A generator's pieces are joined, and no more of them are
    taken than the output may have.

    Args:
        function: The function.
        options: ``name`` and ``description`` to show instead of the function's own; ``effect``, what running it again
            would do (``pure``, ``keyed``, ``transactional`` or, by default, ``irreversible``); ``approval``, whether
            a person has to agree to each call, or the words why; ``timeout`` in seconds; ``max_output`` in characters;
            ``untrusted``, whether its results are untrusted content, which is marked for the model;
            ``process``, whether each call runs in a process of its own, which is ended with the call, whatever the
            function is doing; ``sequential``, whether a call waits for the calls before it in the turn, and those after
            it wait for it.

    Raises:
        InvalidToolError: The function's signature cannot be described to a model, or it wants a process and cannot be
            imported there.
    """
    local_names = sys._getframe(1).f_locals  # noqa: SLF001 - annotations may name types local to the caller
    if function is not None:
        return FunctionTool(function, local_names=local_names)
    return lambda decorated: FunctionTool(decorated, local_names=local_names, **options)


def _no_function(given: object) -> str:
    if isinstance(given, str):
        return f"@tool({given!r}) names no function. To name the tool, write @tool(name={given!r})."
    if isinstance(given, type):
        return f"{given.__name__} cannot be a tool: it is a class. Decorate the method that does the work with @tool."
    return f"A tool is made from a function, not from a {type(given).__name__}. Write @tool above a function."


def _effect(name: str, effect: Effect | str) -> Effect:
    try:
        return Effect(effect)
    except ValueError as error:
        choices = ", ".join(effect.value for effect in Effect)
        raise InvalidToolError(
            f"The tool {name!r} declares the effect {effect!r}. Use one of {choices}.", tool_name=name
        ) from error


def _owner(method: Callable[..., Any]) -> str:
    """The name of the class that a method is defined in."""
    return method.__qualname__.split(".")[-2]


Number = TypeVar("Number", int, float)


def _positive(name: str, option: str, value: Number | None) -> Number | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
        unit = "seconds" if option == "timeout" else "characters"
        raise InvalidToolError(
            f"The tool {name!r} has {option}={value!r}. Expected a number of {unit} above 0.", tool_name=name
        )
    return value


def _import_path(function: Callable[..., Any]) -> tuple[str, str] | str:
    """The module and the name that a function is imported by, or why it cannot be imported."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not inspect.isfunction(function):
        return "it is not a function"
    if module == "__main__":
        return "it is in the program that was started. Move it into a module that can be imported"
    if not name.isidentifier():
        return "it is not at the top of its module, so it cannot be imported"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "it is a generator. Return one value"
    return module, name


async def _run_in_process(module: str, name: str, arguments: dict[str, Any]) -> object:
    """Call a function in a process of its own, which ends with this task; its errors are raised as a ``ToolError``."""
    from tempfile import TemporaryFile  # here, as the next one: few tools want a process

    from maverick.processes import run_program

    with TemporaryFile() as request, TemporaryFile() as answer:
        request.write(json.dumps([sys.path, module, name, arguments]).encode())
        request.seek(0)
        files = [request.fileno(), answer.fileno()]
        argv = [sys.executable, "-P", str(_WORKER), *map(str, files)]
        # It is the program's own code, so it has the environment of the program.
        code = await run_program(argv, lambda _: True, env=os.environ, files=files)
        answer.seek(0)
        content = answer.read()
    if not content:
        raise ToolError(f"The process of the tool {name} ended without an answer, with exit code {code}.")
    outcome: dict[str, Any] = json.loads(content)
    if "error" in outcome:
        raise ToolError(outcome["error"])
    return outcome["value"]
