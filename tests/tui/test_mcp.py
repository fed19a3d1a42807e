"""The screen with MCP servers: agreed to before it opens, and used by the agents on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.folder import Folder
from cli.shop import Shop, own_servers, project_servers
from programs import needs
from tui.terminal import Terminal

pytestmark = [
    needs("tmux"),
    pytest.mark.requirement("MCP-TUI"),
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A server that the project in this folder defines."""
    folder = Folder(tmp_path, monkeypatch)
    made = Shop(folder)
    project_servers(folder, shop=made.settings())
    return made


@pytest.mark.requirement("MCP-CONSENT", "MCP-LIFETIME")
def test_a_projects_server_is_agreed_to_before_the_screen_opens_and_then_used(
    shop: Shop, tmp_path: Path
) -> None:
    words = ("--mcp", "shop", "--mode", "yolo", "--model", "offline:")

    with Terminal(*words, home=tmp_path) as terminal:
        terminal.expect("Do you trust it")
        terminal.expect("[y]es or [N]o:")
        assert shop.done() == []
        terminal.type("y")
        terminal.expect("Type a prompt.")
        terminal.type("sell 'tea'")
        terminal.expect("According to mcp__shop__sell: tea.")
        terminal.press("C-q")
        terminal.expect("ended with 0")

    # It is asked for its prompts in the background, before, during or after the run, unless the user quits first.
    assert sorted(shop.done()) in (["sell", "started"], ["sell", "started", "started"])
    assert shop.is_gone()


@pytest.mark.requirement("MCP-CONSENT")
def test_who_does_not_agree_is_told_how_to_and_gets_no_screen(shop: Shop, tmp_path: Path) -> None:
    with Terminal("--mcp", "shop", home=tmp_path) as terminal:
        terminal.expect("[y]es or [N]o:")
        terminal.type("n")
        terminal.expect("ended with 2")

        assert "run: maverick trust" in terminal.shown().replace("\n", " ")

    assert shop.done() == []


def test_a_server_that_is_not_there_is_told_before_there_is_a_screen(shop: Shop, tmp_path: Path) -> None:
    with Terminal("--mcp", "shp", home=tmp_path) as terminal:
        terminal.expect("[y]es or [N]o:")
        terminal.type("y")
        terminal.expect("ended with 2")

        assert "Did you mean 'shop'?" in terminal.shown().replace("\n", " ")

    assert shop.done() == []


@pytest.mark.requirement("MCP-ELICITATION")
def test_a_servers_form_is_filled_in_and_the_server_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path, monkeypatch)
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    question = ["elicitation/create", {"message": "Who books?", "requestedSchema": form}]
    shop = Shop(folder, tools={"book": "Books."}, asks={"book": question})
    own_servers(folder, shop=shop.settings(elicitation=True))

    with Terminal("--mcp", "shop", "--mode", "yolo", "--model", "offline:", home=tmp_path) as terminal:
        terminal.expect("Type a prompt.")
        terminal.type("book 'tea'")
        terminal.expect("Answer to shop: Who books?")
        asked = terminal.shown()
        terminal.answer("y")
        terminal.expect("Enter goes to the next field")
        terminal.press("Enter")
        terminal.expect("name: it has to be filled in")
        terminal.type("Ana")
        terminal.expect("According to mcp__shop__book:")

        assert '"name": "Ana"' in " ".join(terminal.shown().split())

    assert "Yes, fill it in" in asked
    assert "Allow general to" not in asked


ASKS = {
    "book": [
        "elicitation/create",
        {"message": "Which seat?", "requestedSchema": {"type": "object", "properties": {}}},
    ],
    "think": [
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Say tea."}}], "maxTokens": 50},
    ],
}


@pytest.mark.requirement("MCP-ELICITATION", "MCP-SAMPLING")
@pytest.mark.parametrize(
    ("tool", "question", "answer"),
    [("book", "Which seat?", '"accept"'), ("think", "ask your model", "assistant")],
)
def test_a_server_that_asks_something_in_the_middle_of_a_call_gets_the_users_answer(
    tool: str, question: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path, monkeypatch)
    shop = Shop(folder, tools={tool: "Asks."}, asks={tool: ASKS[tool]})
    own_servers(folder, shop=shop.settings(elicitation=True, sampling=True))

    with Terminal("--mcp", "shop", "--mode", "yolo", "--model", "offline:", home=tmp_path) as terminal:
        terminal.expect("Type a prompt.")
        terminal.type(f"{tool} 'tea'")
        terminal.expect(question)
        terminal.answer("y")
        terminal.expect(f"According to mcp__shop__{tool}:")

        assert answer in terminal.shown()
