"""The API reference is built from the sources, is complete, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import maverick
from docs.documents import ROOT, run_python

LINK = re.compile(r'href="([^"#]+)(?:#([^"]+))?"')


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    ran = run_python(ROOT / "docs" / "build.py", folder, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_every_public_name_of_the_package_links_to_its_description(reference: Path) -> None:
    page = (reference / "maverick.html").read_text(encoding="utf-8")

    for name in maverick.__all__:
        assert f'#{name}"><code>{name}</code></a>' in page


def test_every_link_leads_to_a_page_and_a_place_on_it(reference: Path) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in reference.glob("*.html")}

    links = {link for page in pages.values() for link in LINK.findall(page)}

    assert len(links) > 100
    for page_name, anchor in links:
        assert page_name in pages
        assert not anchor or f'id="{anchor}"' in pages[page_name], f"{page_name}#{anchor}"


def test_a_page_has_signatures_arguments_and_what_is_raised(reference: Path) -> None:
    page = (reference / "maverick.runtime.executor.html").read_text(encoding="utf-8")

    assert "async def execute(self, definition: AgentDefinition[T]" in page
    assert "<dt><code>on_activity</code></dt>" in page
    assert "<b>Raises</b>" in page
