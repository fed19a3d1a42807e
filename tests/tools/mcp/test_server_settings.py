"""What is written down about MCP servers: where it is found, what counts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from canary import CANARY
from maverick.config.mcp_server import MCPServer, group_of, prefix_of, server_of
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.exceptions import ConfigError


class Files:
    """The files of a person and of a project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self._files = {
            "own": self.home / ".maverick" / "config.yaml",
            "own json": self.home / ".maverick" / "mcp.json",
            "project": self.project / "maverick.yaml",
            "project json": self.project / ".mcp.json",
        }

    def write(self, which: str, servers: object) -> None:
        key = "mcpServers" if "json" in which else "mcp"
        self.write_text(which, json.dumps({key: servers}))

    def write_text(self, which: str, text: str) -> None:
        self._files[which].parent.mkdir(parents=True, exist_ok=True)
        self._files[which].write_text(text, encoding="utf-8")

    def load(self) -> MCPServers:
        return load_mcp_servers(self.project, self.home, {"MAVERICK_TRUST": str(self.project)})


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def read(**settings: Any) -> MCPServer:
    return MCPServer.read("shop", settings, "file")


@pytest.mark.requirement("MCP-CONFIG")
def test_servers_are_found_in_four_files_and_the_persons_own_come_first(files: Files) -> None:
    order = ("own", "own json", "project", "project json")
    for number, which in enumerate(order):
        mine = {which.replace(" ", "-"): {"command": which}}
        files.write(which, mine | {f"shared-{n}": {"command": which} for n in range(number + 1)})

    found = files.load()

    assert {name: found.find(name).command for name in ("own", "own-json", "project", "project-json")} == {
        "own": "own",
        "own-json": "own json",
        "project": "project",
        "project-json": "project json",
    }
    assert [found.find(f"shared-{n}").command for n in range(4)] == list(order)
    assert [bool(found.find(f"shared-{n}").project) for n in range(4)] == [False, False, True, True]


@pytest.mark.requirement("MCP-CONFIG")
def test_what_other_programs_say_about_a_server_is_left_to_them(files: Files) -> None:
    files.write(
        "project json", {"shop": {"type": "stdio", "command": "shop", "disabled": False, "users": {}}}
    )

    assert files.load().find("shop").words == "shop"


def test_no_file_is_no_server(files: Files) -> None:
    with pytest.raises(ConfigError, match=r"No MCP servers are available\. Name one in"):
        files.load().find("shop")


@pytest.mark.parametrize(
    ("which", "text"),
    [
        ("own", "mcp: [shop]"),
        ("own", "mcp: {1: {command: x}}"),
        ("project json", "{"),
        ("project json", "[]"),
        ("project json", '{"mcpServers": ["shop"]}'),
    ],
)
def test_a_file_that_does_not_hold_servers_is_named(which: str, text: str, files: Files) -> None:
    files.write_text(which, text)

    with pytest.raises(ConfigError, match=r"config\.yaml|\.mcp\.json"):
        files.load()


@pytest.mark.requirement("MCP-CONFIG")
def test_one_bad_server_does_not_keep_the_others_from_being_used(files: Files) -> None:
    files.write(
        "project json", {"a b": {"command": "x"}, "a__b": {"command": "x"}, "c": 1, "good": {"command": "x"}}
    )

    found = files.load()

    assert found.find("good").command == "x"
    for name in ("a b", "a__b"):
        with pytest.raises(ConfigError, match="a server's name is letters"):
            found.find(name)
    with pytest.raises(ConfigError, match="expected settings"):
        found.find("c")


@pytest.mark.requirement("MCP-CONSENT")
def test_a_project_can_not_break_a_server_of_the_persons_by_redefining_it(files: Files) -> None:
    files.write("own", {"shop": {"command": "mine"}})
    files.write("project json", {"shop": {"command": "theirs", "url": "http://too"}})

    assert files.load().find("shop").command == "mine"


@pytest.mark.requirement("MCP-CONSENT")
@pytest.mark.parametrize(
    ("own", "less", "tools", "asked"),
    [
        ({}, {"tools": ["a", "b"]}, ["a", "b"], False),
        ({"tools": ["a", "c"]}, {"tools": ["b", "c"]}, ["c"], False),
        ({"tools": ["a"]}, {"approval": True}, ["a"], True),
        ({"approval": ["a"]}, {"approval": ["b"]}, None, ["a", "b"]),
        ({"approval": True}, {"approval": ["b"]}, None, True),
        ({"approval": True}, {"approval": False}, None, True),
        ({"approval": ["a"]}, {"approval": False}, None, ["a"]),
    ],
)
def test_a_project_narrows_a_server_and_never_widens_it(
    own: dict[str, Any], less: dict[str, Any], tools: object, asked: object, files: Files
) -> None:
    files.write("own", {"shop": {"command": "x", **own}})
    files.write("project", {"shop": less})

    server = files.load().find("shop")

    assert (server.tools, server.approval, server.project) == (tools, asked, "")


@pytest.mark.requirement("MCP-CONSENT")
@pytest.mark.parametrize("wider", [{"effect": "pure"}, {"env": {"A": "b"}}, {"cwd": "/"}, {"timeout": 1}])
def test_a_project_that_wants_more_of_a_server_is_refused(wider: dict[str, Any], files: Files) -> None:
    files.write("own", {"shop": {"command": "x"}})
    files.write("project", {"shop": wider})

    with pytest.raises(ConfigError, match="can only narrow a server of yours"):
        files.load().find("shop")


def test_a_project_that_narrows_what_is_not_there_is_told(files: Files) -> None:
    files.write("project", {"shop": {"tools": []}})

    with pytest.raises(ConfigError, match="no server of yours has this name"):
        files.load().find("shop")


@pytest.mark.requirement("MCP-CONFIG")
def test_variables_are_filled_in_when_the_server_is_used_and_not_before() -> None:
    server = read(command="${SHELL:-sh}", args=["${A}-${B:-b}"], env={"TOKEN": "${A}"}, cwd="${A}")

    assert server.words == "'${SHELL:-sh}' '${A}-${B:-b}'"
    assert server.variables == ["A", "B", "SHELL"]
    assert server.address({"A": "1", "SHELL": ""}) == {
        "command": ["sh", "1-b"],
        "env": {"TOKEN": "1"},
        "cwd": "1",
    }
    with pytest.raises(ConfigError, match=r"command: the variable A is not set"):
        server.address({})


@pytest.mark.requirement("MCP-SHOWN")
def test_variables_that_are_not_set_are_known_unless_there_is_something_to_use_instead() -> None:
    server = read(command="${A}", args=["${B:-b}", "${C:-}"], env={"X": "${D} ${A}"}, cwd="${E}")

    assert server.unset_variables({"E": "e", "D": ""}) == ["A", "D"]


@pytest.mark.requirement("MCP-SHOWN", "P9")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ["/opt/bin/shop", CANARY], "args": [CANARY]}, "/opt/bin/shop"),
        ({"command": f"shop --key {CANARY}"}, "shop"),
        ({"command": " "}, ""),
        ({"url": f"https://x.example:1/{CANARY}"}, "https://x.example:1"),
        ({"url": f"https://x.example?key={CANARY}"}, "https://x.example"),
        ({"url": f"${{WHERE:-http://y/{CANARY}}}/{CANARY}"}, "${WHERE}"),
        ({"url": "https://${HOST}/mcp"}, "https://${HOST}"),
    ],
)
def test_a_summary_has_nothing_in_it_that_could_be_a_secret(settings: dict[str, Any], said: str) -> None:
    assert read(**settings).summary == said


@pytest.mark.requirement("MCP-CONFIG", "P9")
@pytest.mark.parametrize(
    "settings",
    [
        {"command": "x", "env": {"GITHUB_TOKEN": CANARY}},
        {"command": "x", "env": {"api_key": CANARY}},
        {"url": "https://x/", "headers": {"Authorization": f"Bearer {CANARY}"}},
        {"url": f"https://ana:{CANARY}@x/"},
    ],
)
def test_a_secret_that_is_written_into_a_file_is_refused_and_not_repeated(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="keep secrets out of") as refused:
        read(**settings)

    assert CANARY not in str(refused.value)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": 1}, "command: expected str | array, got int."),
        ({"command": "x", "args": CANARY}, "args: expected array, got str."),
        ({"command": "x", "env": {"A": 1}}, "env[...]: expected str, got int."),
        ({"args": [CANARY]}, "expected either a command or a url."),
        ({"command": "x", "url": f"http://{CANARY}"}, "expected either a command or a url."),
        ({"url": f"ftp://{CANARY}"}, "url: expected an http:// or https:// address"),
        ({"url": "http://x", "type": "sse"}, "speaks streamable HTTP."),
        ({"command": "x", "effect": CANARY}, "effect: expected one of pure, keyed, irreversible."),
        ({"command": "x", "effect": {"a": "transactional"}}, "effect: expected one of"),
        ({"command": "x", "timeout": 0}, "timeout: expected seconds above 0."),
        ({"command": "x", "approval": "yes"}, "approval: expected"),
    ],
)
def test_a_setting_that_does_not_fit_is_named_without_its_value(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(**settings)

    assert said in str(refused.value)
    assert CANARY not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_tools_name_says_whose_it_is() -> None:
    assert server_of(group_of("git-hub_1")) == "git-hub_1"
    assert server_of(f"{prefix_of('git-hub_1')}search__all") == "git-hub_1"
    assert server_of("read_file") is None
