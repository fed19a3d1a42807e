"""Agents as Markdown files: settings at the top, and below them what the agent is told.

Two kinds are read. A file of ours, in ``.maverick/agents``, has these settings, all but ``description`` optional::

    ---
    name: reporter                     # by default the file's name
    description: Writes a report.
    model: claude:claude-sonnet-5-5    # by default the configured one
    tools: [read_file, grep]           # by default all coding tools; [] for none; memory keeps notes
    mcpServers: [wiki]                 # all tools of these servers, or those that tools names: mcp__wiki__search
    inputs:                            # by default a text for each ${variable}
      audience: Who reads it.
      days: {type: integer, default: 3}
    message: Report on ${days} days.   # by default ${prompt}
    attachments: [logo.png]            # images and documents before the message, from the folder of this file
    max_turns: 10                      # and timeout, max_cost_usd, max_total_tokens, max_tool_calls
    effort: high                       # and max_tokens, context_window, server_tools: the settings of ModelConfig
    defer: true                        # or names: the tools that are found by a search, and not named in each request
    output: {type: object, …}          # a JSON Schema of the answer
    ---
    You write for ${audience}.

A file for Claude Code, in ``.claude/agents``, is read as it is: ``name``, ``description``, ``tools``, ``mcpServers`` and
``model``; its text has no variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from maverick.agents.front_matter import FrontMatter, read_front_matter
from maverick.agents.named_tools import CLAUDE_MODELS, CODING_TOOLS, MEMORY, tools_for
from maverick.config.mcp_server import group_of, server_of
from maverick.config.model_settings import MODEL_SETTINGS, parse_duration
from maverick.exceptions import AgentError, InvalidInputError, describe_unknown
from maverick.loop import (
    AgentDefinition,
    Input,
    InputConfig,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
)
from maverick.loop.inputs import REQUIRED, Template
from maverick.model import Message, Part
from maverick.model.media import MAX_BYTES, media_from_path

_INPUT_TYPES = {"text": str, "string": str, "integer": int, "number": float, "boolean": bool}
_LIMITS = ("max_turns", "max_cost_usd", "max_total_tokens", "max_tool_calls", "max_calls_per_turn")
_FIELDS = (
    "name", "description", "model", "tools", "mcpServers", "inputs", "message", "attachments", "timeout", "output", "context_window", "defer",
    *MODEL_SETTINGS, *_LIMITS,
)  # fmt: skip
_WRITTEN_AS = {"timeout_ms": "timeout", "initial_messages[0]": "message", "system_prompt": "body"}
"""How a file calls what a definition calls otherwise."""


class AgentFile(NamedTuple):
    """An agent read from a Markdown file."""

    definition: AgentDefinition[Any]
    missing_tools: tuple[str, ...] = ()
    """Tools the file names that there are none of here, in a file that was written for another program."""


def read_agent(path: Path) -> AgentFile:
    """Read a Markdown file as what its folder says it is: one for Claude Code in ``.claude``, else one of ours.

    If something is wrong with it, the ``InvalidInputError`` names the file, the line and the setting.
    """
    is_claude = ".claude" in path.absolute().parent.parts
    front = read_front_matter(path, lenient=is_claude)
    if is_claude:
        ours, missing = _translated(front)
        return AgentFile(_definition(ours), missing)
    for field in front.fields:
        if field not in _FIELDS:
            front.refuse(field, describe_unknown("setting", field, _FIELDS))
    return AgentFile(_definition(front))


def _translated(front: FrontMatter) -> tuple[FrontMatter, tuple[str, ...]]:
    """A file for Claude Code as one of ours, and the tools it names that there are none of here."""
    servers, missing = _claude_servers(front)
    fields: dict[str, object] = {"name": _text(front, "name"), "mcpServers": list(servers)}
    fields["description"] = front.fields.get("description")
    if "tools" in front.fields:
        named = _names(front, "tools")
        of_servers = tuple(name for name in named if server_of(name) in servers)
        tools, unknown = tools_for(name for name in named if name not in of_servers)
        fields["tools"], missing = [*tools, *of_servers], unknown + missing
    model = _text(front, "model", "inherit")
    if model != "inherit":
        fields["model"] = CLAUDE_MODELS.get(model) or (model if ":" in model else f"claude:{model}")
    return replace(front, fields=fields, body=front.body.replace("${", "$${")), missing


def _claude_servers(front: FrontMatter) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The servers that are named, and what stands for those that the file itself would define: it may be a stranger's."""
    listed = front.fields.get("mcpServers")
    if not isinstance(listed, list):
        return _names(front, "mcpServers"), ()
    named = tuple(entry for entry in listed if isinstance(entry, str))
    defined = [str(name) for entry in listed if isinstance(entry, Mapping) for name in entry]
    return named, tuple(map(group_of, defined))


def _definition(front: FrontMatter) -> AgentDefinition[Any]:
    """The definition; what it complains about is blamed on the line of the file."""
    if not front.body:
        front.refuse("body", "the agent is told nothing. Write its instructions below the settings.")
    output = front.fields.get("output")
    try:
        return AgentDefinition(
            name=_text(front, "name", front.path.stem),
            description=_text(front, "description"),
            prompt_config=PromptConfig(front.body, [_message(front)]),
            model_config=ModelConfig(
                model=_text(front, "model", "") or None,
                context_window=front.fields.get("context_window"),  # type: ignore[arg-type]  # it checks it
                **{name: front.fields.get(name) for name in MODEL_SETTINGS},  # type: ignore[arg-type]  # it checks them
            ),
            run_config=_run_config(front),
            tool_config=ToolConfig(tools=_tools(front), defer=front.fields.get("defer")),  # type: ignore[arg-type]
            input_config=_inputs(front),
            output_config=None if output is None else OutputConfig("answer", _output_type(front, output)),
        )
    except AgentError as error:
        if str(error).startswith(str(front.path)):
            raise
        dotted = (getattr(error, "field", None) or "tools").partition("inputs.")[0]
        name = dotted.rpartition(".")[2] if dotted else "inputs"
        field = _WRITTEN_AS.get(name, name if name in _FIELDS else "body")
        front.refuse(field, str(error).replace(dotted, field) if dotted else str(error), error)


def _run_config(front: FrontMatter) -> RunConfig:
    limits = {name: front.fields[name] for name in _LIMITS if name in front.fields}
    timeout = front.fields.get("timeout")
    if timeout is not None:
        seconds = parse_duration(timeout) if isinstance(timeout, str) else timeout
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            front.refuse(
                "timeout", f"timeout: expected seconds, or a text such as 90s or 5m, got {timeout!r}."
            )
        limits["timeout_ms"] = round(seconds * 1000)
    return RunConfig(**limits)  # type: ignore[arg-type]  # it checks the types of all its values


def _message(front: FrontMatter) -> str | Message:
    """The first message; what is attached to it lies beside the agent's file, so that no file can send another's."""
    text, folder = _text(front, "message", "${prompt}"), front.path.parent.resolve()
    attached: list[str | Part] = []
    size = 0
    for name in _names(front, "attachments"):
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            front.refuse("attachments", f"attachments: {name} is not in the folder of this file.")
        try:
            media = media_from_path(file)
        except InvalidInputError as error:
            front.refuse("attachments", f"attachments: {error}", error)
        size += 0 if media.blob is None else media.blob.size
        if size > MAX_BYTES:
            front.refuse("attachments", f"attachments: they have more than {MAX_BYTES // 2**20} MB together.")
        attached.append(media)
    return Message.user([*attached, text]) if attached else text


def _tools(front: FrontMatter) -> tuple[str, ...]:
    """The tools that are named, and all tools of each server that has none among them."""
    names = _names(front, "tools") if "tools" in front.fields else CODING_TOOLS
    for name in names:
        if name not in (*CODING_TOOLS, MEMORY) and server_of(name) is None:
            front.refuse("tools", f"tools: {describe_unknown('tool', name, (*CODING_TOOLS, MEMORY))}")
    named = {server_of(name) for name in names}
    return (*names, *(group_of(server) for server in _names(front, "mcpServers") if server not in named))


def _names(front: FrontMatter, field: str) -> tuple[str, ...]:
    """Names as a list, or as one text with commas."""
    written = front.fields.get(field)
    names = written.split(",") if isinstance(written, str) else [] if written is None else written
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        front.refuse(field, f"{field}: expected names, in a list or with commas, got {written!r}.")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _inputs(front: FrontMatter) -> InputConfig | None:
    declared = front.fields.get("inputs")
    if declared is None:
        return None
    if not isinstance(declared, Mapping):
        front.refuse("inputs", f"inputs: expected names with a description each, got {declared!r}.")
    inputs = {str(name): _input(front, str(name), spec) for name, spec in declared.items()}
    if "prompt" in Template(_text(front, "message", "${prompt}"), "message").variables:
        inputs.setdefault("prompt", Input(str, "What to do."))
    return InputConfig(inputs)


def _input(front: FrontMatter, name: str, spec: object) -> Input:
    if spec is None or isinstance(spec, str):
        return Input(str, spec or "")
    if not isinstance(spec, Mapping) or (unknown := spec.keys() - {"type", "description", "default"}):
        wrong = spec if not isinstance(spec, Mapping) else ", ".join(sorted(map(str, unknown)))
        front.refuse(
            "inputs", f"inputs.{name}: expected a description, or type, description and default, got {wrong}."
        )
    kind = str(spec.get("type", "text"))
    if kind not in _INPUT_TYPES:
        front.refuse("inputs", f"inputs.{name}: {describe_unknown('type', kind, list(_INPUT_TYPES))}")
    return Input(_INPUT_TYPES[kind], str(spec.get("description", "")), spec.get("default", REQUIRED))


def _output_type(front: FrontMatter, schema: object) -> Any:  # noqa: ANN401 - a type
    from maverick.loop.json_schema import JsonSchema  # here, since few files have one

    try:
        return JsonSchema(schema, "output").as_type()  # type: ignore[arg-type]  # it checks what it is given
    except InvalidInputError as error:
        front.refuse("output", str(error), error)


def _text(front: FrontMatter, field: str, default: str | None = None) -> str:
    value = front.fields.get(field)
    if value is None and default is not None:
        return default
    if value is None:
        front.refuse(field, f"{field}: is missing. Write '{field}: …' between the lines of '---'.")
    if not isinstance(value, str) or not value.strip():
        front.refuse(field, f"{field}: expected text, got {value!r}. Put it in quotes if it is one.")
    return value.strip()
