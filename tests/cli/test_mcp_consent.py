"""MCP servers that a project defines: none is started before the person has trusted the project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canary import CANARY
from cli.command import Terminal
from cli.folder import Folder
from cli.shop import Shop, own_servers, project_servers

RUN = ("run", "-p", "sell 'tea'", "--mcp", "shop", "--mode", "yolo", "--model", "offline:")


@pytest.mark.requirement("MCP-CONSENT")
@pytest.mark.parametrize("file", [".mcp.json", "maverick.yaml"])
def test_where_nobody_can_be_asked_it_is_refused_with_the_command_to_trust_it(
    file: str, folder: Folder
) -> None:
    shop = Shop(folder)
    servers = {"shop": shop.settings()}
    folder.write(file, json.dumps({"mcpServers" if file == ".mcp.json" else "mcp": servers}))

    refused = folder.main(*RUN)
    untouched = shop.done()
    trusted = folder.main("trust")
    sold = folder.main(*RUN)

    assert refused.returncode == 2
    assert f"{file}: MCP server 'shop': this file is the project's" in refused.stderr
    assert "run: maverick trust" in refused.stderr
    assert untouched == []
    assert trusted.stdout == f"trusted: {folder.path}\n"
    assert str(shop.settings()["args"][1]) in trusted.stderr
    assert sold.returncode == 0, sold.stderr


@pytest.mark.requirement("MCP-CONSENT")
def test_consent_is_for_the_definition_as_it_was_and_for_this_project_alone(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(folder)
    project_servers(folder, shop=shop.settings())
    folder.main("trust")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".mcp.json").write_bytes((folder.path / ".mcp.json").read_bytes())

    project_servers(folder, shop=shop.settings(env={"LD_PRELOAD": "evil.so"}))
    changed = folder.main(*RUN)
    project_servers(folder, shop=shop.settings())
    as_it_was = folder.main(*RUN)
    monkeypatch.chdir(elsewhere)
    other_project = folder.main(*RUN)

    assert [done.returncode for done in (changed, as_it_was, other_project)] == [2, 0, 2]
    assert shop.done() == ["started", "sell"]


@pytest.mark.requirement("MCP-CONSENT")
def test_in_a_terminal_the_person_is_shown_the_whole_of_it_and_asked_once(folder: Folder) -> None:
    shop = Shop(folder)
    project_servers(folder, shop=shop.settings(env={"SHOP_KEY": "${KEY}", "A": "b\n  c\u202e"}))
    env = {"KEY": CANARY}

    with Terminal(*RUN, home=folder.path, env=env) as terminal:
        terminal.expect("starts the MCP server 'shop':")
        terminal.expect(str(shop.settings()["args"][1]))
        terminal.expect("with SHOP_KEY=${KEY}")
        terminal.expect(r"with A=b\n  c\u202e")
        terminal.expect("it gets from your environment: KEY")
        terminal.expect("[y]es or [N]o:")
        assert shop.done() == []
        terminal.type("y\r")
        terminal.expect("mcp__shop__sell(text='tea')")
        assert terminal.end() == 0
    with Terminal(*RUN, home=folder.path, env=env) as again:
        assert again.end() == 0

    assert "Do you trust it" not in again.seen
    assert CANARY not in terminal.seen + again.seen
    assert shop.done() == ["started", "sell"] * 2


@pytest.mark.requirement("MCP-CONSENT")
def test_who_says_no_has_nothing_started(folder: Folder) -> None:
    shop = Shop(folder)
    project_servers(folder, shop=shop.settings())

    with Terminal(*RUN, home=folder.path) as terminal:
        terminal.expect("[y]es or [N]o:")
        terminal.type("\r")
        terminal.expect("you have not trusted it")
        assert terminal.end() == 2

    assert shop.done() == []
    assert not (folder.path / ".maverick/trust.json").exists()


@pytest.mark.requirement("MCP-CONSENT")
def test_a_project_takes_away_from_a_server_of_the_persons_and_gives_it_nothing(folder: Folder) -> None:
    shop, impostor = Shop(folder), Shop(folder, "impostor")
    own_servers(folder, shop=shop.settings())
    run = (*RUN[:2], "owner?", *RUN[3:])

    folder.write("maverick.yaml", "mcp: {shop: {tools: [owner], approval: true}}\n")
    (listed,) = folder.json("mcp", "list")
    asked = folder.main(*run)
    folder.write("maverick.yaml", "mcp: {shop: {trusted: true}}\n")
    widened = folder.main(*run)
    folder.write("maverick.yaml", "{}\n")
    project_servers(folder, shop=impostor.settings())
    own = folder.main(*run)

    assert [tool["name"] for tool in listed["tools"]] == ["mcp__shop__owner"]
    assert asked.returncode == 3
    assert widened.returncode == 2
    assert "trusted: a project can only narrow a server of yours, with tools and approval." in widened.stderr
    assert own.returncode == 0
    assert impostor.done() == []
