"""Asking the user about a tool call: yes, no, no with a reason, or yes with other arguments."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Label, Static

from maverick.runtime import ApprovalAnswer
from maverick.tui.dialogs import TextDialog
from maverick.tui.keys import DIALOG, bindings
from maverick.tui.plain_text import one_line, plain
from maverick.tui.renderer import Renderer
from maverick.tui.session import Question
from maverick.tui.tool_lines import argument_lines

R = TypeVar("R")


async def ask_user(
    app: App[None], question: Question, grace: float, stop: Callable[[], None]
) -> ApprovalAnswer | None:
    """What the user decides about a tool call; ``None`` for later.

    Args:
        app: The screen.
        question: The tool call.
        grace: For how many seconds no key counts.
        stop: Stops the run, if that is what the user wants.
    """
    while True:
        match await _answer(app, ApprovalDialog(question, grace)):
            case ApprovalChoice.APPROVE:
                return ApprovalAnswer(approved=True)
            case ApprovalChoice.DENY:
                return ApprovalAnswer(approved=False)
            case ApprovalChoice.DENY_WITH_REASON:
                title = f"Deny {question.tool_name}"
                why = await _answer(app, TextDialog(title, "What the model is told:", action="denies"))
                if why is not None:
                    return ApprovalAnswer(approved=False, reason=why)
            case ApprovalChoice.EDIT:
                if (edited := await _edited(app, question)) is not None:
                    return ApprovalAnswer(approved=True, arguments=edited)
            case ApprovalChoice.STOP:
                stop()
                return None
            case _:
                return None


async def _edited(app: App[None], question: Question) -> dict[str, Any] | None:
    """The arguments as the user has edited them; ``None`` if they did not, or not to a JSON object."""
    written = json.dumps(question.arguments, indent=2, ensure_ascii=False)
    title = f"Edit the arguments of {question.tool_name}"
    dialog = TextDialog(title, "The arguments, as JSON:", written, action="allows the call")
    if (text := await _answer(app, dialog)) is None:
        return None
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return arguments
    app.notify("The arguments have to be a JSON object.", severity="warning")
    return None


async def _answer(app: App[None], dialog: ModalScreen[R]) -> R | None:
    """What the user answers in a dialog, which is closed when no one waits for it any more."""
    answered: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()

    def take(answer: R | None) -> None:
        if not answered.done():
            answered.set_result(answer)

    await app.push_screen(dialog, take)
    try:
        return await answered
    except asyncio.CancelledError:
        _ = dialog.dismiss(None)
        raise


class ApprovalChoice(StrEnum):
    """The answer to a question about a tool call."""

    APPROVE = "approve"
    DENY = "deny"
    DENY_WITH_REASON = "reason"
    EDIT = "edit"
    LATER = "later"
    STOP = "stop"


class ApprovalDialog(ModalScreen[ApprovalChoice]):
    """Asks about a tool call, and shows all of it.

    Args:
        question: The tool call.
        grace: For how many seconds no key counts: the user may be typing when the dialog appears.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIALOG)

    def __init__(self, question: Question, grace: float) -> None:
        super().__init__()
        self._question = question
        self._grace = grace
        self._shown_at = 0.0

    def compose(self) -> ComposeResult:
        """The question, the arguments, and the answers."""
        question = self._question
        with Vertical(classes="dialog"):
            title = f"Allow {one_line(question.agent)} to call {one_line(question.tool_name)}?"
            yield Label(title, classes="title", markup=False)
            if question.reason:
                yield Label(plain(question.reason), classes="why", markup=False)
            with VerticalScroll(classes="arguments"):
                yield Static(id="arguments")
            with Horizontal(classes="answers"):
                yield Button("[u]Y[/u]es, this once", id="approve", variant="success", compact=True)
                yield Button("[u]N[/u]o", id="deny", variant="error", compact=True)
                yield Button("Later (Esc)", id="later", compact=True)
                yield Button("[u]S[/u]top the run", id="stop", compact=True)
            with Horizontal(classes="answers"):
                yield Button("No, and say [u]w[/u]hy", id="reason", compact=True)
                yield Button("[u]E[/u]dit the arguments", id="edit", compact=True)

    def on_mount(self) -> None:
        """Focus no button, so that what was being typed is not taken for an answer."""
        self.query_one(VerticalScroll).focus()
        self._shown_at = time.monotonic()

    def on_resize(self) -> None:
        """Fit the arguments to the width."""
        shown = self.query_one("#arguments", Static)
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width - 1, 20)
        lines = list(argument_lines(self._question.arguments, width, Renderer()))
        shown.update(Text("\n").join(lines) if lines else Text("no arguments", "dim"))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with a button."""
        self.action_answer(event.button.id or "")

    def action_answer(self, answer: str) -> None:
        """Answer, unless the dialog has only just appeared."""
        if time.monotonic() - self._shown_at >= self._grace:
            _ = self.dismiss(ApprovalChoice(answer))
