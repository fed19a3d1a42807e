"""What the pictures of the screen are kept as, and what they must not depend on."""

from __future__ import annotations

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]

SVGImageExtension.file_extension = "svg"  # syrupy's name for it, which the plugin does not set


@pytest.fixture(autouse=True)
def _coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours, whatever the terminal of whoever runs the tests."""
    monkeypatch.delenv("NO_COLOR", raising=False)
