"""MCP servers in ``maverick config show`` and ``maverick doctor``: where each is from, and whether it could be used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from canary import CANARY, lookout
from cli.folder import Folder
from cli.shop import Shop, own_servers, project_servers
from maverick.cli import doctor
from maverick.config.installation import install_command

pytestmark = pytest.mark.requirement("MCP-SHOWN")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CLI takes a second to tell its version; nobody asks here."""
    monkeypatch.setattr(doctor, "_claude_cli", lambda: None)


def examined(folder: Folder) -> dict[str, dict[str, Any]]:
    """What the doctor finds of servers, by name."""
    found = json.loads(folder.main("doctor", "--json").stdout)
    return {each["what"].removeprefix("MCP "): each for each in found if each["what"].startswith("MCP ")}


def test_settings_are_shown_with_the_servers_of_all_four_files_and_where_each_is_from(folder: Folder) -> None:
    own_servers(folder, shop={"command": ["npx", "-y", "shop"]}, wiki={"url": "https://wiki.example/mcp"})
    folder.write(".maverick/mcp.json", '{"mcpServers": {"files": {"command": "uvx"}}}')
    folder.write("maverick.yaml", "mcp: {bank: {url: '${BANK}/mcp'}, wiki: {tools: [read]}}\n")
    project_servers(folder, theirs={"command": "echo"}, shop={"command": "impostor"})

    folder.main("trust")
    listed = [setting for setting in folder.json("config", "show") if setting["field"].startswith("mcp.")]
    shown = [line.split() for line in folder.main("config", "show").stdout.splitlines()]

    own = f"{folder.path}/.maverick"
    assert [tuple(setting.values()) for setting in listed] == [
        ("mcp.bank", "${BANK}", "maverick.yaml"),
        ("mcp.files", "uvx", f"{own}/mcp.json"),
        ("mcp.shop", "npx", f"{own}/config.yaml"),
        ("mcp.theirs", "echo", ".mcp.json"),
        ("mcp.wiki", "https://wiki.example", f"{own}/config.yaml"),
    ]
    assert ["mcp.theirs", "echo", ".mcp.json"] in shown


def test_a_server_that_can_not_be_used_is_shown_beside_the_others_with_what_is_wrong(folder: Folder) -> None:
    own_servers(folder, shop={"command": "npx"}, odd={"command": "x", "comand": "y"})

    done = folder.main("config", "show")

    rows = {line.split()[0] for line in done.stdout.splitlines()}
    assert (done.returncode, {"mcp.shop", "mcp.odd"} <= rows) == (0, True)
    assert "There is no setting named 'comand'. Did you mean 'command'?" in done.stderr
    (odd,) = (setting for setting in folder.json("config", "show") if setting["field"] == "mcp.odd")
    assert odd["value"] is None


def test_a_file_that_holds_no_servers_is_named(folder: Folder) -> None:
    folder.write(".mcp.json", "{")

    assert ".mcp.json is not a JSON object" in folder.refuse("config", "show")
    assert examined(folder)["servers"]["health"] == "wrong"


def test_the_doctor_says_of_each_server_whether_it_could_be_used_and_what_to_do(folder: Folder) -> None:
    own_servers(
        folder,
        shop=Shop(folder).settings(),
        wiki={"url": "https://wiki.example/mcp"},
        lost={"command": "no-such-program"},
        homeless={"command": "git", "cwd": "~/nowhere"},
        far={"url": "${WHERE:-https://}"},
        needy={"command": "git", "env": {"SHOP_KEY": "${KEY_OF_THE_SHOP}", "A": "${ANOTHER:-a}"}},
        odd={"command": "x", "comand": "y"},
    )

    found = examined(folder)

    own = f"from {folder.path}/.maverick/config.yaml"
    assert {name: (each["health"], each["detail"], each["fix"]) for name, each in found.items()} == {
        "shop": ("good", found["shop"]["detail"], ""),
        "wiki": ("good", f"https://wiki.example, {own}", ""),
        "lost": (
            "wrong",
            f"no-such-program, {own}, the program is not there",
            "install it, or correct the command or cwd",
        ),
        "homeless": (
            "wrong",
            f"git, {own}, the folder is not there",
            "install it, or correct the command or cwd",
        ),
        "far": (
            "wrong",
            f"${{WHERE}}, {own}, not a web address",
            "correct its url, or the variables in it",
        ),
        "needy": ("missing", f"git, {own}, KEY_OF_THE_SHOP not set", "export KEY_OF_THE_SHOP=…"),
        "odd": ("wrong", found["odd"]["detail"], "correct it, or remove it"),
    }
    assert "Did you mean 'command'?" in found["odd"]["detail"]


@pytest.mark.requirement("MCP-CONSENT")
def test_the_doctor_starts_no_server_and_names_the_command_that_agrees_to_a_projects(folder: Folder) -> None:
    own, theirs = Shop(folder), Shop(folder, "theirs")
    own_servers(folder, shop=own.settings())
    project_servers(folder, theirs=theirs.settings())

    before = examined(folder)["theirs"]
    started = [*own.done(), *theirs.done()]
    folder.main("trust")
    after = examined(folder)["theirs"]

    assert started == []
    assert (before["health"], before["fix"]) == ("missing", "look at it, then run: maverick trust")
    assert before["detail"] == "of this project, which you have not trusted"
    assert after["health"] == "good"
    assert theirs.done() == []


def test_without_the_package_the_doctor_says_how_to_install_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_servers(folder, shop={"command": "git"})
    monkeypatch.setattr("maverick.cli.doctor.find_spec", lambda _: None)

    shop = examined(folder)["shop"]

    assert (shop["health"], shop["fix"]) == ("missing", install_command("mcp"))


def test_a_name_from_a_strangers_file_forges_no_line(folder: Folder) -> None:
    project_servers(folder, **{"x\nok  forged\x1b[2J": {"command": "echo"}})

    for words in (("doctor",), ("config", "show")):
        done = folder.main(*words)
        assert not any(line.startswith("ok  forged") for line in done.stdout.splitlines())
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.requirement("P9")
def test_nothing_of_a_server_that_could_be_a_secret_is_shown(folder: Folder) -> None:
    folder.set("KEY_OF_THE_SHOP", CANARY)
    secret = {"KEY": "${KEY_OF_THE_SHOP}"}
    servers = {
        "shop": {"command": "git", "args": [f"--token={CANARY}"], "env": secret},
        "line": {"command": f"git --token={CANARY}"},
        "wiki": {"url": f"https://wiki.example/{CANARY}?key={CANARY}", "headers": secret},
        "bank": {"url": "${KEY_OF_THE_SHOP}/mcp"},
        "plain": {"command": "git", "env": {"API_KEY": CANARY}},
    }
    lookout.plant(folder.path / ".maverick" / "config.yaml", json.dumps({"mcp": servers}))

    for words in (("doctor",), ("doctor", "--json"), ("config", "show"), ("config", "show", "--json")):
        done = folder.main(*words)
        assert "line" in done.stdout
        assert CANARY not in done.stdout + done.stderr
