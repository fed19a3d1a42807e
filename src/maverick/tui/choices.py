"""What the user can choose: the agent, the model, the effort, the mode and the folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from msgspec import convert
from textual.app import App

from maverick.config.model_settings import Effort
from maverick.exceptions import MaverickError, describe_unknown
from maverick.tools.permissions import Mode
from maverick.tui.backend import Backend, Choice
from maverick.tui.dialogs import ChoiceDialog
from maverick.tui.plain_text import one_line
from maverick.tui.session import Session

_DEFAULT = "default"
_MOST_FOLDERS = 500
_EFFORTS = (
    Choice(_DEFAULT, "the agent's own"),
    Choice("low", "short and quick"),
    Choice("medium"),
    Choice("high", "thorough"),
    Choice("max", "as much as the model can"),
)
_MODES = (
    Choice(Mode.PLAN.value, "looks and thinks, and changes nothing"),
    Choice(Mode.ASK.value, "asks before it changes files or runs commands"),
    Choice(Mode.ACCEPT_EDITS.value, "changes files of the folder freely, asks before anything else"),
    Choice(Mode.YOLO.value, "does anything that no rule forbids"),
)
_IN_TURN = (Mode.PLAN, Mode.ASK, Mode.ACCEPT_EDITS)
"""The modes that the key goes through: ``yolo`` has to be named."""


class Chooser:
    """Asks the user to choose, and does what they choose; ``moved`` is called after the folder has changed."""

    def __init__(
        self,
        app: App[None],
        backend: Backend,
        session: Callable[[], Session],
        begin: Callable[[str], Awaitable[None]],
        moved: Callable[[], None],
    ) -> None:
        self._app = app
        self._backend = backend
        self._session = session
        self._begin = begin
        self._moved = moved

    async def agent(self, wanted: str) -> None:
        """Choose an agent, and begin a conversation with it."""
        # In a thread, since the first agent that is a class brings Claude's SDK with it, which takes a second.
        choices = await asyncio.to_thread(lambda: list(self._agents()))
        await self._choose("Agents", choices, self._session().agent, wanted, self._begin)

    async def model(self, wanted: str) -> None:
        """Choose the model that answers."""
        known = self._problem()  # of the agent, which no model solves

        async def take(chosen: str) -> None:
            before, self._backend.model = self._backend.model, None if chosen == _DEFAULT else chosen
            if (problem := self._problem()) and problem != known:
                self._backend.model = before
                self._warn(problem)
                return
            self._say(f"model: {chosen}")

        choices = [Choice(_DEFAULT, "each agent's own"), *self._backend.models()]
        if wanted and ":" not in wanted and wanted != _DEFAULT:
            fitting = [choice for choice in choices if wanted.casefold() in choice.value.casefold()]
            usable = [choice.value for choice in fitting if not choice.problem]
            if len(usable) > 1:
                self._warn(f"Several models are called {wanted}: {', '.join(usable)}. Name one of them.")
                return
            wanted = (usable or [choice.value for choice in fitting[:1]] or [wanted])[0]
        await self._choose("Models", choices, self._backend.model or _DEFAULT, wanted, take, free=True)

    async def effort(self, wanted: str) -> None:
        """Choose how much work the model puts in."""

        async def take(chosen: str) -> None:
            self._backend.effort = _effort(chosen)
            self._say(f"effort: {chosen}")

        current = self._backend.effort or _DEFAULT
        await self._choose("Effort", list(self._efforts()), current, wanted, take)

    async def mode(self, wanted: str) -> None:
        """Choose what agents may do without asking; without a wish, the next mode is taken."""

        async def take(chosen: str) -> None:
            self._backend.mode = chosen
            about = next(mode.description for mode in _MODES if mode.value == chosen)
            self._say(f"{chosen}: {about}", at="its next tool call")

        mode = self._session().mode
        following = _IN_TURN[(_IN_TURN.index(Mode(mode)) + 1) % 3] if mode in _IN_TURN else Mode.PLAN
        await self._choose("Modes", _MODES, mode, wanted or following, take)

    async def folder(self, wanted: str) -> None:
        """Work in another folder, with a new conversation."""
        here = self._backend.folder
        title = f"Folder: {one_line(str(here))}"
        choices = [Choice("..", str(here.parent)), *map(Choice, _folders_in(here))]
        await self._choose(title, choices, "", wanted, self._move_to, free=True)

    def _agents(self) -> Iterator[Choice]:
        for found in self._backend.agents():
            yield Choice(found.name, found.description, self._problem(found.name))
        for unread in self._backend.problems():
            yield Choice(unread.partition(":")[0], "", unread)

    def _efforts(self) -> Iterator[Choice]:
        """The efforts, those that the model does not take with what it says."""
        before, known = self._backend.effort, ""
        try:
            for choice in _EFFORTS:
                self._backend.effort = _effort(choice.value)
                problem = self._problem()
                known = problem if choice.value == _DEFAULT else known  # of the agent, which no effort solves
                yield choice._replace(problem="" if problem == known else problem)
        finally:
            self._backend.effort = before

    def _problem(self, agent: str = "") -> str:
        """Why an agent cannot run; by default, the one that is shown."""
        try:
            self._backend.prepare(agent or self._session().agent)
        except MaverickError as error:
            return str(error)
        return ""

    async def _choose(
        self,
        title: str,
        choices: Sequence[Choice],
        current: str,
        wanted: str,
        take: Callable[[str], Awaitable[None]],
        *,
        free: bool = False,
    ) -> None:
        """Have the user choose, unless they have said what they want."""
        if not wanted:

            async def chosen(value: str | None) -> None:
                if value is not None:
                    await take(value)

            await self._app.push_screen(ChoiceDialog(title, choices, current, free=free), chosen)
            return
        found = next((one for one in choices if one.value == wanted), Choice(wanted) if free else None)
        if found is None:
            noun = title.lower().removesuffix("s")
            self._warn(describe_unknown(noun, wanted, [one.value for one in choices]))
        elif found.problem:
            self._warn(found.problem)
        else:
            await take(found.value)

    async def _move_to(self, path: str) -> None:
        try:
            notice = self._backend.move_to(self._backend.folder / os.path.expanduser(path))  # noqa: ASYNC240, PTH111 - reads the environment; Path.expanduser raises for an unknown user
        except MaverickError as error:
            self._warn(str(error))
            return
        self._moved()
        if notice:
            self._warn(notice)
        agent, names = self._session().agent, [found.name for found in self._backend.agents()]
        await self._begin(agent if agent in names else "general")

    def _say(self, what: str, at: str = "your next message") -> None:
        """Say what was chosen, and from when on it holds if a run is in progress."""
        session = self._session()
        session.look()
        then = f", from {at} on" if session.is_live else ""
        self._app.clear_notifications()
        self._app.notify(one_line(f"{what}{then}"), timeout=3, markup=False)

    def _warn(self, what: str) -> None:
        self._app.notify(one_line(what), severity="warning", markup=False)


def _effort(chosen: str) -> Effort | None:
    return None if chosen == _DEFAULT else convert(chosen, Effort)


def _folders_in(folder: Path) -> list[str]:
    try:
        found = [path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    except OSError:
        return []
    return sorted(found)[:_MOST_FOLDERS]
