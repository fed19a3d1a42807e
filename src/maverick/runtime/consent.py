"""What a person is shown before they consent to a tool call, and what they have allowed without being asked again.

The command line, the TUI and editors ask in their own words; what will happen, and what "always" means, is the same in all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, structs

from maverick.config.own_files import persons_home
from maverick.config.trust import AcceptedHashes, folder_key
from maverick.exceptions import ApprovalRequiredError, ConfigError, ToolError
from maverick.runtime.answer_form import form_fields
from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest, Approver

_FILE = "grants.json"
_LONGEST_GRANT = 300
_EDITS = "(edits)"
_WRITE = {"write_file": ("path", "content"), "Write": ("file_path", "content")}
_EDIT = {
    "edit_file": ("path", "old", "new", "replace_all"),
    "Edit": ("file_path", "old_string", "new_string", "replace_all"),
}
_COMMANDS = {"shell": {"command", "seconds"}, "Bash": {"command", "description", "timeout"}}
_PAGES = ("web_fetch", "WebFetch")
_OF_CLAUDE = ("Write", "Edit")
"""File tools of Claude's CLI, which works in the folder itself; it follows links, and protects nothing for us."""
_UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode calls default-ignorable, which is drawn as nothing, and the letters and signs that are blank."""
QUESTION = "answer to "
"""What the name begins with of a request that is the question of an MCP server, and no tool's; its arguments are the answer."""
SAMPLING = "sampling for "
"""The same if the server wants to ask the person's model; its arguments are what it asks."""


class CallPreview(Struct, frozen=True):
    """What a tool call would do, for the person who is asked about it."""

    kind: Literal["edit", "command", "fetch", "call"]
    """What it is about: a change of a file, a command for the shell, a page of the web, or another tool."""
    title: str
    """What will happen, in a few words: ``Edit src/app.py``."""
    lines: tuple[str, ...]
    """All there is to know: the unified diff, the command, or the arguments. Nothing in them is invisible."""
    grant: str
    """What the person allows if they do not want to be asked again; empty if they are asked each time."""
    always: str
    """The same in words, if there is a grant: ``edits of files in this folder``."""
    path: str = ""
    """The file, if the call changes one."""
    before: str | None = None
    """The text of the file, if it has one."""
    after: str = ""
    """The text it would have."""
    of_server: bool = False
    """Whether it is a question of an MCP server, and no tool call of the agent's."""

    @property
    def question(self) -> str:
        """The title as a question, which that of an MCP server already is."""
        return f"{self.title.removesuffix('?')}?"


def preview_call(
    tool_name: str, arguments: Mapping[str, Any], folder: Path | None = None, workspace: Path | None = None
) -> CallPreview:
    """What a tool call would do in the folder that the agent works in, or in the tool's own ``workspace``.

    Without a folder, the call runs elsewhere, and its files are not looked at.
    """
    names = arguments.keys()
    known = _WRITE.get(tool_name) or _EDIT.get(tool_name)
    if folder is not None and known is not None and names <= set(known):
        return _edit_preview(tool_name, arguments, folder, workspace or folder)
    command, address = arguments.get("command"), arguments.get("url")
    lines, shown = tuple(_argument_lines(arguments)), visible(tool_name)
    if isinstance(command, str) and names <= _COMMANDS.get(tool_name, set()):
        grant, lines = _grant(tool_name, command), tuple(map(visible, command.split("\n")))
        return CallPreview("command", "Run a command", lines, grant, "this exact command")
    if isinstance(address, str) and tool_name in _PAGES:
        site = "{0.scheme}://{0.netloc}".format(_parts(address))
        grant = _grant(tool_name, site)
        return CallPreview("fetch", "Fetch a web page", lines, grant, f"pages of {visible(site)}")
    if tool_name.startswith(SAMPLING):  # it costs something each time
        server = shown.removeprefix(SAMPLING).partition(": ")[0]
        title, said = f"May the MCP server {server} ask your model this", tuple(_sample_lines(arguments))
        return CallPreview("call", title, said or lines, grant="", always="", of_server=True)
    if tool_name.startswith(QUESTION):  # who agrees to one question has not agreed to the next
        grant, title = (
            _grant(tool_name, json.dumps(arguments, sort_keys=True)),
            f"{shown[:1].upper()}{shown[1:]}",
        )
        return CallPreview("call", title, lines, grant, "this answer to this question", of_server=True)
    return CallPreview("call", f"Call {shown}", lines, tool_name, f"every call of {shown}")


def visible(text: str) -> str:
    """A line with nothing in it that is invisible or could be overlooked, tabs aside."""
    if text.isascii() and text.isprintable():
        return text
    unseen = re.compile(_UNSEEN)
    return "".join(
        sign
        if sign == "\t" or (sign.isprintable() and not unseen.match(sign))
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


def _edit_preview(
    tool_name: str, arguments: Mapping[str, Any], folder: Path, workspace_folder: Path
) -> CallPreview:
    """The change of a file as a diff; the arguments, if the tool would refuse it or follow a link."""
    from maverick.tools.coding.files import FileTools, diff_lines  # here, since most runs change no file
    from maverick.tools.coding.workspace import Workspace

    given: list[Any] = [arguments.get(name) for name in (_WRITE.get(tool_name) or _EDIT[tool_name])]
    arguments_alone = CallPreview(
        "call", f"Call {visible(tool_name)}", tuple(_argument_lines(arguments)), grant="", always=""
    )
    if not all(isinstance(text, str) for text in given[:3]):
        return arguments_alone
    try:
        workspace = Workspace(workspace_folder)
        path = "/".join(workspace.locate(given[0]))
        real = os.path.realpath(workspace.root / path)
        if not path:
            return arguments_alone
        if real != str(workspace.root / path):
            title = f"Call {tool_name} for {visible(path)}, which leads to {visible(real)}"
            return structs.replace(arguments_alone, title=title)
        files = FileTools(workspace)
        plan = (files.planned_write if tool_name in _WRITE else files.planned_edit)(*given)
    except (ToolError, ConfigError):
        return arguments_alone
    lines = tuple(map(visible, diff_lines(plan))) or ("The text stays as it is.",)
    verb = "Edit" if plan.before is not None else "Create" if workspace.identity(path) is None else "Replace"
    grant, always = _EDITS, "edits of files in this folder"
    is_protected, is_asked = workspace.is_protected(path), bool(workspace.question(path))
    if workspace.root != folder.resolve():
        grant, always = _grant("edits in", str(workspace.root)), f"edits of files in {workspace.root}"
        path = str(workspace.root / path)
    if is_protected or is_asked:
        grant, always = ("", "") if is_protected else (_grant("edits", path), "edits of this file")
    return CallPreview(
        "edit", f"{verb} {visible(path)}", lines, grant, visible(always), path, plan.before, plan.after
    )


def _parts(address: str) -> Any:  # noqa: ANN401 - the result of urlsplit
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _argument_lines(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *more = text.split("\n")
        if not more:
            yield f"{visible(name)}: {visible(first)}"
            continue
        yield f"{visible(name)}:"
        yield from (f"  | {visible(line)}" for line in (first, *more))


def _sample_lines(arguments: Mapping[str, Any]) -> Iterator[str]:
    """What an MCP server wants to ask a model, message by message; nothing if it is not written as such."""
    match arguments:
        case {"messages": [*messages], "max_tokens": int(longest), **more}:
            if system := more.get("system"):
                yield from _argument_lines({"instructions": system})
            for message in messages:
                yield from _argument_lines({message["role"]: message["content"]})
            yield f"The answer has at most {longest:,} tokens."


def _grant(name: str, about: str) -> str:
    if len(about) > _LONGEST_GRANT:
        about = f"sha256 {hashlib.sha256(about.encode(errors='surrogatepass')).hexdigest()}"
    return f"{name}({about})"


class GrantScope(StrEnum):
    """For how long a person does not want to be asked again."""

    SESSION = "session"
    """For as long as this process, or this conversation, lasts."""
    PROJECT = "project"
    """Always, in this folder."""


class Grants:
    """What a person has allowed without being asked again, in a folder.

    A grant holds for calls that the person would be asked about for the same reason: one that is asked about for another
    reason (a rule of the permissions, a file that other programs run) is asked about again. What holds for the project
    is kept in the person's own folder, never in the project; a ``ConfigError`` if that file does not hold it.
    """

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        home = home or persons_home()
        self._owner = folder_key(folder)
        self._session: set[tuple[str, str]] = set()
        self._file = None if home is None else home / ".maverick" / _FILE
        self._kept()

    def scopes(self, preview: CallPreview) -> tuple[GrantScope, ...]:
        """What can be offered: a person without a home has nowhere to keep what holds for a project."""
        if not preview.grant:
            return ()
        return (GrantScope.SESSION,) if self._file is None else tuple(GrantScope)

    def of_project(self) -> list[str]:
        """What is allowed in this folder, in order."""
        return sorted(self._kept().of(self._owner) or ())

    def cover(self, request: ApprovalRequest, preview: CallPreview) -> bool:
        """Whether a call may be made without asking."""
        if not preview.grant:
            return False
        name, why = _key(request, preview)
        return (name, why) in self._session or (self._kept().of(self._owner) or {}).get(name) == why

    def add(self, request: ApprovalRequest, preview: CallPreview, scope: GrantScope) -> None:
        """Allow calls like this one from now on, or raise a ConfigError if that cannot be kept."""
        name, why = _key(request, preview)
        if scope is GrantScope.PROJECT and self._file is not None:
            self._kept().add(self._owner, {name: why})
        else:
            self._session.add((name, why))

    def revoke(self) -> bool:
        """Forget what is allowed in this folder; returns whether anything was."""
        self._session.clear()
        return self._kept().remove(self._owner)

    def _kept(self) -> AcceptedHashes:
        """What holds for projects, read each time: it may have been revoked elsewhere meanwhile."""
        return AcceptedHashes(self._file)


def _key(request: ApprovalRequest, preview: CallPreview) -> tuple[str, str]:
    """What a grant is remembered by: its name, and a hash of whose call it is and why the person is asked.

    Another agent's tool of the same name may do anything else. The reason is the same for all tools that are asked about
    because of the mode.
    """
    about = json.dumps([*request.agent, request.reason.removeprefix(request.tool_name)])
    whose = f"{' > '.join(request.agent)}: " if request.agent else ""
    return whose + preview.grant, hashlib.sha256(about.encode()).hexdigest()


CHANGED = "The file has changed since this call was shown to the user. Read it again, and ask again."
"""Why a call is denied to which the person agreed, but which would no longer do what they saw."""
Ask: TypeAlias = Callable[[CallPreview], Awaitable[tuple[ApprovalAnswer, GrantScope | None]]]
"""Asks the person; with what they answer comes for how long they do not want to be asked again."""


async def consent(request: ApprovalRequest, grants: Grants, ask: Ask, folder: Path | None) -> ApprovalAnswer:
    """What a person says to a tool call: they are asked, unless they have allowed it before.

    ``folder`` is the one that the agent works in; without one, the call runs elsewhere.
    """
    if request.workspace is None and request.tool_name not in _OF_CLAUDE:
        folder = None  # whatever the tool is called, it is not known which files it changes
    preview = _preview(request, folder)
    if grants.cover(request, preview):
        return request.approve(reason=f"always allowed: {preview.always}")
    answer, scope = await ask(preview)
    if answer.approved and preview != _preview(request, folder):
        return request.deny(CHANGED, by=answer.by)
    if preview.grant and answer.approved and answer.arguments is None and scope is not None:
        grants.add(request, preview, scope)
    return answer


def _preview(request: ApprovalRequest, folder: Path | None) -> CallPreview:
    preview = preview_call(request.tool_name, request.arguments, folder, request.workspace)
    if request.form is None:
        return preview
    fields = form_fields(request.form, request.arguments)
    return structs.replace(preview, lines=tuple(visible(field.in_words) for field in fields))


def granted(grants: Grants, folder: Path) -> Approver:
    """Agrees, where no one can be asked, to what a person has allowed before; everything else waits for them."""

    async def no_one(preview: CallPreview) -> tuple[ApprovalAnswer, GrantScope | None]:
        raise ApprovalRequiredError(f"No one can be asked: {preview.question}")

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        return await consent(request, grants, no_one, folder)

    return approve
