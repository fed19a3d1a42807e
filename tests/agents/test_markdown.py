from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick import Image
from maverick.agents.markdown import AgentFile, read_agent
from maverick.exceptions import InvalidInputError
from maverick.loop.inputs import REQUIRED
from maverick.model import Message
from maverick.model.media import MAX_BYTES
from media_files import png

REPORTER = """\
---
name: reporter
description: Writes a report.
model: "offline:"
tools: [read_file, grep]
inputs:
  audience: Who reads it.
  days: {type: integer, default: 3}
message: Report on ${days} days.
max_turns: 7
timeout: 2m
max_cost_usd: 0.5
temperature: 0.2
effort: high
thinking: off
stop_sequences: [END]
context_window: 9000
defer: [grep]
---

You write for ${audience}.
"""

EVERY_PROBLEM = {
    "no settings": ("You are helpful.\n", 1, "between two lines of '---'"),
    "an empty file": ("", 1, "between two lines of '---'"),
    "not closed": ("---\nname: a\n", 2, "are not closed"),
    "not YAML": ("---\nname: a\ndescription: b: c\n---\nx\n", 3, "not valid YAML"),
    "no mapping": ("---\n- name\n---\nx\n", 2, "each as 'name: value'"),
    "written twice": ("---\nname: a\nname: b\n---\nx\n", 3, "name: is written twice"),
    "unknown setting": ("---\ndescription: b\nmodle: x\n---\nx\n", 3, "Did you mean 'model'?"),
    "no description": ("---\nname: a\n---\nx\n", 1, "description: is missing"),
    "description no text": ("---\nname: a\ndescription: 3\n---\nx\n", 3, "description: expected text, got 3"),
    "wrong name": ("---\nname: 2 words\ndescription: b\n---\nx\n", 2, "name: expected a letter"),
    "unknown tool": ("---\ndescription: b\ntools: [grepp]\n---\nx\n", 3, "Did you mean 'grep'?"),
    "tools no list": ("---\ndescription: b\ntools: {a: 1}\n---\nx\n", 3, "tools: expected names"),
    "nothing attached": (
        "---\ndescription: b\nattachments: a.png\n---\nx\n",
        3,
        "a.png cannot be read: No such file",
    ),
    "attached from elsewhere": (
        "---\ndescription: b\nattachments: [../a.png]\n---\nx\n",
        3,
        "attachments: ../a.png is not in the folder",
    ),
    "wrong limit": ("---\ndescription: b\nmax_turns: 0\n---\nx\n", 3, "max_turns: expected"),
    "wrong window": ("---\ndescription: b\ncontext_window: big\n---\nx\n", 3, "context_window: expected"),
    "wrong deferring": ("---\ndescription: b\ndefer: 3\n---\nx\n", 3, "defer: expected"),
    "wrong time": ("---\ndescription: b\ntimeout: soon\n---\nx\n", 3, "timeout: expected seconds"),
    "wrong temperature": ("---\ndescription: b\ntemperature: hot\n---\nx\n", 3, "temperature: expected"),
    "inputs no names": ("---\ndescription: b\ninputs: [a]\n---\nx\n", 3, "inputs: expected names"),
    "unknown type": ("---\ndescription: b\ninputs: {a: {type: list}}\n---\nx\n", 3, "no type named 'list'"),
    "unknown part": ("---\ndescription: b\ninputs: {a: {kind: text}}\n---\nx\n", 3, "got kind"),
    "wrong default": (
        "---\ndescription: b\ninputs: {a: {type: integer, default: x}}\n---\nx\n",
        3,
        "got 'x'",
    ),
    "wrong message": ("---\ndescription: b\nmessage: ${}\n---\nx\n", 3, "message: '${}' is not a variable"),
    "wrong schema": (
        "---\ndescription: b\noutput: {type: text}\n---\nx\n",
        3,
        "output.type: 'text' is not valid",
    ),
    "undeclared variable": (
        "---\ndescription: b\ninputs: {a: x}\n---\nUse ${b} and ${a}.\n",
        5,
        "${b} is not declared",
    ),
    "wrong variable": ("---\ndescription: b\n---\nUse ${1}.\n", 4, "'${1}' is not a variable"),
    "nothing said": ("---\ndescription: b\n---\n\n", 4, "is told nothing"),
}


def write(folder: Path, text: str, name: str = "agent.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read_for_claude(folder: Path, text: str) -> AgentFile:
    return read_agent(write(folder, text, ".claude/agents/agent.md"))


@pytest.mark.requirement("005-MARKDOWN")
def test_a_file_says_all_there_is_to_an_agent(tmp_path: Path) -> None:
    agent = read_agent(write(tmp_path, REPORTER)).definition

    assert (agent.name, agent.description) == ("reporter", "Writes a report.")
    assert (agent.model_config.model, agent.model_config.temperature) == ("offline:", 0.2)
    assert (agent.model_config.effort, agent.model_config.thinking) == ("high", "off")
    assert agent.model_config.stop_sequences == ("END",)
    assert agent.model_config.context_window == 9000
    assert (agent.tool_config.tools, agent.tool_config.defer) == (("read_file", "grep"), ("grep",))
    assert (agent.run_config.max_turns, agent.run_config.timeout_ms) == (7, 120_000)
    assert agent.run_config.max_cost_usd == 0.5
    assert (agent.inputs["days"].type, agent.inputs["days"].default) == (int, 3)
    assert agent.inputs["audience"].default is REQUIRED
    assert agent.inputs["audience"].description == "Who reads it."
    system, messages = agent.render({"audience": "sailors"})
    assert (system, messages[0].content) == ("You write for sailors.", "Report on 3 days.")


@pytest.mark.requirement("005-MARKDOWN")
def test_a_description_and_a_text_are_enough(tmp_path: Path) -> None:
    path = write(tmp_path, "---\ndescription: Helps.\n---\nYou help.", "helper.md")

    agent = read_agent(path).definition

    assert (agent.name, agent.model_config.model) == ("helper", None)
    assert list(agent.inputs) == ["prompt"]
    assert "read_file" in agent.tool_config.tools


def test_an_agent_may_have_no_tools(tmp_path: Path) -> None:
    agent = read_agent(write(tmp_path, "---\ndescription: b\ntools: []\n---\nx")).definition

    assert agent.tool_config.tools == ()


def test_declared_inputs_leave_the_prompt_what_it_is(tmp_path: Path) -> None:
    agent = read_agent(
        write(tmp_path, "---\ndescription: b\ninputs: {tone: How.}\n---\nBe ${tone}.")
    ).definition

    assert sorted(agent.inputs) == ["prompt", "tone"]


def test_an_answer_has_the_schema_the_file_gives(tmp_path: Path) -> None:
    text = "---\ndescription: b\noutput: {type: object, required: [city]}\n---\nx"

    output = read_agent(write(tmp_path, text)).definition.output_config

    assert output is not None
    assert output.format.json_schema == {"type": "object", "required": ["city"]}


def test_images_and_documents_beside_the_file_go_before_its_message(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(png())
    text = "---\ndescription: b\nattachments: [logo.png]\nmessage: Find ${what}.\n---\nx\n"

    definition = read_agent(write(tmp_path, text)).definition

    logo = Image.from_bytes(png(), name="logo.png")
    assert definition.render({"what": "it"})[1] == (Message.user([logo, "Find it."]),)


def test_attachments_together_are_no_larger_than_a_request(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a" * (MAX_BYTES // 2 + 1))
    text = "---\ndescription: b\nattachments: [a.txt, ./a.txt]\n---\nx\n"

    with pytest.raises(InvalidInputError, match="line 3: attachments: they have more than 50 MB together"):
        read_agent(write(tmp_path, text))


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "agent.md"
    path.write_bytes("\ufeff---\r\ndescription: Grüßt.\r\n---\r\nSei nett.\r\n".encode())

    agent = read_agent(path).definition

    assert (agent.description, agent.prompt_config.system_prompt) == ("Grüßt.", "Sei nett.")


@pytest.mark.requirement("005-BAD-FILES")
@pytest.mark.parametrize("problem", EVERY_PROBLEM)
def test_a_problem_is_named_with_its_file_line_and_setting(problem: str, tmp_path: Path) -> None:
    text, line, words = EVERY_PROBLEM[problem]
    path = write(tmp_path, text)

    with pytest.raises(InvalidInputError) as caught:
        read_agent(path)

    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert words in str(caught.value)
    assert caught.value.field


@pytest.mark.requirement("005-BAD-FILES")
def test_what_is_no_readable_text_is_refused(tmp_path: Path) -> None:
    latin = tmp_path / "latin.md"
    latin.write_bytes(b"---\nname: a\ndescription: Gr\xfc\xdft.\n---\nx")
    os.mkfifo(pipe := tmp_path / "pipe.md")
    huge = write(tmp_path, "---\ndescription: b\n---\n" + "x" * 300_000, "huge.md")

    for path, words in (
        (latin, "line 3: expected text in UTF-8"),
        (pipe, "expected a file"),
        (huge, "256 KiB"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_agent(path)
    with pytest.raises(InvalidInputError, match="could not be read: No such file"):
        read_agent(tmp_path / "missing.md")


@pytest.mark.requirement("005-BAD-FILES")
@given(settings=st.text(), body=st.text())
def test_whatever_is_in_a_file_it_is_an_agent_or_a_typed_error(
    settings: str, body: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("odd") / "agent.md"
    path.write_bytes(f"---\ndescription: b\n{settings}\n---\n{body}".encode(errors="replace"))

    with suppress(InvalidInputError):  # anything else fails the test
        assert read_agent(path).definition.name


# Files for Claude Code


@pytest.mark.requirement("005-CLAUDE-FILES")
def test_a_file_for_claude_code_is_read_as_it_is(tmp_path: Path) -> None:
    read = read_for_claude(
        tmp_path,
        "---\nname: test-runner\ndescription: Runs tests.\ntools: Read, Bash, Grep, WebSearch, mcp__github__x\n"
        "model: opus\ncolor: red\n---\nRun `echo ${HOME}` first.",
    )

    agent = read.definition
    assert (agent.name, agent.description) == ("test-runner", "Runs tests.")
    assert agent.tool_config.tools == ("read_file", "shell", "grep")
    assert read.missing_tools == ("WebSearch", "mcp__github__x")
    assert agent.model_config.model == "claude:claude-opus-5-5"
    assert agent.render({"prompt": "go"})[0] == "Run `echo ${HOME}` first."


@pytest.mark.requirement("005-CLAUDE-FILES")
def test_a_description_with_colons_that_is_no_yaml_is_read_too(tmp_path: Path) -> None:
    said = "Use it when: tests fail. Examples: <example>Context: a red test. user: 'fix it'</example>"

    agent = read_for_claude(tmp_path, f"---\nname: fixer\ndescription: {said}\n---\nFix.").definition

    assert agent.description == said


@pytest.mark.requirement("005-CLAUDE-FILES")
@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("inherit", None),
        ("haiku", "claude:claude-haiku-5-5"),
        ("claude-opus-4-1", "claude:claude-opus-4-1"),
    ],
)
def test_the_models_of_claude_code_are_known_by_their_names(
    written: str, model: str | None, tmp_path: Path
) -> None:
    read = read_for_claude(tmp_path, f"---\nname: a\ndescription: b\nmodel: {written}\n---\nx")

    assert read.definition.model_config.model == model


def test_a_tool_with_a_rule_is_not_taken_for_the_whole_tool(tmp_path: Path) -> None:
    read = read_for_claude(tmp_path, "---\nname: a\ndescription: b\ntools: Read, Bash(git diff:*)\n---\nx")

    assert read.definition.tool_config.tools == ("read_file",)
    assert read.missing_tools == ("Bash(git diff:*)",)


def test_without_tools_it_has_all_as_in_claude_code(tmp_path: Path) -> None:
    read = read_for_claude(tmp_path, "---\nname: a\ndescription: b\n---\nx")

    assert {"read_file", "shell"} <= set(map(str, read.definition.tool_config.tools))


def test_a_file_for_claude_code_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="name: is missing"):
        read_for_claude(tmp_path, "---\ndescription: b\n---\nx")
