"""What the user of an editor controls a session with: its mode, model and effort, and slash commands."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TypeAlias

from acp import schema

from maverick.cli.acp.content import Said
from maverick.cli.acp.session import EditorSession
from maverick.cli.models import offered_models
from maverick.config.mcp_server import server_of
from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.tools.permissions import Mode

ConfigOption: TypeAlias = schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean

_MODES = {
    Mode.PLAN: ("Plan", "Reads and thinks, and changes nothing."),
    Mode.ASK: ("Ask", "Reads freely, and asks before anything else."),
    Mode.ACCEPT_EDITS: ("Accept edits", "Changes files of the folder freely, and asks before anything else."),
    Mode.YOLO: ("Allow everything", "Does anything that your permissions do not deny, without asking."),
}
STATUS = schema.AvailableCommand(
    name="status", description="Show the agent, model, mode, cost and runs of this session"
)
_MOST_COMMANDS = 100
_DEFAULT = "default"


def modes_of(session: EditorSession) -> schema.SessionModeState:
    """The modes there are, and the one that the session is in."""
    return schema.SessionModeState(
        current_mode_id=str(session.mode.mode or Mode.ASK),
        available_modes=[
            schema.SessionMode(id=str(mode), name=name, description=description)
            for mode, (name, description) in _MODES.items()
        ],
    )


def options_of(session: EditorSession) -> list[ConfigOption]:
    """All that can be chosen, with what is chosen now."""
    options: list[ConfigOption] = [
        _select(
            "mode",
            "mode",
            str(session.mode.mode or Mode.ASK),
            {str(mode): said for mode, said in _MODES.items()},
        )
    ]
    if (known := session.model_info()) is None:
        return options
    model, info = known
    names = list(dict.fromkeys([model, *offered_models(model.partition(":")[0])]))
    options.append(_select("model", "model", model, {name: (name, None) for name in names}))
    if info.effort:
        levels = [_DEFAULT, *info.effort]
        now = session.effort if session.effort in levels else _DEFAULT
        options.append(_select("effort", "thought_level", now, {level: (level, None) for level in levels}))
    return options


def choose(session: EditorSession, name: str, value: object) -> None:
    """Make a choice; what is not offered cannot be chosen."""
    offered = {option.id: option for option in options_of(session)}
    if name not in offered:
        raise InvalidInputError(describe_unknown("option", name, list(offered)), field="configId")
    values = [
        one.value
        for one in getattr(offered[name], "options", ())
        if isinstance(one, schema.SessionConfigSelectOption)
    ]
    if not isinstance(value, str) or value not in values:
        raise InvalidInputError(describe_unknown(name, str(value), values), field="value")
    match name:
        case "mode":
            session.mode.mode = Mode.named(value)
        case "model":
            session.model = value
        case _:
            session.effort = None if value == _DEFAULT else value


def _select(
    name: str, category: str, current: str, values: Mapping[str, tuple[str, str | None]]
) -> schema.SessionConfigOptionSelect:
    """A choice between values, each with its name and what it means."""
    options = [
        schema.SessionConfigSelectOption(value=value, name=title, description=description)
        for value, (title, description) in values.items()
    ]
    return schema.SessionConfigOptionSelect.model_validate(
        {
            "id": name,
            "name": name.capitalize(),
            "category": category,
            "type": "select",
            "currentValue": current,
            "options": options,
        }
    )


async def commands_of(session: EditorSession) -> list[schema.AvailableCommand]:
    """The slash commands there are: ``/status``, skills, and the prompts of MCP servers, of the command and the editor."""
    skills = () if session.skills is None else islice(session.skills.by_name.values(), _MOST_COMMANDS)
    commands = [STATUS, *(_command(skill.name, skill.description, "what to do") for skill in skills)]
    servers, handed = session.served.options.mcp, session.handed
    if servers or handed:
        from maverick.tools.mcp import list_prompts  # here, since it brings MCP with it

        for prompt in await list_prompts(servers, session.folder, handed=handed):
            hint = " ".join(prompt.arguments)
            commands.append(_command(prompt.command[1:], prompt.description or prompt.name, hint))
    return commands


def _command(name: str, description: str, hint: str) -> schema.AvailableCommand:
    words = schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=hint)) if hint else None
    return schema.AvailableCommand(name=name, description=description, input=words)


async def expanded(session: EditorSession, said: Said) -> Said:
    """What a prompt means: one that names a skill, or a prompt of an MCP server, has the text of that."""
    if not isinstance(said, str) or not said.startswith("/"):
        return said
    name, _, rest = said[1:].partition(" ")
    if server_of(name) in (*session.served.options.mcp, *(server.name for server in session.handed)):
        from maverick.tools.mcp import expand_prompt  # here, since it brings MCP with it

        return await expand_prompt(said, session.folder, handed=session.handed)
    if session.skills is None or name not in session.skills.by_name:
        return said
    return session.skills.followed(name, rest)


def status_of(session: EditorSession) -> str:
    """What ``/status`` says."""
    known = session.model_info()
    runs = session.conversation.runs
    return "\n".join(
        [
            f"- agent: {session.served.found.name}",
            f"- model: {'its own' if known is None else known[0]}",
            f"- mode: {session.mode.mode}",
            f"- folder: {session.folder}",
            f"- cost: ${session.cost_usd:.4f}",
            f"- runs: {', '.join(f'`{run}`' for run in runs) or 'none yet'}",
            *([f"\nIn a terminal: `maverick runs show {runs[-1]}`"] if runs else []),
        ]
    )
