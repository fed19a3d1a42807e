"""An agent that is served: what runs it for a user, and how the words of a chat become its inputs.

The first message of a conversation is put into the agent's own prompts: as the input ``prompt``, or as the one input
that it requires; an agent that requires several is given them by name. Every later message is what the user says, and
nothing around it, after all that was said and done before (the system prompt and its inputs stay the same).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pydantic import BaseModel

from maverick.agents.skills import Skills
from maverick.exceptions import MaverickError
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.loop.inputs import REQUIRED, Input, InputConfig, Template, bind_inputs, inputs_schema
from maverick.misuse import refuse
from maverick.model import Document, Image
from maverick.runtime import AgentExecutor

MakeExecutor: TypeAlias = Callable[[AgentDefinition[Any], str | None], AgentExecutor]
"""What runs an agent for a user, as in a module's ``executor(definition, user_id)``."""

_WORDS = "prompt"


class InputBody(BaseModel):
    """An input of an agent, for a form."""

    name: str
    description: str
    type: str
    """Its JSON type: ``string``, ``number``, ``integer``, ``boolean``, ``array`` or ``object``."""
    required: bool
    choices: list[str] | None = None
    """All the values it may have, if they are few."""
    default: Any = None
    """What it is if it is not given."""


class CommandBody(BaseModel):
    """A skill that a user may ask for by name, as ``/name``."""

    name: str
    description: str


class ServedAgent:
    """An agent that a server has.

    Args:
        definition: The agent.
        executor: Opens what runs it for a user, for the length of an ``async with`` block.
        for_each_user: Whether each user has an executor of their own; else one serves all.
        ideas: What a user may say first, to be shown as suggestions.
        models: The models that users may choose between, if not only its own: each a ``provider:model``.
        skills: Finds the skills that users may ask for by name, as ``/name``; asked each time.
    """

    def __init__(
        self,
        definition: AgentDefinition[Any],
        executor: Callable[[str | None], AbstractAsyncContextManager[AgentExecutor]],
        *,
        for_each_user: bool = False,
        ideas: Sequence[str] = (),
        models: Sequence[str] = (),
        skills: Callable[[], Skills] | None = None,
    ) -> None:
        self.definition = _taking_words(definition)
        self.skills = skills
        self.ideas = tuple(ideas)
        # Each is checked now, not when somebody chooses it.
        self.models = tuple(str(replace(definition.model_config, model=model).model) for model in models)
        self.later = _later(definition)
        """The same agent in the middle of a conversation."""
        self.words_input = _words_input(self.definition)
        """The input that takes the words of the first message, if one does."""
        self._open = executor
        self._shared = None if for_each_user else _Shared(lambda: executor(None))

    @classmethod
    def made(
        cls, definition: AgentDefinition[Any], journal: Journal, executor: AgentExecutor | MakeExecutor | None
    ) -> ServedAgent:
        """A definition that an executor runs, or one for each user; its runs are kept in a journal."""
        if executor is None or isinstance(executor, AgentExecutor):
            kept = AgentExecutor.like(executor or AgentExecutor(), journal=journal)
            return cls(definition, lambda _: kept)
        make = executor
        return cls(
            definition,
            lambda user_id: AgentExecutor.like(make(definition, user_id), journal=journal),
            for_each_user=True,
        )

    @asynccontextmanager
    async def executor(self, user_id: str | None) -> AsyncIterator[AgentExecutor]:
        """What runs it for a user; if it cannot be run, the ``MaverickError`` says why."""
        opened = self._open(user_id) if self._shared is None else nullcontext(await self._shared.get())
        async with opened as executor:
            yield executor

    async def problem(self) -> str:
        """Why it cannot be run; empty if it can."""
        try:
            async with self.executor(None) as executor:
                executor.fingerprint(self.definition)
        except MaverickError as error:
            return str(error)
        return ""

    def inputs(self) -> list[InputBody]:
        """The inputs it takes besides words."""
        declared = {name: spec for name, spec in self.definition.inputs.items() if spec.takes_text}
        schema = inputs_schema(declared)
        return [
            _input_body(name, schema["properties"][name], required=name in schema.get("required", ()))
            for name in declared
            if name != self.words_input
        ]

    def first_inputs(self, words: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The inputs of the first message of a conversation besides its words, if all are there and of the right type."""
        inputs, own = dict(given or {}), self.words_input
        if own is None and words and not inputs:
            names = ", ".join(body.name for body in self.inputs())
            refuse("inputs", f"{self.definition.name} is begun with these, each by its name: {names}.")
        bind_inputs(self.definition.inputs, {**({own: words} if own and words else {}), **inputs})
        return inputs

    def run_inputs(
        self, words: str, attachments: Sequence[Image | Document], kept: Mapping[str, Any], *, is_first: bool
    ) -> tuple[AgentDefinition[Any], dict[str, Any]]:
        """The definition that answers a message, and its inputs.

        Raises:
            InvalidInputError: The words ask for a skill that is not there.
        """
        words = self.expanded(words)
        said = [*attachments, words] if attachments else words
        if is_first:
            return self.definition, {**({self.words_input: said} if self.words_input else {}), **kept}
        inputs = {name: value for name, value in kept.items() if name in self.later.inputs}
        return self.later, {**inputs, _words_name(self.later): said}

    def expanded(self, words: str) -> str:
        """What a message means: one that begins with a slash is the skill that it names, if it has any.

        Raises:
            InvalidInputError: There is no such skill.
            ToolError: It cannot be read.
        """
        return words if self.skills is None or not words.startswith("/") else self.skills().expanded(words)

    def commands(self) -> list[CommandBody]:
        """The skills that users may ask for by name."""
        found = () if self.skills is None else self.skills().by_name.values()
        return [CommandBody(name=skill.name, description=skill.description) for skill in found]

    async def aclose(self) -> None:
        """Close the executor that serves all users."""
        if self._shared is not None:
            await self._shared.aclose()


@dataclass(slots=True)
class _Shared:
    """An executor that is opened on first use, in a task of its own: what it opens has to be closed where it was."""

    open: Callable[[], AbstractAsyncContextManager[AgentExecutor]]
    _task: asyncio.Task[None] | None = None
    _ready: asyncio.Future[AgentExecutor] | None = None
    _leave: asyncio.Event | None = None

    async def get(self) -> AgentExecutor:
        if self._ready is None or (self._ready.done() and self._ready.exception() is not None):
            self._ready, self._leave = asyncio.get_running_loop().create_future(), asyncio.Event()
            self._task = asyncio.create_task(self._hold(self._ready, self._leave))
        return await asyncio.shield(self._ready)

    async def aclose(self) -> None:
        if self._task is not None and self._leave is not None:
            self._leave.set()
            await asyncio.wait([self._task])
            self._ready = self._task = None

    async def _hold(self, ready: asyncio.Future[AgentExecutor], leave: asyncio.Event) -> None:
        try:
            async with self.open() as executor:
                ready.set_result(executor)
                await leave.wait()
        except MaverickError as error:
            if ready.done():
                raise
            ready.set_exception(error)


def _taking_words(definition: AgentDefinition[Any]) -> AgentDefinition[Any]:
    """A definition that takes the words of the first message: after its own messages, if it takes nothing."""
    if definition.inputs:
        return definition
    messages = (*definition.prompt_config.initial_messages, f"${{{_WORDS}}}")
    return replace(
        definition,
        prompt_config=replace(definition.prompt_config, initial_messages=messages),
        input_config=None,
    )


def _words_name(definition: AgentDefinition[Any]) -> str:
    """What the words of a later message are called: not as a variable of the system prompt."""
    return _WORDS if _WORDS not in _in_system_prompt(definition) else "user_message"


def _later(definition: AgentDefinition[Any]) -> AgentDefinition[Any]:
    name = _words_name(definition)
    used = _in_system_prompt(definition)
    system = {one: spec for one, spec in definition.inputs.items() if one in used}
    return replace(
        definition,
        prompt_config=replace(definition.prompt_config, initial_messages=(f"${{{name}}}",)),
        input_config=InputConfig({**system, name: Input()}),
    )


def _in_system_prompt(definition: AgentDefinition[Any]) -> AbstractSet[str]:
    return Template(definition.prompt_config.system_prompt, "prompt_config.system_prompt").variables


def _words_input(definition: AgentDefinition[Any]) -> str | None:
    takes_text = [name for name, spec in definition.inputs.items() if spec.takes_text]
    if _WORDS in takes_text:
        return _WORDS
    required = [name for name, spec in definition.inputs.items() if spec.default is REQUIRED]
    return required[0] if len(required) == 1 and required[0] in takes_text else None


def _input_body(name: str, schema: Mapping[str, Any], *, required: bool) -> InputBody:
    choices = schema.get("enum")
    return InputBody(
        name=name,
        description=schema.get("description", ""),
        type=schema.get("type", "string"),
        required=required,
        choices=choices if choices and all(isinstance(one, str) for one in choices) else None,
        default=schema.get("default"),
    )
