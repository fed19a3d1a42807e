"""What the pictures of the screen are kept as, and what they must not depend on."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

SVGImageExtension.file_extension = "svg"  # syrupy's name for it, which the plugin does not set


@pytest.fixture(autouse=True)
def _coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours, whatever the terminal of whoever runs the tests."""
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(scope="session", autouse=True)
def _styles_parsed_once() -> Iterator[None]:
    """Parse the styles of widgets for the first app only: each test has one of its own, and all have the same."""
    parse, parsed = Stylesheet._parse_rules, dict[Hashable, list[RuleSet]]()

    def rules(sheet: Stylesheet, *source: Any, **details: Any) -> list[RuleSet]:
        asked = (*source, *details.items(), *sheet._variables.items())
        if asked not in parsed:
            parsed[asked] = parse(sheet, *source, **details)
        return parsed[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", rules)
        yield


@pytest.fixture(scope="session", autouse=True)
def _drawn_less_often() -> Iterator[None]:
    """Draw what has changed fifteen times a second and not sixty: drawing is half of what a test of the screen does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.screen.UPDATE_PERIOD", 1 / 15)
        yield
