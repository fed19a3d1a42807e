"""Typical mistakes at a terminal: each is met with one line that names the cause and the fix, and exit code 2."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

import pytest

from cli.folder import Folder
from mistakes.test_mistakes import RAW

FILES = {
    "notes.txt": "Some notes.",
    "spaced.md": "---\nname: weather reporter\ndescription: Reports.\n---\nReport.",
    "typo.md": "---\nname: reporter\ndescription: Reports.\ntols: [read_file]\n---\nReport.",
    "colon.md": "---\nname: reporter\ndescription: Reports.\nmodel: offline:\n---\nReport.",
    "list.md": "---\nname: reporter\ndescription: [\n---\nReport.",
    "company.md": "---\nname: reporter\ndescription: Reports.\nmodel: anthropic:claude\n---\nReport.",
    "tools.md": "---\nname: reporter\ndescription: Reports.\nmodel: 'offline:'\ntools: [read_fil]\n---\nReport.",
    "empty.py": "x = 1\n",
    "missing.py": "import nosuchmodule\n",
    "broken.py": "def broken(:\n",
    "undocumented.py": "from maverick import tool\n\n@tool\ndef f(x: str) -> str:\n    return x\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder(tmp_path, monkeypatch)
    for name, text in FILES.items():
        made.write(name, text)
    return made


@pytest.mark.requirement("ERR-TEACH")
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("rn", ["no command named 'rn'", "Did you mean 'run'?"]),
        ("run reportr", ["no agent named 'reportr'", "Available: "]),
        ("run nowhere.md", ["nowhere.md", "Check the path"]),
        ("run notes.txt", ["'notes.txt'", "ends with .md or .py"]),
        ("run spaced.md", ["spaced.md, line 2", "'weather reporter'", "letters, digits"]),
        ("run typo.md", ["typo.md, line 4", "'tols'", "Did you mean 'tools'?"]),
        ("run colon.md", ["colon.md, line 4", 'in quotes, such as "offline:"']),
        ("run list.md", ["list.md, line 3", "not valid YAML", "Check the colons"]),
        ("run company.md", ["company.md, line 4", "'anthropic'", "write 'claude:…'"]),
        ("run tools.md", ["'read_fil'", "Did you mean 'read_file'?"]),
        ("run empty.py", ["empty.py has no agent", "AgentDefinition(…)"]),
        ("run missing.py", ["missing.py, line 1", "'nosuchmodule' is not installed", "Install it"]),
        ("run broken.py", ["broken.py, line 1", "invalid syntax"]),
        ("run undocumented.py", ["undocumented.py, line 3", "no docstring", "Add one"]),
        ("run -p hi --model gpt-5", ["which provider", "'openai:gpt-5'"]),
        ("run -p hi --model claude:claude-opus-5-5", ["no key for Claude", "ANTHROPIC_API_KEY"]),
        ("run -p hi --max-turns 0", ["--max-turns", "from 1", "got '0'"]),
        ("run -p hi --timeout soon", ["--timeout", "such as 90s", "got 'soon'"]),
        ("run -p hi -i city", ["NAME=VALUE", "city=Brest", "got 'city'"]),
        ("run -p hi --attach shelf.png", ["shelf.png cannot be read", "Check the path"]),
        ("runs list", ["no journal at", "Run an agent"]),
        ("agents new 'weather reporter'", ["'weather reporter'", "letters, digits"]),
        ("serve --port 99999", ["--port", "to 65535"]),
        ("worker", ["Temporal", "--temporal host:port"]),
        ("eval nowhere.yaml", ["nowhere.yaml", "YAML or Python file"]),
    ],
)
def test_a_mistyped_command_is_met_with_its_cause_and_its_fix(
    folder: Folder, command: str, says: list[str]
) -> None:
    said = folder.refuse(*shlex.split(command))

    for words in says:
        assert words in said
    assert not RAW.search(said)
    assert said.count("\n") <= 1


@pytest.mark.requirement("ERR-TEACH")
def test_a_port_that_is_taken_is_met_with_its_cause_and_its_fix(folder: Folder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = folder.refuse("serve", "--port", str(port))

    assert f"Port {port} is already in use" in said
    assert "--port" in said
    assert not RAW.search(said)
