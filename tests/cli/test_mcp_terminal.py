"""MCP servers at the terminal: a person sees that they start, and fills in their forms."""

from __future__ import annotations

import pytest

from cli.command import Terminal
from cli.folder import Folder
from cli.shop import Shop, own_servers

OPEN = ("--mode", "yolo", "--model", "offline:")
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "minimum": 0, "description": "In years."},
        "seat": {"type": "string", "enum": ["window", "aisle"]},
        "meals": {"type": "array", "items": {"type": "string", "enum": ["tea", "soup"]}},
        "wakes": {"type": "boolean", "default": True},
        "note": {"type": "string"},
    },
    "required": ["name", "age"],
}


@pytest.mark.requirement("MCP-ELICITATION")
def test_a_servers_form_is_filled_in_field_by_field_and_what_does_not_fit_is_asked_for_again(
    folder: Folder,
) -> None:
    question = ["elicitation/create", {"message": "Who books?", "requestedSchema": FORM}]
    shop = Shop(folder, tools={"book": "Books."}, asks={"book": question})
    own_servers(folder, shop=shop.settings(elicitation=True))

    with Terminal("run", "-p", "book 'tea'", "--mcp", "shop", *OPEN, home=folder.path) as terminal:
        terminal.expect("Answer to shop: Who books?")
        for line in (
            "Your name (name): text, required",
            "age: a whole number, required (In years.)",
            "seat: window or aisle, optional",
            "meals: several with commas, of tea or soup, optional",
            "wakes: yes or no, optional, suggested: true",
        ):
            terminal.expect(line)
        for asked, typed in (
            ("[y]es, fill it in, ", "y"),
            ("Your name: ", "Ana"),
            ("age: ", "old"),
            ("expected a whole number", ""),
            ("age: ", "-3"),
            ("less than the minimum of 0", ""),
            ("age: ", "30"),
            ("seat: ", "middle"),
            ("'middle' is not one of ['window', 'aisle']", ""),
            ("seat: ", "aisle"),
            ("meals: ", "tea, soup"),
            ("wakes [True]: ", "\n"),
            ("note: ", "\n"),
        ):
            terminal.expect(asked)
            terminal.type(f"{typed.strip()}\n" if typed else "")

        assert terminal.end() == 0, terminal.seen

    answer = '{"age": 30, "meals": ["tea", "soup"], "name": "Ana", "seat": "aisle", "wakes": true}'
    assert answer in " ".join(terminal.seen.split())


@pytest.mark.requirement("007-RUN-PROGRESS")
def test_while_servers_start_the_person_sees_what_is_waited_for(folder: Folder) -> None:
    there, go = folder.path / "there", folder.path / "go"
    shop = Shop(folder, meets=[str(there), str(go)])
    own_servers(folder, shop=shop.settings())

    with Terminal("run", "-p", "sell 'tea'", "--mcp", "shop", *OPEN, home=folder.path) as terminal:
        terminal.expect("starting MCP servers: shop (")
        go.touch()
        terminal.expect("According to mcp__shop__sell: tea.")

        assert terminal.end() == 0, terminal.seen
