"""Asking the user about a tool call: yes, once or always; no, with a reason; or yes with other arguments."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Key, Mount
from textual.screen import ModalScreen
from textual.widgets import Button, Label, Static

from maverick.runtime import ApprovalAnswer
from maverick.runtime.answer_form import form_fields
from maverick.runtime.consent import CallPreview, GrantScope
from maverick.tui.block import LineStyle
from maverick.tui.dialogs import FormDialog, TextDialog
from maverick.tui.keys import DIALOG, bindings
from maverick.tui.plain_text import one_line, plain
from maverick.tui.questions import Answer, Question
from maverick.tui.tool_lines import diff_styles

R = TypeVar("R")
_ALWAYS = {
    GrantScope.SESSION: "[u]A[/u]lways, until you quit",
    GrantScope.PROJECT: "Always here ([u]p[/u])",
}
_ANSWERING = {name for key in DIALOG if not key.always for name in key.key.split(",")}
_TYPING = "You were typing. Press the key again after a moment."
_COLOURS = {LineStyle.ADDED: "green", LineStyle.REMOVED: "red", LineStyle.HUNK: "cyan"}


async def ask_user(
    app: App[None], question: Question, grace: float, stop: Callable[[], None]
) -> Answer | None:
    """What the user decides about a tool call, and for how long; ``None`` for later, or when they stop the run."""
    while True:
        choice = await _answer(app, ApprovalDialog(question, grace))
        if question.form is not None and choice in ("approve", "edit"):
            fields = form_fields(question.form, question.arguments)
            filled = await _answer(app, FormDialog(question.preview.title, fields))
            if filled is not None:
                return ApprovalAnswer(approved=True, arguments=filled), None
        elif choice in _DECISIONS:
            return _DECISIONS[choice]
        elif choice == "reason":
            title = f"Deny {question.tool_name}"
            why = await _answer(app, TextDialog(title, "What the model is told:", action="denies"))
            if why is not None:
                return ApprovalAnswer(approved=False, reason=why), None
        elif choice == "edit":
            if (edited := await _edited(app, question)) is not None:
                return ApprovalAnswer(approved=True, arguments=edited), None
        else:
            if choice == "stop":
                stop()
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


_DECISIONS: Mapping[str | None, Answer] = {
    "approve": (ApprovalAnswer(approved=True), None),
    "session": (ApprovalAnswer(approved=True), GrantScope.SESSION),
    "project": (ApprovalAnswer(approved=True), GrantScope.PROJECT),
    "deny": (ApprovalAnswer(approved=False), None),
}


class ApprovalDialog(ModalScreen[str]):
    """Asks about a tool call, and shows all of it. What allows more than this call has to be confirmed.

    A key counts if none was pressed for ``grace`` seconds before it: the user may be typing when the dialog appears,
    and continue.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIALOG)

    def __init__(self, question: Question, grace: float) -> None:
        super().__init__()
        self._question = question
        self._grace = grace
        self._typed_at = math.inf
        """When a key was last pressed, or the dialog appeared."""
        self._chosen = ""
        """The answer that has to be confirmed."""

    def compose(self) -> ComposeResult:
        """What would happen, and the answers."""
        question, preview = self._question, self._question.preview
        with Vertical(classes="dialog"):
            title = preview.question
            if not preview.of_server:
                title = f"Allow {question.agent} to {title[:1].lower()}{title[1:]}"
            yield Label(one_line(title), classes="title", markup=False)
            if question.reason:
                yield Label(plain(question.reason), classes="why", markup=False)
            with VerticalScroll(classes="arguments"):
                yield Static(_shown(preview), id="arguments")
            with Horizontal(classes="answers"):
                yes = "[u]Y[/u]es, once" if question.form is None else "[u]Y[/u]es, fill it in"
                yield Button(yes, id="approve", variant="success", compact=True)
                yield Button("[u]N[/u]o", id="deny", variant="error", compact=True)
                yield Button("No, say [u]w[/u]hy", id="reason", compact=True)
                yield Button("Later (Esc)", id="later", compact=True)
                yield Button("[u]S[/u]top", id="stop", compact=True)
            with Horizontal(classes="answers"):
                for scope in question.scopes:
                    yield Button(_ALWAYS[scope], id=scope.value, compact=True)
                if question.form is None:
                    yield Button("[u]E[/u]dit", id="edit", compact=True)
            yield Label(self._always, id="hint", classes="hint", markup=False)

    @property
    def _always(self) -> str:
        return f"Always means: {one_line(self._question.preview.always)}" if self._question.scopes else ""

    def on_mount(self, event: Mount) -> None:
        """Focus no button, so that what was being typed is not taken for an answer."""
        self.query_one(VerticalScroll).focus()
        self._typed_at = event.time

    def on_key(self, event: Key) -> None:
        """Let no key answer that is part of what the user types, and only Enter confirm."""
        typing = event.time - self._typed_at < self._grace
        self._typed_at = event.time
        if event.key != "enter":
            self._choose("")
        if typing and event.key in _ANSWERING:
            event.stop()
            self.query_one("#hint", Label).update(_TYPING)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with a button."""
        self.action_answer(event.button.id or "")

    def action_answer(self, answer: str) -> None:
        """Answer; what allows more than this call has to be confirmed."""
        if answer not in tuple(GrantScope) or answer == self._chosen:
            _ = self.dismiss(answer)
        elif answer in self._question.scopes:
            self._choose(answer)

    def action_confirm(self) -> None:
        """Give the answer that has to be confirmed."""
        if self._chosen:
            self.action_answer(self._chosen)

    def _choose(self, answer: str) -> None:
        self._chosen = answer
        lasting = "until you quit" if answer == GrantScope.SESSION else "always in this folder"
        asked = f"Enter allows {one_line(self._question.preview.always)}, {lasting}."
        self.query_one("#hint", Label).update(asked if answer else self._always)


def _shown(preview: CallPreview) -> Text:
    """The diff in colours, the command, or the arguments."""
    lines = [plain(line) for line in preview.lines]
    styles = diff_styles(lines) if preview.kind == "edit" else itertools.repeat(LineStyle.PLAIN)
    shown = Text("\n").join(
        Text(line, _COLOURS.get(style, "")) for line, style in zip(lines, styles, strict=False)
    )
    return shown if lines else Text("no arguments", "dim")
